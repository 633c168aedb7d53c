"""The group coder against the golden reference: every width, with and without signs and escapes; bytes that pass."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.codec.payload.group_coder import GroupCoder
from tests.hdl.bench import clocked
from tests.hdl.codec.payload.groups import Group, random_facts, random_group


def _directed(rng: random.Random, exponents: tuple[int, ...]) -> list[Group]:
    return [random_group(rng, size, random_facts(rng, width, signs, escape), density)
            for size in exponents for width in (*range(7), 8) for signs in (0, 1)
            for escape in ((0, 1) if width < 8 else (0,)) for density in (rng.choice([0.0, 0.1, 0.9]), 0.5, 1.0)]


@pytest.mark.parametrize("exponents", [(2, 4), (4,)])
def test_groups(exponents: tuple[int, ...]) -> None:
    dut = GroupCoder(exponents)
    rng = random.Random(f"{exponents}")
    groups: list[Group | None] = [*_directed(rng, exponents)]
    groups += [None] * (len(groups) // 4)
    rng.shuffle(groups)

    async def process(ctx: Any) -> None:
        for given in groups:
            raw, mask = rng.randbytes(32), rng.getrandbits(32)
            facts = {"width": rng.choice([*range(7), 8]), "signs": rng.getrandbits(1), "base": rng.getrandbits(8),
                          "escape": rng.getrandbits(1)}
            size = rng.choice(exponents)
            expected = bytes(raw[k] for k in range(32) if mask >> k & 1)
            if given is not None:
                raw, size, facts, expected = given.raw, given.size, given.facts, given.coded()
                mask = sum(((1 << size) - 1) << k for k in range(0, 32, size) if any(raw[k:k + size]))
            ctx.set(dut.data, int.from_bytes(raw, "little"))
            ctx.set(dut.mask, mask)
            lane = exponents[0]
            live = rng.getrandbits(32 // lane) if given is None else sum(
                1 << end // lane - 1 for end in range(size, 33, size) if any(raw[end - size:end]))
            ctx.set(dut.live, live)
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
                ctx.set(dut.live, rng.getrandbits(32 // lane))
                await ctx.tick()
            out, there = ctx.get(dut.o).to_bytes(32, "little"), ctx.get(dut.o_mask)
            assert bytes(out[k] for k in range(32) if there >> k & 1) == expected, (given, size)

    clocked(dut, process)
