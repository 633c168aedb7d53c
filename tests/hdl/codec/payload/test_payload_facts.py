"""The facts of a block against arithmetic: every raw length, and all codings."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hdl.codec.coding import most_tag_rows
from hdl.codec.payload.payload_facts import PayloadFacts
from hdl.codec.payload.unpacking import PayloadError
from tests.hdl.bench import settled


@pytest.mark.parametrize(("size", "sizes"), [(32, (1, 2, 4)), (16, (1, 2, 4)), (64, (4,)), (64, (2, 4)), (16, (1,))])
def test_facts(size: int, sizes: tuple[int, ...]) -> None:
    block_bytes = 1024
    rng = random.Random(size)
    dut = PayloadFacts(size, sizes, block_bytes)
    grain = min(sizes)
    units = size // grain
    assert most_tag_rows(size, sizes, block_bytes) == -(-1024 // 8 // grain // size)

    def compare(ctx: Any, coding: int, length: int) -> None:
        order = ctx.get(dut.order)
        element = coding & 15
        if coding & 0x7F not in {0x10 | each for each in sizes}:
            assert order.error == PayloadError.BAD_CODING
        elif length == 0 or length > block_bytes or length % element:
            assert order.error == PayloadError.BAD_LENGTH
        else:
            tags = -(-length // 128) * (16 // element)
            assert order.error == PayloadError.OK
            assert [each for each in sizes if getattr(order.element, f"b{each}")] == [element]
            assert (order.beats, order.tail, order.bare) == (-(-length // size) - 1, length // grain % units, 0)
            assert (ctx.get(dut.whole_rows), order.start) == (tags // size, tags // grain % units)
            return
        assert (order.bare, order.beats, order.start) == (1, 0, 0)

    async def process(ctx: Any) -> None:
        cases = [(0x10 | element, length) for element in sizes for length in range(block_bytes + 2)]
        cases += [(coding, rng.choice([512, 1024])) for coding in range(256)]
        cases += [(0x90 | rng.choice(sizes), rng.randrange(1 << 16)) for _ in range(50)]
        for coding, length in cases:
            ctx.set(dut.coding, coding)
            ctx.set(dut.raw_bytes, length)
            await ctx.delay(1e-9)
            compare(ctx, coding, length)

    settled(dut, process)
