"""The check of headers against the rules of docs/formats.md, for every length near a limit and random ones."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from hdl.codec.blocks.header_check import HeaderCheck
from tests.hdl.bench import clocked

SIZES = [sizes for count in (1, 2, 3) for sizes in itertools.combinations((1, 2, 4), count)]
LINE_ELEMENTS = {1: 128, 2: 64, 4: 32}


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_headers(sizes: tuple[int, ...]) -> None:
    block_bytes = 1024
    check = HeaderCheck(sizes, block_bytes)
    rng = random.Random(str(sizes))

    async def process(ctx: Any) -> None:
        for _ in range(40):
            size, halved = rng.choice(sizes), rng.randrange(2)
            tail = size * rng.randrange(1, (block_bytes >> halved) // size + 1)
            ctx.set(check.element, size)
            ctx.set(check.tail_bytes, tail)
            ctx.set(check.halved, halved)
            ctx.set(check.start, 1)
            await ctx.tick()
            ctx.set(check.start, 0)
            await ctx.tick()
            for _ in range(40):
                final = rng.randrange(2)
                raw_bytes = tail if final else block_bytes >> halved
                # A tag has a bit for each element of a line of 128 bytes.
                tags = -(-raw_bytes // 128) * LINE_ELEMENTS[size] // 8
                coding = rng.choice([0, size, size, *range(8), 255])
                length = max(0, rng.choice([raw_bytes, tags, tags + raw_bytes, rng.randrange(1 << 16)])
                             + rng.choice([-1, 0, 0, 1]))
                sequence, wanted = rng.randrange(256), rng.randrange(256)
                sequence = wanted if rng.random() < 0.7 else sequence
                low, high = (raw_bytes, raw_bytes) if coding == 0 else (tags, tags + raw_bytes)
                ctx.set(check.header, {"payload_bytes": length, "coding": coding, "sequence": sequence})
                ctx.set(check.sequence, wanted)
                ctx.set(check.final, final)
                found = [ctx.get(signal) for signal in (check.bad_coding, check.bad_sequence, check.bad_length)]
                expected = [coding not in (0, size), sequence != wanted, not low <= length <= high]
                assert found == expected, (size, raw_bytes, coding, length)
                assert ctx.get(check.bad) == any(expected)
                await ctx.tick()

    clocked(check, process)
