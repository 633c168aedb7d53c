"""Lanes of blocks: the remainder by any number of lanes."""

from __future__ import annotations

import random

import pytest

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.transfer.interleave import LaneFinder
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
