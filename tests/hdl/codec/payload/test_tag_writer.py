"""The tag writer against bytes: a bit for every element, line by line, and how many are not zero."""

from __future__ import annotations

import random
from typing import Any

import pytest

from golden.reference.tags_first import lines_of, tag_of
from hdl.codec.payload.tag_writer import TagWriter
from tests.hdl.bench import clocked


@pytest.mark.parametrize(("beat_bytes", "sizes"), [(16, (1, 2, 4)), (32, (1, 2, 4)), (32, (4,)), (64, (1, 4))])
@pytest.mark.parametrize("busy", [1.0, 0.5])
def test_blocks(beat_bytes: int, sizes: tuple[int, ...], busy: float) -> None:
    rng = random.Random(f"{beat_bytes} {sizes} {busy}")
    dut = TagWriter(beat_bytes, sizes, 512, 6)
    blocks = []
    for length in [1, 2, 4, 32, 128, 129, 256, 384, 512, 512, 500] + [rng.randrange(1, 513) for _ in range(6)]:
        size = rng.choice(sizes)
        length = -(-length // size) * size
        density = rng.choice([0.0, 0.1, 0.7, 1.0])
        raw = b"".join(rng.randbytes(size) if rng.random() < density else bytes(size) for _ in range(length // size))
        blocks.append((raw, size))
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
