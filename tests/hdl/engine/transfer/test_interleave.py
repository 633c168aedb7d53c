"""Lanes of blocks: the remainder by any number of lanes, and the walk through a lane's blocks."""

from __future__ import annotations

import random

import pytest

from cdma.hdl.codec.narrowing.rounding import Narrowing
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.transfer.interleave import BlockWalker, LaneFinder
from tests.hdl.bench import clocked


@pytest.mark.parametrize("lanes", range(1, 17))
def test_lane_of_an_address(lanes: int) -> None:
    config = EngineConfig(lanes=lanes, block_bytes=512, buffer_bytes=1024, address_bits=40)
    dut = LaneFinder(config)
    rng = random.Random(lanes)
    addresses = [0, 512, 512 * lanes, (1 << 40) - 512, *(rng.randrange(1 << 40) for _ in range(8))]

    async def process(ctx) -> None:
        for address in addresses:
            ctx.set(dut.address, address)
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            for _ in range(50):
                if ctx.get(dut.done):
                    break
                await ctx.tick()
            assert ctx.get(dut.done)
            assert ctx.get(dut.lane) == address // 512 % lanes

    clocked(dut, process)


@pytest.mark.parametrize(("lanes", "blocks", "ahead"), [(1, 3, 0), (3, 10, 1), (4, 4, 3), (6, 2, 4), (16, 40, 15)])
def test_blocks_of_a_lane(lanes: int, blocks: int, ahead: int) -> None:
    """``ahead`` blocks of the transfer come before the lane's first."""
    config = EngineConfig(lanes=lanes, block_bytes=1024, buffer_bytes=2048)
    dut = BlockWalker(config)
    base, tail, rng = 77, 345, random.Random(1)

    async def process(ctx) -> None:
        ctx.set(dut.page, base + ahead)
        assert ctx.get(dut.free)
        ctx.set(dut.to_end, (ahead - blocks) % (1 << len(dut.to_end)))
        ctx.set(dut.sequence, ahead)
        ctx.set(dut.tail_bytes, tail)
        how = {"element": 2, "exponents": 1, "narrow": Narrowing.BFLOAT16, "fallback": 1, "leave_raw": 0}
        for name, value in how.items():
            ctx.set(getattr(dut, name), value)
        ctx.set(dut.load, 1)
        await ctx.tick()
        ctx.set(dut.load, 0)
        # What comes later belongs to the next transfer.
        ctx.set(dut.tail_bytes, 7)
        ctx.set(dut.element, 4)
        for number in range(ahead, blocks, lanes):
            while rng.random() < 0.5:
                await ctx.tick()
            assert ctx.get(dut.o.valid) and not ctx.get(dut.free)
            block = ctx.get(dut.o.payload)
            assert block.address == (base + number) * 1024
            assert block.bytes == (tail if number == blocks - 1 else 1024)
            assert block.sequence == number % 256
            assert {name: getattr(block, name) for name in how} == how
            ctx.set(dut.o.ready, 1)
            await ctx.tick()
            ctx.set(dut.o.ready, 0)
        for _ in range(5):
            assert not ctx.get(dut.o.valid) and ctx.get(dut.free)
            await ctx.tick()

    clocked(dut, process)
