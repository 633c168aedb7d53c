"""The framer against bytes: every payload behind four zero bytes, in rows of the link."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hdl.config.engine import EngineConfig
from hdl.engine.lanes.framer import Framer
from tests.hdl.bench import clocked
from tests.hdl.ports import Sink, Source

_SIZE = 16


def _play(link: int, lengths: list[int], rng: random.Random, busy: float, ready: float) -> int:
    """Cycles that payloads of some lengths take; every row is compared."""
    config = EngineConfig(lanes=1, beat_bytes=_SIZE, link_beat_bytes=link, block_bytes=512, buffer_bytes=1024)
    dut = Framer(config)
    beats, rows = [], []
    for length in lengths:
        payload = rng.randbytes(length)
        for k in range(0, length, _SIZE):
            part, last = payload[k:k + _SIZE], k + _SIZE >= length
            noise = rng.randbytes(_SIZE - len(part))
            beats.append({"data": int.from_bytes(part + noise, "little"), "last": last,
                          "keep": (1 << len(part)) - 1 if last else rng.getrandbits(_SIZE)})
        framed = bytes(4) + payload
        framed += bytes(-len(framed) % link)
        for k in range(0, len(framed), link):
            last = k + link == len(framed)
            rows.append((framed[k:k + link], last, length if last else None))

    def read(ctx: Any) -> tuple[bytes, bool, int | None]:
        row = ctx.get(dut.o.payload)
        return row.data.to_bytes(link, "little"), bool(row.last), row.bytes if row.last else None

    source, sink = Source(dut.i, beats, rng, busy), Sink(dut.o, rows, read, rng, ready)
    cycles = 0

    async def process(ctx: Any) -> None:
        nonlocal cycles
        while sink.left:
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
    corners = [1, 11, 12, 13, 15, 16, 17, 28, 29, link - 4, link - 3, link, 512 + 4 * 16]
    _play(link, corners + [rng.randrange(1, 200) for _ in range(25)], rng, busy, ready)


@pytest.mark.parametrize("link", [16, 64])
def test_a_cycle_for_a_beat_and_one_for_an_end_that_does_not_fit(link: int) -> None:
    lengths = [1, 12, 13, 16, 17, 28, 29, 200]
    cycles = _play(link, lengths, random.Random(1), 1.0, 1.0)
    assert cycles == sum(-(-(length + 4) // _SIZE) for length in lengths)
