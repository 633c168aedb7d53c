"""The block compressor against the golden model: the same blocks, coded or raw, byte for byte."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest

from golden.codec.blocks import compress, headers
from golden.codec.coding import Coding
from hdl.codec.payload.block_compressor import BlockCompressor
from tests.hdl.bench import Bench
from tests.hdl.ports import Sink, Source, play

_CODINGS = {1: Coding.ZVC8, 2: Coding.ZVC16, 4: Coding.ZVC32}
_BUILDS = [(16, (1, 2, 4)), (16, (4,)), (32, (1, 2, 4)), (32, (4,)), (64, (1, 2, 4)), (64, (2, 4))]
_BLOCK = 512

Packet = tuple[bytes, int, bool]


@cache
def _bench(beat_bytes: int, sizes: tuple[int, ...], block_bytes: int) -> tuple[BlockCompressor, Bench]:
    dut = BlockCompressor(beat_bytes, sizes, block_bytes)
    return dut, Bench(dut)


def _values(rng: random.Random, length: int, size: int, density: float) -> bytes:
    """Raw bytes, perhaps with a part of an element at the end; an element that is not zero may have zeros in it."""
    out = bytearray()
    while len(out) < length:
        value = bytearray(rng.choice([bytes(size), rng.randbytes(size)]))
        value[rng.randrange(size)] = rng.randrange(1, 256)
        out += value if rng.random() < density else bytes(size)
    return bytes(out[:length])


def _expected(packet: Packet, block_bytes: int) -> list[tuple[bytes, dict[str, int]]]:
    """The payloads of a packet's blocks, without the word of a short one, with their facts."""
    raw, size, fallback = packet
    whole = raw[:len(raw) // size * size]
    cut = len(raw) > len(whole)
    stream = bytes(compress(whole, _CODINGS[size], block_bytes, fallback))
    found = []
    for block in headers(stream, block_bytes):
        payload = stream[block.payload_offset:block.payload_offset + block.payload_bytes]
        payload = payload[4 * block.short:]
        raw_bytes = min(block_bytes, len(whole) - block.number * block_bytes)
        found.append((payload, {"coding": block.field, "raw_bytes": raw_bytes, "payload_bytes": len(payload),
                                "cut": False}))
    if not whole or (cut and len(whole) % block_bytes == 0):
        # A block begins, and has no whole element.
        found.append((b"", {"coding": _CODINGS[size] | 0x80, "raw_bytes": 0, "payload_bytes": 0, "cut": cut}))
    found[-1][1]["cut"] = cut
    return found


def _run(beat_bytes: int, sizes: tuple[int, ...], packets: list[Packet], busy: float, ready: float,
         block_bytes: int = _BLOCK) -> int:
    """Compresses packets and compares all rows; the cycles it took from the first row on."""
    rng = random.Random(f"{beat_bytes} {sizes} {busy} {ready}")
    dut, bench = _bench(beat_bytes, sizes, block_bytes)
    n = beat_bytes
    offers, expected = [], []
    for packet in packets:
        raw, size, fallback = packet
        for k in range(0, max(1, len(raw)), n):
            part = raw[k:k + n]
            last = k + n >= len(raw)
            # What lies behind the last byte, and what is read on the first beat only, may be anything.
            offers.append({"data": int.from_bytes(part + rng.randbytes(n - len(part)), "little"),
                           "keep": (1 << len(part)) - 1 if last else rng.getrandbits(n), "last": last,
                           "element": rng.randrange(8) if k else size,
                           "fallback": rng.random() < 0.5 if k else fallback})
        for payload, facts in _expected(packet, block_bytes):
            rows = [payload[k:k + n] for k in range(0, max(1, len(payload)), n)]
            expected += [(row, k == len(rows) - 1, facts) for k, row in enumerate(rows)]

    source = Source(dut.i, offers, rng, busy)

    def read(ctx: Any) -> tuple[bytes, bool, dict[str, int]]:
        row, block = ctx.get(dut.o.payload), ctx.get(dut.block)
        count = row.keep.bit_count()
        assert row.keep == (1 << count) - 1 and (row.last or count == n)
        return (row.data.to_bytes(n, "little")[:count], bool(row.last),
                {name: getattr(block, name) for name in ("coding", "raw_bytes", "payload_bytes", "cut")})

    sink = Sink(dut.o, expected, read, rng, ready)
    cycles = 0

    async def process(ctx: Any) -> None:
        nonlocal cycles
        cycles = await play(ctx, [source], sink, quiet=20)

    bench.run(process, cycles=100_000)
    return cycles


@pytest.mark.parametrize(("beat_bytes", "sizes"), _BUILDS)
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 0.4), (0.6, 0.95)])
def test_packets(beat_bytes: int, sizes: tuple[int, ...], busy: float, ready: float) -> None:
    rng = random.Random(f"{beat_bytes} {sizes} {ready}")
    packets = []
    for _ in range(20):
        size = rng.choice(sizes)
        length = rng.choice([0, 1, 3, size, 4 * size, 60, 127, 128, 129, 511, 512, 513, 1024, 1500,
                             rng.randrange(2000)])
        packets.append((_values(rng, length, size, rng.choice([0.0, 0.05, 0.5, 0.9, 1.0])), size, rng.random() < 0.7))
    _run(beat_bytes, sizes, packets, busy, ready)


def test_a_row_of_tags_that_only_dropped_bytes_have_begun() -> None:
    """The last beat has a part of an element only, and begins a row of tags that the payload does not need."""
    packets = [(bytes(256) + b"x", 2, False), (bytes(512 - 16) + b"x", 4, True), (b"ab" * 128 + b"x", 2, True)]
    _run(16, (1, 2, 4), packets, 1.0, 1.0)


@pytest.mark.parametrize(("block_bytes", "cycles"), [(512, 20), (1024, 12)])
def test_latency_is_as_stated(block_bytes: int, cycles: int) -> None:
    """From the last beat of a block to the first row of its payload, which is tags and data, or tags alone."""
    dut, bench = _bench(32, (4,), block_bytes)
    beats, seen = block_bytes // 32, []

    async def process(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        # Out of reset, `ready` is registered.
        await ctx.tick()
        for cycle in range(beats + 30):
            ctx.set(dut.i.valid, cycle < beats)
            ctx.set(dut.i.payload, {"data": cycle + 1, "element": 4, "last": cycle == beats - 1, "keep": (1 << 32) - 1})
            assert cycle >= beats or ctx.get(dut.i.ready)
            if ctx.get(dut.o.valid):
                seen.append(cycle)
            await ctx.tick()

    bench.run(process)
    assert seen[0] - (beats - 1) == cycles


@pytest.mark.parametrize("size", [1, 2, 4])
def test_every_length_of_a_short_block(size: int) -> None:
    """Every number of elements of 4 bytes; of smaller ones some, with and without a part of an element behind them."""
    rng = random.Random(size)
    packets = [(_values(rng, length, size, rng.choice([0.2, 0.8])), size, rng.random() < 0.5)
               for length in range(0, 513, {1: 13, 2: 11, 4: 4}[size])]
    _run(32, (1, 2, 4), packets, 1.0, 0.9)


@pytest.mark.parametrize(("beat_bytes", "sizes"), [(32, (1, 2, 4)), (64, (2, 4))])
@pytest.mark.parametrize(("density", "fallback"), [(0.0, True), (0.1, False), (0.5, True), (0.9, False), (1.0, True)])
def test_throughput(beat_bytes: int, sizes: tuple[int, ...], density: float, fallback: bool) -> None:
    """At least 99 % of a beat, or a row, per cycle over tensors of 64 KiB in all; blocks of 4 KiB."""
    rng = random.Random(f"{density}")
    packets = []
    for size in sizes[-2:]:
        packets.append((_values(rng, 1 << 15, size, density), size, fallback))
    rows = sum(-(-len(payload) // beat_bytes) for packet in packets for payload, _ in _expected(packet, 4096))
    beats = sum(len(raw) for raw, _, _ in packets) // beat_bytes
    cycles = _run(beat_bytes, sizes, packets, 1.0, 1.0, 4096)
    # The first block is in the store when the first row leaves.
    assert cycles <= max(beats - 4096 // beat_bytes, rows) / 0.99 + 4096 // beat_bytes
