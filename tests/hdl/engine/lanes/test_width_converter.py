"""The width converter against bytes: blocks in rows of the link become packets of lane beats."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hdl.config.engine import EngineConfig
from hdl.engine.lanes.width_converter import WidthConverter
from tests.hdl.bench import clocked
from tests.hdl.ports import Sink, Source

_SIZE = 16


def _play(link: int, lengths: list[int], rng: random.Random, busy: float, ready: float) -> int:
    """Cycles that payloads of some lengths take; every beat is compared."""
    config = EngineConfig(lanes=1, beat_bytes=_SIZE, link_beat_bytes=link, block_bytes=512, buffer_bytes=1024)
    dut = WidthConverter(config)
    rows, facts, beats = [], [], []
    for length in lengths:
        payload, raw = rng.randbytes(length), rng.getrandbits(1)
        padded = payload + rng.randbytes(-length % link)
        rows += [int.from_bytes(padded[k:k + link], "little") for k in range(0, length, link)]
        facts.append({"end": length - 1, "raw": raw})
        beats += [(payload[k:k + _SIZE], k + _SIZE >= length, raw) for k in range(0, length, _SIZE)]

    def read(ctx: Any) -> tuple[bytes, bool, int]:
        beat = ctx.get(dut.o.payload)
        kept = beat.keep if beat.last else (1 << _SIZE) - 1
        count = kept.bit_count()
        assert kept == (1 << count) - 1
        return beat.data.to_bytes(_SIZE, "little")[:count], bool(beat.last), ctx.get(dut.raw)

    sources = [Source(dut.rows, rows, rng, busy), Source(dut.payloads, facts, rng, busy)]
    sink = Sink(dut.o, beats, read, rng, ready)
    cycles = 0

    async def process(ctx: Any) -> None:
        nonlocal cycles
        while sink.left:
            for each in (*sources, sink):
                each.offer(ctx)
            for each in (*sources, sink):
                each.settle(ctx)
            await ctx.tick()
            cycles += 1
        assert not any(source.left for source in sources)
        assert not ctx.get(dut.o.valid)

    clocked(dut, process, cycles=10_000)
    return cycles


@pytest.mark.parametrize("link", [16, 32, 64])
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 0.5), (0.5, 1.0)])
def test_blocks(link: int, busy: float, ready: float) -> None:
    rng = random.Random(f"{link} {busy} {ready}")
    lengths = [1, 15, 16, 17, link, link + 1, 512 + 4 * 16] + [rng.randrange(1, 200) for _ in range(25)]
    _play(link, lengths, rng, busy, ready)


@pytest.mark.parametrize("link", [16, 64])
def test_no_cycle_is_lost_between_blocks(link: int) -> None:
    lengths = [1, 16, 17, 64, 65, 1, 1, 200]
    assert _play(link, lengths, random.Random(1), 1.0, 1.0) == 1 + sum(-(-length // _SIZE) for length in lengths)
