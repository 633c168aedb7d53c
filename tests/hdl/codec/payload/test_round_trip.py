"""Both cores of blocks behind each other: what goes in comes out, of shipped dumps and of random values."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring

from cdma.hdl.codec.payload.block_compressor import BlockCompressor
from cdma.hdl.codec.payload.block_decompressor import BlockDecompressor
from cdma.hdl.codec.payload.unpacking import PayloadError
from cdma.workload.data import DIGITS, shipped
from tests.hdl.bench import clocked
from tests.hdl.ports import Sink, Source, play

_BLOCK, _SIZES = 512, (1, 2, 4)


class _Pair(wiring.Component):
    """The compressor's payloads go to the decompressor."""

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], exponents: tuple[int, ...]):
        self.compressor = BlockCompressor(beat_bytes, sizes, _BLOCK, exponents=exponents)
        self.decompressor = BlockDecompressor(beat_bytes, sizes, _BLOCK, exponents=exponents)
        super().__init__({})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.compressor, m.submodules.decompressor = self.compressor, self.decompressor
        out, into = self.compressor.o, self.decompressor.i
        m.d.comb += [
            into.valid.eq(out.valid), out.ready.eq(into.ready),
            into.payload.data.eq(out.payload.data), into.payload.keep.eq(out.payload.keep),
            into.payload.last.eq(out.payload.last), into.payload.coding.eq(self.compressor.block.coding),
            into.payload.raw_bytes.eq(self.compressor.block.raw_bytes),
        ]
        return m


def _dump(path: Any, size: int, length: int, *, bfloat16: bool = False) -> bytes:
    """The beginning of a dump's first array, as elements of so many bytes: those of 2 bytes are float16 or bfloat16."""
    with np.load(path) as arrays:
        values = arrays[arrays.files[0]].astype(np.float32).reshape(-1)[:length // size]
    if size == 1:
        values = np.clip(np.rint(values * 16), 0, 255).astype(np.uint8)
    if size == 2:
        return (values.view(np.uint32) >> 16).astype(np.uint16).tobytes() if bfloat16 else (
            values.astype(np.float16).tobytes())
    return values.tobytes()


@pytest.mark.parametrize("beat_bytes", [16, 32])
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (0.8, 0.7)])
def test_packets(beat_bytes: int, busy: float, ready: float) -> None:
    rng = random.Random(f"{beat_bytes} {busy}")
    packets = [(_dump(path, size, 2048), size) for path in (shipped(), DIGITS) for size in _SIZES]
    packets += [(bytes(512), 4), (rng.randbytes(512), 1), (b"\x00\x00\x00\x80" * 100, 4), (b"\x01", 1)]
    _play(_Pair(beat_bytes, _SIZES, ()), beat_bytes, [(raw, size, False) for raw, size in packets], rng, busy, ready)


def test_packets_with_exponents() -> None:
    """Dumps, noise, zeros of both signs, subnormal values and single elements, with both codings in turn."""
    rng = random.Random("exponents")
    packets = [(_dump(path, size, 1024, bfloat16=True), size, True) for path in (shipped(), DIGITS) for size in (2, 4)]
    packets += [(bytes(512), 4, True), (rng.randbytes(516), 4, True), (_dump(shipped(), 4, 512), 4, False),
                (b"\x00\x80\x3f\x80\x01\x00" * 50, 2, True), (b"\x80\xff", 2, True), (rng.randbytes(600), 2, False),
                (_dump(shipped(), 2, 200, bfloat16=True), 2, True)]
    _play(_Pair(32, (2, 4), (2, 4)), 32, packets, rng, 0.9, 0.8)


def _play(dut: _Pair, n: int, packets: list[tuple[bytes, int, bool]], rng: random.Random, busy: float, ready: float
          ) -> None:
    """Sends packets of elements of so many bytes, some with exponents, and compares what comes back."""
    offers, expected = [], []
    for raw, size, exponents in packets:
        for k in range(0, len(raw), n):
            part = raw[k:k + n]
            offers.append({"data": int.from_bytes(part, "little"), "keep": (1 << len(part)) - 1,
                           "last": k + n >= len(raw), "element": size, "exponents": exponents,
                           "fallback": 0})
            expected.append((part, k + n >= len(raw) or (k + n) % _BLOCK == 0))

    def read(ctx: Any) -> tuple[bytes, bool]:
        beat = ctx.get(dut.decompressor.o.payload)
        if beat.last:
            assert ctx.get(dut.decompressor.error.code) == PayloadError.OK
        count = beat.keep.bit_count() if beat.last else n
        return beat.data.to_bytes(n, "little")[:count], bool(beat.last)

    source = Source(dut.compressor.i, offers, rng, busy)
    sink = Sink(dut.decompressor.o, expected, read, rng, ready)

    async def process(ctx: Any) -> None:
        await play(ctx, [source], sink, quiet=20)

    clocked(dut, process, cycles=20_000)
