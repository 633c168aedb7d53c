"""The framer against bytes: every payload behind its header, in rows of the link."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.lanes.framer import Framer
from tests.hdl.bench import clocked
from tests.hdl.ports import Sink, Source

_SIZE = 16
_WHOLE, _SHORT, _RAW = 0x14, 0x94, 0


def _play(link: int, blocks: list[tuple[int, int]], rng: random.Random, busy: float, ready: float) -> int:
    """Cycles that blocks take, each a coding and the bytes of its payload; every row is compared."""
    config = EngineConfig(lanes=1, beat_bytes=_SIZE, link_beat_bytes=link, block_bytes=512, buffer_bytes=1024)
    dut = Framer(config)
    beats, facts, rows = [], [], []
    for number, (coding, length) in enumerate(blocks):
        payload, raw_bytes = rng.randbytes(length), rng.randrange(1, 513)
        block = {"coding": coding, "raw_bytes": raw_bytes, "payload_bytes": length, "sequence": number % 256}
        for k in range(0, length, _SIZE):
            part, last = payload[k:k + _SIZE], k + _SIZE >= length
            noise = rng.randbytes(_SIZE - len(part))
            beats.append({"data": int.from_bytes(part + noise, "little"), "last": last,
                          "keep": (1 << len(part)) - 1 if last else rng.getrandbits(_SIZE)})
            facts.append(block)
        field = struct.pack("<I", raw_bytes) if coding == _SHORT else b""
        framed = struct.pack("<HBB", length + len(field), coding, number % 256) + field + payload
        framed += bytes(-len(framed) % link)
        rows += [(framed[k:k + link], k + link == len(framed)) for k in range(0, len(framed), link)]

    def read(ctx: Any) -> tuple[bytes, bool]:
        row = ctx.get(dut.o.payload)
        return row.data.to_bytes(link, "little"), bool(row.last)

    source, sink = Source(dut.i, beats, rng, busy), Sink(dut.o, rows, read, rng, ready)
    cycles = 0

    async def process(ctx: Any) -> None:
        nonlocal cycles
        while sink.left:
            if source.left:
                ctx.set(dut.block, facts[len(facts) - len(source.left)])
            for each in (source, sink):
                each.offer(ctx)
            for each in (source, sink):
                each.settle(ctx)
            await ctx.tick()
            cycles += 1
        ctx.set(dut.i.valid, 0)
        assert not source.left
        assert not ctx.get(dut.o.valid)

    clocked(dut, process, cycles=10_000)
    return cycles


@pytest.mark.parametrize("link", [16, 32, 64])
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 0.5), (0.5, 1.0)])
def test_payloads(link: int, busy: float, ready: float) -> None:
    rng = random.Random(f"{link} {busy} {ready}")
    corners = [1, 7, 8, 9, 11, 12, 13, 15, 16, 17, 24, 25, 28, 29, link - 8, link - 4, link - 3, link, 512 + 4 * 16]
    lengths = corners + [rng.randrange(1, 200) for _ in range(25)]
    _play(link, [(coding, length) for coding in (_WHOLE, _SHORT) for length in corners]
          + [(rng.choice([_WHOLE, _SHORT, _RAW]), length) for length in lengths], rng, busy, ready)


@pytest.mark.parametrize("coding", [_WHOLE, _SHORT])
@pytest.mark.parametrize("link", [16, 64])
def test_a_cycle_for_a_beat_and_one_for_an_end_that_does_not_fit(link: int, coding: int) -> None:
    lengths = [1, 8, 9, 12, 13, 16, 17, 24, 25, 28, 29, 200]
    cycles = _play(link, [(coding, length) for length in lengths], random.Random(1), 1.0, 1.0)
    header = 8 if coding == _SHORT else 4
    assert cycles == sum(-(-(length + header) // _SIZE) for length in lengths)
