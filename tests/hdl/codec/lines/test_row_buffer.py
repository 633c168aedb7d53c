"""The rows' ring against a list of rows: what is held, what is known of it, and the window on it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.codec.lines.row_buffer import ROWS, RowBuffer
from tests.hdl.bench import clocked
from tests.hdl.codec.lines.rows import Feed, one_hot, rows_of


@pytest.mark.parametrize("sizes", [(1, 2, 4), (2, 4), (4,)])
@pytest.mark.parametrize(("busy", "leaving"), [(1.0, 1.0), (1.0, 0.4), (0.4, 0.9)])
def test_rows(sizes: tuple[int, ...], busy: float, leaving: float) -> None:
    size, grain = 16, min(sizes)
    units = size // grain
    rng = random.Random(f"{sizes} {busy} {leaving}")
    packets = [(rng.randbytes(rng.choice([0, 1, 15, 16, 17, 32, rng.randrange(100)])), rng.choice(sizes))
               for _ in range(60)]
    rows = rows_of(packets, size)
    dut = RowBuffer(size, sizes)
    feed = Feed(dut.i, rows, size, rng, busy)
    waits = 0

    def compare(ctx: Any, number: int) -> None:
        row, facts = rows[number], ctx.get(dut.facts[number % ROWS])
        kept = len(row.content)
        assert ctx.get(dut.rows[number % ROWS]).to_bytes(size, "little")[:kept] == row.content
        assert (facts.last, facts.units) == (row.last, kept // grain if row.last else units)
        assert facts.ragged == (row.last and kept % grain != 0)
        assert [each for each in sizes if getattr(facts.element, f"b{each}")] == [row.element]

    def look(ctx: Any, first: int) -> None:
        """A window that begins in a row, and goes on in the row after where that is there."""
        lane = rng.randrange(units)
        ctx.set(dut.row, one_hot(first))
        ctx.set(dut.lane, lane)
        shown = ctx.get(dut.window).to_bytes(size, "little")
        cut = lane * grain
        assert shown[cut:len(rows[first].content)] == rows[first].content[cut:]
        if first + 1 < feed.taken:
            following = rows[first + 1].content[:cut]
            assert shown[:len(following)] == following

    async def process(ctx: Any) -> None:
        nonlocal waits
        left = cycle = 0            # rows that have left, and may be overwritten
        room_at = {0: 1}            # the latest cycle in which the input may still wait, with so many rows left
        while left < len(rows):
            held = range(left, feed.taken)
            assert ctx.get(dut.valid) == sum(one_hot(number) for number in held)
            for number in held:
                compare(ctx, number)
            if held:
                look(ctx, rng.choice(held))
            taken = feed.offer(ctx)
            ready = ctx.get(dut.i.ready)
            assert not (ready and len(held) == ROWS), "a row is taken that there is no room for"
            if len(held) < ROWS:
                assert ready or cycle <= room_at[left], "there is room, and the input waits"
            goes = min(len(held), rng.randrange(1, 3)) if rng.random() < leaving else 0
            late = rng.random() < 0.5
            mask = sum(one_hot(left + k) for k in range(goes))
            ctx.set(dut.leave, 0 if late else mask)
            ctx.set(dut.leave_late, mask if late else 0)
            waits += not ready
            await ctx.tick()
            cycle += 1
            left += goes
            if goes:
                room_at[left] = cycle if late else cycle - 1
            if taken:
                feed.moved()
        for _ in range(3):
            ctx.set(dut.leave, 0)
            ctx.set(dut.leave_late, 0)
            await ctx.tick()
            assert not ctx.get(dut.valid)

    clocked(dut, process, cycles=10_000)
    assert (waits > 1) == (busy == 1.0 and leaving < 1)
