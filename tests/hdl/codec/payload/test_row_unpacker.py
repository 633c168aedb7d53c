"""The unpacker of rows against the plain reference: every kind of block and of damage, and what it costs in cycles."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest

from hdl.codec.payload.row_unpacker import RowUnpacker
from hdl.codec.payload.unpacking import PayloadError
from tests.hdl.bench import Bench
from tests.hdl.codec.payload.payloads import Beat, Block, Feed, damaged, random_raw, sampled
from tests.hdl.codec.payload.unpacked import run_unpacking
from tests.hdl.ports import Source

_BLOCK = 512
_BUILDS = [(32, (1, 2, 4)), (32, (4,)), (64, (1, 2, 4)), (16, (1, 2, 4)), (16, (1,)), (16, (2,)), (16, (4,)),
           (16, (1, 2)), (16, (1, 4)), (16, (2, 4))]


class _Play:
    """A build that is prepared once, and plays lists of blocks."""

    def __init__(self, size: int, sizes: tuple[int, ...], block_bytes: int = _BLOCK):
        self.size, self.sizes = size, sizes
        self.dut = RowUnpacker(size, sizes, block_bytes)
        self.bench = Bench(self.dut)

    def __call__(self, blocks: Iterable[Block], rng: random.Random, busy: float = 1.0, ready: float = 1.0,
                 cycles: int = 20_000) -> int:
        """Plays the blocks; returns the cycles from the first beat to the last one."""
        blocks = list(blocks)
        return self.feeds([block.feed(self.size, self.sizes, rng) for block in blocks],
                          [beat for block in blocks for beat in block.beats(self.size)], rng, busy, ready, cycles)

    def feeds(self, feeds: list[Feed], beats: list[Beat], rng: random.Random, busy: float, ready: float,
              cycles: int) -> int:
        dut = self.dut
        sources = [Source(dut.order, [feed.order for feed in feeds], rng, busy),
                   Source(dut.tags, [row for feed in feeds for row in feed.tags], rng, busy),
                   Source(dut.data, [row for feed in feeds for row in feed.data], rng, busy)]
        return run_unpacking(self.bench, dut, self.size, sources, beats, rng, ready, cycles)


@pytest.fixture(scope="module", params=_BUILDS, ids=lambda build: f"{build[0]}-{''.join(map(str, build[1]))}")
def play(request: pytest.FixtureRequest) -> _Play:
    return _Play(*request.param)


def test_corners(play: _Play) -> None:
    """All zero, dense, one element in each place of a beat, and every kind of length."""
    rng = random.Random(str(play.sizes))
    blocks = []
    for element in play.sizes:
        for density in (0.0, 1.0):
            blocks += [Block.of(random_raw(rng, length, element, density), element)
                       for length in (_BLOCK, 128, element, 128 + element, _BLOCK - element)]
        for place in range(play.size // element):
            raw = bytearray(2 * play.size)
            raw[place * element] = 1
            raw[len(raw) - 1 - place * element] = 1
            blocks.append(Block.of(bytes(raw), element))
    play(blocks, rng)


@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (0.5, 0.7)])
def test_blocks_back_to_back(play: _Play, busy: float, ready: float) -> None:
    rng = random.Random(f"{play.sizes} {busy} {ready}")
    play([sampled(rng, play.sizes, _BLOCK) for _ in range(512 // play.size)], rng, busy, ready)


@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (0.6, 0.6)])
def test_damaged_blocks(play: _Play, busy: float, ready: float) -> None:
    """Each fault is reported as the reference does, and whole blocks between them come out right."""
    rng = random.Random(f"damage {play.sizes} {busy}")
    blocks: list[Block] = []
    for _ in range(40):
        blocks += [damaged(rng, sampled(rng, play.sizes, 300)), sampled(rng, play.sizes, 100)]
    found = Counter(block.raw()[1] for block in blocks)
    for code in (PayloadError.OK, PayloadError.BAD_TAG, PayloadError.TRUNCATED_DATA, PayloadError.TRAILING_BYTES):
        assert found[code] > 2, f"the test has too few of {code}"
    play(blocks, rng, busy, ready)


def test_blocks_that_are_known_to_be_faulty(play: _Play) -> None:
    """An order with an error gives one beat with this error, and takes no row."""
    rng = random.Random(f"known {play.sizes}")
    feeds, beats = [], []
    for code in PayloadError:
        if code is not PayloadError.OK:
            order = {"element": {f"b{each}": rng.getrandbits(1) for each in play.sizes}, "beats": 0, "start": 0,
                     "bare": 1, "tail": rng.randrange(play.size // min(play.sizes)), "error": code}
            for _ in range(rng.randrange(1, 3)):
                feeds.append(Feed(order, [], []))
                beats.append(Beat(None, True, (code, 0)))
        block = sampled(rng, play.sizes, 300)
        feeds.append(block.feed(play.size, play.sizes, rng))
        beats += block.beats(play.size)
    play.feeds(feeds, beats, rng, 1.0, 1.0, 2000)
    play.feeds(feeds, beats, rng, 0.5, 0.7, 5000)


@pytest.mark.parametrize(("size", "kib", "density"), [(32, 16, 0.0), (32, 64, 0.4), (32, 16, 0.7), (32, 16, 1.0),
                                                      (16, 32, 0.7), (64, 16, 0.7)])
def test_a_beat_per_cycle(size: int, kib: int, density: float) -> None:
    """Large tensors: not one cycle without a beat, if rows of data are no more than beats."""
    rng = random.Random(density)
    play = _Play(size, (1, 2, 4), 4096)
    blocks = [Block.of(random_raw(rng, 4096, element, density), element) for element in (1, 2, 4, 4) * (kib // 16)]
    assert play(blocks, rng) == kib * 1024 // size


def test_no_gap_between_blocks_whose_data_begin_inside_a_row() -> None:
    rng = random.Random("begin")
    play = _Play(32, (1, 2, 4), 512)
    blocks = [Block.of(random_raw(rng, 512, 4, 0.9), 4) for _ in range(40)]
    rows = sum(len(block.feed(32, (1, 2, 4), rng).data) for block in blocks)
    beats = sum(len(block.beats(32)) for block in blocks)
    assert rows < beats
    assert play(blocks, rng) == beats
