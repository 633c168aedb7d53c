"""The facts of a block against arithmetic: every raw length, and all codings."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.codec.coding import largest_payload, most_metadata
from cdma.hdl.codec.payload.payload_order import PayloadOrder
from cdma.hdl.codec.payload.unpacking import PayloadError
from tests.hdl.bench import settled


@pytest.mark.parametrize("for_lane", [False, True])
@pytest.mark.parametrize(("size", "sizes", "exponents"), [
    (32, (1, 2, 4), (2, 4)), (16, (1, 2, 4), ()), (64, (4,), ()), (64, (2, 4), (4,)), (16, (1,), ())])
def test_facts(size: int, sizes: tuple[int, ...], exponents: tuple[int, ...], for_lane: bool) -> None:
    block_bytes = 1024
    rng = random.Random(size)
    dut = PayloadOrder(size, sizes, block_bytes, exponents, for_lane)
    grain = 1 if exponents else min(sizes)
    units = size // grain
    codings = [*(0x10 | each for each in sizes), *(0x20 | each for each in exponents)]

    def compare(ctx: Any, coding: int, length: int) -> None:
        order = ctx.get(dut.order)
        raw = for_lane and not coding & 0x7F
        element = grain if raw else coding & 15
        assert not for_lane or order.raw == raw
        if coding & 0x7F not in codings and not raw:
            assert order.error == PayloadError.BAD_CODING
        elif length == 0 or length > block_bytes or (length % element and not raw):
            assert order.error == PayloadError.BAD_LENGTH
        else:
            lines = -(-length // 128)
            coded = coding >> 5 & 1
            assert order.error == PayloadError.OK
            assert [each for each in sizes if getattr(order.element, f"b{each}")] == ([] if raw else [element])
            assert not exponents or order.exponents == coded
            assert (order.beats, order.tail, order.bare) == (-(-length // size) - 1, length // grain % units, 0)
            assert (ctx.get(dut.lines), ctx.get(dut.opening)) == (
                lines, 0 if raw else lines if coded else lines * (16 // element))
            return
        assert (order.bare, order.beats, order.start) == (1, 0, 0)

    async def process(ctx: Any) -> None:
        cases = [(coding, length) for coding in codings for length in range(0, block_bytes + 2, 1 + (coding >> 3 & 4))]
        cases += [(coding, rng.choice([512, 1024])) for coding in range(256)]
        if for_lane:
            cases += [(0, length) for length in range(0, block_bytes + 2, 3)]
        cases += [(0x80 | rng.choice(codings), rng.randrange(1 << 16)) for _ in range(50)]
        for coding, length in cases:
            ctx.set(dut.coding, coding)
            ctx.set(dut.raw_bytes, length)
            await ctx.delay(1e-9)
            compare(ctx, coding, length)

    settled(dut, process)


def test_the_most_bytes_of_a_block() -> None:
    """Tags, and with exponents three bytes more for each line, filled up to whole words."""
    assert most_metadata(4096, (1, 2, 4)) == 512
    assert most_metadata(4096, (1, 2, 4), (2, 4)) == 512
    assert most_metadata(4096, (2, 4), (2,)) == 96 + 256
    assert most_metadata(640, (4,), (4,)) == 16 + 20
    assert largest_payload(4096, (4,)) == 4096 + 128
    assert largest_payload(4096, (2, 4), (2, 4)) == 4096 + 32 + 256
    assert largest_payload(4096, (1, 2), (2,)) == 4096 + 512
