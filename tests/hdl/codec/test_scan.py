"""Zero detection of a beat against a model, for every set of element sizes that can be built."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from amaranth.hdl import Module, Signal

from cdma.hdl.codec.coding import one_hot_element
from cdma.hdl.codec.scan import Scan
from tests.hdl.bench import settled

SIZES = [sizes for count in (1, 2, 3) for sizes in itertools.combinations((1, 2, 4), count)]


@pytest.mark.parametrize("beat_bytes", [16, 32, 64])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_scan(beat_bytes: int, sizes: tuple[int, ...]) -> None:
    scan = Scan(beat_bytes, sizes)
    grain = min(sizes)
    rng = random.Random(beat_bytes)

    async def process(ctx: Any) -> None:
        for size, present in itertools.product(sizes, [0, 1, grain, beat_bytes - 1, beat_bytes, *range(2, 14)]):
            raw = bytes(rng.randrange(256) if rng.random() < 0.3 else 0 for _ in range(beat_bytes))
            ctx.set(scan.data, int.from_bytes(raw, "little"))
            ctx.set(scan.present, (1 << present) - 1)
            for other in sizes:
                ctx.set(scan.element[f"b{other}"], other == size)
            await ctx.delay(1e-9)
            whole = present // size
            nonzero = [any(raw[k * size:(k + 1) * size]) for k in range(beat_bytes // size)]
            mask = [nonzero[unit * grain // size] and unit * grain // size < whole
                    for unit in range(beat_bytes // grain)]
            tag = [bit or element >= whole for element, bit in enumerate(nonzero)]
            assert ctx.get(scan.mask) == sum(bit << k for k, bit in enumerate(mask))
            assert ctx.get(scan.slice) == sum(bit << k for k, bit in enumerate(tag))
            assert ctx.get(scan.some) == (whole > 0)
            assert ctx.get(scan.ragged) == (present % size > 0)

    settled(scan, process)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_sizes_not_built_count_as_the_largest_built(sizes: tuple[int, ...]) -> None:
    m = Module()
    element, one_hot = Signal(3), Signal(len(sizes))
    m.d.comb += one_hot.eq(one_hot_element(element, sizes))

    async def process(ctx: Any) -> None:
        for value in range(8):
            ctx.set(element, value)
            await ctx.delay(1e-9)
            assert ctx.get(one_hot) == 1 << sizes.index(value if value in sizes else max(sizes))

    settled(m, process)
