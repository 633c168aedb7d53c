"""Rounding to 16 bits and back, in beats: golden's bits at every edge and for every 16-bit value, and no lost cycle."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from cdma.golden.codec.narrowing import narrow, widen
from cdma.golden.reference.narrowing import FORMATS, edges
from cdma.hdl.codec.narrowing.float_narrower import FloatNarrower
from cdma.hdl.codec.narrowing.float_widener import FloatWidener
from tests.hdl.bench import clocked
from tests.hdl.engine.axi.traffic import Pace, give, take_packet

_SIZES = [16, 32, 64]


def _packets(rng: random.Random, content: bytes, grain: int) -> list[bytes]:
    """The content in packets of all kinds of lengths, each a multiple of ``grain``."""
    found, at = [], 0
    while at < len(content):
        size = grain * rng.choice([1, 2, 3, rng.randint(1, 80), 64])
        found.append(content[at:at + size])
        at += size
    return found


def _beats(packets: list[bytes], size: int) -> list[dict[str, Any]]:
    """Beats with noise where nothing is kept."""
    rng = random.Random(5)
    found = []
    for packet in packets:
        for at in range(0, len(packet), size):
            part = packet[at:at + size]
            last = at + size >= len(packet)
            found.append({"data": int.from_bytes(part + rng.randbytes(size - len(part)), "little"),
                          "keep": (1 << len(part)) - 1 if last else rng.getrandbits(size), "last": last})
    return found


@pytest.mark.parametrize("pauses", [0.0, 0.4])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("size", _SIZES)
def test_narrower(size: int, form: int, pauses: float) -> None:
    rng = random.Random(size + form)
    content = np.array(edges(), "<u4").tobytes()
    content = content[:len(content) // (64 // size)] if pauses else content
    packets = _packets(rng, content, 4)
    dut = FloatNarrower(size)
    cycles = 0

    async def take(ctx: Any) -> None:
        ctx.set(dut.narrow, form)
        for number, packet in enumerate(packets):
            assert await take_packet(ctx, dut.o, Pace(rng, pauses)) == narrow(packet, form).tobytes(), number

    async def count(ctx: Any) -> None:
        nonlocal cycles
        while True:
            await ctx.tick()
            cycles += 1

    async def fill(ctx: Any) -> None:
        await give(ctx, dut.i, _beats(packets, size), Pace(rng, pauses))

    clocked(dut, take, fill, count)
    if not pauses:
        assert cycles <= len(_beats(packets, size)) + 4


@pytest.mark.parametrize("pauses", [0.0, 0.4])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("size", _SIZES)
def test_widener(size: int, form: int, pauses: float) -> None:
    rng = random.Random(size + form)
    content = np.arange(1 << 16, dtype="<u2").tobytes()
    content = content[rng.randrange(64) * 2::8] if pauses else content
    packets = _packets(rng, content[:len(content) // 2 * 2], 2)
    dut = FloatWidener(size)
    wide = [widen(packet, form).tobytes() for packet in packets]
    total = sum(-(-len(each) // size) for each in wide)
    cycles = 0

    async def take(ctx: Any) -> None:
        nonlocal cycles
        ctx.set(dut.narrow, form)
        pace = Pace(rng, pauses)
        for number, packet in enumerate(wide):
            got = b""
            while len(got) < len(packet):
                ctx.set(dut.o.ready, pace.go())
                _, _, valid, ready, beat = await ctx.tick().sample(dut.o.valid, dut.o.ready, dut.o.payload)
                cycles += 1
                if valid and ready:
                    got += beat.to_bytes(size, "little")
            assert got[:len(packet)] == packet, f"packet {number}"
        ctx.set(dut.o.ready, 0)
        for _ in range(4):
            _, _, valid = await ctx.tick().sample(dut.o.valid)
            assert not valid, "a beat too many"
        assert ctx.get(dut.idle)

    async def fill(ctx: Any) -> None:
        await give(ctx, dut.i, _beats(packets, size), Pace(rng, pauses))

    clocked(dut, take, fill)
    if not pauses:
        assert cycles <= total + 4
