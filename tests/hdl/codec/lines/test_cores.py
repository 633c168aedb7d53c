"""Both cores of lines against golden: packets of all lengths and densities, what is malformed, and full rate."""

from __future__ import annotations

import random
from array import array
from collections import deque
from functools import cache
from typing import Any

import numpy as np
import pytest

from cdma.golden.reference.lines import compress_lines
from cdma.hdl.codec.lines.compressor import Compressor
from cdma.hdl.codec.lines.decompressor import Decompressor
from cdma.hdl.codec.packets import ErrorCode
from cdma.hdl.config.core import CoreConfig
from cdma.verif.common.stream import Packet, Received
from cdma.verif.core.packets import by_golden, difference
from tests.hdl.bench import Bench
from tests.hdl.ports import Source

_BUILDS: list[Any] = [(16, (1, 2, 4), "small"), (16, (2, 4), "fast"), (16, (4,), "small"), (16, (1,), "fast"),
                      (32, (1, 2, 4), "fast"), (32, (2, 4), "small"), (64, (4,), "small"), (64, (1, 4), "fast")]
"""Bytes of a beat, element sizes, pipeline."""
PARTS = [
    "cdma.hdl.codec.lines.packer.Packer", "cdma.hdl.codec.lines.packer.RowQueue",
    "cdma.hdl.codec.lines.expander.Expander", "cdma.hdl.codec.lines.row_buffer.RowBuffer",
    "cdma.hdl.codec.lines.tag_reader.TagReader"]
"""Components whose faults show here; mutants of them were tried."""

_each = pytest.mark.parametrize("build", _BUILDS, ids=str)
_stalls = pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (0.4, 0.9), (0.9, 0.4)])

Packets = list[tuple[bytes, int]]
"""Bytes, and bytes of an element."""


@cache
def _bench(core: str, build: Any) -> tuple[Any, Bench]:
    dut = {"compressor": Compressor, "decompressor": Decompressor}[core](*build)
    return dut, Bench(dut)


def _beats(packets: Packets, n: int, rng: random.Random) -> list[dict[str, int]]:
    """The beats of packets; what does not count in them is noise."""
    beats = []
    for content, element in packets:
        for at in range(0, max(1, len(content)), n):
            part, last = content[at:at + n], at + n >= len(content)
            beats.append({"data": int.from_bytes(part + rng.randbytes(n - len(part)), "little"), "last": last,
                          "keep": (1 << len(part)) - 1 if last else rng.getrandbits(n),
                          "element": rng.randrange(8) if at else element})
    return beats


def _play(core: str, build: Any, packets: Packets, rng: random.Random, busy: float, ready: float) -> int:
    """Plays packets, and holds what comes against golden; the cycles from the first beat that came to the last."""
    dut, bench = _bench(core, build)
    source, left = Source(dut.i, _beats(packets, build[0], rng), rng, busy), deque(packets)
    cycles = 0

    async def process(ctx: Any) -> None:
        nonlocal cycles
        came, held = bytearray(), None
        while left:
            source.offer(ctx)
            ctx.set(dut.o.ready, rng.random() < ready)
            source.settle(ctx)
            shown = None
            if ctx.get(dut.o.valid):
                beat, error = ctx.get(dut.o.payload), ctx.get(dut.error)
                count = beat.keep.bit_count() if beat.last else build[0]
                assert not beat.last or beat.keep == (1 << count) - 1
                code, line = (error, 0) if core == "compressor" else (error.code, error.line)
                shown = beat.data.to_bytes(build[0], "little")[:count], beat.last, (code, line) if beat.last else None
            assert held in (None, shown), "a beat changes, or goes, while it waits"
            held = shown
            cycles += bool(came or shown or len(left) < len(packets))
            if shown and ctx.get(dut.o.ready):
                held = None
                came += shown[0]
                if shown[2]:
                    content, element = left.popleft()
                    code, line = shown[2]
                    seen = Received(np.frombuffer(bytes(came), np.uint8), ErrorCode(code).value, line, array("q"))
                    packet = Packet(np.frombuffer(content, np.uint8), element)
                    wrong = difference(by_golden(packet, CoreConfig(core=core))[0], seen)
                    assert wrong is None, f"{wrong}, {len(left)} packets before the end"
                    came.clear()
            await ctx.tick()
        ctx.set(dut.i.valid, 0)
        for _ in range(10):
            assert not ctx.get(dut.o.valid), "more comes than is expected"
            await ctx.tick()

    bench.run(process, cycles=20_000)
    return cycles


def _raw(rng: random.Random, length: int, element: int, density: float) -> bytes:
    """So many bytes, of whose elements this share is not zero; some have a byte alone that is not."""
    def value() -> bytes:
        return rng.choice([rng.randbytes(element), (1 << rng.randrange(8 * element)).to_bytes(element, "little")])

    whole = b"".join(value() if rng.random() < density else bytes(element) for _ in range(-(-length // element)))
    return whole[:length]


def _lengths(rng: random.Random, n: int, count: int) -> list[int]:
    """Bytes of packets: none, parts of elements, ends of beats and lines, and any."""
    return [rng.choice([0, 1, 3, 4, n - 1, n, n + 1, 127, 128, 129, 256, rng.randrange(700)]) for _ in range(count)]


@_each
@_stalls
def test_compressor(build: Any, busy: float, ready: float) -> None:
    rng = random.Random(f"{build} {busy}")
    packets = []
    for length in _lengths(rng, build[0], 40):
        element = rng.choice(build[1])
        packets.append((_raw(rng, length, element, rng.choice([0.0, 0.05, 0.5, 0.95, 1.0])), element))
    _play("compressor", build, packets, rng, busy, ready)


def _damaged(rng: random.Random, packed: bytes, element: int) -> bytes:
    """Packed bytes with something wrong, or not: cut anywhere, a bit flipped, bytes behind them, or any bytes."""
    kind = rng.choice(["cut", "cut", "flip", "more", "noise"])
    if kind == "cut" or not packed:
        return packed[:rng.randrange(len(packed) + 1)]
    if kind == "flip":
        place = rng.randrange(8 * min(len(packed), 2 * 16 // element))
        return bytes(byte ^ (1 << place % 8) * (at == place // 8) for at, byte in enumerate(packed))
    return packed + rng.randbytes(rng.choice([1, 2, 3, 4, 40])) if kind == "more" else rng.randbytes(rng.randrange(300))


@_each
@_stalls
def test_decompressor(build: Any, busy: float, ready: float) -> None:
    """Whole packets, and packets that end, or go wrong, at any place."""
    rng = random.Random(f"{build} {busy}")
    packets = []
    for number, length in enumerate(_lengths(rng, build[0], 60)):
        element = rng.choice(build[1])
        raw = _raw(rng, length // element * element, element, rng.choice([0.0, 0.05, 0.5, 0.95, 1.0]))
        packed = compress_lines(raw, element)
        packets.append((_damaged(rng, packed, element) if number % 2 else packed, element))
    # An element and a byte, where the rest of the line is missing.
    packets.append((b"\xff" * (16 // max(build[1])) + rng.randbytes(max(build[1]) + 1), max(build[1])))
    config = CoreConfig(core="decompressor")
    found = {expected.error for packed, element in packets
             for expected in by_golden(Packet(np.frombuffer(packed, np.uint8), element), config)}
    assert found == set(ErrorCode) - ({ErrorCode.TRAILING_BYTES} if build[1] == (1,) else set()), found
    _play("decompressor", build, packets, rng, busy, ready)


def test_a_fault_behind_many_lines() -> None:
    """The number of its line has more than eight bits."""
    _play("decompressor", _BUILDS[6], [(bytes(4 * 300 + 2), 4)], random.Random(1), 1.0, 1.0)


@_each
@pytest.mark.parametrize("density", [0.0, 0.5, 0.9])
def test_a_raw_beat_per_cycle(build: Any, density: float) -> None:
    """Into the compressor and out of the decompressor, in packets of many lines, and little more in those of one."""
    rng = random.Random(f"{build} {density}")
    n, (*_, element) = build[0], build[1]
    for lines, count, more in ((40, 2, 4), (1, 20, 24)):
        raw = [_raw(rng, 128 * lines, element, density) for _ in range(count)]
        packed = [compress_lines(each, element) for each in raw]
        least = max(count * lines * 128 // n, sum(-(-len(each) // n) for each in packed))
        for core, packets in (("compressor", raw), ("decompressor", packed)):
            cycles = _play(core, build, [(each, element) for each in packets], rng, 1.0, 1.0)
            assert cycles <= least + more, core
