"""Software in a bench: the driver of :mod:`cdma.driver` on the simulated registers.

The driver blocks, so each call runs in a thread of its own. An access to a register waits there until the simulation
has done it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from cocotb.task import bridge, resume

from cdma.driver import OWN_TAGS, Code, Driver, DriverError, Pages, Ring, TransferError, WriteBackRing, error_text
from cdma.golden.engine import RECORD_BYTES, Completion, Descriptor, Operation, Status
from cdma.verif.engine.lite import RegisterError
from cdma.verif.engine.stimulus import codings, random_tensor
from cdma.verif.engine.testbench import EngineTestbench, ready

__all__ = ["OWN_TAGS", "POLLS", "Code", "RingMemory", "Software", "error_text", "started", "two_transfers"]

POLLS = 20_000
"""How often the driver reads a register before it gives up."""

_RESET_TIME_LIMIT = 12
_RECORD_POLLS = 8


class Software:
    """The calls of the driver as coroutines, which give its codes and statuses.

    As on PCIe, the driver does not see that the engine answers a write with an error.

    Parameters
    ----------
    bench
        The engine.

    Members
    -------
    driver
        The driver, from :meth:`init` on.
    found, ring
        The last completion, and the last ring that was made.
    after, before
        By offset of a register: called once, directly after it was read, or before it is written.
    reads
        How often each register was read, by offset.
    """

    driver: Driver
    found: Completion
    ring: Any

    def __init__(self, bench: EngineTestbench) -> None:
        self.bench = bench
        self.after: dict[int, Callable[[], Awaitable[None]]] = {}
        self.before: dict[int, Callable[[], Awaitable[bool]]] = {}
        self.reads: Counter[int] = Counter()

        @resume
        async def write(offset: int, value: int) -> None:
            if offset in self.before and not await self.before.pop(offset)():
                return
            with suppress(RegisterError):
                await bench.control.bus.write(offset, value)
            for channel in bench.control.channels.values():
                channel.share()

        @resume
        async def read(offset: int) -> int:
            self.reads[offset] += 1
            value = await bench.control.bus.read(offset)
            if offset in self.after:
                await self.after.pop(offset)()
            return value

        self.read32, self.write32 = read, write

    async def init(self) -> int:
        """Find the engine and reset it."""
        def make() -> None:
            self.driver = Driver(self, polls=POLLS, record_polls=_RECORD_POLLS, reset_time_limit=_RESET_TIME_LIMIT)

        return await self._done(make)

    async def call(self, name: str, *arguments: Any) -> Any:
        """A call of the driver: a code or a status, 0 for success; what the driver returns, if it is something else."""
        return await self._done(lambda: getattr(self.driver, name)(*arguments))

    async def _done(self, work: Callable[[], Any]) -> Any:
        def run() -> Any:
            try:
                found = work()
            except DriverError as error:
                return error.code
            except TransferError as error:
                self.found = error.completion
                return error.completion.status
            if isinstance(found, Completion):
                self.found = found
                return Status.OK
            if isinstance(found, Ring | WriteBackRing):
                self.ring = found
                return 0
            return 0 if found is None else found

        return await bridge(run)()

    async def poll(self, operation: int) -> int:
        """The status of a completion that is there, or ``Code.PENDING``."""
        return await self._done(lambda: self.driver.poll(operation) or Code.PENDING)

    async def transfer(self, asked: Descriptor) -> int:
        """A blocking transfer with the addresses and lengths of a descriptor; the driver sets tag and flags."""
        suffix = "_pages" if asked.page_list else ""
        if asked.operation == Operation.OFFLOAD:
            place: Any = Pages(asked.destination, asked.pages, asked.page_size) if suffix else asked.destination
            return await self.call(f"offload{suffix}", asked.source, place, asked.raw_bytes, asked.capacity,
                                   asked.coding)
        place = Pages(asked.source, asked.pages, asked.page_size) if suffix else asked.source
        return await self.call(f"prefetch{suffix}", place, asked.destination, asked.packed_bytes, asked.raw_bytes,
                               asked.coding, asked.crc)

    async def succeeds(self, asked: Descriptor) -> None:
        """A blocking transfer, which must succeed."""
        status = await self.transfer(asked)
        assert status == Status.OK, error_text(status)
        self.check(asked)

    def check(self, asked: Descriptor) -> None:
        """Check that the counts of the last result are those of a descriptor, and expect what it writes in memory."""
        right, seen = self.bench.scoreboard.expected(asked)[0], self.found
        assert (seen.operation, seen.bytes_written, seen.crc, seen.nonzero, seen.raw_blocks, seen.pages) == (
            asked.operation, right.bytes_written, right.crc, right.nonzero, right.raw_blocks, right.pages)

    async def submit(self, asked: Descriptor, tag: int) -> int:
        """Queue a descriptor with a tag and without flags, and do not wait."""
        return await self.call("submit", _plain(asked, tag))

    async def wait(self, operation: int) -> tuple[int, int]:
        """Status and tag of the next completion of submitted descriptors."""
        return await self.call("wait", operation), self.found.tag


async def started(dut: Any, page_share: float = 0.5) -> tuple[EngineTestbench, Software]:
    """The testbench of the job, after reset, and the driver, which has found the engine."""
    bench = await ready(dut)
    bench.page_share = page_share
    software = Software(bench)
    assert await software.init() == 0
    return bench, software


class RingMemory:
    """A ring in memory of the processor; what the driver writes there is copied into link memory before the tail is
    written.

    Members
    -------
    entries
        Its size in descriptors.
    place, memory
        Its address on the link, and the processor's memory.
    ring
        What the driver keeps of it, when it was set up.
    """

    ring: Ring

    def __init__(self, software: Software, entries: int) -> None:
        self._bench = bench = software.bench
        self._software = software
        self.entries = entries
        self.place = bench.link_arena.take(entries * RECORD_BYTES, align=RECORD_BYTES)
        self.memory = np.zeros(entries * RECORD_BYTES, np.uint8)

    async def set_up(self, operation: Operation) -> int:
        """Make it the ring of a direction."""
        error = await self._software.call("ring_init", operation, self.memory, self.place, self.entries)
        if not error:
            self.ring = self._software.ring
        return error

    async def call(self, name: str) -> int:
        """Enable or disable it: a call of the driver with the ring."""
        return await self._software.call(name, self.ring)

    async def submit(self, asked: Descriptor, tag: int, publish: bool = True) -> int:
        """Write a descriptor into the ring, and the new tail into the engine if it is to be published."""
        async def copy() -> bool:
            self._bench.link_arena.view(self.place, self.memory.size)[:] = self.memory
            await self._bench.link.load(self.memory, self.place)
            return publish

        tail = self._bench.control.registers[f"{Operation(self.ring.operation).name}_RING_TAIL"].offset
        self._software.before[tail] = copy
        status = await self._software.call("ring_submit", self.ring, _plain(asked, tag))
        self._software.before.pop(tail, None)
        return status


def _plain(asked: Descriptor, tag: int) -> Descriptor:
    """A descriptor with a tag, and without the flags that the driver's own calls do not set."""
    return replace(asked, tag=tag, interrupt=False, check_crc=False, fallback=True, leave_raw=False, narrow=0)


def two_transfers(bench: EngineTestbench, operation: Operation, blocks: int = 0) -> list[Descriptor]:
    """Two transfers of a direction with different lengths: of so many blocks (else four per lane), and of two."""
    size = bench.config.block_bytes
    coding = codings(bench.config)[0]
    tensors = [random_tensor(bench.rng, bench.config, length, coding, narrows=False)
               for length in ((blocks or 4 * bench.config.lanes) * size, 2 * size)]
    if operation is Operation.OFFLOAD:
        return [bench.offload(each, capacity=2 * each.raw.size) for each in tensors]
    return [bench.prefetch(bench.stream(each), each, check_crc=bench.config.crc) for each in tensors]
