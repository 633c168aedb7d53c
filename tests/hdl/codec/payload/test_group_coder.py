"""The group coder against the golden reference: every width, with and without signs and escapes; bytes that pass."""

from __future__ import annotations

import random
from typing import Any

import pytest

from golden.reference.exponents import MANTISSA, group_data
from hdl.codec.payload.group_coder import GroupCoder
from tests.hdl.bench import clocked

Group = tuple[list[int], int, dict[str, int]]


def _element(rng: random.Random, size: int, group: dict[str, int]) -> int:
    """An element that is not zero and whose distance fits the group."""
    width, base, escape = group["width"], group["base"], group["escape"]
    while True:
        exponent = base - min(base, rng.choice([0, (1 << width) - 1, rng.randrange(1 << width)]))
        if escape and (base - exponent == (1 << width) - 1 or rng.random() < 0.3):
            # The distance of all ones is the escape's.
            exponent = 0
        sign = group["signs"] and rng.getrandbits(1)
        mantissa = rng.choice([0, rng.getrandbits(MANTISSA[size]), (1 << MANTISSA[size]) - 1])
        value = sign << 8 * size - 1 | exponent << MANTISSA[size] | mantissa
        if value:
            return value


def _group(rng: random.Random, size: int, width: int, signs: int, escape: int, density: float) -> Group:
    base = 255 if width == 8 else rng.choice([0, 1, 127, 128, 254, 255, rng.randrange(256)])
    group = {"width": width, "signs": signs, "escape": escape, "base": base}
    return [_element(rng, size, group) if rng.random() < density else 0 for _ in range(32 // size)], size, group


def _directed(rng: random.Random, exponents: tuple[int, ...]) -> list[Group]:
    return [_group(rng, size, width, signs, escape, density)
            for size in exponents for width in (*range(7), 8) for signs in (0, 1)
            for escape in ((0, 1) if width < 8 else (0,)) for density in (rng.choice([0.0, 0.1]), 0.5, 0.9, 1.0)]


@pytest.mark.parametrize("exponents", [(2, 4), (2,), (4,)])
def test_groups(exponents: tuple[int, ...]) -> None:
    dut = GroupCoder(exponents)
    rng = random.Random(f"{exponents}")
    groups: list[Group | None] = [*_directed(rng, exponents)]
    groups += [None] * (len(groups) // 4)
    rng.shuffle(groups)

    async def process(ctx: Any) -> None:
        for given in groups:
            raw, mask = rng.randbytes(32), rng.getrandbits(32)
            facts: Any = {"width": rng.choice([*range(7), 8]), "signs": rng.getrandbits(1), "base": rng.getrandbits(8),
                          "escape": rng.getrandbits(1)}
            size = rng.choice(exponents)
            expected = bytes(raw[k] for k in range(32) if mask >> k & 1)
            if given is not None:
                values, size, facts = given
                raw = b"".join(value.to_bytes(size, "little") for value in values)
                mask = sum(((1 << size) - 1) << size * k for k, value in enumerate(values) if value)
                expected = group_data([value for value in values if value], size, facts["base"], facts["width"],
                                      bool(facts["signs"]), bool(facts["escape"]))
            ctx.set(dut.data, int.from_bytes(raw, "little"))
            ctx.set(dut.mask, mask)
            ctx.set(dut.coded, given is not None)
            ctx.set(dut.element, {f"b{each}": each == size for each in exponents})
            ctx.set(dut.group, facts)
            ctx.set(dut.move, 1)
            await ctx.tick()
            if rng.random() < 0.2:
                # It stands still, whatever is offered.
                ctx.set(dut.move, 0)
                ctx.set(dut.data, rng.getrandbits(256))
                ctx.set(dut.mask, rng.getrandbits(32))
                await ctx.tick()
            out, there = ctx.get(dut.o).to_bytes(32, "little"), ctx.get(dut.o_mask)
            assert bytes(out[k] for k in range(32) if there >> k & 1) == expected, (given, size)

    clocked(dut, process)
