"""Facts of lines, joined by sections, and tags behind them, against plain joined bytes: blocks of any number of lines,
with and without bases, widths and tags, and blocks without facts."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from amaranth.back import rtlil

from cdma.hdl.codec.payload.metadata_packer import QUARTERS, SECTIONS, MetadataPacker
from tests.hdl.bench import Bench
from tests.hdl.codec.payload.payloads import LINE
from tests.hdl.ports import Sink, Source

_BUILDS = [(32, (1, 2, 4), 1024, (2, 4)), (32, (1, 2, 4), 4096, (2, 4)), (64, (1, 2, 4), 4096, (2, 4)),
           (32, (4,), 4096, (4,), "fast"), (64, (2, 4), 2048, (2, 4), "small", True)]
"""Bytes of a beat, element sizes, bytes of a block, those sizes with exponents, pipeline, parity."""

_READ, _BEFORE_READ = 5, 2
"""The first line of a block ends so many cycles after the block so many before it is joined, at the earliest."""

Lines = list[list[int | None]]
"""For each line, the byte of each section if there is one."""


@dataclass(frozen=True)
class _Block:
    """Facts of its lines, if it has facts; its tags, which are whole rows without facts; the bytes of an element."""

    lines: Lines | None
    tags: bytes
    element: int

    def rows(self, size: int) -> list[bytes]:
        """What counts of each row: up to the last word of the metadata."""
        joined = bytes(line[section] or 0 for section in range(SECTIONS) for line in self.lines or ()
                       if line[section] is not None)
        joined += bytes(-len(joined) % 4) + self.tags
        return [joined[at:at + size] for at in range(0, len(joined), size)]

    def tag_rows(self, size: int) -> list[bytes]:
        return [self.tags[at:at + size] for at in range(0, len(self.tags), size)]

    def order(self, sizes: Sequence[int]) -> dict[str, Any]:
        return {"recorded": self.lines is not None, "lines": len(self.tags) * 8 * self.element // LINE,
                "element": {f"b{size}": size == self.element for size in sizes}}


def _lines(rng: random.Random, lines: int, shares: Sequence[float]) -> Lines:
    """Lines which have the byte of each section at these shares."""
    return [[rng.getrandbits(8) if rng.random() < share else None for share in shares] for _ in range(lines)]


@dataclass
class _Play:
    """Lines and tags into a packer; what has been seen of it."""

    size: int
    sizes: tuple[int, ...]
    block_bytes: int
    exponents: tuple[int, ...]
    pipeline: str = "small"
    protected: bool = False

    def __post_init__(self) -> None:
        self.dut = MetadataPacker(self.size, self.sizes, self.block_bytes, self.exponents, self.pipeline,
                                  self.protected)
        self._bench = Bench(self.dut)
        self.most = self.block_bytes // LINE

    def facts(self, rng: random.Random, lines: int, shares: Sequence[float], tagged: int) -> _Block:
        """A block with facts, and tags of so many lines of any size with exponents."""
        element = rng.choice(self.exponents)
        return _Block(_lines(rng, lines, shares), rng.randbytes(LINE // 8 // element * tagged), element)

    def plain(self, rng: random.Random) -> _Block:
        """A block without facts."""
        element = rng.choice(self.sizes)
        most = self.most * LINE // 8 // element // self.size
        return _Block(None, rng.randbytes(self.size * rng.choice([1, most, rng.randrange(1, most + 1)])), element)

    def __call__(self, blocks: Sequence[_Block], rng: random.Random, busy: float = 1.0, ready: float = 1.0) -> None:
        """Sends the blocks, with pauses between their lines, and compares all rows."""
        dut, size, beats = self.dut, self.size, LINE // self.size
        # Cycles in which an order was taken, facts were joined, a row was there; those that a line had to wait.
        self.taken: list[int] = []
        self.joined: list[int] = []
        self.came: list[int] = []
        self.waited = 0
        cycle, ended = 0, 0

        def read(ctx: Any) -> bytes:
            return ctx.get(dut.o.payload).to_bytes(size, "little")[:len(sink.left[0])]

        sink = Sink(dut.o, [row for block in blocks for row in block.rows(size)], read, rng, ready)
        tags = Source(dut.tags, [int.from_bytes(row + rng.randbytes(size - len(row)), "little")
                                 for block in blocks for row in block.tag_rows(size)], rng, 1.0)
        orders = Source(dut.i, [block.order(self.sizes) for block in blocks], rng, busy)

        async def step(ctx: Any) -> None:
            nonlocal cycle
            orders.offer(ctx, may=orders.taken < ended)
            tags.offer(ctx)
            sink.offer(ctx)
            left = len(tags.left), orders.taken
            for end in (orders, tags, sink):
                end.settle(ctx)
            assert ctx.get(dut.tags.ready) == left[0] - len(tags.left), "tags are taken that are not there"
            if orders.taken > left[1]:
                self.taken.append(cycle)
            if ctx.get(dut.joined):
                self.joined.append(cycle)
            if ctx.get(dut.o.valid):
                self.came.append(cycle)
            assert not (self.protected and ctx.get(dut.bad)), "an error of parity that is none"
            await ctx.tick()
            cycle += 1

        async def pause(ctx: Any) -> None:
            ctx.set(dut.done, 0)
            for port in (dut.there, dut.final):
                ctx.set(port, rng.getrandbits(len(port)))
            ctx.set(dut.bytes, [rng.getrandbits(8) for _ in range(SECTIONS)])
            await step(ctx)

        async def lines(ctx: Any, number: int, block: Lines) -> None:
            """The lines of a block, of which so many with facts came before."""
            before = number - _BEFORE_READ
            while before >= 0 and (len(self.joined) <= before or cycle < self.joined[before] + _READ):
                self.waited += 1
                await pause(ctx)
            for k, line in enumerate(block):
                while rng.random() >= busy:
                    await pause(ctx)
                ctx.set(dut.there, sum(1 << section for section in range(SECTIONS) if line[section] is not None))
                ctx.set(dut.bytes, [rng.getrandbits(8) if byte is None else byte for byte in line])
                for beat in range(beats):
                    ctx.set(dut.done, not beat)
                    ctx.set(dut.final, rng.getrandbits(1) if beat else k == len(block) - 1)
                    await step(ctx)

        async def process(ctx: Any) -> None:
            nonlocal ended
            number = 0
            for block in blocks:
                if block.lines is not None:
                    await lines(ctx, number, block.lines)
                    number += 1
                ended += 1
            while sink.left or orders.left or len(self.joined) < number:
                await pause(ctx)
            # Nothing comes behind it.
            for _ in range(20):
                await pause(ctx)
            assert len(self.joined) == number and not tags.left

        self._bench.run(process, cycles=20_000)


@cache
def _play(*build: Any) -> _Play:
    return _Play(*build)


def _blocks(rng: random.Random, play: _Play, count: int) -> list[_Block]:
    """Blocks of one line to the most there may be, whose lines have bases, widths and tags always, at times or never;
    some without facts."""
    shares = [0.0, 0.1, 0.5, 1.0]
    blocks = []
    for _ in range(count):
        lines = rng.choice([1, 2, 3, play.most - 1, play.most, rng.randrange(1, play.most + 1)])
        blocks.append(play.facts(rng, lines, [1.0, rng.choice(shares), rng.choice(shares)],
                                 rng.choice([0, 1, lines, rng.randrange(lines + 1)])))
    # A block without a byte, as one that begins with a beat without an element; and sections of any length.
    blocks += [play.facts(rng, 1, [0.0] * SECTIONS, 0) for _ in range(3)]
    for _ in range(count // 4):
        lines = rng.randrange(1, play.most + 1)
        blocks.append(play.facts(rng, lines, [rng.choice(shares) for _ in range(SECTIONS)], lines))
    blocks += [play.plain(rng) for _ in range(count // 3)]
    rng.shuffle(blocks)
    return blocks


@pytest.mark.parametrize("build", _BUILDS, ids=str)
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (0.7, 0.5), (1.0, 0.1)])
def test_blocks(build: Any, busy: float, ready: float) -> None:
    """Back to back, and with a reader that is slow."""
    rng = random.Random(f"{build} {ready}")
    play = _play(*build)
    play(_blocks(rng, play, 24 if ready > 0.1 else 12), rng, busy, ready)
    if ready == 0.1:
        assert play.waited, "the reader is not slow enough to make blocks wait"


@pytest.mark.parametrize("build", _BUILDS, ids=str)
def test_every_number_of_lines(build: Any) -> None:
    """Each with all bytes, and with headers only."""
    rng = random.Random(f"lines {build}")
    play = _play(*build)
    play([play.facts(rng, lines, [1.0, share, share], lines) for lines in range(1, 18) for share in (0.0, 1.0)
          if lines <= play.most], rng)


@pytest.mark.parametrize("build", _BUILDS, ids=str)
def test_whole_blocks_do_not_wait(build: Any) -> None:
    """Lines with all bytes and tags, one for each time of its beats: the packer keeps up."""
    rng = random.Random(f"whole {build}")
    play = _play(*build)
    element = min(play.exponents)
    tags = rng.randbytes(LINE // 8 // element * play.most)
    play([_Block(_lines(rng, play.most, [1.0] * SECTIONS), tags, element) for _ in range(6)], rng)
    assert play.waited == 0


@pytest.mark.parametrize("build", _BUILDS, ids=str)
def test_the_memories_of_facts_are_as_large_as_two_blocks(build: Any) -> None:
    """For each section a byte of each line, of a power of two of rows: sections are four places, one of them unused."""
    size, _, block_bytes, *_ = build
    text = rtlil.convert(MetadataPacker(*build))
    memories = [(int(width), int(rows)) for width, rows in re.findall(r"memory width (\d+) size (\d+) ", text)]
    count = -(-SECTIONS // (LINE // size))
    rows = max(2, block_bytes // LINE // (size // QUARTERS))
    # The other one has whole rows.
    assert [found for width, found in memories if width < 8 * size] == count * [2 * 4 * rows]


def test_when_rows_come() -> None:
    """The table of cycles."""
    rng = random.Random(0)
    play = _play(*_BUILDS[1])
    whole = _Block(_lines(rng, 32, [1.0] * SECTIONS), rng.randbytes(8 * 32), 2)
    play([whole, _Block(None, bytes(range(64)), 2)], rng)
    begun = play.taken[0]
    assert play.came[0] - begun == 7
    assert play.joined[0] - begun == 12
    # The next block is taken when what is held of this one is written.
    assert play.taken[1] - begun == 47
    late = _Play(32, (1, 2, 4), 4096, (2, 4), "fast")
    late([whole], rng)
    assert late.came[0] - late.taken[0] == 8
    play([_Block(None, bytes(range(64)), 4)], rng)
    assert play.came[0] - play.taken[0] == 4
    play([play.facts(rng, 8, [1.0] * SECTIONS, 8)], rng)
    assert play.joined[0] - play.taken[0] == 1
