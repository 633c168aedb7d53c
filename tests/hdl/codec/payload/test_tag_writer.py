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


@pytest.mark.parametrize(("beat_bytes", "sizes", "exponents", "busy"), [
    (16, (1, 2, 4), (), 1.0), (16, (1, 2, 4), (), 0.5), (32, (1, 2, 4), (), 0.5), (32, (4,), (), 1.0),
    (64, (1, 4), (), 0.5), (64, (1, 4), (), 1.0), (32, (1, 2, 4), (2, 4), 1.0), (32, (1, 2, 4), (2, 4), 0.5),
    (32, (2,), (2,), 1.0), (64, (1, 2, 4), (4,), 1.0), (64, (2, 4), (2, 4), 0.5)])
def test_blocks(beat_bytes: int, sizes: tuple[int, ...], exponents: tuple[int, ...], busy: float) -> None:
    """Lines of zeros and dense ones have no tag in blocks with exponents; what is counted does not depend on it."""
    rng = random.Random(f"{beat_bytes} {sizes} {exponents} {busy}")
    dut = TagWriter(beat_bytes, sizes, 512, 6, exponents)
    blocks, expected, wanted = [], [], []
    for length in [1, 2, 4, 32, 128, 129, 256, 384, 512, 512, 500] + [rng.randrange(1, 513) for _ in range(6)]:
        size = rng.choice(sizes)
        coded = size in exponents and rng.random() < 0.7
        raw = b"".join(_elements(rng, LINE_BYTES, size, rng.choice([0.0, 0.1, 0.9, 1.0])) for _ in range(4))
        raw = raw[:-(-length // size) * size]
        blocks.append((raw, size, coded))
        tagged = [line for line in lines_of(raw, size) if not coded or (any(line) and not all(line))]
        tags = b"".join(tag_of(line) for line in tagged)
        expected += [tags[k:k + beat_bytes] for k in range(0, len(tags), beat_bytes)]
        wanted.append((sum(any(raw[k:k + size]) for k in range(0, len(raw), size)), len(tagged) if exponents else 0))
    rows: list[bytes] = []
    counts: list[tuple[int, int]] = []
    late: list[tuple[int, list[int]]] = []      # groups of beats, and in which cycle they are known
    cycle = compared = 0

    async def watch(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        while True:
            assert ctx.get(dut.level) < 3
            if ctx.get(dut.o.valid):
                rows.append(ctx.get(dut.o.payload).to_bytes(beat_bytes, "little"))
            if ctx.get(dut.done):
                counts.append((ctx.get(dut.elements), ctx.get(dut.lines) if exponents else 0))
            await ctx.tick()

    async def tick(ctx: Any) -> None:
        nonlocal cycle, compared
        await ctx.tick()
        cycle += 1
        if late and late[0][0] == cycle:
            assert [ctx.get(each) for each in dut.groups] == late.pop(0)[1]
            compared += 1

    async def process(ctx: Any) -> None:
        for raw, size, coded in blocks:
            for k in range(0, len(raw), beat_bytes):
                while rng.random() >= busy:
                    ctx.set(dut.take, 0)
                    ctx.set(dut.data, rng.getrandbits(8 * beat_bytes))
                    await tick(ctx)
                beat = raw[k:k + beat_bytes].ljust(beat_bytes, b"\0")
                ctx.set(dut.take, 1)
                ctx.set(dut.data, int.from_bytes(beat, "little"))
                ctx.set(dut.last, k + beat_bytes >= len(raw))
                ctx.set(dut.element, {f"b{each}": each == size for each in sizes})
                if exponents:
                    ctx.set(dut.exponent, coded)
                    there = [any(beat[at:at + size]) for at in range(0, beat_bytes, size)]
                    assert ctx.get(dut.live) == sum(
                        set_ << ((place + 1) * size // sizes[0] - 1) for place, set_ in enumerate(there))
                if size in exponents:
                    inside = GROUP_BYTES // size
                    late.append((cycle + 2, [sum(there[at:at + inside]) for at in range(0, len(there), inside)]))
                await tick(ctx)
        ctx.set(dut.take, 0)
        await ctx.tick().repeat(6)

    clocked(dut, process, watch)
    assert counts == wanted
    assert len(rows) == len(expected)
    # A row has room for more lines than the block's last row may need.
    assert [row[:len(tag)] for row, tag in zip(rows, expected, strict=True)] == expected
    assert bool(compared) == bool(exponents)
