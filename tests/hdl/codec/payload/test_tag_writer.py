"""The tag writer against bytes: a bit for every element, line by line, and how many are not zero."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.golden.codec.coding import LINE_BYTES
from cdma.golden.reference.tags_first import lines_of, tag_of
from cdma.hdl.codec.line_record import GROUP_BYTES
from cdma.hdl.codec.payload.tag_writer import TagWriter
from tests.hdl.bench import clocked


def _elements(rng: random.Random, length: int, size: int, density: float) -> bytes:
    """Elements that are zero or not."""
    return b"".join(rng.randbytes(size - 1) + bytes([rng.randrange(1, 256)]) if rng.random() < density else bytes(size)
                    for _ in range(length // size))


def _lengths(rng: random.Random) -> list[int]:
    return [1, 2, 4, 32, 128, 129, 256, 384, 512, 512, 500] + [rng.randrange(1, 513) for _ in range(6)]


@pytest.mark.parametrize(("beat_bytes", "sizes"), [(16, (1, 2, 4)), (32, (1, 2, 4)), (32, (4,)), (64, (1, 4))])
@pytest.mark.parametrize("busy", [1.0, 0.5])
def test_blocks(beat_bytes: int, sizes: tuple[int, ...], busy: float) -> None:
    rng = random.Random(f"{beat_bytes} {sizes} {busy}")
    dut = TagWriter(beat_bytes, sizes, 512, 6)
    blocks = []
    for length in _lengths(rng):
        size = rng.choice(sizes)
        blocks.append((_elements(rng, -(-length // size) * size, size, rng.choice([0.0, 0.1, 0.7, 1.0])), size))
    tags = [b"".join(tag_of(line) for line in lines_of(raw, size)) for raw, size in blocks]
    rows: list[bytes] = []
    counts: list[int] = []

    async def watch(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        while True:
            assert ctx.get(dut.level) < 3
            if ctx.get(dut.o.valid):
                rows.append(ctx.get(dut.o.payload).to_bytes(beat_bytes, "little"))
            if ctx.get(dut.done):
                counts.append(ctx.get(dut.elements))
            await ctx.tick()

    async def process(ctx: Any) -> None:
        for raw, size in blocks:
            for k in range(0, len(raw), beat_bytes):
                while rng.random() >= busy:
                    ctx.set(dut.take, 0)
                    ctx.set(dut.data, rng.getrandbits(8 * beat_bytes))
                    await ctx.tick()
                ctx.set(dut.take, 1)
                ctx.set(dut.data, int.from_bytes(raw[k:k + beat_bytes], "little"))
                ctx.set(dut.last, k + beat_bytes >= len(raw))
                ctx.set(dut.element, {f"b{each}": each == size for each in sizes})
                await ctx.tick()
        ctx.set(dut.take, 0)
        await ctx.tick().repeat(6)

    clocked(dut, process, watch)
    expected = [tag[k:k + beat_bytes] for tag in tags for k in range(0, len(tag), beat_bytes)]
    assert len(rows) == len(expected)
    # A row has room for more lines than the block's last row may need.
    assert [row[:len(tag)] for row, tag in zip(rows, expected, strict=True)] == expected
    assert counts == [sum(any(raw[k:k + size]) for k in range(0, len(raw), size)) for raw, size in blocks]


@pytest.mark.parametrize(("beat_bytes", "sizes", "exponents"), [
    (32, (1, 2, 4), (2, 4)), (32, (2,), (2,)), (64, (1, 2, 4), (4,)), (64, (2, 4), (2, 4))])
def test_blocks_with_exponents(beat_bytes: int, sizes: tuple[int, ...], exponents: tuple[int, ...]) -> None:
    """Lines of zeros and dense ones have no tag in blocks with exponents; what is counted beside them is as it was."""
    rng = random.Random(f"{beat_bytes} {sizes} {exponents}")
    dut = TagWriter(beat_bytes, sizes, 512, 6, exponents)
    blocks = []
    for length in _lengths(rng):
        size, coded = rng.choice(sizes), rng.random() < 0.7
        lines = [_elements(rng, LINE_BYTES, size, rng.choice([0.0, 0.1, 0.9, 1.0])) for _ in range(4)]
        coded &= size in exponents
        blocks.append((b"".join(lines)[:-(-length // size) * size], size, coded))
    rows: list[bytes] = []
    counts: list[tuple[int, int]] = []
    groups: list[list[int]] = []

    async def watch(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        while True:
            if ctx.get(dut.o.valid):
                rows.append(ctx.get(dut.o.payload).to_bytes(beat_bytes, "little"))
            if ctx.get(dut.done):
                counts.append((ctx.get(dut.elements), ctx.get(dut.lines)))
            await ctx.tick()

    async def process(ctx: Any) -> None:
        late: list[tuple[int, list[int]]] = []      # groups of beats that were taken, with the cycle
        cycle = 0
        for raw, size, coded in blocks:
            for k in range(0, len(raw), beat_bytes):
                beat = raw[k:k + beat_bytes].ljust(beat_bytes, b"\0")
                ctx.set(dut.take, 1)
                ctx.set(dut.data, int.from_bytes(beat, "little"))
                ctx.set(dut.last, k + beat_bytes >= len(raw))
                ctx.set(dut.exponent, coded)
                ctx.set(dut.element, {f"b{each}": each == size for each in sizes})
                there = [any(beat[at:at + size]) for at in range(0, beat_bytes, size)]
                live = sum(set_ << ((place + 1) * size // sizes[0] - 1) for place, set_ in enumerate(there))
                assert ctx.get(dut.live) == live
                if size in exponents:
                    inside = GROUP_BYTES // size
                    late.append((cycle + 2, [sum(there[at:at + inside]) for at in range(0, len(there), inside)]))
                await ctx.tick()
                cycle += 1
                if late and late[0][0] == cycle:
                    groups.append(late.pop(0)[1])
                    assert [ctx.get(each) for each in dut.groups] == groups[-1]
        ctx.set(dut.take, 0)
        await ctx.tick().repeat(6)

    clocked(dut, process, watch)
    expected, wanted = [], []
    for raw, size, coded in blocks:
        tagged = [line for line in lines_of(raw, size) if not coded or (any(line) and not all(line))]
        tags = b"".join(tag_of(line) for line in tagged)
        expected += [tags[k:k + beat_bytes] for k in range(0, len(tags), beat_bytes)]
        wanted.append((sum(any(raw[k:k + size]) for k in range(0, len(raw), size)), len(tagged)))
    assert counts == wanted
    assert len(rows) == len(expected)
    assert [row[:len(tag)] for row, tag in zip(rows, expected, strict=True)] == expected
    assert groups
