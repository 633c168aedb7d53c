"""The routing network against a model: every masked unit to its lane, and back."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module, Signal

from cdma.hdl.codec.routing import Gather, Ranks, Scatter, Steer, block_counts
from cdma.hdl.common.bits import length, thermometer
from tests.hdl.bench import settled


@pytest.mark.parametrize(("lanes", "grain"), [(16, 1), (16, 2), (16, 4), (32, 1), (32, 2), (32, 4), (64, 1), (64, 4)])
def test_gather_and_scatter(lanes: int, grain: int) -> None:
    m = Module()
    m.submodules.ranks = ranks = Ranks(lanes, grain)
    m.submodules.steer = steer = Steer(lanes, grain)
    m.submodules.gather = gather = Gather(lanes, grain)
    m.submodules.scatter = scatter = Scatter(lanes, grain)
    m.d.comb += [
        steer.before.eq(ranks.before), gather.swap.eq(steer.swap), scatter.swap.eq(steer.swap), scatter.i.eq(gather.o)]
    rng = random.Random(lanes * 8 + grain)
    units = lanes // grain

    async def process(ctx: Any) -> None:
        masks = [0, (1 << units) - 1, 1, 1 << (units - 1)] + [
            rng.getrandbits(units) & rng.getrandbits(units) for _ in range(100)] + [
            rng.getrandbits(units) | rng.getrandbits(units) for _ in range(100)]
        for mask in masks:
            start = rng.randrange(units)
            raw = rng.randbytes(lanes)
            ctx.set(ranks.mask, mask)
            ctx.set(steer.start, start)
            ctx.set(gather.i, int.from_bytes(raw, "little"))
            await ctx.delay(1e-9)
            gathered = ctx.get(gather.o).to_bytes(lanes, "little")
            back = ctx.get(scatter.o).to_bytes(lanes, "little")
            rank = 0
            for unit in range(units):
                if mask >> unit & 1:
                    lane = (start + rank) % units * grain
                    bytes_of_unit = raw[unit * grain:(unit + 1) * grain]
                    assert gathered[lane:lane + grain] == bytes_of_unit, (mask, start, unit)
                    assert back[unit * grain:(unit + 1) * grain] == bytes_of_unit, (mask, start, unit)
                    rank += 1
            assert ctx.get(ranks.count) == rank

    settled(m, process)


@pytest.mark.parametrize("width", [4, 8, 16, 32])
def test_block_counts(width: int) -> None:
    m = Module()
    mask = Signal(width)
    counts = block_counts(m, mask)
    rng = random.Random(width)

    async def process(ctx: Any) -> None:
        values = range(1 << width) if width <= 8 else [rng.getrandbits(width) for _ in range(300)]
        for value in values:
            ctx.set(mask, value)
            await ctx.delay(1e-9)
            for (first, size), count in counts.items():
                assert ctx.get(count) == (value >> first & ((1 << size) - 1)).bit_count(), (value, first, size)

    settled(m, process)


@pytest.mark.parametrize("width", [4, 8, 16, 32, 64])
def test_length_undoes_thermometer(width: int) -> None:
    m = Module()
    value, bits, found = Signal(range(width + 1)), Signal(width), Signal(range(width + 1))
    m.d.comb += [bits.eq(thermometer(value, width)), found.eq(length(bits))]

    async def process(ctx: Any) -> None:
        for number in range(width + 1):
            ctx.set(value, number)
            await ctx.delay(1e-9)
            assert ctx.get(bits) == (1 << number) - 1
            assert ctx.get(found) == number

    settled(m, process)
