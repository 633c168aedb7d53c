"""The count of non-zero bytes against a count of the elements, block by block, with pauses between the beats."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from hdl.codec.blocks.zero_count import DELAY, ZeroCount
from tests.hdl.bench import clocked

SIZES = [sizes for count in (1, 2, 3) for sizes in itertools.combinations((1, 2, 4), count)]


@pytest.mark.parametrize("beat_bytes", [16, 64])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_counts_of_blocks(beat_bytes: int, sizes: tuple[int, ...]) -> None:
    count = ZeroCount(beat_bytes, sizes, 512)
    rng = random.Random(f"{beat_bytes} {sizes}")
    expected: dict[int, int] = {}
    seen: dict[int, int] = {}

    async def watch(ctx: Any) -> None:
        cycle = 0
        while True:
            if ctx.get(count.done):
                seen[cycle] = ctx.get(count.bytes)
            await ctx.tick()
            cycle += 1

    async def process(ctx: Any) -> None:
        cycle = 0
        for number in range(60):
            size = rng.choice(sizes)
            length = size * rng.randrange(1, 512 // size + 1) if number % 4 else 512
            density = rng.choice([0, 0.02, 0.3, 1])
            raw = b"".join((rng.randbytes(size) if rng.random() < density else bytes(size))
                           for _ in range(length // size))
            for at in range(0, length, beat_bytes):
                while rng.random() < 0.3:
                    # What lies there while no beat passes has no meaning.
                    ctx.set(count.valid, 0)
                    ctx.set(count.data, rng.getrandbits(8 * beat_bytes))
                    ctx.set(count.last, rng.randrange(2))
                    await ctx.tick()
                    cycle += 1
                beat, last = raw[at:at + beat_bytes], at + beat_bytes >= length
                ctx.set(count.valid, 1)
                ctx.set(count.data, int.from_bytes(beat + rng.randbytes(beat_bytes - len(beat)), "little"))
                ctx.set(count.keep, (1 << len(beat)) - 1 if last else rng.getrandbits(beat_bytes))
                ctx.set(count.last, last)
                ctx.set(count.element, size)
                await ctx.tick()
                cycle += 1
            elements = [raw[at:at + size] for at in range(0, length, size)]
            expected[cycle - 1 + DELAY] = size * sum(any(element) for element in elements)
        ctx.set(count.valid, 0)
        await ctx.tick().repeat(DELAY + 1)

    clocked(count, process, watch)
    assert seen == expected
