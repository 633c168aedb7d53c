"""The ring of rows against a list of rows: what a beat is shown, which rows leave, and how blocks end."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from cdma.hdl.codec.payload.row_ring import RowRing
from tests.hdl.bench import clocked
from tests.hdl.ports import Source


class _Block:
    """Rows of a block, and beats that take so many units each; they may be more than there are, or fewer."""

    def __init__(self, rng: random.Random, size: int, grain: int):
        units = self.units = size // grain
        self.grain = grain
        counts = [rng.choice([0, units, rng.randrange(units + 1)]) for _ in range(rng.randrange(1, 12))]
        start = rng.choice([0, rng.randrange(units)])
        held = max(0, sum(counts) + rng.choice([0, 0, 0, 1, -1, rng.randrange(-5 * units, 5 * units)]))
        if held == 0:
            start = 0
        self.ragged = grain > 1 and held > 0 and rng.random() < 0.2
        self.content = rng.randbytes((start + held) * grain + self.ragged)
        self.rows = []
        padded = self.content + rng.randbytes(size)
        for at in range(0, len(self.content), size):
            last = at + size >= len(self.content)
            end = (len(self.content) - at) // grain
            self.rows.append({
                "data": int.from_bytes(padded[at:at + size], "little"), "last": last,
                "end": end if last else rng.randrange(units + 1),
                "ragged": self.ragged if last else rng.getrandbits(1)})
        self.places, self.uses = [], []
        at = start
        for number, count in enumerate(counts):
            lane = at % units
            self.places.append({
                "lane": lane, "after": (at + count) % units, "crosses": count > (units - lane if lane else 0),
                "opens": number == 0 and start != 0, "last": number == len(counts) - 1, "bare": held == 0})
            self.uses.append((at, at + count))
            at += count
        self.has = start + held
        self.fate = "truncated" if at > self.has else "surplus" if at < self.has or self.ragged else "whole"


@pytest.mark.parametrize("grain", [1, 2, 4])
@pytest.mark.parametrize(("busy", "leaving"), [(1.0, 1.0), (0.5, 1.0), (1.0, 0.5), (0.6, 0.8)])
def test_blocks(grain: int, busy: float, leaving: float) -> None:
    size = 16
    rng = random.Random(f"{grain} {busy} {leaving}")
    dut = RowRing(size, tuple(each for each in (1, 2, 4) if each >= grain))
    blocks = [_Block(rng, size, grain) for _ in range(150)]
    fates = Counter(block.fate for block in blocks)
    assert min(fates[fate] for fate in ("truncated", "surplus", "whole")) > 10
    rows = Source(dut.i, [row for block in blocks for row in block.rows], rng, busy)
    places = [place for block in blocks for place in block.places]
    beats = [(block, number) for block in blocks for number in range(len(block.places))]

    def compare(ctx: Any, block: _Block, number: int) -> None:
        first, behind = block.uses[number]
        assert ctx.get(dut.truncated) == (behind > block.has)
        if block.places[number]["last"] and block.fate != "truncated":
            assert ctx.get(dut.surplus) == (block.fate == "surplus")
        if not (block.places[number]["last"] and block.fate == "surplus"):
            window = ctx.get(dut.window).to_bytes(size, "little")
            for unit in range(first, min(behind, block.has)):
                lane = unit % block.units * grain
                assert window[lane:lane + grain] == block.content[unit * grain:(unit + 1) * grain]

    async def process(ctx: Any) -> None:
        offered = False
        while beats:
            offered = bool(places) and (offered or rng.random() < busy)
            if offered:
                ctx.set(dut.place, places[0])
            else:
                ctx.set(dut.place, {name: rng.getrandbits(1) for name in ("lane", "crosses", "opens", "last", "bare")})
            ctx.set(dut.valid, offered)
            ctx.set(dut.leave, rng.random() < leaving)
            rows.offer(ctx)
            rows.settle(ctx)
            if ctx.get(dut.shown):
                compare(ctx, *beats[0])
                if ctx.get(dut.leave):
                    beats.pop(0)
            moves = offered and ctx.get(dut.move)
            await ctx.tick()
            if moves:
                places.pop(0)
                offered = False
        ctx.set(dut.valid, 0)
        for _ in range(3):
            rows.offer(ctx)
            rows.settle(ctx)
            await ctx.tick()
        assert not rows.left, "rows are left over"

    clocked(dut, process, cycles=10_000)
