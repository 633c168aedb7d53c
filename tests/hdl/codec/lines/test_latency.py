"""Cycles that the cores of lines take: one more with the pipeline ``fast``, where a beat has more than 8 units."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.golden.reference.lines import compress_lines
from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.codec.lines.compressor import Compressor
from cdma.hdl.codec.lines.decompressor import Decompressor
from tests.hdl.bench import clocked

_LINE = bytes(range(1, LINE_BYTES + 1))
"""A line without zeros."""

_BUILDS: list[tuple[int, tuple[int, ...], str, int, int, int | None]] = [
    (16, (4,), "small", 2, 2, 3), (16, (4,), "fast", 2, 2, None), (32, (4,), "fast", 2, 2, 3),
    (32, (1, 2, 4), "small", 2, 2, 3), (32, (1, 2, 4), "fast", 3, 3, 5), (16, (1, 2), "fast", 3, 3, None),
    (64, (4,), "small", 4, 2, 3), (64, (4,), "fast", 5, 3, 5)]
"""Beats, element sizes, pipeline, and cycles: from the last raw beat of a line to the first packed one; from the packed
beat with the last byte that is needed to the first raw one; and the same where no row comes behind it, one more, or two
with the stage more. A change says so here."""


def _cycles(dut: Any, packet: bytes, beat_bytes: int, element: int, needed: int, *, last: bool = True
            ) -> tuple[int, bytes]:
    """Cycles from the beat with the last byte that is needed, when it is taken, to the first one that comes out, and
    that one."""
    beats = [packet[at:at + beat_bytes] for at in range(0, len(packet), beat_bytes)]
    seen: list[tuple[int, bytes]] = []

    async def process(ctx: Any) -> None:
        await ctx.tick().repeat(4)
        ctx.set(dut.o.ready, 1)
        for cycle in range(60):
            if cycle < len(beats):
                beat = beats[cycle]
                ctx.set(dut.i.payload, {"data": int.from_bytes(beat, "little"), "keep": (1 << len(beat)) - 1,
                                        "last": last and cycle == len(beats) - 1, "element": element})
            ctx.set(dut.i.valid, cycle < len(beats))
            _, _, ready, valid, payload = await ctx.tick().sample(dut.i.ready, dut.o.valid, dut.o.payload)
            assert ready or cycle >= len(beats)
            if valid:
                seen.append((cycle - needed, payload.data.to_bytes(beat_bytes, "little")))
                return

    clocked(dut, process)
    return seen[0]


@pytest.mark.parametrize(("beat_bytes", "sizes", "pipeline", "packing", "expanding", "alone"), _BUILDS)
def test_latency(beat_bytes: int, sizes: tuple[int, ...], pipeline: str, packing: int, expanding: int,
                 alone: int | None) -> None:
    needed = LINE_BYTES // beat_bytes - 1
    assert _cycles(Compressor(beat_bytes, sizes, pipeline), _LINE, beat_bytes, sizes[-1], needed)[0] == packing
    packed = compress_lines(_LINE, sizes[-1])
    needed = (len(packed) - LINE_BYTES + beat_bytes - 1) // beat_bytes
    assert _cycles(Decompressor(beat_bytes, sizes, pipeline), packed, beat_bytes, sizes[-1], needed)[0] == expanding
    if alone:
        line = bytearray(_LINE)
        line[beat_bytes - 4:beat_bytes] = bytes(4)      # so the elements of the first raw beat are beside the tag
        packed = compress_lines(bytes(line), 4)[:beat_bytes]
        assert _cycles(Decompressor(beat_bytes, sizes, pipeline), packed, beat_bytes, 4, 1, last=False) == (
            alone, bytes(line[:beat_bytes]))


@pytest.mark.parametrize(("beat_bytes", "sizes", "pipeline"), [row[:3] for row in _BUILDS if row[0] < 64])
def test_the_compressor_fills_the_packed_side(beat_bytes: int, sizes: tuple[int, ...], pipeline: str) -> None:
    """Of lines with few zeros, which become longer, a packed beat leaves in every cycle; not of lines of two beats,
    where a few zeros are a beat less."""
    dut, rng, element = Compressor(beat_bytes, sizes, pipeline), random.Random(beat_bytes), sizes[-1]
    lines = 60 * LINE_BYTES
    raw = b"".join(rng.randint(1, 255).to_bytes(element, "little") if rng.random() < 0.98 else bytes(element)
                   for _ in range(lines // element))
    packed = compress_lines(raw, element)
    assert len(packed) > len(raw)

    async def source(ctx: Any) -> None:
        ctx.set(dut.i.valid, 1)
        for at in range(0, lines, beat_bytes):
            ctx.set(dut.i.payload, {"data": int.from_bytes(raw[at:at + beat_bytes], "little"), "keep": -1,
                                    "last": at + beat_bytes == lines, "element": element})
            await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)

    async def process(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        beat, = await ctx.tick().sample(dut.o.payload).until(dut.o.valid)
        found = bytearray(beat.data.to_bytes(beat_bytes, "little"))
        while not beat.last:
            _, _, valid, beat = await ctx.tick().sample(dut.o.valid, dut.o.payload)
            assert valid, f"a gap behind {len(found) // beat_bytes} beats"
            found += beat.data.to_bytes(beat_bytes, "little")
        assert found[:len(packed)] == packed

    clocked(dut, process, source)
