# amaranth: UnusedElaboratable=no
"""The ring of payloads against a list of rows: what is sent of each block, which rows are free, and no gap."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
from amaranth.lib import data

from hdl.codec.payload.payload_ring import PayloadRing
from tests.hdl.bench import clocked

_ROW = data.StructLayout({"data": 16, "last": 1})


@dataclass(frozen=True)
class _Block:
    """A block of so many rows, of which the first ones are skipped, or all if it is bare; or it is thrown away."""

    rows: tuple[int, ...]
    skip: int = 0
    bare: bool = False
    dropped: int | None = None
    """Rows that have come when it is thrown away."""
    begun: int = 1
    """Rows that have come when it starts."""

    @property
    def sent(self) -> list[tuple[int, bool]]:
        """Its rows that are sent, with ``last``."""
        if self.bare or self.dropped is not None:
            return []
        return [(row, number == len(self.rows) - 1) for number, row in enumerate(self.rows)][self.skip:]


class _Ring:
    """The ring, and what is known of it; rows are counted through all rounds."""

    def __init__(self, dut: Any, rows: int, most: int, rng: random.Random):
        self.dut, self.rows, self.most, self.rng = dut, rows, most, rng
        self.written = self.base = 0
        self.freed = 0                              # rows before this one have been read, and are free
        self.reading_end: int | None = None         # the row behind the block that is read
        self.pending: tuple[_Block, int] | None = None
        self.expected: list[tuple[int, bool]] = []
        self.newest: _Block | None = None           # is being written, or has not started
        self.come = 0                               # rows of it
        self.started = False
        self.held = self.shown = False

    async def step(self, ctx: Any, block: _Block | None, ready: bool, writing: float, starting: float) -> bool:
        """A cycle, in which this block is the next one to be written; whether it began."""
        dut, rng = self.dut, self.rng
        assert ctx.get(dut.room) == (self.written - self.freed < self.rows)
        assert ctx.get(dut.free) == (self.pending is None)
        ctx.set(dut.data.ready, ready)
        self.shown = bool(ctx.get(dut.data.valid))
        assert self.shown or not self.held, "what was offered is gone, and was not taken"
        if self.shown:
            payload = ctx.get(dut.data.payload)
            assert self.expected, "more comes than is to be sent"
            assert (payload.data, payload.last) == self.expected[0], f"{len(self.expected)} before the end"
        drops = self._drops(rng.random() < starting)
        starts = self._starts(not drops and rng.random() < starting)
        begins = self.newest is None and block is not None
        newest = block if begins else self.newest
        writes = (newest is not None and not drops and self.come < len(newest.rows) and self.come != newest.dropped
                  and bool(ctx.get(dut.room)) and rng.random() < writing)
        ctx.set(dut.drop, drops)
        ctx.set(dut.start, starts)
        ctx.set(dut.skip, self.newest.skip if starts and self.newest else rng.randrange(self.most + 1))
        ctx.set(dut.bare, self.newest.bare if starts and self.newest else rng.getrandbits(1))
        ctx.set(dut.write, writes)
        ctx.set(dut.begins, begins if writes else rng.getrandbits(1))
        if newest is not None and writes:
            ctx.set(dut.row, {"data": newest.rows[self.come], "last": self.come == len(newest.rows) - 1})
        else:
            ctx.set(dut.row, {"data": rng.getrandbits(16), "last": rng.getrandbits(1)})
        await ctx.tick()
        self._read(self.shown and not ready)
        if starts and self.newest is not None:
            self.pending = self.newest, self.base
            self.started = True
        if drops:
            self.written = self.base
        if writes:
            self._written(newest, begins)
        # The next one may come when this one has started and is whole, or was thrown away.
        if drops or (self.newest is not None and self.started and self.come == len(self.newest.rows)):
            self.newest, self.come, self.started = None, 0, False
        return begins and writes

    def _drops(self, may: bool) -> bool:
        """Whether the newest block is thrown away now."""
        return may and self.newest is not None and self.newest.dropped == self.come

    def _starts(self, may: bool) -> bool:
        """Whether the newest block starts now."""
        block = self.newest
        return (may and block is not None and not self.started and block.dropped is None
                and self.come >= min(block.begun, len(block.rows)) and self.pending is None)

    def _read(self, waits: bool) -> None:
        """A row may have been taken, and the next one read; the block that waits follows the last row of the one before
        it."""
        if self.shown and not waits:
            self.expected.pop(0)
        self.held = waits
        if self.reading_end is not None and not waits and self.freed < self.written:
            self.freed += 1
            if self.freed == self.reading_end:
                self.reading_end = None
        if self.pending is not None and self.reading_end is None:
            block, base = self.pending
            self.pending = None
            self.expected += block.sent
            self.freed = base + block.skip
            self.reading_end = None if block.bare else base + len(block.rows)

    def _written(self, block: _Block | None, begins: bool) -> None:
        """A row has come, the first one of a block or not."""
        if begins:
            self.newest, self.base = block, self.written
        self.written += 1
        self.come += 1


def _block(rng: random.Random, rows: int, most: int) -> _Block:
    """Any block that fits, also one that takes all rows."""
    count = rng.choice([1, 2, rng.randrange(1, rows + 1), rows])
    content = tuple(rng.getrandbits(16) for _ in range(count))
    kind = rng.random()
    if kind < 0.15:
        return _Block(content, dropped=rng.randrange(1, count + 1))
    if kind < 0.3 and count <= most:
        # Its data would begin behind its last row.
        return _Block(content, count, True, begun=count)
    skip = rng.randrange(min(most, count - 1) + 1)
    return _Block(content, skip, begun=rng.randrange(max(skip, 1), count + 1))


@pytest.mark.parametrize(("rows", "most"), [(5, 3), (8, 5), (13, 2)])
@pytest.mark.parametrize(("writing", "ready"), [(1.0, 1.0), (0.5, 1.0), (1.0, 0.3), (0.8, 0.8)])
def test_blocks(rows: int, most: int, writing: float, ready: float) -> None:
    rng = random.Random(f"{rows} {most} {writing} {ready}")
    dut = PayloadRing(_ROW, rows, most)
    blocks = [_block(rng, rows, most) for _ in range(120)]
    ring = _Ring(dut, rows, most, rng)

    async def process(ctx: Any) -> None:
        for block in blocks:
            while not await ring.step(ctx, block, rng.random() < ready, writing, 0.6):
                pass
        while ring.newest is not None or ring.pending is not None or ring.expected:
            await ring.step(ctx, None, rng.random() < ready, writing, 0.6)
        for _ in range(4):
            await ring.step(ctx, None, True, writing, 0.6)

    clocked(dut, process, cycles=20_000)
    assert ring.written > 20 * rows, "too few rounds"


@pytest.mark.parametrize("rows", [5, 8])
def test_no_gap(rows: int) -> None:
    """The cycles of the docstring, over many rounds; and no gap to a block that waits for the one before it."""
    rng = random.Random(rows)
    dut = PayloadRing(_ROW, rows, 2)
    ring = _Ring(dut, rows, 2, rng)

    async def process(ctx: Any) -> None:
        async def cycle(block: _Block | None = None, *, ready: bool = True) -> int:
            await ring.step(ctx, block, ready, 1.0, 1.0)
            return ring.shown

        for _ in range(2 * rows):
            block = _Block((rng.getrandbits(16), rng.getrandbits(16)))
            # Rows come in cycles 0 and 1; it starts in cycle 1.
            assert [await cycle(block if number == 0 else None) for number in range(7)] == [0] * 4 + [1, 1, 0]
            first, second = (_Block((1, 2)), _Block((3, 4, 5), 1))
            assert [await cycle(each, ready=False) for each in (first, None, second, None, None)] == [0] * 4 + [1]
            assert [await cycle() for number in range(5)] == [1, 1, 1, 1, 0]

    clocked(dut, process, cycles=2_000)
