"""The tag reader, on the rows' ring, against the bytes of packets: tags at any place, and where packets end."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from amaranth.hdl import Module

from cdma.hdl.codec.lines.row_buffer import ROWS, RowBuffer
from cdma.hdl.codec.lines.tag_reader import TagReader
from tests.hdl.bench import clocked
from tests.hdl.codec.lines.rows import Feed, Row, one_hot, rows_of

_SIZE = 16


class _Play:
    """Moves the reader about on rows that come and leave, and compares what it shows."""

    def __init__(self, sizes: tuple[int, ...], early: bool, rng: random.Random):
        self._sizes, self._grain, self._rng = sizes, min(sizes), rng
        packets = [(rng.randbytes(rng.choice([0, 1, 7, 16, 31, 32, rng.randrange(64)])), rng.choice(sizes))
                   for _ in range(70)]
        self._rows = rows_of(packets, _SIZE)
        self.design = Module()
        self.design.submodules.buffer = self._buffer = RowBuffer(_SIZE, sizes)
        self.design.submodules.reader = self._reader = reader = TagReader(_SIZE, sizes, early)
        self.design.d.comb += [reader.rows.eq(self._buffer.rows), reader.valid.eq(self._buffer.valid),
                               reader.facts.eq(self._buffer.facts)]
        self._feed = Feed(self._buffer.i, self._rows, _SIZE, rng, 0.7)
        self.seen: Counter[str] = Counter()

    def _tag(self, ctx: Any, number: int, at: int) -> None:
        """Compares a tag that is whole, at a byte of a row, and the place behind it."""
        reader, row = self._reader, self._rows[number]
        length = 16 // row.element
        place = row.place + at
        tag = row.packet[place:place + length] + b"\xff" * (16 // self._grain - length)
        assert ctx.get(reader.tag) == int.from_bytes(tag, "little")
        element = ctx.get(reader.element)
        assert [size for size in self._sizes if getattr(element, f"b{size}")] == [row.element]
        wraps = at + length >= _SIZE
        assert ctx.get(reader.wraps) == wraps
        assert ctx.get(reader.passes_end) == (wraps and row.last)
        assert ctx.get(reader.end_row) == one_hot(number + wraps)
        assert ctx.get(reader.end_lane) == (at + length) % _SIZE // self._grain

    def _whole_bytes(self, row: Row) -> int:
        return len(row.packet) // self._grain * self._grain

    def _compare(self, ctx: Any, number: int, at: int, crossed: bool, shown: bool) -> None:
        """Compares what is said of a byte of a row, with the rows that are there; the tag only where it is shown."""
        reader, row, there = self._reader, self._rows[number], self._feed.taken
        assert ctx.get(reader.row) == one_hot(number)
        assert ctx.get(reader.lane) == at // self._grain
        end = row.place + at + 16 // row.element
        fits = end <= self._whole_bytes(row)
        known = number < there and (at + 16 // row.element <= _SIZE or row.last or number + 1 < there)
        torn = known and not fits
        at_end = row.last and row.place + at == len(row.packet)
        assert ctx.get(reader.torn) == torn
        if torn:
            assert ctx.get(reader.clean) == at_end
            self.seen["clean" if at_end else "torn"] += 1
        past = crossed and self._rows[number - 1].last
        closing = len(self._rows[number - 1].content) == _SIZE and at == 0 if past else number < there and at_end
        assert ctx.get(reader.past) == past
        assert ctx.get(reader.closing) == closing
        self.seen["past"] += past
        self.seen["closing"] += closing
        if shown:
            whole = known and fits
            assert ctx.get(reader.whole) == whole
            if whole:
                self._tag(ctx, number, at)
                self.seen["split" if at + 16 // row.element > _SIZE else "whole"] += 1

    def _start(self, ctx: Any, number: int | None, there: int, anew: bool) -> None:
        """Compares the first tag of the next packet, read ahead with the rows that were there."""
        row = None if number is None or number >= there or anew else self._rows[number]
        whole = row is not None and 16 // row.element <= min(_SIZE, self._whole_bytes(row))
        assert ctx.get(self._reader.whole) == whole
        if whole:
            assert number is not None
            self._tag(ctx, number, 0)
            self.seen["start"] += 1

    async def process(self, ctx: Any) -> None:
        """Until all rows have come."""
        reader, rng, rows, feed = self._reader, self._rng, self._rows, self._feed
        number = at = left = 0
        crossed = False
        ahead: tuple[int | None, int, bool] = (None, 0, False)
        while feed.taken < len(rows):
            shows_start = rng.random() < 0.3
            ctx.set(reader.at_start, shows_start)
            self._compare(ctx, number, at, crossed, not shows_start)
            if shows_start:
                self._start(ctx, *ahead)
            begins = [k for k in range(left, min(feed.taken + 1, left + ROWS, len(rows))) if rows[k].place == 0]
            start = rng.choice([None, *begins, *begins])
            anew = rng.random() < 0.2
            ctx.set(reader.start, 0 if start is None else one_hot(start))
            ctx.set(reader.anew, anew)
            # The row before a place that was crossed into stays until the reader moves on.
            goes = number - crossed > left and rng.random() < 0.8
            ctx.set(self._buffer.leave, one_hot(left) if goes else 0)
            moves = rng.random() < 0.5
            # The row after that place must not be one that is still held from the round before.
            aims = range(max(left + 1, number), min(feed.taken, left + ROWS - 2, len(rows) - 1) + 1)
            aim = rng.choice(aims or [number])
            to_at = rng.choice([0, rng.randrange(_SIZE)]) // self._grain * self._grain
            to_at = min(to_at, len(rows[aim].content) // self._grain * self._grain) % _SIZE
            to_crossed = aim - 1 >= left + goes and rng.random() < 0.5
            ctx.set(reader.move, moves)
            ctx.set(reader.move_row, one_hot(aim))
            ctx.set(reader.move_lane, to_at // self._grain)
            ctx.set(reader.move_crossed, to_crossed)
            there = feed.taken
            taken = feed.offer(ctx)
            await ctx.tick()
            ahead = start, there, anew
            left += goes
            if moves:
                number, at, crossed = aim, to_at, to_crossed
            if taken:
                feed.moved()


@pytest.mark.parametrize("sizes", [(1, 2, 4), (2, 4), (4,)])
@pytest.mark.parametrize("early", [False, True])
def test_tags_and_ends(sizes: tuple[int, ...], early: bool) -> None:
    play = _Play(sizes, early, random.Random(f"{sizes} {early}"))
    clocked(play.design, play.process, cycles=5000)
    expected = {"clean", "torn", "past", "closing", "whole", "start"} | ({"split"} if min(sizes) < 4 else set())
    assert expected <= {kind for kind, count in play.seen.items() if count > 3}
