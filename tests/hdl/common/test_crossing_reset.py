"""The handshake of both sides' resets: it opens, it closes, and no side is emptied while the other one is used."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.common.crossing_reset import CrossingReset
from tests.hdl.bench import Bench
from tests.hdl.clocks import RATIOS, FarClock, LateBits, TwoClocks

_PATIENCE = 400e-6


class _Sides:
    """Both sides, and a watch on what may not meet."""

    def __init__(self, ratio: float, seed: str):
        self.rng = random.Random(f"{ratio} {seed}")
        self.dut = CrossingReset("link")
        self.design = TwoClocks(self.dut)
        self.clock = FarClock(self.design, ratio, self.rng)
        self.bench = Bench(self.design, LateBits(f"{ratio} {seed}"))
        self._used = {"near": False, "far": False}

    async def watch(self, ctx: Any) -> None:
        """Whenever something changes: a side that was used is emptied only while the other one is closed."""
        dut = self.dut
        signals = {"near": (dut.near_open, dut.near_clear), "far": (dut.far_open, dut.far_clear)}
        # After power-up registers have any value until they were reset.
        await ctx.delay(20e-6)
        while True:
            await ctx.changed(*(each for pair in signals.values() for each in pair))
            for side, other in (("near", "far"), ("far", "near")):
                opened, clear = (ctx.get(each) for each in signals[side])
                assert not (opened and clear)
                if opened:
                    self._used[side] = True
                if clear and self._used[side]:
                    assert not ctx.get(signals[other][0]), f"the {side} side is emptied while the other one is open"
                    self._used[side] = False

    async def reset(self, ctx: Any, *sides: str, cycles: int = 1) -> None:
        """Resets for so many cycles of the side's own clock."""
        for side in sides:
            ctx.set(getattr(self.design, side).rst, 1)
        for side in sides:
            for _ in range(cycles):
                await ctx.tick("sync" if side == "near" else "link")
        for side in sides:
            ctx.set(getattr(self.design, side).rst, 0)

    async def opens(self, ctx: Any) -> None:
        """Waits until both sides are open."""
        for _ in range(1000):
            if ctx.get(self.dut.near_open) and ctx.get(self.dut.far_open):
                return
            await ctx.delay(_PATIENCE / 1000)
        raise AssertionError("it does not open")

    def run(self, process: Any) -> None:
        async def start(ctx: Any) -> None:
            ctx.set(self.dut.drained, 1)
            ctx.set(self.design.near.rst, 1)
            ctx.set(self.design.far.rst, 1)
            await ctx.delay(20e-6)
            order = ["near", "far"]
            self.rng.shuffle(order)
            for side in order:
                ctx.set(getattr(self.design, side).rst, 0)
                await ctx.delay(self.rng.random() * 50e-6)
            await self.opens(ctx)
            await process(ctx)

        self.bench.run(start, self.clock.run, self.watch)


@pytest.mark.parametrize("ratio", [*RATIOS, 0.07, 15.0])
def test_resets_at_any_time(ratio: float) -> None:
    """Of either side, as short as a cycle, also in the middle of opening: it always opens again."""
    sides = _Sides(ratio, "any")

    async def process(ctx: Any) -> None:
        rng = sides.rng
        for _ in range(25):
            for _ in range(rng.choice((1, 1, 2, 4))):
                await sides.reset(ctx, *rng.choice((("near",), ("far",), ("near", "far"))),
                                  cycles=rng.choice((1, 1, 2, 9)))
                await ctx.delay(rng.choice((0, rng.random() * 20e-6, rng.random() * 150e-6)))
            await sides.opens(ctx)
            await ctx.delay(rng.random() * 10e-6)

    sides.run(process)


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_reset_of_the_far_side_closes_the_near_one(ratio: float) -> None:
    """It is lost until nothing is owed."""
    sides = _Sides(ratio, "far")

    async def process(ctx: Any) -> None:
        dut = sides.dut
        ctx.set(dut.drained, 0)
        await sides.reset(ctx, "far")
        assert not ctx.get(dut.far_open)
        lost = False
        for _ in range(300):
            lost = lost or bool(ctx.get(dut.lost))
            await ctx.tick()
        assert lost and not ctx.get(dut.lost) and not ctx.get(dut.near_open) and ctx.get(dut.near_clear)
        ctx.set(dut.drained, 1)
        await sides.opens(ctx)

    sides.run(process)


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_reset_of_the_far_side_while_it_is_asked_to_open(ratio: float) -> None:
    """In any of these cycles: the near side asks anew."""
    sides = _Sides(ratio, "asks")

    async def process(ctx: Any) -> None:
        for wait in range(58, 78):
            await sides.reset(ctx, "near")
            await ctx.tick().until(sides.dut.near_clear)
            await ctx.tick().repeat(wait)
            await sides.reset(ctx, "far")
            await sides.opens(ctx)

    sides.run(process)


def test_a_reset_while_the_clock_stands() -> None:
    """The near side sees the level, and opens when the clock runs again."""
    sides = _Sides(1.31, "stands")

    async def process(ctx: Any) -> None:
        dut = sides.dut
        sides.clock.stands = True
        await ctx.delay(30e-6)
        assert ctx.get(dut.near_open), "a clock that stands is no reset"
        ctx.set(sides.design.far.rst, 1)
        await ctx.delay(30e-6)
        assert ctx.get(dut.lost) and not ctx.get(dut.near_open)
        ctx.set(sides.design.far.rst, 0)
        await ctx.delay(300e-6)
        assert not ctx.get(dut.near_open), "the far side has not seen that the near one has closed"
        sides.clock.stands = False
        await sides.opens(ctx)

    sides.run(process)
