"""What the exponents of a group have in common, against the golden reference's exponents and signs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from cdma.golden.reference.exponents import MANTISSA, exponent_of, sign_of
from cdma.hdl.codec.line_record import GROUP_BYTES
from cdma.hdl.codec.payload.exponent_range import ExponentRange
from tests.hdl.bench import clocked
from tests.hdl.codec.payload.payloads import random_floats

_LATENCY = 2


def _expected(values: list[int], size: int) -> dict[str, int]:
    """The fields that are defined."""
    exponents = [exponent_of(value, size) for value in values if value]
    live = [exponent for exponent in exponents if exponent]
    found = {"largest": max(exponents, default=0), "live": bool(live), "tiny": 0 in exponents,
             "signs": any(sign_of(value, size) for value in values)}
    return found | ({"smallest": min(live)} if live else {})


def _directed(rng: random.Random, size: int) -> Iterator[list[int]]:
    """Groups in which one element decides, at every place; and values without an exponent, of each single bit."""
    count, bits = GROUP_BYTES // size, MANTISSA[size]
    for place in range(count):
        for common, other in ((0, 1), (0, 255), (127, 126), (127, 128), (1, 0), (255, 254)):
            values = [common << bits | rng.getrandbits(bits)] * count
            values[place] = other << bits | rng.getrandbits(bits)
            yield values
        for bit in (*range(bits), 8 * size - 1):
            values = [0] * count
            values[place] = 1 << bit
            yield values
    yield [0] * count


def test_groups() -> None:
    """A group in each cycle, of both sizes in turns; some end early, and what is behind does not count."""
    dut = ExponentRange()
    rng = random.Random(1)
    groups = [(values, GROUP_BYTES // size, size) for size in (2, 4) for values in _directed(rng, size)]
    for _ in range(300):
        size = rng.choice([2, 4])
        raw = random_floats(rng, GROUP_BYTES, size)
        groups.append(([int.from_bytes(raw[k:k + size], "little") for k in range(0, GROUP_BYTES, size)],
                       rng.choice([GROUP_BYTES // size, rng.randrange(GROUP_BYTES // size + 1)]), size))
    rng.shuffle(groups)
    expected = [_expected(values[:count], size) for values, count, size in groups]
    assert any("smallest" in each and each["tiny"] for each in expected)

    async def process(ctx: Any) -> None:
        for cycle in range(len(groups) + _LATENCY):
            if cycle < len(groups):
                values, count, size = groups[cycle]
                ctx.set(dut.present, (1 << count * size // 2) - 1)
                ctx.set(dut.data, sum(value << 8 * size * k for k, value in enumerate(values)))
                ctx.set(dut.wide, size == 4)
            if cycle >= _LATENCY:
                found, given = ctx.get(dut.found), expected[cycle - _LATENCY]
                assert {name: found[name] for name in given} == given, groups[cycle - _LATENCY]
            await ctx.tick()

    clocked(dut, process)
