"""What control has of write-back rings: refused writes by kind, and a window without completions."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from cdma.golden.engine import Completion
from cdma.hdl.engine.transfer.records import Status
from tests.hdl.engine.axi.memory import Memory
from tests.hdl.engine.control.bench import CONFIG, Bench, good

_SLVERR = 2
_DOORBELL, _POP, _RING, _WRITE_BACK = 1, 2, 4, 8


@pytest.mark.parametrize(("name", "other"), [("OFFLOAD", "PREFETCH"), ("PREFETCH", "OFFLOAD")])
def test_refused_writes_leave_a_bit_of_their_kind(name: str, other: str) -> None:
    bench = Bench(CONFIG.replace(write_back=True))
    bench.paths[name.lower()].cycles = 100000

    async def driver(ctx: Any) -> None:
        async def refused(register: str, value: int, bit: int) -> None:
            await bench.write(ctx, f"{name}_{register}", value, response=_SLVERR)
            assert await bench.read(ctx, f"{name}_REFUSED") == bit, register
            assert await bench.read(ctx, f"{other}_REFUSED") == 0, register
            await bench.write(ctx, f"{name}_REFUSED", bit)

        async def all_kinds() -> None:
            await refused("COMPLETION_POP", 1, _POP)
            await refused("RING_SIZE", 3, _RING)
            await refused("WRITE_BACK_SIZE", 3, _WRITE_BACK)
            await refused("DOORBELL", 1, _DOORBELL)

        await bench.push(ctx, name.lower(), good(1 + (name == "PREFETCH")))
        await bench.until(ctx, f"{name}_QUEUE", 0xFF, 0)
        for _ in range(bench.config.queue_depth):
            await bench.write(ctx, f"{name}_DOORBELL", 1)
        await all_kinds()
        await bench.write(ctx, f"{name}_WRITE_BACK_CONTROL", 1)
        await refused("WRITE_BACK_BASE_LO", 0, _WRITE_BACK)
        await all_kinds()

    bench.run(driver)


def test_completions_are_in_the_window_until_a_ring_takes_them() -> None:
    """A ring that is enabled takes what waits; the window shows nothing then, and the other direction's is its own."""
    bench = Bench(CONFIG.replace(write_back=True))

    async def driver(ctx: Any) -> None:
        for number, name in enumerate(("OFFLOAD", "PREFETCH"), 1):
            await bench.push(ctx, name.lower(), good(number, tag=70 + number))
            await bench.until(ctx, f"{name}_COMPLETIONS", 0xFF, 1)
            assert await bench.read(ctx, f"{name}_COMPLETION_0") == 70 + number
            assert await bench.read(ctx, f"{name}_WRITE_BACK_STATUS") & 0xFF == 1
        # No memory takes the record, so it stays.
        await bench.write(ctx, "OFFLOAD_WRITE_BACK_CONTROL", 1)
        assert await bench.read(ctx, "OFFLOAD_COMPLETIONS") == 0
        assert await bench.read(ctx, "OFFLOAD_COMPLETION_0") == 0
        assert await bench.read(ctx, "PREFETCH_COMPLETIONS") == 1
        assert await bench.read(ctx, "PREFETCH_COMPLETION_0") == 72
        await bench.write(ctx, "PREFETCH_COMPLETION_POP", 1)
        assert await bench.read(ctx, "PREFETCH_WRITE_BACK_STATUS") & 0xFF == 0

    bench.run(driver)


def test_records_in_memory_are_the_completions() -> None:
    """But for the last word, which has the phase, 1 in the first pass, and the record's place in the ring."""
    bench = Bench(CONFIG.replace(write_back=True))
    memory = Memory(bench.dut.records, bench.config.link_beat_bytes, random.Random(1), latency=3)
    places = {"offload": 0x1000, "prefetch": 0x2000}

    async def driver(ctx: Any) -> None:
        for direction, (name, base) in enumerate(places.items(), 1):
            bench.paths[name].reports = [{"status": Status.OK, "bytes": 0x123456789, "crc": 0xCAFE0000 + number,
                                          "raw_blocks": 5, "nonzero": 0x987654321} for number in range(2)]
            await bench.write(ctx, f"{name.upper()}_WRITE_BACK_BASE_LO", base)
            await bench.write(ctx, f"{name.upper()}_WRITE_BACK_SIZE", 4)
            await bench.write(ctx, f"{name.upper()}_WRITE_BACK_CONTROL", 1)
            for number in range(2):
                await bench.push(ctx, name, good(direction, tag=0x12340000 * direction + number))
                await bench.until(ctx, f"{name.upper()}_WRITE_BACK_TAIL", 0xFFFF, number + 1)
                record = bytes(memory.content[base + 64 * number:base + 64 * number + 64])
                assert struct.unpack("<I", record[60:]) == (number << 16 | 1,)
                found = Completion.unpack(record[:60] + bytes(4))
                assert (found.tag, found.status, found.operation) == (0x12340000 * direction + number, 0, direction)
                assert (found.bytes_written, found.crc) == (0x123456789, 0xCAFE0000 + number)
                assert (found.raw_blocks, found.nonzero) == (5, 0x987654321)

    bench.run(driver, memory.write)
