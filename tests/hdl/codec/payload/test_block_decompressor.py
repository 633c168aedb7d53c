# amaranth: UnusedElaboratable=no
"""The decompressor of blocks against the plain reference: payloads in, raw bytes, faults and cycles out.

Also as a lane has it: with raw blocks among coded ones, and rows that are wider than its beats.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from typing import Any

import pytest

from cdma.golden.reference.exponents import decompress_exponents
from cdma.golden.reference.lines import MalformedError
from cdma.hdl.codec.coding import largest_payload, most_metadata
from cdma.hdl.codec.payload.block_decompressor import BlockDecompressor
from cdma.hdl.codec.payload.unpacking import PayloadError
from tests.hdl.codec.payload.payloads import Block, damaged, random_floats, random_raw, sampled
from tests.hdl.codec.payload.played import Payload, Play

_BLOCK = 512

# Bytes of a beat, element sizes, those with exponents, and for a lane the beats of a row.
_PLAIN: list[Any] = [(32, (1, 2, 4), (), 0), (16, (1, 2, 4), (), 0), (64, (1, 2, 4), (), 0), (16, (2, 4), (), 0),
                     (32, (4,), (), 0), (16, (1,), (), 0), (16, (2,), (), 0), (16, (1, 2), (), 0), (16, (1, 4), (), 0)]
_EXPONENTS: list[Any] = [(32, (1, 2, 4), (2, 4), 0), (64, (2, 4), (2, 4), 0), (16, (2, 4), (2, 4), 0)]
_LANES: list[Any] = [
    (16, (1, 2, 4), (), 1), (16, (4,), (), 4), (16, (2, 4), (), 2), (32, (1, 2, 4), (), 2), (32, (1, 2, 4), (), 4),
    (32, (4,), (), 1), (64, (2, 4), (), 1), (64, (2, 4), (), 2), (16, (2, 4), (2, 4), 1), (16, (1, 2, 4), (2, 4), 2),
    (16, (2, 4), (2, 4), 4), (32, (1, 2, 4), (2, 4), 1), (32, (1, 2, 4), (2, 4), 2), (32, (2,), (2,), 4),
    (64, (2, 4), (2, 4), 1)]
_FAST: list[Any] = [
    (32, (1, 2, 4), (), 0, "fast"), (32, (4,), (), 0, "fast"), (32, (1, 2, 4), (2, 4), 0, "fast"),
    (64, (2, 4), (2, 4), 0, "fast"), (16, (2, 4), (2, 4), 0, "fast"), (32, (2, 4), (2, 4), 2, "fast"),
    (16, (2, 4), (), 4, "fast"), (32, (2,), (2,), 1, "fast")]


def _name(build: Any) -> str:
    size, sizes, exponents, beats, *fast = build
    sizes, exponents = ("".join(map(str, each)) for each in (sizes, exponents))
    return "-".join([f"{size}-{sizes}" + (f"-exponents{exponents}" if exponents else "")
                     + (f"-lane{beats}" if beats else ""), *fast])


@cache
def _play(build: Any, block_bytes: int) -> Play:
    """Each build, prepared once."""
    size, sizes, exponents, beats, *fast = build
    return Play(size, sizes, block_bytes, None, exponents, beats > 0, (beats or 1) * size, *fast)


@pytest.fixture(scope="module", params=[*_PLAIN, *_EXPONENTS, *_LANES, *_FAST], ids=_name)
def play(request: pytest.FixtureRequest) -> Play:
    _, _, exponents, beats, *_ = request.param
    return _play(request.param, 4096 if exponents and not beats else _BLOCK)


def _count(play: Play, blocks: int) -> int:
    """So many blocks; fewer of builds that take long and share most with another one."""
    return blocks // 3 if play.exponents and (play.for_lane or play.size != 32) else blocks


def _raw(play: Play, rng: random.Random, shorter: int = 0, longer: int = 0) -> Payload:
    """A raw block of any length; its payload may lack bytes or have more."""
    unit = min(play.sizes)
    length = _BLOCK if rng.random() < 0.4 else rng.randrange(8, _BLOCK + 1) // unit * unit
    return Payload.raw(rng.randbytes(max(1, length - shorter + longer)), length, play.size, rng)


def _good(play: Play, rng: random.Random, most: int) -> Payload:
    if play.for_lane and rng.random() < 0.5:
        return _raw(play, rng)
    return play.payload(sampled(rng, play.sizes, most, play.exponents), rng)


def _scribbled(rng: random.Random, element: int) -> Block:
    """A block of random bytes, half of them cut where their lines end: facts as no compressor writes them."""
    raw_bytes = rng.randrange(element, 500) // element * element
    payload = bytearray(rng.randbytes(2 * raw_bytes + 300))
    for line in range(-(-raw_bytes // 128)):
        if payload[line] & 7 == 7 and rng.random() < 0.9:
            payload[line] &= rng.choice([0x1F, 0xFE])
        payload[line] |= rng.choice([0, 0, 0, 0xFF])
    try:
        decompress_exponents(bytes(payload), element, raw_bytes, 0)
    except MalformedError as error:
        if error.fault[0] == "TRAILING_BYTES" and rng.random() < 0.7:
            del payload[error.fault[1]:]
    return Block(bytes(payload), element, raw_bytes, True)


def _faulty(play: Play, rng: random.Random, number: int) -> Payload:
    """A payload with something wrong, of each kind in turn."""
    block = damaged(rng, sampled(rng, play.sizes, 300, play.exponents))
    behind, kind = block.fact_bytes + block.tag_bytes, number % 5
    if kind == 0:
        return play.refused(rng)
    if kind == 1:
        # Cut in front of its data, where they begin, or a byte behind that.
        end = rng.choice([rng.randrange(1, behind), rng.randrange(1, behind), behind, behind + 1])
        block = Block(block.payload[:end], block.element, block.raw_bytes, block.exponents)
    elif kind == 2 and play.exponents:
        block = _scribbled(rng, rng.choice(play.exponents))
    elif kind == 3 and play.for_lane:
        bytes_ = rng.choice([1, 4, rng.randrange(1, 300)])
        return _raw(play, rng, shorter=bytes_) if number & 1 else _raw(play, rng, longer=bytes_)
    return play.payload(block, rng)


def _twice(play: Play, payloads: list[Payload], rng: random.Random) -> None:
    """Plays half of them without a pause, half with pauses on both sides."""
    half = len(payloads) // 2
    play(payloads[:half], rng, 1.0, 1.0)
    play(payloads[half:], rng, 0.6, 0.6)


def test_blocks_back_to_back(play: Play) -> None:
    rng = random.Random(f"{play.size} {play.sizes} {play.row_bytes}")
    _twice(play, [_good(play, rng, _BLOCK) for _ in range(_count(play, 24))], rng)


def test_malformed_payloads(play: Play) -> None:
    """Each fault is reported as the reference does; whole blocks between them come out right."""
    rng = random.Random(f"damage {play.size} {play.sizes} {play.row_bytes}")
    payloads = []
    for number in range(_count(play, 50)):
        payloads += [_faulty(play, rng, number), _good(play, rng, 100)]
    found = Counter(beat.result[0] for payload in payloads for beat in payload.beats if beat.result)
    wanted = set(PayloadError) - (set() if play.exponents else {PayloadError.BAD_FACTS, PayloadError.TRUNCATED_FACTS})
    assert wanted <= set(found) or _count(play, 3) < 3, f"the test lacks some: {found}"
    _twice(play, payloads, rng)


@pytest.mark.parametrize("play", [_PLAIN[0], _FAST[0]], ids=_name, indirect=True)
def test_short_blocks_of_every_length(play: Play) -> None:
    """Every number of elements of 4 bytes; of smaller ones, some in the first line and in the last one."""
    rng = random.Random("short")
    payloads = []
    for element in (1, 2, 4):
        places = 128 // element
        for count in range(1, 4 * places, {1: 7, 2: 5, 4: 1}[element]):
            if element == 4 or count <= places or count > 3 * places:
                raw = random_raw(rng, count * element, element, rng.choice([0.0, 0.5, 1.0]))
                payloads.append(play.payload(Block.of(raw, element), rng))
    play(payloads, rng)


@pytest.mark.parametrize("play", [*_EXPONENTS, *_FAST[2:5]], ids=_name, indirect=True)
def test_short_blocks_with_exponents(play: Play) -> None:
    """Blocks that end in each part of a line, dense and sparse; and a last line that claims to be dense, which is a
    fault wherever it ends."""
    rng = random.Random(f"short {play.size}")
    payloads = []
    for element in play.exponents:
        for count in range(1, 260 // element, 260 // element // _count(play, 16)):
            raw = random_floats(rng, count * element, element) if rng.random() < 0.6 else random_raw(
                rng, count * element, element, 1.0)
            payloads.append(play.payload(Block.of(raw, element, True), rng))
        for length in (64,) if play.size == 64 else (4, 64, 124):
            whole = Block.of(random_raw(rng, 256, element, 1.0), element, True)
            assert all(header & 16 for header in whole.headers)
            payloads.append(play.payload(Block(whole.payload, element, 128 + length, True), rng))
            assert payloads[-1].beats[-1].result == (PayloadError.BAD_TAG, 1)
    play(payloads, rng)


@pytest.mark.parametrize("build", [(16, (1, 2, 4), (), 2), (16, (1, 2, 4), (), 4), (32, (2,), (2,), 2),
                                   (32, (2,), (2,), 4)], ids=_name)
def test_payloads_that_end_at_every_place_of_a_row(build: Any) -> None:
    """Tags that end a payload, a beat or a row; data that end in each beat."""
    size, (element, *_), exponents, beats = build
    rng = random.Random(f"{size} {beats}")
    play, payloads = _play(build, 1024), []
    for lines in range(1, 9):
        for density in (0.0, 0.1, 1.0) if size == 16 else (0.0, 0.7):
            raw = random_raw(rng, 128 * lines, element, density)
            payloads.append(play.payload(Block.of(raw, element, bool(exponents) and density > 0), rng))
            payloads.append(Payload.raw(rng.randbytes(size * lines), size * lines, size, rng))
    play(payloads, rng)


@pytest.mark.parametrize("busy", [1.0, 0.7])
def test_the_largest_block(busy: float) -> None:
    """32 KiB, dense and damaged and sparse, in the smallest memory that is allowed."""
    rng = random.Random(busy)
    play = Play(32, (4,), 32768, 1024 + 32 + 1)
    dense = Block.of(random_raw(rng, 32768, 4, 1.0), 4)
    payloads = [play.payload(block, rng) for block in (
        dense, Block(dense.payload + rng.randbytes(3000), 4, 1280), Block(dense.payload[:-1], 4, 32768),
        Block.of(random_raw(rng, 32768, 4, 0.1), 4))]
    assert payloads[2].beats[-1].result == (PayloadError.TRUNCATED_DATA, 255)
    play(payloads, rng, busy)


@pytest.mark.parametrize("size", [2, 4])
def test_the_largest_block_with_exponents(size: int) -> None:
    """32 KiB, whole and with a fault in its last line."""
    rng = random.Random(size)
    play = Play(32, (size,), 32768, exponents=(size,))
    whole = Block.of(random_floats(rng, 32768 - 128, size) + random_raw(rng, 128, size, 1.0), size, True)
    payloads = [play.payload(block, rng) for block in (whole, Block(whole.payload[:-1], size, 32768, True))]
    assert payloads[1].beats[-1].result == (PayloadError.TRUNCATED_DATA, 255)
    play(payloads, rng)


def _values(rng: random.Random, element: int, length: int, present: float) -> bytes:
    """Values like activations: exponents near one another, both signs, this share of them not zero."""
    mantissa = {2: 7, 4: 23}[element]
    return b"".join(
        (rng.getrandbits(1) << 8 * element - 1 | 120 + rng.randrange(8) << mantissa | rng.getrandbits(mantissa)
         if rng.random() < present else 0).to_bytes(element, "little") for _ in range(length // element))


def _block(rng: random.Random, play: Play, kind: str, length: int, share: float) -> Payload:
    """A block of so many bytes: ``raw``, or coded with elements of so many bytes, with exponents (``e``) or not."""
    if kind == "raw":
        return Payload.raw(rng.randbytes(length), length, play.size, rng)
    element, exponents = int(kind[-1]), kind[0] == "e"
    raw = (_values if exponents else random_raw)(rng, *((element, length) if exponents else (length, element)), share)
    return play.payload(Block.of(raw, element, exponents), rng)


_MIXED = ["1", "2", "4", "4"]
_RATES: dict[str, Any] = {
    "zeros": (_PLAIN[0], 4096, 2 * _MIXED, 0.0, 0.99), "sparse": (_PLAIN[0], 4096, 2 * _MIXED, 0.4, 0.99),
    "dense": (_PLAIN[0], 4096, 2 * _MIXED, 0.8, 0.99), "no zeros": (_PLAIN[0], 4096, 2 * _MIXED, 1.0, 0.99),
    "16": (_PLAIN[1], 4096, _MIXED, 0.7, 0.99), "64": (_PLAIN[2], 2048, 2 * _MIXED, 0.7, 0.99),
    "short sparse": (_PLAIN[0], 512, 4 * _MIXED, 0.4, 0.99), "short dense": (_PLAIN[0], 512, 4 * _MIXED, 0.8, 0.99),
    "of two lines": (_PLAIN[0], 256, 3 * _MIXED, 0.5, 1), "of one": (_PLAIN[1], 128, 3 * _MIXED, 0.5, 1),
    "of three": (_PLAIN[2], 384, 3 * _MIXED, 0.5, 1), "of two of 32 bits": (_PLAIN[4], 256, 10 * ["4"], 0.5, 1),
    "ReLU": (_PLAIN[4], 4096, 8 * ["4"], 0.4, 1),
    "exponents": (_EXPONENTS[0], 4096, ["e2", "e4"], 0.5, 0.99), "no value": (_EXPONENTS[0], 4096, ["e2"], 0.0, 1),
    "exponents, no zeros": (_EXPONENTS[0], 4096, ["e4", "e2"], 1.0, 1),
    "exponents, 64": (_EXPONENTS[1], 4096, ["e2", "e2"], 0.6, 1),
    "exponents, 16": (_EXPONENTS[2], 4096, ["e2"], 0.7, 1),
    "exponents in turn": (_EXPONENTS[0], 512, ["e4", "e2", "4"] * 2, 0.5, 0.99),
    "exponents in turn, 64": (_EXPONENTS[1], 2048, ["e4", "e2", "4"], 0.5, 0.99),
    "exponents in turn, 16": (_EXPONENTS[2], 256, ["e4", "e2", "4"], 0.5, 0.99),
    "lane 16": ((16, (1, 2, 4), (), 4), 1024, ["2", "raw", "1", "raw", "4", "raw", "raw", "raw"], 0.5, 1),
    "lane 32": ((32, (1, 2, 4), (), 1), 1024, ["2", "raw", "1", "raw", "4", "raw", "raw", "raw"], 0.5, 1),
    "lane 32, wide rows": ((32, (1, 2, 4), (), 2), 1024, ["2", "raw", "1", "raw", "4", "raw", "raw"], 0.5, 1),
    "lane 64": ((64, (4,), (), 1), 1024, ["4", "raw", "4", "raw", "4", "raw", "raw", "raw"], 0.5, 1),
    "lane 32, exponents": ((32, (2, 4), (2, 4), 1), 1024, ["e2", "raw", "2", "raw", "e4", "raw", "raw"], 0.5, 0.99),
    "lane 16, exponents": ((16, (2, 4), (2, 4), 2), 1024, ["e2", "raw", "2", "raw", "e4", "raw", "raw"], 0.5, 0.99),
}
"""Build, bytes and kinds of blocks, share of elements that are not zero, and the least share of cycles with a beat."""


_RATES |= {f"{name}, fast": ((*_RATES[name][0], "fast"), *_RATES[name][1:]) for name in (
    "sparse", "short dense", "of two lines", "of two of 32 bits", "exponents", "exponents, no zeros", "exponents, 64",
    "exponents in turn", "exponents in turn, 64", "exponents in turn, 16", "lane 32, exponents", "lane 16")}


@pytest.mark.parametrize(("build", "length", "kinds", "share", "rate"), _RATES.values(), ids=_RATES)
def test_a_beat_per_cycle(build: Any, length: int, kinds: list[str], share: float, rate: float) -> None:
    """Of what the raw side, or the packed side, allows."""
    rng = random.Random(f"{build} {share}")
    play = _play(build, max(length, _BLOCK))
    payloads = [_block(rng, play, kind, length, share) for kind in kinds]
    least = max(sum(-(-len(each.payload) // play.row_bytes) for each in payloads), len(kinds) * length // play.size)
    assert play(payloads, rng) <= least / rate


@pytest.mark.parametrize(("build", "kind", "length", "cycles"), [
    (_PLAIN[4], "4", 512, 11), (_EXPONENTS[2], "2", 512, 15), (_EXPONENTS[0], "2", 512, 13),
    (_EXPONENTS[1], "2", 512, 13), (_EXPONENTS[2], "e2", 512, 23), (_EXPONENTS[0], "e2", 512, 22),
    (_EXPONENTS[1], "e2", 512, 23),
    ((16, (4,), (), 1), "raw", 2048, 8), ((16, (4,), (), 2), "raw", 2048, 8), ((16, (4,), (), 4), "raw", 2048, 8),
    ((64, (4,), (), 1), "raw", 2048, 8), ((32, (4,), (4,), 2), "raw", 2048, 10), ((16, (4,), (4,), 4), "raw", 2048, 10),
    ((16, (4,), (4,), 1), "raw", 2048, 11),
    (_FAST[1], "4", 512, 15), (_FAST[2], "2", 512, 20), (_FAST[2], "e2", 512, 29), (_FAST[3], "e2", 512, 30),
    (_FAST[4], "e2", 512, 30)])
def test_latency_is_as_stated(build: Any, kind: str, length: int, cycles: int) -> None:
    """And from then on a beat per cycle; a raw block is taken at the speed of its rows."""
    rng = random.Random("latency")
    play = _play(build, 4096 if build in [*_EXPONENTS, *_FAST[2:5]] else max(length, _BLOCK))
    beats = length // play.size
    assert play.cycles(_block(rng, play, kind, length, 0.4), rng, beats + 40) == list(range(cycles, cycles + beats))


@pytest.mark.parametrize(("arguments", "words"), [
    ({"beat_bytes": 16, "for_lane": True, "row_bytes": 128},
     "row_bytes must be 16, 32 or 64 for beats of 16 bytes, not 128"),
    ({"rows": 17}, "rows must be at least 18 for blocks of 512 bytes, not 17"),
    ({"rows": 18, "exponents": (2,)}, "rows must be at least 19 for blocks of 512 bytes, not 18")])
def test_what_is_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        BlockDecompressor(**{"beat_bytes": 32, "element_bytes": (2, 4), "block_bytes": 512} | arguments).elaborate(None)


def test_the_most_bytes_of_a_block() -> None:
    """Tags, and with exponents three bytes more for each line, filled up to whole words."""
    assert [most_metadata(4096, *sizes) for sizes in (((1, 2, 4),), ((1, 2, 4), (2, 4)), ((2, 4), (2,)))] == [
        512, 512, 96 + 256]
    assert most_metadata(640, (4,), (4,)) == 16 + 20
    assert [largest_payload(4096, *sizes) for sizes in (((4,),), ((2, 4), (2, 4)), ((1, 2), (2,)))] == [
        4096 + 128, 4096 + 32 + 256, 4096 + 512]
