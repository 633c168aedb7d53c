"""Wide sums and counts with short carry paths, against Python's."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module, Signal

from cdma.hdl.common.counters import counter, decreased, increased, joined_carry, joined_sums, part_carries, part_sums
from tests.hdl.bench import clocked, settled


@pytest.mark.parametrize("width", [1, 7, 8, 9, 16, 26, 32])
def test_wide_sums(width: int) -> None:
    """Random addends, and those whose carry passes through some or all parts."""
    m = Module()
    a, b, carry, total = Signal(width), Signal(width), Signal(), Signal(width + 1)
    m.d.sync += total.eq(joined_sums(part_sums(a, b), carry))
    rng = random.Random(width)
    ones = (1 << width) - 1

    async def process(ctx: Any) -> None:
        for _ in range(200):
            first = rng.choice([0, ones, rng.randrange(ones + 1)])
            second = rng.choice([ones - first, (ones - first) ^ 1 << rng.randrange(width), rng.randrange(ones + 1)])
            comes_in = rng.randrange(2)
            ctx.set(a, first)
            ctx.set(b, second)
            ctx.set(carry, comes_in)
            await ctx.tick()
            assert ctx.get(total) == first + second + comes_in

    clocked(m, process)


@pytest.mark.parametrize("width", [1, 7, 8, 9, 20, 28, 52])
def test_wide_comparisons(width: int) -> None:
    """Random numbers, equal ones, neighbours, and those that differ in one bit."""
    m = Module()
    a, b, tie, greater = Signal(width), Signal(width), Signal(), Signal()
    m.d.sync += greater.eq(joined_carry(part_carries(a, ~b), tie))
    rng = random.Random(width)
    most = (1 << width) - 1

    async def process(ctx: Any) -> None:
        for _ in range(300):
            first = rng.choice([0, most, rng.randrange(most + 1)])
            second = rng.choice([first, max(first - 1, 0), min(first + 1, most), first ^ 1 << rng.randrange(width),
                                 rng.randrange(most + 1)])
            equal = rng.randrange(2)
            ctx.set(a, first)
            ctx.set(b, second)
            ctx.set(tie, equal)
            await ctx.tick()
            assert ctx.get(greater) == (first > second or (first == second and equal)), (first, second, equal)

    clocked(m, process)


@pytest.mark.parametrize("width", [1, 6, 7, 13, 31, 40])
def test_wide_counts(width: int) -> None:
    """One more and one less, also where the carry passes through some or all chunks."""
    m = Module()
    value, more, less = (Signal(width, name=name) for name in ("value", "more", "less"))
    m.d.comb += [more.eq(increased(value)), less.eq(decreased(value))]
    rng = random.Random(width)
    wraps = 1 << width

    async def process(ctx: Any) -> None:
        for _ in range(200):
            low = rng.randrange(width + 1)
            number = rng.choice([rng.randrange(wraps), (1 << low) - 1, wraps - (1 << low)])
            ctx.set(value, number)
            await ctx.delay(1e-7)
            found = [ctx.get(each) for each in (more, less)]
            assert found == [(number + step) % wraps for step in (1, -1)], number

    settled(m, process)


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
