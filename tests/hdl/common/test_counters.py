"""Wide counters with short carry paths, against Python's."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module, Signal

from cdma.hdl.common.counters import counter
from tests.hdl.bench import clocked


@pytest.mark.parametrize("width", [1, 8, 9, 20, 26, 33])
@pytest.mark.parametrize(("begins", "by"), [(False, 1), (True, 1), (True, 4), (True, 6), (True, 16)])
def test_counters(width: int, begins: bool, by: int) -> None:
    """A counter from any value on, in particular from just below one where the carry passes through some parts; and
    one that begins at 0."""
    m = Module()
    value, begin, step, clear = Signal(width), Signal(width), Signal(), Signal()
    counter(m, value, step, clear=clear, begin=begin if begins else None, by=by)
    rng = random.Random(width)
    wraps = 1 << width

    async def process(ctx: Any) -> None:
        expected = 0
        for cycle in range(3000):
            again = rng.random() < 0.02 and (begins or cycle > 2000)
            first = (rng.choice([wraps, 1 << rng.randrange(width + 1)]) - rng.randrange(4)) % wraps
            count = rng.random() < 0.9
            ctx.set(begin, first)
            ctx.set(clear, again)
            ctx.set(step, count)
            await ctx.tick()
            expected = (first if begins else 0) if again else (expected + count * by) % wraps
            assert ctx.get(value) == expected

    clocked(m, process)
