# amaranth: UnusedElaboratable=no
"""The ring of payloads against a list of rows: what is sent of each block, which rows are free, and no gap."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
from amaranth.lib import data

from cdma.hdl.codec.payload.payload_ring import PayloadRing
from tests.hdl.bench import clocked

_BEAT = data.StructLayout({"data": 16, "last": 1})


@dataclass(frozen=True)
class _Block:
    """A block of so many beats, of which the first ones are skipped, or all if it is bare; or it is thrown away."""

    content: tuple[int, ...]
    skip: int = 0
    bare: bool = False
    dropped: int | None = None
    """Rows that have come when it is thrown away."""
    begun: int = 1
    """Rows that have come when it starts."""

    beats: int = 1
    """Beats of a row."""

    @property
    def rows(self) -> list[int]:
        """Its rows: the last one may have fewer beats."""
        return [sum(beat << 16 * k for k, beat in enumerate(self.content[at:at + self.beats]))
                for at in range(0, len(self.content), self.beats)]

    @property
    def sent(self) -> list[tuple[int, bool]]:
        """Its beats that are sent, with ``last``."""
        if self.bare or self.dropped is not None:
            return []
        return [(beat, number == len(self.content) - 1) for number, beat in enumerate(self.content)][self.skip:]


class _Ring:
    """The ring, and what is known of it; rows are counted through all rounds."""

    def __init__(self, dut: Any, rows: int, most: int, rng: random.Random, beats: int = 1):
        self.dut, self.rows, self.most, self.rng, self.beats = dut, rows, most, rng, beats
        self.written = self.base = 0
        self.freed = 0                              # rows before this one have been read, and are free
        self.reading: list[int] = []                # of the block that is read, the rows of the beats that are left
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
            if self.beats > 1:
                ends = self.come == len(newest.rows) - 1
                ctx.set(dut.tail, (len(newest.content) - 1) % self.beats if ends else rng.randrange(self.beats))
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
        if self.reading and not waits and self.reading[0] < self.written:
            row = self.reading.pop(0)
            # A row is free when its last beat has been read.
            self.freed = row + (not self.reading or self.reading[0] != row)
        if self.pending is not None and not self.reading:
            block, base = self.pending
            self.pending = None
            self.expected += block.sent
            self.freed = base + block.skip // self.beats
            self.reading = [] if block.bare else [
                base + beat // self.beats for beat in range(block.skip, len(block.content))]

    def _written(self, block: _Block | None, begins: bool) -> None:
        """A row has come, the first one of a block or not."""
        if begins:
            self.newest, self.base = block, self.written
        self.written += 1
        self.come += 1


def _block(rng: random.Random, rows: int, most: int, beats: int) -> _Block:
    """Any block that fits, also one that takes all rows; of several beats, all but the one that a bare block keeps."""
    fits = rows if beats == 1 else (rows - 1) * beats
    count = rng.choice([1, 2, rng.randrange(1, fits + 1), fits])
    content = tuple(rng.getrandbits(16) for _ in range(count))
    come = -(-count // beats)
    kind = rng.random()
    if kind < 0.15:
        return _Block(content, dropped=rng.randrange(1, come + 1), beats=beats)
    if kind < 0.3 and count <= most:
        # Its data would begin behind its last beat.
        return _Block(content, count, True, begun=come, beats=beats)
    skip = rng.randrange(min(most, count - 1) + 1)
    return _Block(content, skip, begun=rng.randrange(max(-(-skip // beats), 1), come + 1), beats=beats)


@pytest.mark.parametrize(("rows", "most", "beats"), [(5, 3, 1), (8, 5, 1), (13, 2, 1), (5, 4, 2), (7, 6, 4)])
@pytest.mark.parametrize(("writing", "ready"), [(1.0, 1.0), (0.5, 1.0), (1.0, 0.3), (0.8, 0.8)])
def test_blocks(rows: int, most: int, beats: int, writing: float, ready: float) -> None:
    rng = random.Random(f"{rows} {most} {writing} {ready}")
    dut = PayloadRing(_BEAT, rows, most, beats)
    blocks = [_block(rng, rows, most, beats) for _ in range(120)]
    ring = _Ring(dut, rows, most, rng, beats)

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
    dut = PayloadRing(_BEAT, rows, 2)
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


def test_rows_of_four_beats() -> None:
    """The cycles of the docstring, over many rounds."""
    rng = random.Random(4)
    dut = PayloadRing(_BEAT, 5, 2, 4)
    ring = _Ring(dut, 5, 2, rng, 4)

    async def process(ctx: Any) -> None:
        for _ in range(12):
            block = _Block(tuple(rng.getrandbits(16) for _ in range(6)), beats=4)
            shown = []
            for number in range(11):
                await ring.step(ctx, block if number == 0 else None, True, 1.0, 1.0)
                shown.append(ring.shown)
            assert shown == [False] * 4 + [True] * 6 + [False]

    clocked(dut, process, cycles=500)
