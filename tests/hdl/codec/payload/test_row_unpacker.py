# amaranth: UnusedElaboratable=no
"""The unpacker of rows against the plain reference: every kind of block and of damage, and what it costs in cycles."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from cdma.hdl.codec.payload.row_unpacker import RowUnpacker
from cdma.hdl.codec.payload.unpacking import PayloadError
from tests.hdl.bench import Bench
from tests.hdl.codec.payload.payloads import Beat, Block, Feed, damaged, random_floats, random_raw, sampled
from tests.hdl.codec.payload.unpacked import run_unpacking
from tests.hdl.ports import Source

PARTS = [
    "cdma.hdl.codec.payload.block_result.BlockResult", "cdma.hdl.codec.payload.row_ring.RowRing",
    "cdma.hdl.codec.payload.tag_slicer.TagSlicer"]
"""Components whose faults show here; mutants of them were tried."""

_BLOCK = 512
_Build = tuple[int, tuple[int, ...], tuple[int, ...]]
_BUILDS: list[_Build] = [
    (32, (1, 2, 4), ()), (32, (4,), ()), (64, (1, 2, 4), ()), (16, (1, 2, 4), ()), (16, (1,), ()), (16, (2,), ()),
    (16, (4,), ()), (16, (1, 2), ()), (16, (1, 4), ()), (16, (2, 4), ()), (32, (1, 2, 4), (2, 4))]
_FLOATS: list[_Build] = [(32, (1, 2, 4), (2, 4)), (64, (2, 4), (2, 4)), (32, (2, 4), (2,)), (32, (4,), (4,))]


def _name(build: Any) -> str:
    if isinstance(build, float):
        return str(build)
    size, sizes, exponents = ("".join(map(str, part)) if isinstance(part, tuple) else str(part) for part in build)
    return f"{size}-{sizes}" + (f"-{exponents}" if exponents else "")


class _Play:
    """A build that is prepared once, and plays lists of blocks."""

    def __init__(self, size: int, sizes: tuple[int, ...], exponents: tuple[int, ...] = (), block_bytes: int = _BLOCK):
        self.size, self.sizes, self.exponents = size, sizes, exponents
        self.dut = RowUnpacker(size, sizes, block_bytes, exponents)
        self.bench = Bench(self.dut)

    def __call__(self, blocks: Iterable[Block], rng: random.Random, busy: float = 1.0, ready: float = 1.0,
                 cycles: int = 20_000) -> int:
        """Plays the blocks; returns the cycles from the first beat to the last one."""
        blocks = list(blocks)
        return self.feeds([block.feed(self.size, self.sizes, rng, self.exponents) for block in blocks],
                          [beat for block in blocks for beat in block.beats(self.size)], rng, busy, ready, cycles)

    def feeds(self, feeds: list[Feed], beats: list[Beat], rng: random.Random, busy: float, ready: float,
              cycles: int) -> int:
        dut = self.dut
        sources = [Source(dut.order, [feed.order for feed in feeds], rng, busy),
                   Source(dut.words, [word for feed in feeds for word in feed.words], rng, busy),
                   Source(dut.data, [row for feed in feeds for row in feed.data], rng, busy)]
        if self.exponents:
            sources.append(Source(dut.lines, [line for feed in feeds for line in feed.lines], rng, busy))
        return run_unpacking(self.bench, dut, self.size, sources, beats, rng, ready, cycles)


@pytest.fixture(scope="module", params=_BUILDS, ids=_name)
def play(request: pytest.FixtureRequest) -> _Play:
    return _Play(*request.param)


@pytest.mark.parametrize("play", [build for build in _BUILDS if not build[2]], ids=_name, indirect=True)
def test_corners(play: _Play) -> None:
    """All zero, dense, one element in each place of a beat, and every kind of length."""
    rng = random.Random(f"{play.sizes} {play.exponents}")
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


@pytest.mark.parametrize(("play", "busy", "ready"), [
    *((build, 0.5, 0.7) for build in _BUILDS), *((build, 1.0, 1.0) for build in (_BUILDS[0], _BUILDS[2], _BUILDS[-1]))],
    ids=_name, indirect=["play"])
def test_blocks_back_to_back(play: _Play, busy: float, ready: float) -> None:
    rng = random.Random(f"{play.sizes} {busy} {ready}")
    play([sampled(rng, play.sizes, _BLOCK, play.exponents) for _ in range(512 // play.size)], rng, busy, ready)


@pytest.mark.parametrize(("play", "busy", "ready"), [
    *((build, 0.6, 0.6) for build in (*_BUILDS, _FLOATS[1])),
    *((build, 1.0, 1.0) for build in (_BUILDS[0], _BUILDS[3], _BUILDS[-1]))], ids=_name, indirect=["play"])
def test_damaged_blocks(play: _Play, busy: float, ready: float) -> None:
    """Each fault is reported as the reference does, and whole blocks between them come out right."""
    rng = random.Random(f"damage {play.sizes} {busy}")
    blocks: list[Block] = []
    for _ in range(16 if play.size == 64 and play.exponents else 40):
        blocks += [damaged(rng, sampled(rng, play.sizes, 300, play.exponents)),
                   sampled(rng, play.sizes, 100, play.exponents)]
    found = Counter(block.raw()[1] for block in blocks)
    for code in (PayloadError.OK, PayloadError.BAD_TAG, PayloadError.TRUNCATED_DATA, PayloadError.TRAILING_BYTES):
        assert found[code] > 1, f"the test has too few of {code}"
    play(blocks, rng, busy, ready)


def test_blocks_that_are_known_to_be_faulty(play: _Play) -> None:
    """An order with an error gives beats up to the line at fault, the last one with this error, and takes no row."""
    rng = random.Random(f"known {play.sizes}")
    feeds, beats = [], []
    for code in PayloadError:
        if code is not PayloadError.OK:
            line = rng.randrange(1, 4) if play.exponents and code is PayloadError.BAD_FACTS else 0
            block = sampled(rng, play.sizes, 300, play.exponents)
            order = block.feed(play.size, play.sizes, rng, play.exponents).order | {
                "element": {f"b{each}": rng.getrandbits(1) for each in play.sizes}, "beats": line * 128 // play.size,
                "start": 0, "bare": 1, "tail": rng.randrange(4), "error": code}
            for _ in range(rng.randrange(1, 3)):
                feeds.append(Feed(order, [], [], []))
                beats += [Beat(None, k == order["beats"], (code, line) if k == order["beats"] else None)
                          for k in range(order["beats"] + 1)]
        block = sampled(rng, play.sizes, 300, play.exponents)
        feeds.append(block.feed(play.size, play.sizes, rng, play.exponents))
        beats += block.beats(play.size)
    play.feeds(feeds, beats, rng, 1.0, 1.0, 2000)
    play.feeds(feeds, beats, rng, 0.5, 0.7, 5000)


@pytest.mark.parametrize("play", _FLOATS, ids=_name, indirect=True)
def test_floats(play: _Play) -> None:
    """Lines of every kind, among blocks of zero-value coding; short blocks that end anywhere in their line."""
    rng = random.Random(f"floats {play.sizes} {play.exponents}")
    blocks = []
    for element in play.exponents:
        blocks += [Block.of(random_floats(rng, _BLOCK, element), element, True)
                   for _ in range(512 // play.size // len(play.exponents))]
        blocks += [Block.of(random_floats(rng, length, element), element, True)
                   for length in (element, 128, 128 - element, 128 + element, 300, _BLOCK - element)]
        blocks += [Block.of(random_raw(rng, 300, element, density), element, coded)
                   for density in (0.0, 0.5, 1.0) for coded in (True, False)]
    rng.shuffle(blocks)
    kinds = {(line["record"]["width"], flag) for block in blocks if block.exponents for line in block.records()
             for flag in ("zero", "dense", "signs", "escape") if line["record"][flag]}
    assert len(kinds) >= 16, f"lines of few kinds: {kinds}"
    play(blocks, rng)


@pytest.mark.parametrize("play", _FLOATS[:2], ids=_name, indirect=True)
def test_a_beat_of_floats_per_cycle(play: _Play) -> None:
    """Values of every kind: at least 99 % of a beat per cycle, if rows of data are no more than beats."""
    rng = random.Random("speed")
    blocks = [Block.of(random_floats(rng, _BLOCK, element), element, True) for element in (2, 4) * 16]
    assert play(blocks, rng) <= len(blocks) * _BLOCK // play.size / 0.99


@pytest.mark.parametrize("play", _FLOATS[:2], ids=_name, indirect=True)
def test_faults_of_lines(play: _Play) -> None:
    """Of bad widths, a bad tag and data that end early, in any lines of a short block, the first one is reported."""
    rng = random.Random("lines")
    # In every line, one group has distances of 2 bits, and the others have none.
    values = [0x3F80 - (place % 4 << 7 if place % 64 < 16 else 0) if place % 5 else 0 for place in range(230)]
    raw = b"".join(value.to_bytes(2, "little") for value in values)
    whole = Block.of(raw, 2, True)
    behind = whole.fact_bytes + whole.tag_bytes
    blocks = [whole]
    for spoiled in (None, 0, 3):
        for cut in (None, 0, 1, 3):
            for wrong in (False, True):
                payload = bytearray(whole.payload)
                if spoiled is not None:
                    payload[5 + spoiled] = 0xFF
                if wrong:
                    payload[behind - 1] |= 0x80
                if cut is not None:
                    before = Block.of(raw[:128 * cut], 2, True)
                    del payload[behind + len(before.payload) - before.fact_bytes - before.tag_bytes + 1:]
                blocks.append(Block(bytes(payload), 2, len(raw), True))
    found = {block.raw()[1:] for block in blocks}
    assert found >= {(PayloadError.BAD_FACTS, 0), (PayloadError.BAD_FACTS, 3), (PayloadError.BAD_TAG, 3),
                     *((PayloadError.TRUNCATED_DATA, line) for line in (0, 1, 3))}, found
    rng.shuffle(blocks)
    play(blocks, rng)


@pytest.mark.parametrize(("size", "kib", "density"), [(32, 16, 0.0), (32, 32, 0.4), (32, 16, 0.7), (32, 16, 1.0),
                                                      (16, 32, 0.7), (64, 16, 0.7)])
def test_a_beat_per_cycle(size: int, kib: int, density: float) -> None:
    """Large tensors: not one cycle without a beat, if rows of data are no more than beats."""
    rng = random.Random(density)
    play = _Play(size, (1, 2, 4), (), 4096)
    blocks = [Block.of(random_raw(rng, 4096, element, density), element) for element in (1, 2, 4, 4) * (kib // 16)]
    assert play(blocks, rng) == kib * 1024 // size


def test_no_gap_between_blocks_whose_data_begin_inside_a_row() -> None:
    rng = random.Random("begin")
    play = _Play(32, (1, 2, 4))
    blocks = [Block.of(random_raw(rng, 512, 4, 0.9), 4) for _ in range(40)]
    rows = sum(len(block.feed(32, (1, 2, 4), rng).data) for block in blocks)
    beats = sum(len(block.beats(32)) for block in blocks)
    assert rows < beats
    assert play(blocks, rng) == beats


def test_beats_that_hold_no_group() -> None:
    with pytest.raises(ValueError, match="beat_bytes must be 32 or 64 with exponents, not 16"):
        RowUnpacker(16, (2, 4), 512, (2,))
    with pytest.raises(ValueError, match=r"exponents must be among the element sizes \(1, 4\), and 2 or 4, not \(2,\)"):
        RowUnpacker(32, (1, 4), 512, (2,))
