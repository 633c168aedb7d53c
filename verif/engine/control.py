"""Registers of an engine by their names in the table: descriptors through windows and rings, and completions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
from cocotb.triggers import RisingEdge, Timer

from cdma.golden.engine import RECORD_BYTES, Completion, Descriptor, Operation, RecordReader, Windows
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.table import COUNTERS, registers
from cdma.verif.common import cover
from cdma.verif.common.job import CLOCK_NS
from cdma.verif.engine.layout import Arena
from cdma.verif.engine.lite import Registers
from cdma.verif.engine.sampling import Sampler

__all__ = ["Channel", "Control", "Ring", "WriteBackRing", "enabled"]

_RECORD_WORDS = RECORD_BYTES // 4
_SHORTEST, _LONGEST = 32, 512


class Control:
    """All registers of an engine, by name.

    Parameters
    ----------
    bus
        Reads and writes them.
    clock
        Counts the cycles to wait.
    config
        What the engine was built from.

    Members
    -------
    channels
        The two directions.
    """

    def __init__(self, bus: Registers, clock: Any, config: EngineConfig) -> None:
        self.sampler = Sampler(bus, config) if cover.ENABLED else None
        self.bus = self.sampler or bus
        self.clock = clock
        self.config = config
        self.registers = {register.name: register for register in registers(config)}
        self.channels = {operation: Channel(self, operation) for operation in Operation}

    async def read(self, name: str) -> int:
        """Read a register."""
        return await self.bus.read(self.registers[name].offset)

    async def write(self, name: str, value: int) -> None:
        """Write a register."""
        await self.bus.write(self.registers[name].offset, value)

    async def fields(self, name: str) -> dict[str, int]:
        """The fields of a register."""
        value = await self.read(name)
        return {field.name: (value & field.mask) >> field.lsb for field in self.registers[name].fields}

    async def wait(self, cycles: int) -> None:
        """Let cycles pass."""
        if cycles > 1:
            await Timer((cycles - 1) * CLOCK_NS, "ns")
        await RisingEdge(self.clock)

    async def until(self, true: Callable[[], Awaitable[bool]], cycles: int) -> bool:
        """Poll a condition at growing intervals; returns whether it became true within so many cycles."""
        step, waited = _SHORTEST, 0
        while not await true():
            if waited > cycles:
                return False
            await self.wait(step)
            waited += step
            step = min(2 * step, _LONGEST)
        return True

    async def sets(self, register: str, bits: int | str, cycles: int, to: bool = True) -> bool:
        """Poll a register until one of some bits, or a field of that name, is set; with ``to`` False until none is.
        Returns whether that came within so many cycles."""
        mask = bits if isinstance(bits, int) else self.mask(register, bits)

        async def there() -> bool:
            return bool(await self.read(register) & mask) == to

        return await self.until(there, cycles)

    def mask(self, register: str, name: str) -> int:
        """The bits of a field."""
        return next(field.mask for field in self.registers[register].fields if field.name == name)

    async def soft_reset(self, cycles: int = 100_000) -> None:
        """Reset the engine by its register, and wait until that is done."""
        await self.write("CONTROL", 1)
        if not await self.sets("CONTROL", 1, cycles, to=False):
            raise AssertionError(f"the soft reset was not done after {cycles} cycles")
        for channel in self.channels.values():
            channel.forget()

    async def set_windows(self, windows: Windows) -> None:
        """Write the address windows of both memories."""
        for name, window in (("DEVICE", windows.device), ("LINK", windows.link)):
            for end, value in (("BASE", window.base), ("LIMIT", window.limit)):
                await self.write(f"{name}_{end}_LO", value & 0xFFFF_FFFF)
                await self.write(f"{name}_{end}_HI", value >> 32)

    async def state(self) -> str:
        """The state of the engine from its registers, for messages."""
        names = ["STATUS", *(f"{channel.prefix}_{name}" for channel in self.channels.values()
                             for name in ("QUEUE", "COMPLETIONS", "RING_HEAD", "RING_TAIL"))]
        return ", ".join([f"{name} {await self.read(name):#x}" for name in names])


class Channel:
    """Descriptors and completions of a direction.

    Parameters
    ----------
    control
        All registers.
    operation
        The direction's.

    Members
    -------
    records
        The write-back ring from which completions are taken, if one is enabled.
    """

    def __init__(self, control: Control, operation: Operation) -> None:
        self.operation = operation
        self.records: WriteBackRing | None = None
        self.prefix = operation.name
        self._control = control
        self._window: list[int | None] = [0] * _RECORD_WORDS

    def forget(self) -> None:
        """Expect the reset value in every register."""
        if self._control.sampler:
            self._control.sampler.forget()
        self.records = None
        self._window = [0] * _RECORD_WORDS

    def asked(self, descriptor: Descriptor) -> None:
        """Sample the completion of a descriptor together with it."""
        if self._control.sampler:
            self._control.sampler.asked(self.operation, descriptor)

    def share(self) -> None:
        """Write all words of the next descriptor, because someone else has written into the window."""
        self._window = [None] * _RECORD_WORDS

    async def read(self, name: str) -> int:
        """Read a register of this direction."""
        return await self._control.read(f"{self.prefix}_{name}")

    async def write(self, name: str, value: int) -> None:
        """Write a register of this direction."""
        await self._control.write(f"{self.prefix}_{name}", value)

    async def fields(self, name: str) -> dict[str, int]:
        """The fields of a register of this direction."""
        return await self._control.fields(f"{self.prefix}_{name}")

    async def push(self, descriptor: Descriptor) -> None:
        """Write a descriptor into the window, only the words that change, and ring the doorbell."""
        self.asked(descriptor)
        for word, value in enumerate(np.frombuffer(descriptor.pack(), "<u4").tolist()):
            if value != self._window[word]:
                await self.write(f"DESCRIPTOR_{word}", value)
                self._window[word] = value
        await self.write("DOORBELL", 1)

    async def feed(self, descriptors: Sequence[Descriptor]) -> None:
        """Push descriptors while there are free places, and wait for more."""
        free = 0
        for descriptor in descriptors:
            while not free:
                free = (await self.fields("QUEUE"))["FREE"]
                if not free:
                    await self._control.wait(_LONGEST // 2)
            await self.push(descriptor)
            free -= 1

    async def completion(self, cycles: int) -> Completion:
        """Take the oldest completion.

        Raises
        ------
        AssertionError
            If there is none after so many cycles.
        """
        done = await (self._taken(cycles) if self.records is None else self.records.completion(cycles))
        if self._control.sampler:
            self._control.sampler.completion(self.operation, done)
        return done

    async def _taken(self, cycles: int) -> Completion:
        if not await self._control.sets(f"{self.prefix}_COMPLETIONS", "COUNT", cycles):
            raise AssertionError(f"{self.prefix.lower()}: no completion in {cycles} cycles: "
                                 f"{await self._control.state()}")
        words = [await self.read(f"COMPLETION_{word}") for word in range(_RECORD_WORDS)]
        await self.write("COMPLETION_POP", 1)
        return Completion.unpack(np.array(words, "<u4").tobytes())

    async def abort(self) -> None:
        """End the transfer that runs."""
        await self.write("ABORT", 1)

    async def counters(self, clear: bool = False) -> dict[str, int]:
        """A snapshot of all counters."""
        await self.write("COUNTER_CONTROL", 3 if clear else 1)
        return {name: await self.read(f"{name}_LO") + (await self.read(f"{name}_HI") << 32) for name in COUNTERS}


class _LinkRing:
    """A ring in link memory, as a driver keeps it.

    Parameters
    ----------
    bench
        The testbench of the engine.
    channel
        Whose ring it is.
    entries
        Its size, a power of two; one entry always stays free.
    """

    prefix = ""

    def __init__(self, bench: Any, channel: Channel, entries: int) -> None:
        self.entries = entries
        self.address = bench.link_arena.take(entries * RECORD_BYTES, align=RECORD_BYTES)
        self._control: Control = bench.control
        self._channel = channel
        self._memory = bench.link
        self._arena: Arena = bench.link_arena

    async def read(self, name: str) -> int:
        """Read a register of the ring."""
        return await self._channel.read(f"{self.prefix}_{name}")

    async def write(self, name: str, value: int) -> None:
        """Write a register of the ring."""
        await self._channel.write(f"{self.prefix}_{name}", value)

    async def place(self) -> None:
        """Tell the engine where the ring is."""
        for name, value in (("BASE_LO", self.address & 0xFFFF_FFFF), ("BASE_HI", self.address >> 32),
                            ("SIZE", self.entries)):
            await self.write(name, value)

    async def disable(self, cycles: int = 100_000) -> None:
        """Disable the ring, and wait until an entry that is being read or written has arrived."""
        await self.write("CONTROL", 0)
        if not await self._control.sets(f"{self._channel.prefix}_{self.prefix}_CONTROL", 1, cycles, to=False):
            raise AssertionError(f"the ring was not disabled after {cycles} cycles: {await self._control.state()}")


@asynccontextmanager
async def enabled(*rings: Ring | WriteBackRing) -> AsyncIterator[None]:
    """While entered, rings are enabled."""
    for ring in rings:
        await ring.enable()
    yield
    for ring in rings:
        await ring.disable()


class Ring(_LinkRing):
    """A ring of descriptors."""

    prefix = "RING"
    tail = 0

    async def enable(self) -> None:
        """Tell the engine where the ring is, and let it read."""
        await self.place()
        await self.write("CONTROL", 1)

    async def feed(self, descriptors: Sequence[Descriptor]) -> None:
        """Write descriptors from the tail on as entries get free, several at a time, and move the tail."""
        left = list(descriptors)
        while left:
            head = await self._channel.read("RING_HEAD")
            free = (head - self.tail - 1) % self.entries
            for descriptor in left[:free]:
                self._channel.asked(descriptor)
                place = self.address + self.tail * RECORD_BYTES
                record = np.frombuffer(descriptor.pack(), np.uint8)
                self._arena.view(place, RECORD_BYTES)[:] = record
                await self._memory.load(record, place)
                self.tail = (self.tail + 1) % self.entries
            if free:
                await self._channel.write("RING_TAIL", self.tail)
                left = left[free:]
            else:
                await self._control.wait(_LONGEST // 2)


class WriteBackRing(_LinkRing):
    """A ring of completions."""

    prefix = "WRITE_BACK"

    def __init__(self, bench: Any, channel: Channel, entries: int) -> None:
        super().__init__(bench, channel, entries)
        self._reader = RecordReader(self.address, entries)

    @property
    def head(self) -> int:
        """The record that is read next."""
        return self._reader.index

    async def enable(self, count: int = 1, time: int = 0) -> None:
        """Clear the ring, tell the engine where it is, and let it write; from now on completions come from it.

        Parameters
        ----------
        count, time
            Records that are reported together, and the cycles after which fewer are.
        """
        zeros = np.zeros(self.entries * RECORD_BYTES, np.uint8)
        self._arena.view(self.address, zeros.size)[:] = zeros
        await self._memory.load(zeros, self.address)
        self._reader = RecordReader(self.address, self.entries)
        await self.place()
        for name, value in (("COALESCE", count), ("TIME", time), ("CONTROL", 1)):
            await self.write(name, value)
        self._channel.records = self

    async def disable(self, cycles: int = 100_000) -> None:
        """Disable the ring; then completions come from the window."""
        await super().disable(cycles)
        self._channel.records = None

    async def take(self) -> Completion | None:
        """The next completion, if its record is there; now and then the engine gets the head."""
        record = await self._memory.dump(self._reader.place, RECORD_BYTES)
        place = self._reader.place
        done = self._reader.take(record.tobytes())
        if done is not None:
            self._arena.view(place, RECORD_BYTES)[:] = record
            if not self.head:
                cover.cover("write_back", self._channel.prefix.lower(), "wrapped")
            if self.head % max(1, self.entries // 2) == 0:
                await self.write("HEAD", self.head)
        return done

    async def completion(self, cycles: int) -> Completion:
        """Take the next completion.

        Raises
        ------
        AssertionError
            If there is none after so many cycles.
        """
        found: list[Completion] = []

        async def there() -> bool:
            done = await self.take()
            found.extend([done] if done is not None else [])
            return done is not None

        if not await self._control.until(there, cycles):
            raise AssertionError(f"{self._channel.prefix.lower()}: no record in {cycles} cycles: "
                                 f"{await self._control.state()}")
        return found[0]

    async def accept(self) -> None:
        """Expect in memory what is there, after records that may or may not have been written."""
        size = self.entries * RECORD_BYTES
        self._arena.view(self.address, size)[:] = await self._memory.dump(self.address, size)
