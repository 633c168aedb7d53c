"""The reference driver in C, compiled into a shared library, on the simulated registers.

The C functions run in a thread of their own; each access to a register waits there until the simulation has done it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import cocotb
import numpy as np
from cocotb.task import bridge, resume

from golden.engine import RECORD_BYTES, Descriptor, Operation, Status
from verif.common import job
from verif.engine.lite import RegisterError
from verif.engine.memory import Behaviour
from verif.engine.recovery import goes_on
from verif.engine.stimulus import random_tensor
from verif.engine.testbench import EngineTestbench, ready

_CODES = range(-12, 0)
_NO_ENGINE, _FULL, _PENDING, _TIMEOUT, _RING_SIZE, _ARGUMENT, _BUSY, _TAG, _REFUSED, _RING_DISABLED, _RESET = (
    -1, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12)
_OWN_TAGS = 1 << 31
_POLLS = 20_000
_RESULT = ("tag", "status", "operation", "lane", "resp", "crc", "raw_blocks", "bytes", "nonzero", "cycles", "place")
_WRITE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)
_READ = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32)
_WORD, _LONG = ctypes.c_uint32, ctypes.c_uint64


class _Driver:
    """The library's functions, as coroutines.

    The bus reports no errors of writes, as PCIe does not.

    Members
    -------
    after
        What happens once, right after the register at an offset was read: other masters, or the passing of time.
    """

    def __init__(self, bench: EngineTestbench, shift: int = 0, stuck: int | None = None) -> None:
        self._library = ctypes.CDLL(job.load()["library"])
        self._library.error_text.restype = ctypes.c_char_p
        self._library.capacity.restype = _LONG
        self.result = (_LONG * len(_RESULT))()
        self.after: dict[int, Callable[[], Awaitable[None]]] = {}

        @resume
        async def write(offset: int, value: int) -> None:
            with suppress(RegisterError):
                await bench.control.bus.write(offset + shift, value)

        @resume
        async def read(offset: int) -> int:
            value = 1 if offset == stuck else await bench.control.bus.read(offset + shift)
            if offset in self.after:
                await self.after.pop(offset)()
            return value

        self._write, self._read = _WRITE(lambda _, offset, value: write(offset, value)), _READ(
            lambda _, offset: read(offset))

    async def call(self, name: str, *arguments: Any) -> int:
        """Call a function of the library."""
        function = getattr(self._library, name)

        def run() -> int:
            return function(*arguments)

        return await bridge(run)()

    async def init(self) -> int:
        """Look for the engine."""
        return await self.call("init", self._write, self._read)

    async def move(self, name: str, *numbers: int) -> int:
        """A blocking transfer; its result in ``result``."""
        return await self.call(name, *(_LONG(number) for number in numbers), self.result)

    async def transfer(self, asked: Descriptor) -> int:
        """A blocking transfer as a descriptor asks for it; its tag and its flags are the driver's."""
        if asked.operation == Operation.OFFLOAD:
            return await self.move("offload", asked.source, asked.destination, asked.raw_bytes, asked.capacity,
                                   asked.element_bytes)
        return await self.move("prefetch", asked.source, asked.destination, asked.packed_bytes, asked.raw_bytes,
                               asked.element_bytes, asked.crc)

    async def submit(self, asked: Descriptor, tag: int) -> int:
        """Queue a descriptor with a tag, without waiting."""
        return await self.call("submit", int(asked.operation), tag, *map(_LONG, (
            asked.source, asked.destination, asked.raw_bytes, asked.capacity, asked.packed_bytes)), asked.element_bytes)

    async def wait(self, operation: int) -> tuple[int, int]:
        """Status and tag of the next completion of submitted descriptors."""
        return await self.call("wait", int(operation), self.result), self.found()["tag"]

    def found(self) -> dict[str, int]:
        """The last result."""
        return dict(zip(_RESULT, self.result, strict=True))

    def text(self, error: int) -> str:
        """The sentence for an error."""
        return self._library.error_text(error).decode()


@cocotb.test()
async def finds_the_engine(dut: Any) -> None:
    """Initialising reads the configuration of the engine; without an engine it returns an error."""
    bench = await ready(dut)
    driver = _Driver(bench)
    assert await driver.init() == 0
    config = bench.config
    built = [await driver.call("built", number) for number in range(9)]
    assert built == [config.lanes, config.beat_bytes, config.link_beat_bytes, config.address_bits, config.block_bytes,
                     config.queue_depth, config.raw_fallback, config.crc, config.narrowing]
    assert await _Driver(bench, shift=4).init() == _NO_ENGINE


@cocotb.test()
async def there_and_back(dut: Any) -> None:
    """Blocking offloads and prefetches, all counts compared with golden."""
    bench = await ready(dut)
    await bench.behave(Behaviour(latency=30, stalls=0.2))
    driver = _Driver(bench)
    assert await driver.init() == 0
    for _ in range(4):
        bench.clear()
        tensor = random_tensor(bench.rng, bench.config)
        room = await driver.call("capacity", _LONG(tensor.raw.size), tensor.element_bytes)
        assert room >= bench.stream(tensor).size
        offload = bench.offload(tensor, capacity=room)
        await bench.load()
        status = await driver.move("offload", offload.source, offload.destination, tensor.raw.size, room,
                                   tensor.element_bytes)
        assert status == Status.OK, driver.text(status)
        packed = driver.found()
        right = bench.scoreboard.expected(offload)[0]
        assert (packed["bytes"], packed["crc"], packed["nonzero"], packed["raw_blocks"]) == (
            right.bytes_written, right.crc, right.nonzero, right.raw_blocks)
        await bench.compare()
        destination = bench.device_arena.take(tensor.raw.size)
        status = await driver.move("prefetch", offload.destination, destination, packed["bytes"], tensor.raw.size,
                                   tensor.element_bytes, packed["crc"])
        assert status == Status.OK, driver.text(status)
        assert driver.found()["bytes"] == tensor.raw.size
        bench.device_arena.view(destination, tensor.raw.size)[:] = tensor.raw
        await bench.compare()


@cocotb.test()
async def errors(dut: Any) -> None:
    """Statuses come back as they are; a full queue and an empty one say so; every code has its sentence."""
    bench = await ready(dut)
    driver = _Driver(bench)
    assert await driver.init() == 0
    tensor = random_tensor(bench.rng, bench.config)
    offload = bench.offload(tensor)
    await bench.load()
    status = await driver.move("offload", offload.source, offload.destination, tensor.raw.size, 0, tensor.element_bytes)
    assert status == Status.DESTINATION_TOO_SMALL
    assert "capacity" in driver.text(status)
    status = await driver.move("offload", offload.source + 1, offload.destination, tensor.raw.size, 1 << 20,
                               tensor.element_bytes)
    assert status == Status.BAD_SOURCE
    assert await driver.call("poll", int(Operation.OFFLOAD), driver.result) == _PENDING
    texts = {driver.text(code) for code in [*(each.value for each in Status), *_CODES]}
    assert len(texts) == len(Status) + len(_CODES)
    assert driver.text(0x99) == driver.text(_CODES[0] - 1) == "unknown error"
    assert await driver.submit(offload, _OWN_TAGS) == _TAG
    # Completions stop a channel; then the queue fills.
    bad = replace(offload, element_bytes=7)
    submitted = 0
    while await driver.submit(bad, submitted) == 0:
        submitted += 1
        assert submitted <= 2 * bench.config.queue_depth + 1
        await bench.control.wait(100)
    assert await driver.submit(bad, submitted) == _FULL
    assert await driver.transfer(offload) == _BUSY
    for number in range(submitted):
        assert await driver.wait(Operation.OFFLOAD) == (Status.BAD_ELEMENT, number)
    assert await driver.transfer(offload) == Status.OK


def _pair(bench: EngineTestbench, operation: Operation, blocks: int = 0) -> list[Descriptor]:
    """Two transfers of a direction with different counts."""
    size = bench.config.block_bytes
    element = bench.config.element_bytes[0]
    tensors = [random_tensor(bench.rng, bench.config, length, element)
               for length in ((blocks or 4 * bench.config.lanes) * size, 2 * size)]
    if operation is Operation.OFFLOAD:
        return [bench.offload(each, capacity=2 * each.raw.size) for each in tensors]
    return [bench.prefetch(bench.stream(each), each, check_crc=bench.config.crc) for each in tensors]


def _own(bench: EngineTestbench, driver: _Driver, asked: Descriptor) -> None:
    """The last result is that of a descriptor, by all counts; memory must be as if it was done."""
    right, seen = bench.scoreboard.expected(asked)[0], driver.found()
    assert (seen["operation"], seen["bytes"], seen["crc"], seen["nonzero"], seen["raw_blocks"]) == (
        asked.operation, right.bytes_written, right.crc, right.nonzero, right.raw_blocks)


@cocotb.test()
async def a_timeout_in_mid_transfer(dut: Any) -> None:
    """After a blocking call gave up, the next one returns its own result, and nobody gets the late one."""
    bench = await ready(dut)
    driver = _Driver(bench)
    assert await driver.init() == 0
    for operation in Operation:
        await bench.behave(Behaviour(latency=200, bandwidth=0.2))
        bench.clear()
        first, second = _pair(bench, operation)
        await bench.load()
        await driver.call("set_polls", 2)
        assert await driver.transfer(first) == _TIMEOUT
        assert await bench.control.read("STATUS") & 1 << operation - 1, "the transfer is not in the middle"
        await driver.call("set_polls", _POLLS)
        assert await driver.transfer(second) == Status.OK
        bench.scoreboard.expected(first)
        _own(bench, driver, second)
        assert await driver.call("late", int(operation)) == 0
        await bench.compare()
        # A late completion is not taken for that of a submitted descriptor either.
        await driver.call("set_polls", 2)
        assert await driver.transfer(first) == _TIMEOUT
        assert await driver.call("late", int(operation)) == 1
        await driver.call("set_polls", _POLLS)
        assert await driver.submit(second, 77) == 0
        assert await driver.wait(operation) == (Status.OK, 77)
        _own(bench, driver, second)
        # Several in a row, followed by submitted descriptors.
        await driver.call("set_polls", 1)
        for _ in range(3):
            assert await driver.transfer(second) == _TIMEOUT
        await driver.call("set_polls", _POLLS)
        for tag in (78, 79):
            assert await driver.submit(replace(second, element_bytes=7), tag) == 0
        for tag in (78, 79):
            assert await driver.wait(operation) == (Status.BAD_ELEMENT, tag)
        assert await driver.transfer(second) == Status.OK
        await bench.compare()


@cocotb.test()
async def draining(dut: Any) -> None:
    """After cdma_drain no buffer of the direction is in use, no completion is left, and the other direction went on."""
    bench = await ready(dut)
    driver = _Driver(bench)
    assert await driver.init() == 0
    for operation in Operation:
        await bench.behave(Behaviour(latency=200, bandwidth=0.2))
        bench.clear()
        first, second = _pair(bench, operation)
        other, _ = _pair(bench, Operation(3 - operation))
        await bench.load()
        assert await driver.submit(other, 5) == 0
        await driver.call("set_polls", 2)
        assert await driver.transfer(first) == _TIMEOUT
        await driver.call("set_polls", _POLLS)
        for tag in range(3):
            assert await driver.submit(second, tag) == 0
        assert await driver.call("drain", int(operation)) == 0
        channel = bench.control.channels[operation]
        assert await channel.read("COMPLETIONS") == 0
        assert (await channel.fields("QUEUE"))["LEVEL"] == 0
        assert not await bench.control.read("STATUS") & 1 << operation - 1
        assert await driver.call("late", int(operation)) == 0
        for descriptor in (first, second):
            bench.scoreboard.lost(descriptor)
        assert await driver.wait(other.operation) == (Status.OK, 5)
        _own(bench, driver, other)
        await bench.quiet()
        await bench.compare()
        assert await driver.transfer(second) == Status.OK
        _own(bench, driver, second)
        assert await driver.call("drain", int(operation)) == 0      # with nothing to do


class _RingMemory:
    """A ring as the processor sees it: the bench copies it into link memory between a descriptor and the tail."""

    def __init__(self, bench: EngineTestbench, entries: int) -> None:
        self._bench = bench
        self.entries = entries
        self.place = bench.link_arena.take(entries * RECORD_BYTES, align=RECORD_BYTES)
        self._words = np.zeros(entries * RECORD_BYTES // 4, np.uint32)
        self.address = ctypes.c_void_p(self._words.ctypes.data)

    async def set_up(self, driver: _Driver, operation: Operation) -> int:
        """Initialise it."""
        return await driver.call("ring_init", int(operation), self.address, _LONG(self.place), self.entries)

    async def submit(self, driver: _Driver, asked: Descriptor, tag: int, publish: bool = True) -> int:
        """Write a descriptor into the ring, and move the tail."""
        status = await driver.call("ring_fill", tag, *map(_LONG, (
            asked.source, asked.destination, asked.raw_bytes, asked.capacity)), asked.element_bytes)
        content = self._words.view(np.uint8)
        self._bench.link_arena.view(self.place, content.size)[:] = content
        await self._bench.link.load(content, self.place)
        if publish and status == 0:
            await driver.call("ring_publish")
        return status


@cocotb.test()
async def ring_and_window(dut: Any) -> None:
    """The ring takes the place that the driver has just seen free: the driver says that the queue is full."""
    bench = await ready(dut)
    driver = _Driver(bench)
    assert await driver.init() == 0
    await bench.behave(Behaviour(latency=100, bandwidth=0.1))
    channel = bench.control.channels[Operation.OFFLOAD]
    long, short = _pair(bench, Operation.OFFLOAD, blocks=16 * bench.config.lanes)
    ring = _RingMemory(bench, 4)
    await bench.load()
    assert await ring.set_up(driver, Operation.OFFLOAD) == 0
    assert await ring.submit(driver, short, 1000, publish=False) == 0
    assert await driver.submit(long, 0) == 0
    while (await channel.fields("QUEUE"))["LEVEL"]:
        await bench.control.wait(10)
    depth = bench.config.queue_depth
    for tag in range(1, depth):
        assert await driver.submit(short, tag) == 0

    async def overtake() -> None:
        await channel.write("RING_TAIL", 1)
        while await channel.read("RING_HEAD") != 1:
            await bench.control.wait(10)

    queue = bench.control.registers["OFFLOAD_QUEUE"].offset
    driver.after[queue] = overtake
    assert await driver.submit(short, 2000) == _FULL
    assert queue not in driver.after, "the driver did not ask for a free place"
    assert (await channel.fields("COMPLETIONS"))["COUNT"] == 0, "the long transfer is done: it was to fill the queue"
    for tag in (*range(depth), 1000):
        assert await driver.wait(Operation.OFFLOAD) == (Status.OK, tag)
    assert await driver.submit(short, 2001) == 0
    assert await driver.wait(Operation.OFFLOAD) == (Status.OK, 2001)
    assert await driver.call("poll", int(Operation.OFFLOAD), driver.result) == _PENDING
    for descriptor in (long, short):
        bench.scoreboard.expected(descriptor)
    await bench.compare()


@cocotb.test()
async def a_ring_changed_in_mid_fetch(dut: Any) -> None:
    """While an entry is on its way a ring is replaced by another: the engine reads the new one, and the old no more."""
    bench = await ready(dut)
    driver = _Driver(bench)
    assert await driver.init() == 0
    await bench.behave(Behaviour(), Behaviour(latency=250))
    channel = bench.control.channels[Operation.OFFLOAD]
    _, short = _pair(bench, Operation.OFFLOAD)
    rings = [_RingMemory(bench, entries) for entries in (8, 4, 16)]
    await bench.load()
    for number, ring in enumerate(rings):
        assert await ring.set_up(driver, Operation.OFFLOAD) == 0
        assert await channel.read("RING_BASE_LO") == ring.place % (1 << 32)
        assert await channel.read("RING_BASE_HI") == ring.place >> 32
        assert await channel.read("RING_SIZE") == ring.entries
        for entry in range(3):
            assert await ring.submit(driver, short, 10 * number + entry, publish=entry == 2) == 0
        before = (await bench.link.traffic(0)).read_bursts
        await driver.call("ring_publish")
        while (await bench.link.traffic(0)).read_bursts == before:
            await bench.control.wait(1)
    # Of each ring that was replaced, the entry that was on its way was still done; of the last, all are.
    for tag in (0, 10, 20, 21, 22):
        assert await driver.wait(Operation.OFFLOAD) == (Status.OK, tag)
    assert await driver.call("poll", int(Operation.OFFLOAD), driver.result) == _PENDING
    assert await driver.transfer(short) == Status.OK
    bench.scoreboard.expected(short)
    await bench.compare()
    # A fetch that takes longer than the driver waits.
    await driver.call("set_polls", 2)
    await bench.behave(Behaviour(), Behaviour(latency=2000))
    assert await ring.submit(driver, short, 30) == 0
    assert await rings[0].set_up(driver, Operation.OFFLOAD) == _TIMEOUT
    await driver.call("set_polls", _POLLS)
    assert await driver.wait(Operation.OFFLOAD) == (Status.OK, 30)


@cocotb.test()
async def rings_that_cannot_be(dut: Any) -> None:
    """Arguments that are wrong are refused before a register is written, and a ring that is not enabled says so."""
    bench = await ready(dut)
    driver = _Driver(bench)
    assert await driver.init() == 0
    ring = _RingMemory(bench, 4)
    _, short = _pair(bench, Operation.OFFLOAD)
    await bench.load()
    top = 1 << bench.config.address_bits
    for operation, address, place, entries, error in (
            (0, ring.address, ring.place, 4, _ARGUMENT), (3, ring.address, ring.place, 4, _ARGUMENT),
            (1, None, ring.place, 4, _ARGUMENT),
            *((1, ring.address, ring.place, entries, _RING_SIZE) for entries in (0, 1, 3, 6, 1 << 17, 1 << 31)),
            (1, ring.address, ring.place + 32, 4, _RING_SIZE),
            (1, ring.address, top - 64, 2, _RING_SIZE), (1, ring.address, top - (1 << 22) + 64, 1 << 16, _RING_SIZE),
            *([(1, ring.address, top, 2, _RING_SIZE)] if bench.config.address_bits < 64 else [])):
        assert await driver.call("ring_init", operation, address, _LONG(place), entries) == error, (place, entries)
    channel = bench.control.channels[Operation.OFFLOAD]
    assert [await channel.read(f"RING_{name}") for name in ("BASE_LO", "BASE_HI", "SIZE", "CONTROL")] == [0, 0, 2, 0]
    assert await driver.call("ring_init", 1, ring.address, _LONG(top - 128), 2) == 0
    assert await ring.set_up(driver, Operation.OFFLOAD) == 0
    assert await ring.submit(driver, short, _OWN_TAGS) == _TAG
    assert await driver.call("ring_disable") == 0
    assert await ring.submit(driver, short, 1) == _RING_DISABLED
    assert await driver.call("ring_enable") == 0
    assert await ring.submit(driver, short, 2) == 0
    assert await driver.transfer(short) == _BUSY
    assert await driver.wait(Operation.OFFLOAD) == (Status.OK, 2)
    # Entries that were not read are forgotten with their ring.
    assert await driver.call("ring_disable") == 0
    await channel.write("RING_TAIL", 2)
    assert await driver.call("drain", int(Operation.OFFLOAD)) == 0
    assert await driver.transfer(short) == _BUSY
    assert await ring.set_up(driver, Operation.OFFLOAD) == 0
    assert await driver.transfer(short) == Status.OK
    # Where the driver is wrong about the addresses that were built, the engine refuses the ring.
    await driver.call("set_address_bits", 64)
    if bench.config.address_bits < 64:
        assert await driver.call("ring_init", 1, ring.address, _LONG(top - 64), 2) == _REFUSED
        assert await driver.call("ring_init", 1, ring.address, _LONG(top), 2) == _REFUSED
        assert await channel.read("RING_CONTROL") == 0
    assert await driver.call("reset") == 0
    assert await ring.submit(driver, short, 3) == _RING_DISABLED


@cocotb.test()
async def ring(dut: Any) -> None:
    """Descriptors through a ring in link memory, around its end."""
    bench = await ready(dut)
    driver = _Driver(bench)
    assert await driver.init() == 0
    ring = _RingMemory(bench, 4)
    assert await ring.set_up(driver, Operation.OFFLOAD) == 0
    for number in range(2 * ring.entries + 1):
        tensor = random_tensor(bench.rng, bench.config, most_blocks=2)
        offload = bench.offload(tensor)
        await bench.load()
        assert await ring.submit(driver, offload, number) == 0
        assert await driver.wait(Operation.OFFLOAD) == (Status.OK, number)
        bench.scoreboard.expected(offload)
        await bench.compare()


@cocotb.test()
async def time_limits(dut: Any) -> None:
    """Cycles become the power of two that holds them, the largest at most."""
    bench = await ready(dut)
    driver = _Driver(bench)
    assert await driver.init() == 0
    for link, lanes, limit in ((0, 1, 0x0000), (2, 3, 0x0201), (1 << 20, (1 << 20) + 1, 0x1514),
                               (1 << 31, (1 << 64) - 1, 0x1F1F)):
        await driver.call("set_time_limit", _LONG(link), _LONG(lanes))
        assert await bench.control.read("TIME_LIMIT") == limit


@cocotb.test()
async def starts_on_a_silent_link(dut: Any) -> None:
    """The engine hangs on a link that does not answer, without a limit: a new driver gets it back with a reset, and
    knows when the memory of what hung is free."""
    bench = await ready(dut)
    driver = _Driver(bench)
    assert await driver.init() == 0
    tensor = random_tensor(bench.rng, bench.config)
    offload = bench.offload(tensor)
    await bench.load()
    await bench.link.silence(("aw", "w"))
    await bench.control.write("TIME_LIMIT", 0)
    await bench.control.channels[Operation.OFFLOAD].push(offload)
    await bench.control.wait(20_000)
    assert not await bench.control.channels[Operation.OFFLOAD].read("COMPLETIONS")
    assert await driver.init() == 0
    for channel in bench.control.channels.values():
        channel.forget()
    assert not await bench.control.read("STATUS") & 0xFFFF
    assert await driver.call("isolated", int(Operation.OFFLOAD)) == 1
    assert await driver.call("isolated", int(Operation.PREFETCH)) == 0
    await bench.link.silence(())
    for _ in range(1000):
        if not await driver.call("isolated", int(Operation.OFFLOAD)):
            break
    bench.scoreboard.lost(offload)
    await goes_on(bench)


@cocotb.test()
async def a_reset_that_does_not_end(dut: Any) -> None:
    """The driver does not wait for ever."""
    bench = await ready(dut)
    driver = _Driver(bench, stuck=bench.control.registers["CONTROL"].offset)
    assert await driver.init() == _RESET
    assert "reset" in driver.text(_RESET)
