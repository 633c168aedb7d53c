"""The data path of the block compressor against bytes: elements that are not zero, one after the other, in rows."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest

from hdl.codec.payload.row_packer import RowPacker
from tests.hdl.bench import Bench
from tests.hdl.ports import Sink, Source, play

_BUILDS = [(16, (1, 2, 4)), (16, (4,)), (32, (1, 2, 4)), (32, (4,)), (32, (2, 4)), (64, (1, 2, 4)), (64, (4,))]


@cache
def _bench(beat_bytes: int, sizes: tuple[int, ...]) -> tuple[RowPacker, Bench]:
    dut = RowPacker(beat_bytes, sizes)
    return dut, Bench(dut)


def _block(rng: random.Random, beat_bytes: int, size: int, beats: int, density: float) -> list[bytes]:
    """Raw beats; an element that is not zero may have zeros in it."""
    def element() -> bytes:
        if rng.random() >= density:
            return bytes(size)
        kept = bytearray(rng.choice([bytes(size), rng.randbytes(size)]))
        kept[rng.randrange(size)] = rng.randrange(1, 256)
        return bytes(kept)

    return [b"".join(element() for _ in range(beat_bytes // size)) for _ in range(beats)]


def _rows(beats: list[bytes], size: int, raw: bool, start: int) -> list[tuple[int, bytes, bool]]:
    """The rows of a block: the first byte that counts, the bytes from there on, whether it is the last."""
    n = len(beats[0])
    whole = b"".join(beats)
    kept = whole if raw else b"".join(
        whole[k:k + size] for k in range(0, len(whole), size) if any(whole[k:k + size]))
    rows, first = [], start
    while kept:
        rows.append((first, kept[:n - first], len(kept) <= n - first))
        kept, first = kept[n - first:], 0
    return rows


def _run(beat_bytes: int, sizes: tuple[int, ...], blocks: list[tuple[list[bytes], int, bool, int]], busy: float,
         ready: float, seed: object = 0) -> int:
    """Packs blocks (beats, element size, whether raw, first unit), compares the rows; the cycles from the first on."""
    rng = random.Random(f"{seed}")
    dut, bench = _bench(beat_bytes, sizes)
    grain = min(sizes)
    units = beat_bytes // grain
    offers, expected = [], []
    for beats, size, raw, start in blocks:
        offers += [{"data": int.from_bytes(beat, "little"), "first": k == 0, "last": k == len(beats) - 1, "raw": raw,
                    "element": {f"b{each}": each == size for each in sorted(sizes)}, "before": (start - 1) % units}
                   for k, beat in enumerate(beats)]
        expected += _rows(beats, size, raw, start * grain)

    source = Source(dut.i, offers, rng, busy)
    sink: Sink

    def read(ctx: Any) -> tuple[int, bytes, bool]:
        row = ctx.get(dut.o.payload)
        first, kept, _ = sink.left[0]
        return first, row.data.to_bytes(beat_bytes, "little")[first:first + len(kept)], bool(row.last)

    sink = Sink(dut.o, expected, read, rng, ready)
    cycles = 0

    async def process(ctx: Any) -> None:
        nonlocal cycles
        cycles = await play(ctx, [source], sink, quiet=8)

    bench.run(process, cycles=100_000)
    return cycles


@pytest.mark.parametrize(("beat_bytes", "sizes"), _BUILDS)
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (1.0, 0.4), (0.5, 0.9)])
def test_blocks(beat_bytes: int, sizes: tuple[int, ...], busy: float, ready: float) -> None:
    rng = random.Random(f"{beat_bytes} {sizes} {busy}")
    blocks = []
    for _ in range(25):
        size = rng.choice(sizes)
        density = rng.choice([0.0, 0.02, 0.3, 0.7, 0.97, 1.0])
        start = rng.choice([0, rng.randrange(beat_bytes // min(sizes))])
        blocks.append((_block(rng, beat_bytes, size, rng.choice([1, 1, 2, 3, 8, 16]), density), size,
                       rng.random() < 0.2, start))
    _run(beat_bytes, sizes, blocks, busy, ready, "stalls")


@pytest.mark.parametrize(("beat_bytes", "sizes"), [(16, (1, 2, 4)), (32, (1, 2, 4)), (32, (4,)), (64, (4,))])
@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("density", [0.0, 0.4, 0.9, 1.0])
def test_no_bubble(beat_bytes: int, sizes: tuple[int, ...], start: int, density: float) -> None:
    """One beat per cycle over blocks of 16 beats, but for one cycle a block at most where rows begin in mid-row."""
    rng = random.Random(f"{density}")
    blocks = [(_block(rng, beat_bytes, size, 16, density), size, False, start)
              for size in (rng.choice(sizes) for _ in range(16))]
    beats = 16 * len(blocks)
    cycles = _run(beat_bytes, sizes, blocks, 1.0, 1.0)
    assert cycles <= beats + (start != 0) * len(blocks)
