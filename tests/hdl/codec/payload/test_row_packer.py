"""The data path of the block compressor against bytes: elements that are not zero, one after the other, in rows.

With exponents, the data of groups from the golden reference.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from cdma.hdl.codec.payload.row_packer import RowPacker
from tests.hdl.bench import Bench
from tests.hdl.codec.payload.groups import Group, random_facts, random_group
from tests.hdl.ports import Sink, Source, play

PARTS = [
    "cdma.hdl.codec.payload.group_coder.GroupCoder", "cdma.hdl.codec.payload.group_mask.GroupMask"]
"""Components whose faults show here; mutants of them were tried."""

Build = tuple[int, tuple[int, ...], tuple[int, ...]]

_BUILDS: list[Build] = [
    (16, (1, 2, 4), ()), (16, (4,), ()), (32, (1, 2, 4), ()), (32, (4,), ()), (32, (2, 4), ()), (64, (1, 2, 4), ()),
    (64, (4,), ()), (32, (1, 2, 4), (2, 4)), (32, (2, 4), (2,)), (32, (4,), (4,)), (64, (1, 2, 4), (2, 4))]


@dataclass(frozen=True)
class _Block:
    """Raw beats, their element size, whether they stay raw, the first unit of the first row, and groups to be coded."""

    beats: list[bytes]
    size: int
    raw: bool
    start: int
    groups: list[Group] | None = None

    def data(self) -> bytes:
        """The bytes that are kept."""
        whole = b"".join(self.beats)
        if self.raw:
            return whole
        if self.groups is not None:
            return b"".join(group.coded() for group in self.groups)
        return b"".join(whole[k:k + self.size] for k in range(0, len(whole), self.size) if any(whole[k:k + self.size]))

    def rows(self, grain: int) -> list[tuple[int, bytes, bool]]:
        """The rows of a block: the first byte that counts, the bytes from there on, whether it is the last."""
        kept, n = self.data(), len(self.beats[0])
        rows, first = [], self.start * grain
        while kept:
            rows.append((first, kept[:n - first], len(kept) <= n - first))
            kept, first = kept[n - first:], 0
        return rows


@cache
def _bench(build: Build) -> tuple[RowPacker, Bench]:
    beat_bytes, sizes, exponents = build
    dut = RowPacker(beat_bytes, sizes, exponents=exponents)
    return dut, Bench(dut)


def _block(rng: random.Random, build: Build, beats: int, density: float, start: int, raw: bool = False) -> _Block:
    """A block of random elements; one that is not zero may have zeros in it. Half of those that can be are coded."""
    beat_bytes, sizes, exponents = build
    size = rng.choice(sizes)

    def element() -> bytes:
        if rng.random() >= density:
            return bytes(size)
        kept = bytearray(rng.choice([bytes(size), rng.randbytes(size)]))
        kept[rng.randrange(size)] = rng.randrange(1, 256)
        return bytes(kept)

    groups = None
    whole = b"".join(element() for _ in range(beats * beat_bytes // size))
    if size in exponents and not raw and rng.random() < 0.7:
        groups = [random_group(rng, size, random_facts(rng, rng.choice([*range(7), 8]), *rng.choices((0, 1), k=2)),
                               density) for _ in range(beats * beat_bytes // 32)]
        whole = b"".join(group.raw for group in groups)
    return _Block([whole[k:k + beat_bytes] for k in range(0, len(whole), beat_bytes)], size, raw, start, groups)


def _run(build: Build, blocks: list[_Block], busy: float, ready: float, seed: object = 0) -> int:
    """Packs blocks, compares the rows; the cycles from the first on."""
    rng = random.Random(f"{seed}")
    beat_bytes, sizes, exponents = build
    dut, bench = _bench(build)
    grain = 1 if exponents else min(sizes)
    units, each_beat = beat_bytes // grain, beat_bytes // 32
    offers, expected = [], []
    for block in blocks:
        for k, beat in enumerate(block.beats):
            offer: dict[str, Any] = {
                "data": int.from_bytes(beat, "little"), "first": k == 0, "last": k == len(block.beats) - 1,
                "raw": block.raw, "element": {f"b{each}": each == block.size for each in sorted(sizes)},
                "before": (block.start - 1) % units}
            if exponents:
                offer["live"] = sum(1 << end // min(sizes) - 1 for end in range(block.size, beat_bytes + 1, block.size)
                                    if any(beat[end - block.size:end]))
                offer["coded"] = block.groups is not None
                offer["groups"] = [group.facts for group in block.groups[k * each_beat:(k + 1) * each_beat]] \
                    if block.groups else [random_facts(rng, 3, 1, 1) for _ in range(each_beat)]
            offers.append(offer)
        expected += block.rows(grain)

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


@pytest.mark.parametrize(("build", "busy", "ready"), [
    *((build, *stalls) for build in _BUILDS[:7] for stalls in ((1.0, 1.0), (1.0, 0.4), (0.5, 0.9))),
    *((build, 0.9, 0.6) for build in _BUILDS[7:])])
def test_blocks(build: Build, busy: float, ready: float) -> None:
    rng = random.Random(f"{build} {busy}")
    beat_bytes, sizes, exponents = build
    blocks = []
    for _ in range(12 if exponents else 25):
        density = rng.choice([0.0, 0.02, 0.3, 0.7, 0.97, 1.0])
        start = rng.choice([0, rng.randrange(beat_bytes // (1 if exponents else min(sizes)))])
        blocks.append(_block(rng, build, rng.choice([1, 1, 2, 3, 8, 16]), density, start, rng.random() < 0.2))
    _run(build, blocks, busy, ready, "stalls")


@pytest.mark.parametrize(("build", "start", "density"), [
    *itertools.product([_BUILDS[0], _BUILDS[2], _BUILDS[3], _BUILDS[6]], [0, 1], [0.0, 0.4, 0.9, 1.0]),
    (_BUILDS[7], 1, 0.7)])
def test_no_bubble(build: Build, start: int, density: float) -> None:
    """One beat per cycle over blocks of 16 beats, but for one cycle a block at most where rows begin in mid-row."""
    rng = random.Random(f"{density}")
    blocks = [_block(rng, build, 16, density, start) for _ in range(16)]
    cycles = _run(build, blocks, 1.0, 1.0)
    assert cycles <= 16 * len(blocks) + (start != 0) * len(blocks)
