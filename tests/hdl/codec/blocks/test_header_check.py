"""The check of headers against the limits of the golden model, for every length near a limit and random ones."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.golden.codec.coding import SHORT, WORD_BYTES, Coding, longest, shortest
from cdma.hdl.codec.blocks.header_check import HeaderCheck
from tests.hdl.bench import clocked

BUILDS = [((4,), ()), ((2,), (2,)), ((1, 2, 4), ()), ((1, 4), (4,)), ((1, 2, 4), (2, 4))]


@pytest.mark.parametrize("block_bytes", [512, 4096])
@pytest.mark.parametrize(("sizes", "exponents"), BUILDS, ids=str)
def test_headers(sizes: tuple[int, ...], exponents: tuple[int, ...], block_bytes: int) -> None:
    check = HeaderCheck(sizes, block_bytes, exponents)
    rng = random.Random(f"{sizes} {exponents} {block_bytes}")
    codings = [Coding(0x10 | size) for size in sizes] + [Coding(0x20 | size) for size in exponents]

    async def process(ctx: Any) -> None:
        for _ in range(40):
            wanted, halved = rng.choice(codings), rng.randrange(2)
            size, full = wanted.element_bytes, block_bytes >> halved
            tail = rng.choice([full, size * rng.randrange(1, full // size + 1)])
            ctx.set(check.element, size)
            ctx.set(check.exponents, wanted.exponents)
            ctx.set(check.tail_bytes, tail)
            ctx.set(check.halved, halved)
            ctx.set(check.start, 1)
            await ctx.tick()
            ctx.set(check.start, 0)
            await ctx.tick().repeat(2)
            assert ctx.get(check.coding) == wanted
            for _ in range(40):
                await _one(ctx, check, rng, wanted, full, tail)

    clocked(check, process)


async def _one(ctx: Any, check: HeaderCheck, rng: random.Random, wanted: Coding, full: int, tail: int) -> None:
    """Compares the check of a random header."""
    final = rng.randrange(2)
    raw_bytes = tail if final else full
    short = SHORT if raw_bytes < full else 0
    value = rng.choice([0, wanted, wanted | short, wanted | short, wanted | SHORT, SHORT, rng.choice([*Coding]),
                        rng.randrange(256)])
    right = value == 0 or value & ~SHORT == wanted
    # The length field is not counted.
    low, high = (limit(value, raw_bytes) - (WORD_BYTES if value & SHORT else 0) if right else 0
                 for limit in (shortest, longest))
    length = rng.choice([low, low, high, high, rng.randrange(low, high + 1), raw_bytes, rng.randrange(1 << 16)])
    length = max(0, length + rng.choice([-1, 0, 0, 1]))
    number = rng.randrange(256)
    sequence = number if rng.random() < 0.7 else rng.randrange(256)
    ctx.set(check.header, {"payload_bytes": length, "coding": value, "sequence": sequence})
    ctx.set(check.sequence, number)
    ctx.set(check.final, final)
    assert ctx.get(check.bad_coding) == (not right)
    assert ctx.get(check.bad_sequence) == (sequence != number)
    bad = not right or sequence != number
    if right:
        wrong = value != 0 and value & SHORT != short
        assert ctx.get(check.bad_short) == wrong
        bad = bad or wrong or not low <= length <= high
        assert ctx.get(check.bad_length) == (not low <= length <= high), (wanted, raw_bytes, value, length)
    assert ctx.get(check.bad) == bad
    await ctx.tick()
