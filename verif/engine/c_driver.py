"""The reference driver, in C or in another language, on the simulated registers.

In C it is a shared library. Its functions run in a thread of their own; each access to a register waits there until the
simulation has done it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np
from cocotb.task import bridge, resume

from cdma.golden.engine import RECORD_BYTES, Descriptor, Operation, Status
from cdma.hdl.generate.handover.codes import Code
from cdma.verif.common import job
from cdma.verif.engine.lite import RegisterError
from cdma.verif.engine.stimulus import codings, random_tensor
from cdma.verif.engine.testbench import EngineTestbench

__all__ = ["LONG", "OWN_TAGS", "POLLS", "CDriver", "Code", "ReferenceDriver", "RingMemory", "both_work", "check_result",
           "reference", "two_transfers"]

OWN_TAGS = 1 << 31
"""The first tag of the driver's own."""

POLLS = 20_000
"""How often the driver reads a register before it gives up, after ``init``."""

LONG = ctypes.c_uint64
"""Type of the arguments that have 64 bits."""

_RESULT = ("tag", "status", "operation", "lane", "resp", "crc", "raw_blocks", "bytes", "nonzero", "cycles", "place",
           "pages")
_WRITE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)
_READ = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32)


class ReferenceDriver:
    """The calls of the driver as coroutines, by the names of ``cdma_driver.h`` without their prefix.

    As on PCIe, the driver does not see that the engine answers a write with an error.

    Parameters
    ----------
    bench
        The engine.
    shift
        Added to the offset of every access, as if the engine had another address.
    stuck
        Offset of a register that always reads 1.

    Members
    -------
    result
        The last result, in the order of ``struct cdma_result``.
    after
        By offset of a register: called once, directly after it was read.
    """

    def __init__(self, bench: EngineTestbench, shift: int = 0, stuck: int | None = None) -> None:
        self.result = (LONG * len(_RESULT))()
        self.after: dict[int, Callable[[], Awaitable[None]]] = {}

        @resume
        async def write(offset: int, value: int) -> None:
            with suppress(RegisterError):
                await bench.control.bus.write(offset + shift, value)
            for channel in bench.control.channels.values():
                channel.share()

        @resume
        async def read(offset: int) -> int:
            value = 1 if offset == stuck else await bench.control.bus.read(offset + shift)
            if offset in self.after:
                await self.after.pop(offset)()
            return value

        self.write, self.read = write, read

    def function(self, name: str) -> Callable[..., int]:
        """A function of the driver, which gives a status or a code."""
        raise NotImplementedError

    def text(self, error: int) -> str:
        """The sentence for an error."""
        raise NotImplementedError

    async def init(self) -> int:
        """Find the engine and reset it."""
        return await self.call("init")

    async def call(self, name: str, *arguments: Any) -> int:
        """Call a function of the driver."""
        function = self.function(name)

        def run() -> int:
            return function(*arguments)

        return await bridge(run)()

    async def move(self, name: str, *numbers: int) -> int:
        """A blocking transfer; gives its status."""
        return await self.call(name, *(LONG(number) for number in numbers), self.result)

    async def transfer(self, asked: Descriptor) -> int:
        """A blocking transfer with the addresses and lengths of a descriptor; the driver sets tag and flags."""
        pages = (asked.pages, asked.page_size) if asked.page_list else ()
        suffix = "_pages" if asked.page_list else ""
        if asked.operation == Operation.OFFLOAD:
            return await self.move(f"offload{suffix}", asked.source, asked.destination, *pages, asked.raw_bytes,
                                   asked.capacity, asked.coding)
        return await self.move(f"prefetch{suffix}", asked.source, *pages, asked.destination, asked.packed_bytes,
                               asked.raw_bytes, asked.coding, asked.crc)

    async def submit(self, asked: Descriptor, tag: int) -> int:
        """Queue a descriptor with a tag, without waiting."""
        return await self.call("submit", int(asked.operation), tag, *map(LONG, (
            asked.source, asked.destination, asked.raw_bytes, asked.capacity, asked.packed_bytes)), asked.coding,
            asked.pages, asked.page_size)

    async def wait(self, operation: int) -> tuple[int, int]:
        """Status and tag of the next completion of submitted descriptors."""
        return await self.call("wait", int(operation), self.result), self.found()["tag"]

    def found(self) -> dict[str, int]:
        """The last result by name."""
        return dict(zip(_RESULT, self.result, strict=True))


class CDriver(ReferenceDriver):
    """The functions of the library whose path is in the job; for the parameters see :class:`ReferenceDriver`."""

    def __init__(self, bench: EngineTestbench, shift: int = 0, stuck: int | None = None) -> None:
        super().__init__(bench, shift, stuck)
        self._library = ctypes.CDLL(job.load()["library"])
        self._library.error_text.restype = ctypes.c_char_p
        self._library.capacity.restype = LONG
        self._access = (_WRITE(lambda _, offset, value: self.write(offset, value)),
                        _READ(lambda _, offset: self.read(offset)))

    def function(self, name: str) -> Callable[..., int]:
        function = getattr(self._library, name)
        return (lambda: function(*self._access)) if name == "init" else function

    def text(self, error: int) -> str:
        return self._library.error_text(error).decode()


def reference(bench: EngineTestbench, shift: int = 0, stuck: int | None = None) -> ReferenceDriver:
    """The driver of the job: a library in C, or a class that it names as ``module:class``."""
    module, _, name = job.load().get("driver", "").partition(":")
    kind = getattr(import_module(module), name) if module else CDriver
    return kind(bench, shift, stuck)


class RingMemory:
    """A ring in memory of the processor; :meth:`submit` copies it into link memory before the tail is written.

    Members
    -------
    entries
        Its size in descriptors.
    place, address
        Its address on the link, and for the processor.
    """

    def __init__(self, bench: EngineTestbench, entries: int) -> None:
        self._bench = bench
        self.entries = entries
        self.place = bench.link_arena.take(entries * RECORD_BYTES, align=RECORD_BYTES)
        self._words = np.zeros(entries * RECORD_BYTES // 4, np.uint32)
        self.address = ctypes.c_void_p(self._words.ctypes.data)

    async def set_up(self, driver: ReferenceDriver, operation: Operation) -> int:
        """Make it the ring of a direction."""
        return await driver.call("ring_init", int(operation), self.address, LONG(self.place), self.entries)

    async def submit(self, driver: ReferenceDriver, asked: Descriptor, tag: int, publish: bool = True) -> int:
        """Write a descriptor into the ring, and the new tail into the engine if it is to be published."""
        status = await driver.call("ring_fill", tag, *map(LONG, (
            asked.source, asked.destination, asked.raw_bytes, asked.capacity)), asked.coding, asked.pages,
            asked.page_size)
        content = self._words.view(np.uint8)
        self._bench.link_arena.view(self.place, content.size)[:] = content
        await self._bench.link.load(content, self.place)
        if publish and status == 0:
            await driver.call("ring_publish")
        return status


def two_transfers(bench: EngineTestbench, operation: Operation, blocks: int = 0) -> list[Descriptor]:
    """Two transfers of a direction with different lengths: of so many blocks (else four per lane), and of two."""
    size = bench.config.block_bytes
    coding = codings(bench.config)[0]
    tensors = [random_tensor(bench.rng, bench.config, length, coding, narrows=False)
               for length in ((blocks or 4 * bench.config.lanes) * size, 2 * size)]
    if operation is Operation.OFFLOAD:
        return [bench.offload(each, capacity=2 * each.raw.size) for each in tensors]
    return [bench.prefetch(bench.stream(each), each, check_crc=bench.config.crc) for each in tensors]


async def both_work(bench: EngineTestbench, driver: ReferenceDriver) -> None:
    """Run a transfer of each direction, which must succeed, and compare all memory."""
    for operation in Operation:
        bench.clear()
        asked, _ = two_transfers(bench, operation)
        await bench.load()
        assert await driver.transfer(asked) == Status.OK
        check_result(bench, driver, asked)
        await bench.compare()


def check_result(bench: EngineTestbench, driver: ReferenceDriver, asked: Descriptor) -> None:
    """Check that the counts of the last result are those of a descriptor, and expect what it writes in memory."""
    right, seen = bench.scoreboard.expected(asked)[0], driver.found()
    assert (seen["operation"], seen["bytes"], seen["crc"], seen["nonzero"], seen["raw_blocks"], seen["pages"]) == (
        asked.operation, right.bytes_written, right.crc, right.nonzero, right.raw_blocks, right.pages)
