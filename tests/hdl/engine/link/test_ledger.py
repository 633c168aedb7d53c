"""Room and totals against plain sums, where their parts meet; a block in every cycle."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module, Signal

from cdma.hdl.common.counters import count_down, count_up
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.link.ledger import Ledger
from tests.hdl.bench import clocked

_CONFIG = EngineConfig()


@pytest.mark.parametrize("capacity", [0, 3, 4, 8191, 8192, 8195, 8196, 3 * 8192 + 400, 4 * (2047 * 5), 1 << 26 | 13])
def test_room_is_exact(capacity: int) -> None:
    """Up to the first block that does not fit, and no further: its number, and totals of those before."""
    rng = random.Random(capacity)
    most = 2047 if capacity > 1 << 20 else rng.choice([20, 500, 2047])
    dut = Ledger(_CONFIG)

    async def process(ctx: Any) -> None:
        ctx.set(dut.start, 1)
        ctx.set(dut.capacity, capacity)
        await ctx.tick()
        ctx.set(dut.start, 0)
        left, blocks, nonzero, raw_blocks = capacity // 4, 0, 0, 0
        for _ in range(30_000):
            facts = {"block_words": rng.choice([most, rng.randint(1, most)]), "nonzero": rng.randint(0, 4096),
                     "raw": rng.random() < 0.5}
            # Sometimes just what is left, sometimes one more.
            if left < most and rng.random() < 0.5:
                facts["block_words"] = max(1, left + rng.randrange(2))
            ctx.set(dut.facts, facts)
            ctx.set(dut.begins, 1)
            fits = facts["block_words"] <= left
            assert ctx.get(dut.fits) == fits
            await ctx.tick()
            assert ctx.get(dut.overflow.valid) == (not fits)
            if not fits:
                break
            left -= facts["block_words"]
            blocks, nonzero, raw_blocks = blocks + 1, nonzero + facts["nonzero"], raw_blocks + facts["raw"]
        ctx.set(dut.facts, {"block_words": 0, "nonzero": 1, "raw": 1})
        for _ in range(3):
            assert not ctx.get(dut.fits)
            await ctx.tick()
        assert (ctx.get(dut.overflow.valid), ctx.get(dut.overflow.block)) == (1, blocks)
        assert (ctx.get(dut.nonzero), ctx.get(dut.raw_blocks)) == (nonzero, raw_blocks)

    clocked(dut, process)


@pytest.mark.parametrize("count", [count_up, count_down])
@pytest.mark.parametrize("width", [2, 5, 6])
def test_long_counters_carry(width: int, count: Any) -> None:
    m = Module()
    counter = Signal(width, init=1)
    enable = Signal()
    with m.If(enable):
        count(m, counter)
    step = 1 if count is count_up else -1
    rng = random.Random(width)

    async def process(ctx: Any) -> None:
        expected = 1
        for _ in range(200):
            moves = rng.random() < 0.8
            ctx.set(enable, moves)
            await ctx.tick()
            expected = (expected + step * moves) % (1 << width)
            assert ctx.get(counter) == expected

    clocked(m, process)
