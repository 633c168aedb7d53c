"""The bytes of a coded group against the format: rests filled up to a whole byte, then a mantissa per element."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module, Signal

from cdma.hdl.codec.line_record import group_layout
from cdma.hdl.codec.payload.group_mask import GroupMask, rest_bits
from tests.hdl.bench import settled


def _expected(elements: int, rest: int, size: int) -> int:
    """The mask from the text of the format."""
    places = 32 // size
    ones = [k for k in range(places) if elements >> k & 1]
    there = set(range((len(ones) * rest + 7) // 8))
    for k in ones:
        there |= set(range(places + k * (size - 1), places + (k + 1) * (size - 1)))
    return sum(1 << byte for byte in there)


@pytest.mark.parametrize("exponents", [(2, 4), (2,), (4,)])
def test_every_count_and_every_length_of_a_rest(exponents: tuple[int, ...]) -> None:
    dut = GroupMask(exponents)
    rng = random.Random(f"{exponents}")

    async def process(ctx: Any) -> None:
        for size in exponents:
            ctx.set(dut.element, {f"b{each}": each == size for each in exponents})
            places = 32 // size
            for count in range(places + 1):
                for rest in range(9):
                    ones = sum(1 << k for k in rng.sample(range(places), count))
                    noise = rng.getrandbits(len(dut.elements)) >> places << places
                    ctx.set(dut.elements, ones | noise)
                    ctx.set(dut.at_least, (1 << count) - 1)
                    ctx.set(dut.rest, rest)
                    await ctx.delay(1e-9)
                    assert ctx.get(dut.mask) == _expected(ones, rest, size), (size, count, rest)

    settled(dut, process)


def test_bits_of_a_rest() -> None:
    m = Module()
    group = Signal(group_layout())
    bits = Signal(4)
    m.d.comb += bits.eq(rest_bits(group))

    async def process(ctx: Any) -> None:
        for width in (*range(7), 8):
            for signs in (0, 1):
                ctx.set(group, {"width": width, "signs": signs, "escape": 1, "base": 77})
                await ctx.delay(1e-9)
                assert ctx.get(bits) == max(width + signs - 1, 0)

    settled(m, process)
