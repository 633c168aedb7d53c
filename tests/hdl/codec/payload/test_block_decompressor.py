"""The decompressor of blocks against the plain reference: payloads in, raw bytes, faults and cycles out."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from cdma.hdl.codec.payload.unpacking import PayloadError
from tests.hdl.codec.payload.payloads import Block, damaged, random_raw, sampled
from tests.hdl.codec.payload.played import Play

_BLOCK = 512


@pytest.fixture(scope="module", params=[(32, (1, 2, 4)), (16, (1, 2, 4)), (64, (1, 2, 4)), (16, (2, 4)), (32, (4,))],
                ids=lambda build: f"{build[0]}-{''.join(map(str, build[1]))}")
def play(request: pytest.FixtureRequest) -> Play:
    size, sizes = request.param
    return Play(size, sizes, _BLOCK)


@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (0.5, 0.6)])
def test_blocks_back_to_back(play: Play, busy: float, ready: float) -> None:
    rng = random.Random(f"{play.sizes} {busy} {ready}")
    play([play.payload(sampled(rng, play.sizes, _BLOCK), rng) for _ in range(384 // play.size)], rng, busy,
         ready)


@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (0.6, 0.6)])
def test_malformed_payloads(play: Play, busy: float, ready: float) -> None:
    """Each fault is reported as the reference does; whole blocks between them come out right."""
    rng = random.Random(f"damage {play.sizes} {busy}")
    payloads = []
    for number in range(48 if play.size < 64 else 28):
        block = damaged(rng, sampled(rng, play.sizes, 300))
        if number % 4 == 1:
            block = Block(block.payload[:rng.randrange(1, block.tag_bytes)], block.element, block.raw_bytes)
        payloads.append(play.refused(rng) if number % 4 == 0 else play.payload(block, rng))
        payloads.append(play.payload(sampled(rng, play.sizes, 100), rng))
    found = Counter(beat.result[0] for payload in payloads for beat in payload.beats if beat.result)
    of_exponents = {PayloadError.BAD_FACTS, PayloadError.TRUNCATED_FACTS}
    assert all(found[code] for code in PayloadError if code not in of_exponents), f"the test lacks some: {found}"
    play(payloads, rng, busy, ready)


def test_short_blocks_of_every_length() -> None:
    """Every number of elements of 4 bytes; of smaller ones, some in the first line and in the last one."""
    rng = random.Random("short")
    play = Play(32, (1, 2, 4), _BLOCK)
    payloads = []
    for element in (1, 2, 4):
        places = 128 // element
        for count in range(1, 4 * places, {1: 7, 2: 5, 4: 1}[element]):
            if element == 4 or count <= places or count > 3 * places:
                raw = random_raw(rng, count * element, element, rng.choice([0.0, 0.5, 1.0]))
                payloads.append(play.payload(Block.of(raw, element), rng))
    play(payloads, rng)


@pytest.mark.parametrize("busy", [1.0, 0.7])
def test_the_largest_block(busy: float) -> None:
    """32 KiB, dense and damaged and sparse, in the smallest memory that is allowed."""
    rng = random.Random(busy)
    play = Play(32, (4,), 32768, 1024 + 32 + 1)
    dense = Block.of(random_raw(rng, 32768, 4, 1.0), 4)
    payloads = [dense, Block(dense.payload + rng.randbytes(3000), 4, 1280),
                Block.of(random_raw(rng, 32768, 4, 0.1), 4)]
    play([play.payload(block, rng) for block in payloads], rng, busy)


@pytest.mark.parametrize(("size", "block_bytes", "density"), [
    (32, 4096, 0.0), (32, 4096, 0.4), (32, 4096, 0.8), (32, 4096, 1.0), (32, 512, 0.4), (32, 512, 0.8), (16, 4096, 0.7),
    (64, 2048, 0.7)])
def test_a_beat_per_cycle(size: int, block_bytes: int, density: float) -> None:
    """At least 99 % of what the raw side, or the packed side, allows; blocks of all sizes of elements."""
    rng = random.Random(f"{size} {density}")
    play = Play(size, (1, 2, 4), block_bytes)
    blocks = [Block.of(random_raw(rng, block_bytes, element, density), element)
              for element in (1, 2, 4, 4) * max(1, 256 * size // 4 // block_bytes)]
    limit = max(sum(-(-len(block.payload) // size) for block in blocks), len(blocks) * block_bytes // size)
    assert play([play.payload(block, rng) for block in blocks], rng) <= limit / 0.99


def test_the_shortest_blocks_at_the_full_rate(play: Play) -> None:
    """Blocks of one line, with 32-byte beats of two, with 64-byte beats of three: no cycle without a beat."""
    rng = random.Random("shortest")
    length = {16: 128, 32: 256, 64: 384}[play.size]
    blocks = [Block.of(random_raw(rng, length, element, 0.5), element) for element in rng.choices(play.sizes, k=10)]
    assert play([play.payload(block, rng) for block in blocks], rng) == 10 * length // play.size


def test_large_tensors() -> None:
    """64 KiB at the density of ReLU, and tensors that end with a block of two lines: not one cycle without a beat."""
    rng = random.Random("tensor")
    play = Play(32, (4,), 4096)
    lengths = [4096] * 14 + [256, 4096] * 2
    blocks = [Block.of(random_raw(rng, length, 4, 0.4), 4) for length in lengths]
    assert play([play.payload(block, rng) for block in blocks], rng) == sum(lengths) // 32


def test_latency_is_as_stated() -> None:
    rng = random.Random("latency")
    play = Play(32, (4,), 512)
    seen = play.cycles(play.payload(Block.of(random_raw(rng, 512, 4, 0.4), 4), rng), rng, 40)
    assert seen[0] == 11
    assert len(seen) == 16
