# amaranth: UnusedElaboratable=no
"""The reader of tags against a list of words: what it reads, when it wants more, and no gap between blocks."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.codec.payload.metadata_memory import WORDS
from cdma.hdl.codec.payload.tag_words import TagWords
from tests.hdl.bench import clocked


class _Words:
    """The reader, the memory that it reads, and what is known of both."""

    def __init__(self, size: int, rows: int, places: int, rng: random.Random, giving: float, ready: float):
        self.dut: Any = TagWords(size, rows, places)
        self.size, self.places, self.rng, self.giving, self.ready = size, places, rng, giving, ready
        self.left: list[tuple[int, int]] = []       # places that are to be read
        self.coming: list[int] = []                 # the word that comes in this cycle
        self.held: list[int] = []
        self.taken = self.cycles = 0

    async def step(self, ctx: Any, block: list[tuple[int, int]] | None) -> bool:
        """A cycle, in which this block is loaded if it may be; whether it was."""
        dut, rng = self.dut, self.rng
        ctx.set(dut.word, self.coming[0] if self.coming else rng.getrandbits(self.size))
        ready = rng.random() < self.ready
        ctx.set(dut.words.ready, ready)
        assert ctx.get(dut.words.valid) == bool(self.held)
        if self.held:
            assert ctx.get(dut.words.payload) == self.held[0]
        takes = ready and bool(self.held)
        want = ctx.get(dut.read.want)
        # There is room for one more beside those read and held; of two places, one may become free now.
        frees = takes and self.places == 2
        assert want == (bool(self.left) and len(self.held) + len(self.coming) - frees < self.places)
        assert ctx.get(dut.easy) == (not self.left or len(self.held) >= 2)
        given = bool(want) and rng.random() < self.giving
        ctx.set(dut.read.given, given)
        ends = ctx.get(dut.ends)
        assert ends == (not self.left or (given and len(self.left) == 1))
        if given:
            at = ctx.get(dut.read.at)
            assert (at.slot, at.word) == self.left[0]
        loads = bool(ends) and block is not None
        self._load(ctx, block if loads else None)
        await ctx.tick()
        if takes:
            self.held.pop(0)
            self.taken += 1
        self.held += self.coming
        self.coming = [rng.getrandbits(self.size)] if given else []
        if given:
            self.left.pop(0)
        if loads and block is not None:
            self.left = list(block)
        self.cycles += 1
        return loads

    def _load(self, ctx: Any, block: list[tuple[int, int]] | None) -> None:
        """Sets the port that loads; what it says in other cycles is noise."""
        dut, rng = self.dut, self.rng
        first = block[0] if block else (rng.getrandbits(1), rng.getrandbits(len(dut.end)))
        behind = block[-1][1] + 1 if block else rng.getrandbits(len(dut.end))
        ctx.set(dut.load, block is not None)
        ctx.set(dut.some, bool(block) if block is not None else rng.getrandbits(1))
        ctx.set(dut.place, {"slot": first[0], "word": first[1]})
        ctx.set(dut.end, behind % (1 << len(dut.end)))


def _block(rng: random.Random, rows: int) -> list[tuple[int, int]]:
    """Places of a block, one behind the other in one slot, which may go up to its last word."""
    first = rng.randrange(rows * WORDS)
    count = rng.choice([1, 2, rng.randrange(1, rows * WORDS), rows * WORDS])
    slot = rng.getrandbits(1)
    return [(slot, word) for word in range(first, min(first + count, rows * WORDS))]


@pytest.mark.parametrize(("size", "rows", "places"), [(16, 1, 3), (32, 3, 2), (32, 3, 3), (64, 4, 3)])
@pytest.mark.parametrize(("giving", "ready"), [(1.0, 1.0), (0.5, 1.0), (1.0, 0.5), (0.6, 0.6)])
def test_blocks(size: int, rows: int, places: int, giving: float, ready: float) -> None:
    rng = random.Random(f"{size} {rows} {places} {giving} {ready}")
    # One block in four has no words of tags.
    blocks = [[] if rng.random() < 0.25 else _block(rng, rows) for _ in range(60)]
    words = _Words(size, rows, places, rng, giving, ready)

    async def process(ctx: Any) -> None:
        for block in blocks:
            may = 0.0
            while not await words.step(ctx, block if rng.random() < may else None):
                may = 0.7
        while words.left or words.coming or words.held:
            await words.step(ctx, None)
        for _ in range(3):
            await words.step(ctx, None)

    clocked(words.dut, process, cycles=20_000)
    assert words.taken == sum(map(len, blocks))


@pytest.mark.parametrize("places", [2, 3])
def test_no_gap_between_blocks(places: int) -> None:
    """The first word leaves 3 cycles after its block is loaded; then one leaves in each cycle."""
    rng = random.Random(1)
    blocks = [_block(rng, 3) for _ in range(40)]
    words = _Words(32, 3, places, rng, 1.0, 1.0)

    async def process(ctx: Any) -> None:
        for block in blocks:
            while not await words.step(ctx, block):
                pass
        while words.left or words.coming or words.held:
            await words.step(ctx, None)

    clocked(words.dut, process, cycles=5_000)
    assert words.taken == sum(map(len, blocks))
    assert words.cycles == 3 + words.taken, "there is a gap between words"
