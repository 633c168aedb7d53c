"""What the tests of control share: a driver on the bus, data paths that are only played, and link memory."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Coroutine
from functools import lru_cache, wraps
from inspect import Signature, signature
from typing import Any

from amaranth.hdl import Const

from cdma.golden.engine import WINDOW_BYTES, Completion, Descriptor, Status, Windows
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.control import Control
from cdma.hdl.engine.control.table import registers
from tests.hdl.bench import Bench as Prepared
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.axi.traffic import Pace

__all__ = ["CONFIG", "DIRECTIONS", "SLVERR", "Bench", "Path", "good", "simulated", "window_pages", "words_of"]

CONFIG = EngineConfig(lanes=3, transfers_in_flight=1)
"""With one transfer at a time; for several, see test_channel.py."""

DIRECTIONS = [("offload", 1), ("prefetch", 2)]
SLVERR = 2
_RECORD = 64


def good(direction: int, **changes: Any) -> Descriptor:
    """A descriptor that is taken (1: by offload, 2: by prefetch), with some fields changed."""
    fields: dict[str, Any] = {"operation": direction, "coding": 0x14, "source": 0, "destination": 0,
                              "raw_bytes": 4096, "capacity": 1 << 20, "packed_bytes": 0 if direction == 1 else 128}
    return Descriptor(**fields | changes)


def window_pages(windows: Windows) -> dict[str, dict[str, int]]:
    """Windows as the units of control have them."""
    return {name: {"base": each.base // WINDOW_BYTES, "limit": each.limit // WINDOW_BYTES, "unlimited": not each.limit}
            for name, each in (("device", windows.device), ("link", windows.link))}


def words_of(record: bytes | bytearray) -> tuple[int, ...]:
    """The words of a descriptor or a completion."""
    return struct.unpack("<16I", record)


def simulated(make: Callable[..., Any]) -> Callable[[Callable[..., Coroutine[Any, Any, None]]], Callable[..., None]]:
    """Makes a test of a process: it gets the bench that ``make`` builds of parameters of the test, the simulator's
    context, and all parameters."""
    wanted = signature(make).parameters

    def decorate(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
        @wraps(test)
        def run(**given: Any) -> None:
            bench = make(**{name: given[name] for name in wanted if name in given})
            bench.run(lambda ctx: test(bench, ctx, **given))

        setattr(run, "__signature__", Signature([*signature(test).parameters.values()][2:]))  # noqa: B010
        return run

    return decorate


@lru_cache(maxsize=8)
def _prepared(config: EngineConfig) -> tuple[Control, Prepared]:
    dut = Control(config)
    return dut, Prepared(dut)


class Path:
    """A data path that takes transfers, lets time go by, and ends them in order, as it is told in ``reports``; an abort
    ends the oldest one."""

    def __init__(self, request: Any, result: Any, abort: Any, rng: random.Random, in_flight: int = 1,
                 busy: float = 1.0) -> None:
        self.request, self.result, self.abort = request, result, abort
        self._rng, self._in_flight, self.busy = rng, in_flight, busy
        self.cycles = 6                                 # most that a transfer takes; it takes half of them at least
        self.reports: list[dict[str, Any]] = []         # of the transfers to come; afterwards they succeed
        self.seen: list[dict[str, Any]] = []            # requests
        self.ran: list[int] = []                        # cycles of each transfer, from its request to its result
        self.inside: list[int] = []                     # cycles in which transfers in the path began
        self.most = self.aborted = self._cycle = 0
        self.behind = False                             # the abort that is seen is that of the next transfer

    async def take(self, ctx: Any) -> None:
        """Takes transfers."""
        shown = 0
        while True:
            ready = len(self.inside) < self._in_flight and self._rng.random() < self.busy
            ctx.set(self.request.ready, ready)
            _, _, valid, payload = await ctx.tick().sample(self.request.valid, self.request.payload)
            self._cycle += 1
            shown = shown or self._cycle * valid
            if valid and ready:
                fields = [(name, getattr(payload, name)) for name, _ in self.request.payload.shape()]
                self.seen.append({name: getattr(value, "value", value) for name, value in fields})
                self.inside.append(shown)
                self.most = max(self.most, len(self.inside))
                shown = 0

    async def end(self, ctx: Any) -> None:
        """Ends transfers."""
        while True:
            while not self.inside:
                await ctx.tick()
            report = self.reports.pop(0) if self.reports else {"status": Status.OK, "bytes": 7}
            for _ in range(self._rng.randint(self.cycles // 2, self.cycles)):
                await ctx.tick()
                assert self._in_flight > 1 or not ctx.get(self.request.valid)
                if ctx.get(self.abort):
                    report = {"status": Status.ABORTED}
                    self.aborted += 1
                    break
            ctx.set(self.result.payload, report)
            ctx.set(self.result.valid, 1)
            self.ran.append(self._cycle - self.inside.pop(0))
            await ctx.tick().until(self.result.ready)
            assert self.behind or not ctx.get(self.abort)
            ctx.set(self.result.valid, 0)
            # Nothing may be read from a result that is gone.
            ctx.set(self.result.payload, {"status": Status.BAD_CODING, "lane": 9, "resp": 3, "place": 77, "bytes": 88,
                                          "nonzero": 99, "raw_blocks": 66, "crc": 55})


class Bench:
    """Control and what is around it; ``run`` plays a driver, whose accesses are methods."""

    def __init__(self, config: EngineConfig = CONFIG, *, seed: int = 0, pauses: float = 0.0, latency: int = 3,
                 writes: bool = True):
        self.config = config
        self.rng = random.Random(seed)
        self.dut, self._prepared = _prepared(config)
        self.registers = registers(config)
        self.offset = {register.name: register.offset for register in self.registers}
        self.paths = {name: Path(getattr(self.dut, f"{name}_request"), getattr(self.dut, f"{name}_result"),
                                 getattr(self.dut, f"{name}_abort"), self.rng, config.transfers_in_flight)
                      for name, _ in DIRECTIONS}
        self.memory = Memory(self.dut.fetch, config.link_beat_bytes, self.rng, latency=latency, pauses=pauses,
                             stretch=5)
        if config.write_back:
            self.written = Memory(self.dut.records, config.link_beat_bytes, self.rng, latency=3, pauses=pauses,
                                  stretch=5)
        self.writes = writes        # records are taken
        self.resets = self.pulses = self.high = 0       # soft resets, pulses of the interrupt, its cycles
        self._pace = Pace(self.rng, pauses, 4)
        self._ctx: Any = None

    def run(self, driver: Callable[[Any], Coroutine[Any, Any, None]],
            *others: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
        """Simulates until the driver ends."""
        async def begin(ctx: Any) -> None:
            self._ctx = ctx
            await driver(ctx)

        paths = [process for path in self.paths.values() for process in (path.take, path.end)]
        self._prepared.run(begin, self.memory.read, self._records, self._watch, *paths, *others)

    async def _records(self, ctx: Any) -> None:
        """The memory that records are written to."""
        while not (self.config.write_back and self.writes):
            await ctx.tick()
        await self.written.write(ctx)

    async def _watch(self, ctx: Any) -> None:
        """Counts soft resets, in which no transfer runs and after which time limits begin anew, and interrupts."""
        before, late = False, 0
        pulse = self.dut.irq_pulse if self.config.write_back else Const(0)
        while True:
            _, _, reset, high, pulsed, restart = await ctx.tick().sample(
                self.dut.soft_reset, self.dut.irq, pulse, self.dut.restart)
            late = late << 1 & 15 | reset
            assert restart or not late & 8, "a time limit goes on behind a reset"
            assert not (reset and any(path.inside for path in self.paths.values())), "a reset in mid-transfer"
            assert not (pulsed and before), "a pulse of two cycles"
            self.resets, self.pulses, self.high = self.resets + reset, self.pulses + pulsed, self.high + high
            before = pulsed

    def _place(self, where: str | int) -> int:
        return where if isinstance(where, int) else self.offset[where]

    async def _rest(self) -> None:
        while not self._pace.go():
            await self._ctx.tick()

    async def wait(self, cycles: int) -> None:
        """Lets cycles go by, or none."""
        for _ in range(cycles):
            await self._ctx.tick()

    async def write(self, where: str | int, value: int, strobe: int = 15, *, response: int | None = 0) -> int:
        """Writes a register by name or offset, checks the response, unless any is right, and returns it."""
        bus, ctx = self.dut.bus, self._ctx
        data_first = self.rng.random() < 0.3
        channels = [("aw", {"awaddr": self._place(where)}), ("w", {"wdata": value, "wstrb": strobe})]
        for channel, fields in reversed(channels) if data_first else channels:
            await self._rest()
            for name, content in fields.items():
                ctx.set(getattr(bus, name), content)
            ctx.set(getattr(bus, f"{channel}valid"), 1)
            await ctx.tick().until(getattr(bus, f"{channel}ready"))
            ctx.set(getattr(bus, f"{channel}valid"), 0)
        await self._rest()
        ctx.set(bus.bready, 1)
        given, = await ctx.tick().sample(bus.bresp).until(bus.bvalid)
        ctx.set(bus.bready, 0)
        assert response in (None, given), f"{where}: response {given} to a write of {value:#x}, not {response}"
        return given

    async def read(self, where: str | int, *, response: int = 0) -> int:
        """Reads a register by name or offset, and checks the response."""
        bus, ctx = self.dut.bus, self._ctx
        await self._rest()
        ctx.set(bus.araddr, self._place(where))
        ctx.set(bus.arvalid, 1)
        await ctx.tick().until(bus.arready)
        ctx.set(bus.arvalid, 0)
        await self._rest()
        ctx.set(bus.rready, 1)
        value, given = await ctx.tick().sample(bus.rdata, bus.rresp).until(bus.rvalid)
        ctx.set(bus.rready, 0)
        assert given == response, f"{where}: response {given} to a read, not {response}"
        return value

    async def reads(self, **values: int) -> None:
        """Reads registers, and checks what they hold."""
        found = {name: await self.read(name) for name in values}
        assert found == values

    async def until(self, where: str, mask: int, value: int) -> None:
        """Polls a register until its masked bits have a value."""
        for _ in range(400):
            if await self.read(where) & mask == value:
                return
        raise AssertionError(f"{where} did not become {value:#x}")

    async def soft_reset(self) -> None:
        """Resets control, and waits until that is done."""
        await self.write("CONTROL", 1)
        await self.until("CONTROL", 1, 0)

    async def refused(self, where: str, value: int, register: str, bit: int) -> None:
        """Writes a register, which is refused: a bit of another register says so until 1 is written to it."""
        await self.write(where, value, response=SLVERR)
        for cleared, left in ((~bit, bit), (bit, 0)):
            assert await self.read(register) == bit, where
            await self.write(register, cleared & 0xFFFFFFFF)
            assert await self.read(register) == left, where

    async def push(self, direction: str, *descriptors: Descriptor) -> None:
        """Writes each descriptor into the window and rings the doorbell."""
        for asked in descriptors:
            for number, word in enumerate(words_of(asked.pack())):
                await self.write(f"{direction.upper()}_DESCRIPTOR_{number}", word)
            await self.write(f"{direction.upper()}_DOORBELL", 1)

    async def _completed(self, name: str) -> None:
        for _ in range(400):
            if await self.read(f"{name}_COMPLETIONS"):
                return
        raise AssertionError("no completion came")

    async def outcomes(self, direction: str, *expected: tuple[int, Status]) -> None:
        """Waits for completions with these tags and statuses, reads so much of them, and removes them."""
        name = direction.upper()
        for tag, status in expected:
            await self._completed(name)
            found, word = [await self.read(f"{name}_COMPLETION_{number}") for number in range(2)]
            assert (found, word & 255) == (tag, status.value)
            await self.write(f"{name}_COMPLETION_POP", 1)

    async def completion(self, direction: str) -> Completion:
        """Waits for a completion, reads and removes it."""
        name = direction.upper()
        await self._completed(name)
        record = struct.pack("<16I", *[await self.read(f"{name}_COMPLETION_{number}") for number in range(16)])
        await self.write(f"{name}_COMPLETION_POP", 1)
        completion = Completion.unpack(record)
        assert completion.pack() == record      # nothing in reserved bits
        return completion

    async def ring(self, direction: str, base: int, size: int, *descriptors: Descriptor) -> None:
        """Puts descriptors into memory, sets a ring up there, enables it, and gives all descriptors to the engine."""
        name = direction.upper()
        for number, asked in enumerate(descriptors):
            self.entry(base + _RECORD * number, asked)
        for register, value in (("BASE_LO", base & 0xFFFFFFFF), ("BASE_HI", base >> 32), ("SIZE", size), ("CONTROL", 1),
                                ("TAIL", len(descriptors))):
            await self.write(f"{name}_RING_{register}", value)

    def entry(self, address: int, asked: Descriptor) -> None:
        """Puts a descriptor into link memory."""
        self.memory.content[address % SIZE:address % SIZE + _RECORD] = asked.pack()
