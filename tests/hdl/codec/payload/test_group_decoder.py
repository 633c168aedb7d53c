"""The decoder of a group against the golden reference: every width, sign, escape and base; bytes that pass."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.golden.reference.exponents import exponent_line
from cdma.hdl.codec.payload.group_decoder import GroupDecoder
from tests.hdl.bench import clocked

Group = tuple[int, int, dict[str, int], float]


def _directed(rng: random.Random, exponents: tuple[int, ...]) -> list[Group]:
    """Element size, elements that are not zero, and what is known of the group."""
    groups = []
    for size in exponents:
        places = 32 // size
        for width in (*range(7), 8):
            for signs in (0, 1):
                for escape in (0, 1) if width < 8 else (0,):
                    for count in (0, 1, places // 2, places - 1, places):
                        ones = sum(1 << place for place in rng.sample(range(places), count))
                        base = 255 if width == 8 else rng.choice([0, 1, 20, 127, 128, 254, 255, rng.randrange(256)])
                        groups.append((size, ones, {
                            "width": width, "signs": signs, "escape": escape, "base": base}, rng.choice([0, 0.5, 1])))
    rng.shuffle(groups)
    return groups


def _coded(rng: random.Random, group: Group) -> tuple[bytes, int, bytes]:
    """Bytes of a group on their places, the mask of them, and the raw bytes; bits are set with this probability."""
    size, ones, facts, share = group
    places = [place for place in range(32 // size) if ones >> place & 1]
    rest = max(facts["width"] + facts["signs"] - 1, 0)
    filled = (len(places) * rest + 7) // 8
    payload = bytes(sum((rng.random() < share) << bit for bit in range(8))
                    for _ in range(filled + len(places) * (size - 1)))
    header = min(facts["width"], 7) | facts["signs"] << 3 | facts["escape"] << 5
    raw, end = exponent_line(payload, 0, size, header, facts["base"], [0] * 4, places, 0)
    assert end == len(payload)
    assert not any(raw[32:])
    where = [*range(filled), *(32 // size + place * (size - 1) + byte for place in places for byte in range(size - 1))]
    spread = bytearray(32)
    for byte, place in zip(payload, where, strict=True):
        spread[place] = byte
    return bytes(spread), sum(1 << place for place in where), raw[:32]


@pytest.mark.parametrize("exponents", [(2, 4), (2,), (4,)])
def test_groups(exponents: tuple[int, ...]) -> None:
    dut = GroupDecoder(exponents)
    rng = random.Random(f"{exponents}")
    groups: list[Group | None] = [*_directed(rng, exponents)]
    groups += [None] * (len(groups) // 4)
    rng.shuffle(groups)

    def offer(ctx: Any, given: Group | None) -> bytes:
        raw = content = rng.randbytes(32)
        mask, size = rng.getrandbits(32), 0
        facts: Any = {"width": rng.choice([*range(7), 8]), "signs": rng.getrandbits(1), "base": rng.getrandbits(8),
                      "escape": rng.getrandbits(1)}
        if given is not None:
            size, facts = given[0], given[2]
            content, mask, raw = _coded(rng, given)
        ctx.set(dut.data, int.from_bytes(content, "little"))
        ctx.set(dut.mask, mask)
        ctx.set(dut.coded, {f"b{each}": each == size for each in exponents})
        ctx.set(dut.group, facts)
        return raw

    async def process(ctx: Any) -> None:
        for given in groups:
            raw = offer(ctx, given)
            ctx.set(dut.move, 1)
            await ctx.tick()
            if rng.random() < 0.2:
                # It stands still, whatever is offered.
                ctx.set(dut.move, 0)
                offer(ctx, rng.choice(groups))
                await ctx.tick()
            assert ctx.get(dut.o).to_bytes(32, "little") == raw, given

    clocked(dut, process)
