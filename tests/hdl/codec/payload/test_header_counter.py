# amaranth: UnusedElaboratable=no
"""The counter of line headers against arithmetic: every header, any number of lines, reads that have to wait."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.codec.payload.header_counter import HeaderCounter
from tests.hdl.bench import clocked

_LINES = 32


def _sums(headers: list[int]) -> tuple[int, int, int, int | None]:
    """Where widths begin and facts end, lines with a tag, and the first bad line."""
    coded = [header for header in headers if header != 0xFF]
    widths_at = len(headers) + sum(header >> 7 for header in coded)
    bad = [line for line, header in enumerate(headers) if header & 7 == 7 and header >> 5 and header != 0xFF]
    return (widths_at, widths_at + sum(header >> 6 & 1 for header in coded),
            sum(not header & 16 for header in coded), bad[0] if bad else None)


@pytest.mark.parametrize("size", [32, 64])
def test_sums(size: int) -> None:
    rng = random.Random(size)
    dut = HeaderCounter(size, 128 * _LINES, 2)
    blocks = [[header, *rng.choices([0x00, 0x90, 0xFF], k=rng.randrange(_LINES))] for header in range(256)]
    blocks += [[rng.randrange(256) & rng.choice([0xFF, 0xFB]) for _ in range(rng.randrange(1, _LINES + 1))]
               for _ in range(60)]

    async def count(ctx: Any, headers: list[int], share: float) -> None:
        slot = rng.getrandbits(1)
        ctx.set(dut.lines, len(headers))
        ctx.set(dut.slot, slot)
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)
        padded = bytes(headers) + rng.randbytes(size)
        while not ctx.get(dut.done):
            ctx.set(dut.go, rng.random() < share)
            given = ctx.get(dut.read.want) and rng.random() < share
            ctx.set(dut.read.given, given)
            at = ctx.get(dut.read.at)
            await ctx.tick()
            # What stands there in other cycles does not matter.
            word = padded[at.word * size // 8:][:size // 8] if given and at.slot == slot else rng.randbytes(size // 8)
            ctx.set(dut.word, int.from_bytes(word, "little"))
        ctx.set(dut.read.given, 0)
        widths_at, facts_end, tags, bad = _sums(headers)
        assert (ctx.get(dut.widths_at), ctx.get(dut.facts_end), ctx.get(dut.tags)) == (widths_at, facts_end, tags)
        assert ctx.get(dut.bad) == (bad is not None)
        assert bad is None or ctx.get(dut.bad_line) == bad

    async def process(ctx: Any) -> None:
        for number, headers in enumerate(blocks):
            await count(ctx, headers, 0.6 if number % 4 == 0 else 1.0)

    clocked(dut, process, cycles=20_000)
