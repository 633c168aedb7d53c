"""The decompressor of blocks with exponents against the plain reference: raw bytes, faults, cycles."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from cdma.golden.reference.exponents import decompress_exponents
from cdma.golden.reference.lines import MalformedError
from cdma.hdl.codec.payload.unpacking import PayloadError
from tests.hdl.codec.payload.payloads import Block, damaged, random_floats, random_raw, sampled
from tests.hdl.codec.payload.played import Play

_BLOCK = 512


@pytest.fixture(scope="module", params=[(32, (1, 2, 4)), (64, (2, 4)), (16, (2, 4))],
                ids=lambda build: f"{build[0]}-{''.join(map(str, build[1]))}")
def play(request: pytest.FixtureRequest) -> Play:
    size, sizes = request.param
    return Play(size, sizes, 4096, None, (2, 4))


def _count(play: Play, blocks: int) -> int:
    """So many blocks of a build of 32-byte beats; fewer of the others, which share most of it."""
    return blocks if play.size == 32 else blocks // 4


@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (0.7, 0.7)])
def test_mixed_codings_back_to_back(play: Play, busy: float, ready: float) -> None:
    rng = random.Random(f"{play.size} {busy} {ready}")
    play([play.payload(sampled(rng, play.sizes, _BLOCK, play.exponents), rng) for _ in range(_count(play, 16))], rng,
         busy, ready)


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


def test_malformed_payloads(play: Play) -> None:
    """Each fault is reported as the reference does; whole blocks between them come out right."""
    rng = random.Random(f"damage {play.size}")
    payloads = []
    for number in range(_count(play, 50)):
        block = damaged(rng, sampled(rng, play.sizes, 300, play.exponents))
        if number % 5 == 1:
            behind = block.fact_bytes + block.tag_bytes
            block = Block(block.payload[:rng.randrange(1, behind)], block.element, block.raw_bytes, block.exponents)
        elif number % 5 == 2:
            block = _scribbled(rng, rng.choice(play.exponents))
        payloads.append(play.refused(rng) if number % 10 == 0 else play.payload(block, rng))
        payloads.append(play.payload(sampled(rng, play.sizes, 100, play.exponents), rng))
    found = Counter(beat.result[0] for payload in payloads for beat in payload.beats if beat.result)
    assert play.size != 32 or all(found[code] for code in PayloadError), f"the test lacks some: {found}"
    play(payloads, rng, 1.0, 0.9)


def test_short_blocks(play: Play) -> None:
    """Blocks that end in each part of a line, dense and sparse."""
    rng = random.Random(f"short {play.size}")
    payloads = []
    for element in play.exponents:
        for count in range(1, 260 // element, 260 // element // _count(play, 16)):
            raw = random_floats(rng, count * element, element) if rng.random() < 0.6 else random_raw(
                rng, count * element, element, 1.0)
            payloads.append(play.payload(Block.of(raw, element, True), rng))
    play(payloads, rng)


def test_a_line_that_lacks_elements_may_not_be_dense(play: Play) -> None:
    """Dense, the last line of a short block is at fault, wherever it ends."""
    rng = random.Random("dense")
    payloads = []
    for element in play.exponents:
        for length in (64,) if play.size == 64 else (4, 64, 124):
            whole = Block.of(random_raw(rng, 256, element, 1.0), element, True)
            assert all(header & 16 for header in whole.headers)
            payloads.append(play.payload(Block(whole.payload, element, 128 + length, True), rng))
            assert payloads[-1].beats[-1].result == (PayloadError.BAD_TAG, 1)
    play(payloads, rng)


def _values(rng: random.Random, element: int, length: int, present: float) -> bytes:
    """Values like activations: exponents near one another, both signs, this share of them not zero."""
    mantissa = {2: 7, 4: 23}[element]
    return b"".join(
        (rng.getrandbits(1) << 8 * element - 1 | 120 + rng.randrange(8) << mantissa | rng.getrandbits(mantissa)
         if rng.random() < present else 0).to_bytes(element, "little") for _ in range(length // element))


def test_a_beat_per_cycle(play: Play) -> None:
    """No cycle without a raw beat, at any share of zeros."""
    rng = random.Random("rate")
    kinds = {16: [(2, 0.7)], 32: [(2, 0.5), (4, 1.0), (2, 1.0), (2, 0.0)], 64: [(2, 1.0), (2, 0.6)]}[play.size]
    blocks = [Block.of(_values(rng, element, 4096, present), element, True) for element, present in kinds]
    assert play([play.payload(block, rng) for block in blocks], rng) == len(blocks) * 4096 // play.size


def test_the_shortest_blocks_at_the_full_rate(play: Play) -> None:
    """Short blocks of both codings in turn: 99 % of a beat per cycle."""
    rng = random.Random("shortest")
    length = {16: 256, 32: 512, 64: 2048}[play.size]
    kinds = [(4, True), (2, True), (4, False)] * (2 if play.size == 32 else 1)
    blocks = [Block.of(_values(rng, element, length, 0.5), element, exponents) for element, exponents in kinds]
    beats = len(blocks) * length // play.size
    assert beats <= play([play.payload(block, rng) for block in blocks], rng) <= beats / 0.99


@pytest.mark.parametrize("exponents", [False, True])
def test_latency_is_as_stated(play: Play, exponents: bool) -> None:
    rng = random.Random("latency")
    seen = play.cycles(play.payload(Block.of(_values(rng, 2, 512, 0.6), 2, exponents), rng), rng, 30)
    stated = {16: (15, 23), 32: (13, 22), 64: (13, 23)}
    assert seen[0] == stated[play.size][exponents]
