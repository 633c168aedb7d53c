"""The reference driver in C, compiled into a shared library, on the simulated registers.

The C functions run in a thread of their own; each access to a register waits there until the simulation has done it.
"""

from __future__ import annotations

import ctypes
from typing import Any

import cocotb
import numpy as np
from cocotb.task import bridge, resume

from golden.engine import RECORD_BYTES, Operation, Status
from verif.common import job
from verif.engine.memory import Behaviour
from verif.engine.stimulus import random_tensor
from verif.engine.testbench import EngineTestbench, ready

_FULL, _PENDING, _RING_SIZE, _NO_ENGINE = -3, -4, -6, -1
_RESULT = ("tag", "status", "operation", "lane", "resp", "crc", "raw_blocks", "bytes", "nonzero", "cycles", "place")
_WRITE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)
_READ = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32)
_WORD, _LONG = ctypes.c_uint32, ctypes.c_uint64


class _Driver:
    """The library's functions, as coroutines."""

    def __init__(self, bench: EngineTestbench, shift: int = 0) -> None:
        self._library = ctypes.CDLL(job.load()["library"])
        self._library.error_text.restype = ctypes.c_char_p
        self._library.capacity.restype = _LONG
        self.result = (_LONG * len(_RESULT))()

        @resume
        async def write(offset: int, value: int) -> None:
            await bench.control.bus.write(offset + shift, value)

        @resume
        async def read(offset: int) -> int:
            return await bench.control.bus.read(offset + shift)

        self._write, self._read = _WRITE(lambda _, offset, value: write(offset, value)), _READ(
            lambda _, offset: read(offset))
        self.ring: np.ndarray | None = None

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

    def found(self) -> dict[str, int]:
        """The last result."""
        return dict(zip(_RESULT, self.result, strict=True))

    def text(self, error: int) -> str:
        """The sentence for an error."""
        return self._library.error_text(error).decode()


@cocotb.test()
async def finds_the_engine(dut: Any) -> None:
    """It reads what was built; where there is none it says so."""
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
    texts = {driver.text(code) for code in [*(each.value for each in Status), *range(-6, 0)]}
    assert len(texts) == len(Status) + 6
    assert driver.text(0x99) == "unknown error"
    # Completions stop a channel; then the queue fills.
    submitted = 0
    while await driver.call("submit_bad", submitted) == 0:
        submitted += 1
        assert submitted <= 2 * bench.config.queue_depth + 1
        await bench.control.wait(100)
    assert await driver.call("submit_bad", submitted) == _FULL
    for number in range(submitted):
        assert await driver.call("wait", int(Operation.OFFLOAD), driver.result) == Status.BAD_ELEMENT
        assert driver.found()["tag"] == number


@cocotb.test()
async def ring(dut: Any) -> None:
    """Descriptors through a ring in link memory, around its end."""
    bench = await ready(dut)
    driver = _Driver(bench)
    assert await driver.init() == 0
    entries = 4
    place = bench.link_arena.take(entries * RECORD_BYTES, align=RECORD_BYTES)
    memory = np.zeros(entries * RECORD_BYTES // 4, np.uint32)
    address = ctypes.c_void_p(memory.ctypes.data)
    assert await driver.call("ring_init", address, _LONG(place), 3) == _RING_SIZE
    assert await driver.call("ring_init", address, _LONG(place), entries) == 0
    for number in range(2 * entries + 1):
        tensor = random_tensor(bench.rng, bench.config, most_blocks=2)
        offload = bench.offload(tensor)
        await bench.load()
        # The processor's memory is the link's: what the driver writes there is seen before the tail moves.
        assert await driver.call("ring_fill", number, *(_LONG(each) for each in (
            offload.source, offload.destination, tensor.raw.size, offload.capacity)), tensor.element_bytes) == 0
        bench.link_arena.view(place, memory.nbytes)[:] = memory.view(np.uint8)
        await bench.link.load(memory.view(np.uint8), place)
        await driver.call("ring_publish")
        assert await driver.call("wait", int(Operation.OFFLOAD), driver.result) == Status.OK
        assert driver.found()["tag"] == number
        bench.scoreboard.expected(offload)
        await bench.compare()
