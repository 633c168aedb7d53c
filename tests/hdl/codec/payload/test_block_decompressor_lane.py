# amaranth: UnusedElaboratable=no
"""The decompressor of blocks as a lane has it: raw blocks among coded ones, and rows that are wider than its beats."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from cdma.hdl.codec.payload.block_decompressor import BlockDecompressor
from cdma.hdl.codec.payload.unpacking import PayloadError
from tests.hdl.codec.payload.payloads import Block, damaged, random_floats, random_raw, sampled
from tests.hdl.codec.payload.played import Payload, Play

_BLOCK = 512


@pytest.fixture(scope="module", params=[
    (16, (1, 2, 4), (), 1), (16, (4,), (), 4), (16, (2, 4), (), 2), (32, (1, 2, 4), (), 2), (32, (1, 2, 4), (), 4),
    (32, (4,), (), 1), (64, (2, 4), (), 1), (64, (2, 4), (), 2), (16, (2, 4), (2, 4), 1), (16, (1, 2, 4), (2, 4), 2),
    (16, (2, 4), (2, 4), 4), (32, (1, 2, 4), (2, 4), 1), (32, (1, 2, 4), (2, 4), 2), (32, (2,), (2,), 4),
    (64, (2, 4), (2, 4), 1)],
    ids=lambda build: "-".join(("".join(map(str, each)) or "none") if isinstance(each, tuple) else str(each)
                               for each in build))
def play(request: pytest.FixtureRequest) -> Play:
    size, sizes, exponents, beats = request.param
    return Play(size, sizes, _BLOCK, None, exponents, True, beats * size)


def _raw(play: Play, rng: random.Random, *, shorter: bool = False, longer: bool = False) -> Payload:
    """A raw block of any length; its payload may be shorter or longer."""
    unit = min(play.sizes)
    length = _BLOCK if rng.random() < 0.4 else rng.randrange(8, _BLOCK + 1) // unit * unit
    content = rng.randbytes(length)
    if shorter:
        content = content[:max(1, length - rng.choice([1, 4, rng.randrange(1, 300)]))]
    if longer:
        content += rng.randbytes(rng.choice([1, 3, 4, 64, 200]))
    return Payload.raw(content, length, play.size, rng)


def test_raw_blocks_among_coded_ones(play: Play) -> None:
    """Half of them without a pause, half with pauses on both sides."""
    rng = random.Random(f"{play.size} {play.sizes} {play.row_bytes}")
    for busy, ready in ((1.0, 1.0), (0.6, 0.7)):
        play([_raw(play, rng) if rng.random() < 0.5 else
              play.payload(sampled(rng, play.sizes, _BLOCK, play.exponents), rng)
              for _ in range(5 if play.exponents else 10)], rng, busy, ready)


def test_malformed_payloads(play: Play) -> None:
    """Raw payloads of the wrong length, and all faults of coded ones, with whole blocks between them."""
    rng = random.Random(f"damage {play.size} {play.sizes} {play.row_bytes}")
    payloads = []
    for number in range(12 if play.exponents else 24):
        block = damaged(rng, sampled(rng, play.sizes, 300, play.exponents))
        behind = block.fact_bytes + block.tag_bytes
        if number % 4 == 0:
            payloads.append(play.refused(rng))
        elif number % 4 == 1:
            payloads.append(_raw(play, rng, shorter=number & 4 == 0, longer=number & 4 != 0))
        elif number % 4 == 2:
            # Cut in front of its data, where they begin, or a byte behind that.
            end = rng.choice([rng.randrange(1, behind), behind, behind + 1])
            payloads.append(play.payload(
                Block(block.payload[:end], block.element, block.raw_bytes, block.exponents), rng))
        else:
            payloads.append(play.payload(block, rng))
        payloads.append(_raw(play, rng) if rng.random() < 0.3 else
                        play.payload(sampled(rng, play.sizes, 100, play.exponents), rng))
    found = Counter(beat.result[0] for payload in payloads for beat in payload.beats if beat.result)
    assert found[PayloadError.TRUNCATED_DATA] and found[PayloadError.TRAILING_BYTES]
    assert found[PayloadError.BAD_CODING] + found[PayloadError.BAD_LENGTH] >= 3
    play(payloads, rng, 1.0, 0.9)


@pytest.mark.parametrize("beats", [2, 4])
@pytest.mark.parametrize(("size", "sizes", "exponents"), [(16, (1, 2, 4), ()), (32, (2,), (2,))])
def test_payloads_that_end_at_every_place_of_a_row(size: int, sizes: tuple[int, ...], exponents: tuple[int, ...],
                                                   beats: int) -> None:
    """Tags that end a payload, a beat or a row; data that end in each beat."""
    rng = random.Random(f"{size} {beats}")
    play = Play(size, sizes, 1024, None, exponents, True, beats * size)
    payloads = []
    for lines in range(1, 9):
        for density in (0.0, 0.1, 1.0) if size == 16 else (0.0, 0.7):
            raw = random_raw(rng, 128 * lines, sizes[0], density)
            payloads.append(play.payload(Block.of(raw, sizes[0], bool(exponents) and density > 0), rng))
            payloads.append(Payload.raw(rng.randbytes(size * lines), size * lines, size, rng))
    play(payloads, rng, 1.0, 1.0)


@pytest.mark.parametrize(("size", "sizes", "exponents", "beats"), [
    (16, (1, 2, 4), (), 4), (32, (1, 2, 4), (), 1), (32, (1, 2, 4), (), 2), (64, (4,), (), 1),
    (32, (2, 4), (2, 4), 1), (16, (2, 4), (2, 4), 2)])
def test_a_beat_per_cycle(size: int, sizes: tuple[int, ...], exponents: tuple[int, ...], beats: int) -> None:
    """Raw blocks and coded ones in turn, and all raw: no cycle without a raw beat, with exponents one in a hundred."""
    rng = random.Random(f"rate {size} {beats}")
    length = 1024
    play = Play(size, sizes, length, None, exponents, True, beats * size)
    payloads = []
    for number in range(8):
        if number % 2 or number > 5:
            payloads.append(Payload.raw(rng.randbytes(length), length, size, rng))
        else:
            element = rng.choice(sizes)
            with_exponents = element in exponents and number % 4 == 0
            raw = random_floats(rng, length, element) if with_exponents else random_raw(rng, length, element, 0.5)
            payloads.append(play.payload(Block.of(raw, element, with_exponents), rng))
    least = 8 * length // size
    assert least <= play(payloads, rng) <= (least / 0.99 if exponents else least)


@pytest.mark.parametrize(("size", "exponents", "beats", "cycles"), [
    (16, (), 1, 8), (16, (), 2, 8), (16, (), 4, 8), (64, (), 1, 8), (32, (4,), 2, 10), (16, (4,), 4, 10),
    (16, (4,), 1, 11)])
def test_a_raw_block_is_taken_at_the_speed_of_its_rows(size: int, exponents: tuple[int, ...], beats: int,
                                                       cycles: int) -> None:
    """A row per cycle, and a beat per cycle out, with the stated latency."""
    rng = random.Random(beats)
    play = Play(size, (4,), 2048, None, exponents, True, beats * size)
    seen = play.cycles(Payload.raw(rng.randbytes(2048), 2048, size, rng), rng, 2048 // size + 20)
    assert seen == list(range(cycles, cycles + 2048 // size))


def test_rows_of_another_width() -> None:
    with pytest.raises(ValueError, match="row_bytes must be 16, 32 or 64 for beats of 16 bytes, not 128"):
        BlockDecompressor(16, (4,), 4096, for_lane=True, row_bytes=128)
