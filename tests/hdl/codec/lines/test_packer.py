"""The packer and its queue of rows against the bytes of packets: what they hold, how they end, what it costs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from cdma.hdl.codec.lines.packer import Packer, RowQueue
from cdma.hdl.codec.packets import ErrorCode
from tests.hdl.bench import clocked

_SIZE = 16
_Beat = tuple[bytes, bool, ErrorCode]       # the kept bytes, whether the packet ends with it, its fate then


@dataclass
class _Packet:
    """Pieces, each the bytes of a tag, if any, and of elements; and whether bytes are left over."""

    pieces: list[tuple[bytes, bytes]]
    ragged: bool = False
    beats: list[_Beat] = field(default_factory=list)

    def __post_init__(self) -> None:
        whole = b"".join(tag + elements for tag, elements in self.pieces)
        rows = [whole[k:k + _SIZE] for k in range(0, len(whole), _SIZE)] or [b""]
        fate = ErrorCode.TRAILING_BYTES if self.ragged else ErrorCode.OK
        self.beats = [(row, k == len(rows) - 1, fate if k == len(rows) - 1 else ErrorCode.OK)
                      for k, row in enumerate(rows)]


def _packet(rng: random.Random, grain: int) -> _Packet:
    if rng.random() < 0.15:
        return _Packet([(b"", b"")], rng.random() < 0.5)
    tag = 16 // rng.choice([size for size in (1, 2, 4) if size >= grain])
    dense = rng.choice([0.0, 0.5, 1.0])
    pieces = []
    for k in range(rng.choice([1, 1, 2, 8, 20])):
        count = _SIZE // grain if rng.random() < dense else rng.randrange(_SIZE // grain + 1)
        pieces.append((rng.randbytes(tag) if k % 8 == 0 else b"", rng.randbytes(count * grain)))
    return _Packet(pieces, rng.random() < 0.3)


def _transfers(rng: random.Random, packet: _Packet, grain: int) -> list[dict[str, Any]]:
    """What stands on the port for each piece; lanes and bits that do not count are noise."""
    units, longest = _SIZE // grain, 16 // grain // grain
    found = []
    place = units       # of the next byte, in units from the first one of the open row, which a packet finds full
    for number, (tag, elements) in enumerate(packet.pieces):
        last = number == len(packet.pieces) - 1
        lanes = [rng.randbytes(grain) for _ in range(units)]
        turned = [rng.randbytes(grain) for _ in range(longest)]
        tagged = len(tag) // grain
        for k in range(tagged):
            turned[(place + k) % longest] = tag[k * grain:(k + 1) * grain]
        for k in range(len(elements) // grain):
            lanes[(place + tagged + k) % units] = elements[k * grain:(k + 1) * grain]
        behind = place + (len(tag) + len(elements)) // grain
        none = behind == place and number == 0
        found.append({
            "lanes": int.from_bytes(b"".join(lanes), "little"), "below": (1 << place) - 1,
            "tag": int.from_bytes(b"".join(turned), "little"),
            "on_tag": sum(1 << (place + k) % units for k in range(tagged)),
            "rows": 1 if none else (behind - 1) // units,
            "end": {"last": last, "units": behind % units if last else rng.randrange(units), "none": none,
                    "ragged": packet.ragged if last else rng.getrandbits(1)},
        })
        place = behind - (behind - 1) // units * units
    return found


class _Run:
    """Plays packets and holds the beats that come against them."""

    def __init__(self, packets: Sequence[_Packet], grain: int, rng: random.Random, busy: float, ready: float):
        self.dut = Packer(_SIZE, grain)
        self._beats = [beat for packet in packets for beat in packet.beats]
        self._coming = [each for packet in packets for each in _transfers(rng, packet, grain)]
        self._rng, self._busy, self._ready = rng, busy, ready
        self._held: Any = None
        self.cycles = 0

    def _compare(self, ctx: Any) -> None:
        """Looks at the output in a cycle in which it is stable."""
        dut = self.dut
        if not ctx.get(dut.o.valid):
            assert self._held is None, "a beat is gone that was not taken"
            return
        assert self._beats, "more beats than there are rows"
        bytes_, last, fate = self._beats[0]
        payload = ctx.get(dut.o.payload)
        assert payload.last == last
        if last:
            assert payload.keep == (1 << len(bytes_)) - 1
            assert ctx.get(dut.error) == fate
        assert payload.data.to_bytes(_SIZE, "little")[:len(bytes_)] == bytes_
        shown = payload.data, payload.keep, payload.last, ctx.get(dut.error)
        assert self._held in (None, shown), "a beat changes while it waits"
        self._held = shown

    async def process(self, ctx: Any) -> None:
        dut, rng = self.dut, self._rng
        offered, room, idle = False, 0, {"below": (1 << len(dut.i.payload.below)) - 1}
        while self._coming or self._beats:
            offered = offered or (bool(self._coming) and rng.random() < self._busy)
            piece = self._coming[0] if offered else idle
            ctx.set(dut.i.payload, piece)
            ctx.set(dut.i.valid, offered)
            ctx.set(dut.o.ready, rng.random() < self._ready)
            self._compare(ctx)
            taken = offered and ctx.get(dut.i.ready)
            if offered:
                assert taken or piece["rows"] > room, "a piece waits that room was foreseen for"
            room = ctx.get(dut.room_next)
            if ctx.get(dut.o.valid) and ctx.get(dut.o.ready):
                self._beats.pop(0)
                self._held = None
            await ctx.tick()
            self.cycles += 1
            if taken:
                self._coming.pop(0)
                offered = False
        for _ in range(5):
            assert not ctx.get(dut.o.valid)
            await ctx.tick()


@pytest.mark.parametrize("grain", [1, 2, 4])
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (0.4, 0.9), (0.9, 0.4)])
def test_packets(grain: int, busy: float, ready: float) -> None:
    rng = random.Random(f"{grain} {busy} {ready}")
    run = _Run([_packet(rng, grain) for _ in range(40)], grain, rng, busy, ready)
    clocked(run.dut, run.process, cycles=10_000)


@pytest.mark.parametrize("size", [1, 16])
def test_the_last_row_costs_no_cycle(size: int) -> None:
    """Packets of one row, one a cycle: each leaves in a cycle."""
    rng = random.Random(size)
    packets = [_Packet([(b"", rng.randbytes(size))]) for _ in range(50)]
    run = _Run(packets, 1, rng, 1.0, 1.0)
    clocked(run.dut, run.process, cycles=200)
    assert run.cycles <= len(packets) + 3


@pytest.mark.parametrize("grain", [1, 4])
def test_the_queue_takes_none_one_or_two_rows(grain: int) -> None:
    dut = RowQueue(_SIZE, grain)
    units = _SIZE // grain
    rng = random.Random(grain)

    async def process(ctx: Any) -> None:
        held: list[dict[str, Any]] = []
        for _ in range(600):
            assert ctx.get(dut.level) == len(held)
            assert ctx.get(dut.o.valid) == bool(held)
            rows = [{"data": rng.getrandbits(8 * _SIZE), "end": {
                "last": rng.getrandbits(1), "units": rng.randrange(units), "none": 0, "ragged": rng.getrandbits(1)}}
                for _ in range(2)]
            for row in rows:
                row["end"]["none"] = row["end"]["units"] == 0 and rng.getrandbits(1)
            push = rng.randrange(min(2, 3 - len(held)) + 1)
            ctx.set(dut.row_a, rows[0])
            ctx.set(dut.row_b, rows[1])
            ctx.set(dut.push, push)
            ready = rng.random() < 0.6
            ctx.set(dut.o.ready, ready)
            if held:
                end, payload = held[0]["end"], ctx.get(dut.o.payload)
                assert payload.data == held[0]["data"]
                assert payload.last == end["last"]
                if end["last"]:
                    count = 0 if end["none"] else end["units"] or units
                    assert payload.keep == (1 << count * grain) - 1
                    assert ctx.get(dut.error) == (ErrorCode.TRAILING_BYTES if end["ragged"] else ErrorCode.OK)
            left = (held[1:] if ready else held) + rows[:push]
            assert ctx.get(dut.level_next) == len(left)
            held = left
            await ctx.tick()

    clocked(dut, process, cycles=1000)
