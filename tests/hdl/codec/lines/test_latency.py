"""Cycles that the cores of lines take: one more with the pipeline ``fast``, where a beat has more than 8 units."""

from __future__ import annotations

from typing import Any

import pytest

from golden.reference.lines import compress_lines
from hdl.codec.coding import LINE_BYTES
from hdl.codec.lines.compressor import Compressor
from hdl.codec.lines.decompressor import Decompressor
from tests.hdl.bench import clocked

_LINE = bytes(range(1, LINE_BYTES + 1))
"""A line without zeros."""

_BUILDS = [(16, (4,), "small", 2, 2), (16, (4,), "fast", 2, 2), (32, (4,), "fast", 2, 2),
           (32, (1, 2, 4), "small", 2, 2), (32, (1, 2, 4), "fast", 3, 3), (16, (1, 2), "fast", 3, 3),
           (64, (4,), "small", 4, 2), (64, (4,), "fast", 5, 3)]
"""Beats, element sizes, pipeline, and what the compressor and the decompressor take: a change says so here."""


async def _until_first(ctx: Any, dut: Any, packet: bytes, beat_bytes: int, element: int, needed: int) -> int:
    """Cycles from the beat with the last byte that is needed, when it is taken, to the first one that comes out."""
    ctx.set(dut.o.ready, 1)
    beats = [packet[at:at + beat_bytes] for at in range(0, len(packet), beat_bytes)]
    for cycle in range(60):
        if cycle < len(beats):
            beat = beats[cycle]
            ctx.set(dut.i.payload, {"data": int.from_bytes(beat, "little"), "keep": (1 << len(beat)) - 1,
                                    "last": cycle == len(beats) - 1, "element": element})
        ctx.set(dut.i.valid, cycle < len(beats))
        _, _, ready, valid = await ctx.tick().sample(dut.i.ready, dut.o.valid)
        assert ready or cycle >= len(beats)
        if valid:
            return cycle - needed
    raise AssertionError("nothing came")


@pytest.mark.parametrize(("beat_bytes", "sizes", "pipeline", "cycles"), [row[:4] for row in _BUILDS])
def test_compressor(beat_bytes: int, sizes: tuple[int, ...], pipeline: str, cycles: int) -> None:
    """From the last raw beat of a line to the first packed one."""
    dut = Compressor(beat_bytes, sizes, pipeline)

    async def process(ctx: Any) -> None:
        await ctx.tick().repeat(4)
        last = LINE_BYTES // beat_bytes - 1
        assert await _until_first(ctx, dut, _LINE, beat_bytes, sizes[-1], last) == cycles

    clocked(dut, process)


@pytest.mark.parametrize(("beat_bytes", "sizes", "pipeline", "cycles"), [(*row[:3], row[4]) for row in _BUILDS])
def test_decompressor(beat_bytes: int, sizes: tuple[int, ...], pipeline: str, cycles: int) -> None:
    """From the packed beat with the last byte that is needed to the first raw one."""
    dut = Decompressor(beat_bytes, sizes, pipeline)
    packed = compress_lines(_LINE, sizes[-1])

    async def process(ctx: Any) -> None:
        await ctx.tick().repeat(4)
        needed = (len(packed) - LINE_BYTES + beat_bytes - 1) // beat_bytes
        assert await _until_first(ctx, dut, packed, beat_bytes, sizes[-1], needed) == cycles

    clocked(dut, process)
