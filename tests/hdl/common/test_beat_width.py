"""Beats joined in pairs and split again: packets of every length, with stalls on both sides."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.common.beat_width import BeatDownsizer, BeatUpsizer
from tests.hdl.bench import clocked
from tests.hdl.ports import Sink, Source, play

_N = 4


def _beats(rng: random.Random, packet: bytes, size: int, mark: int, constant: bool) -> list[dict[str, int]]:
    """The packet in beats of so many bytes. ``mark`` stands beside all of them, or beside those that are read."""
    beats = []
    for k in range(0, max(1, len(packet)), size):
        part = packet[k:k + size]
        last = k + size >= len(packet)
        beats.append({"data": int.from_bytes(part + rng.randbytes(size - len(part)), "little"),
                      "keep": (1 << len(part)) - 1 if last else rng.getrandbits(size), "last": last,
                      "mark": mark + k // (2 * _N) if constant or k % (2 * _N) == 0 else rng.getrandbits(8)})
    return beats


def _read(port: Any, size: int) -> Any:
    def read(ctx: Any) -> tuple[bytes, int, int]:
        beat = ctx.get(port.payload)
        count = beat.keep.bit_count() if beat.last else size
        assert not beat.last or beat.keep == (1 << count) - 1
        return beat.data.to_bytes(size, "little")[:count], beat.last, beat.mark
    return read


@pytest.mark.parametrize("joins", [True, False])
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (1.0, 0.4), (0.5, 0.9)])
def test_packets(joins: bool, busy: float, ready: float) -> None:
    rng = random.Random(f"{joins} {busy}")
    dut = BeatUpsizer(_N, {"mark": 8}) if joins else BeatDownsizer(_N, {"mark": 8})
    size_in, size_out = (_N, 2 * _N) if joins else (2 * _N, _N)
    offers, expected = [], []
    for _ in range(60):
        packet, mark = rng.randbytes(rng.randrange(6 * _N)), rng.getrandbits(7)
        offers += _beats(rng, packet, size_in, mark, not joins)
        for k in range(0, max(1, len(packet)), size_out):
            expected.append((packet[k:k + size_out], k + size_out >= len(packet), mark + k // (2 * _N)))
    narrow = max(len(offers), len(expected))
    source, sink = Source(dut.i, offers, rng, busy), Sink(dut.o, expected, _read(dut.o, size_out), rng, ready)

    async def process(ctx: Any) -> None:
        cycles = await play(ctx, [source], sink, quiet=4)
        assert busy < 1 or ready < 1 or cycles <= narrow, "one narrow beat per cycle"

    clocked(dut, process)
