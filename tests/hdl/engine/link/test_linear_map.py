"""The linear maps that the CRC is made of; the CRC itself is proved."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.engine.link.linear_map import LinearMap
from tests.hdl.bench import settled


@pytest.mark.parametrize("seed", range(6))
def test_linear_maps_add_up_their_columns(seed: int) -> None:
    """Any matrix: wide and narrow, with columns and rows that are empty, and columns that are the same."""
    rng = random.Random(seed)
    outputs = rng.choice([1, 3, 8, 20])
    columns = [rng.choice([0, rng.getrandbits(outputs), 1 << rng.randrange(outputs)]) for _ in range(1 + 5 * seed)]
    columns += columns[:3]
    dut = LinearMap(tuple(columns), outputs)

    async def process(ctx: Any) -> None:
        for _ in range(50):
            bits = rng.getrandbits(len(columns))
            ctx.set(dut.i, bits)
            await ctx.delay(1e-6)
            expected = 0
            for bit, column in enumerate(columns):
                expected ^= column if bits >> bit & 1 else 0
            assert ctx.get(dut.o) == expected

    settled(dut, process)
