"""How lines are coded, against the golden reference: records, headers, which of them have bases and widths, and the
bytes of rests."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from cdma.hdl.codec.line_record import GROUP_BYTES
from cdma.hdl.codec.payload.line_facts import LineFacts
from tests.hdl.bench import Bench
from tests.hdl.codec.payload.payloads import LINE, random_floats
from tests.hdl.codec.payload.way_in import (
    Packet,
    plain_block,
    present_bytes,
    random_length,
    read_record,
    send,
    whole_blocks,
    with_every_kind,
)

_BLOCK = 4096

_Line = dict[str, Any]


@cache
def _bench(beat_bytes: int) -> tuple[LineFacts, Bench]:
    dut = LineFacts(beat_bytes, _BLOCK)
    return dut, Bench(dut)


def _lines(packet: Packet) -> list[_Line]:
    """What is to come of each line."""
    headers = packet.coded.parts[0][:packet.coded.lines]
    # A line that began without an element has no header.
    given: list[int | None] = [*headers, *([None] * packet.begun)]
    return [{"record": record, "there": header is not None, "final": k == len(given) - 1}
            | ({} if header is None else {"header": header})
            | {name: bool(header and header != 0xFF and header >> bit & 1)
               for name, bit in (("has_base", 7), ("has_widths", 6))}
            for k, (record, header) in enumerate(zip(packet.records(), given, strict=True))]


def _read(ctx: Any, dut: LineFacts) -> _Line:
    return {"record": read_record(ctx.get(dut.record)), "header": ctx.get(dut.header),
            **{name: bool(ctx.get(getattr(dut, name))) for name in ("there", "final", "has_base", "has_widths")}}


def _run(beat_bytes: int, packets: Sequence[Packet], busy: float = 1.0) -> int:
    """Sends packets, and compares all that comes; cycles in which no beat could be taken."""
    rng = random.Random(f"{beat_bytes} {busy}")
    dut, bench = _bench(beat_bytes)
    lines = [line for packet in packets if packet.exponents for line in _lines(packet)]
    rests = [packet.rests for packet in packets if packet.exponents]

    async def counts(ctx: Any) -> None:
        """Gives the elements of each group two cycles after its beat, and noise in other cycles."""
        beat: list[int] | None = None
        while True:
            _, _, take, data, present, wide = await ctx.tick().sample(dut.take, dut.data, dut.present, dut.wide)
            noise = [rng.randrange(17) for _ in range(beat_bytes // GROUP_BYTES)]
            ctx.set(dut.groups, noise if beat is None else beat)
            raw, size = present_bytes(data, present).to_bytes(beat_bytes, "little"), 4 if wide else 2
            beat = [sum(any(raw[k:k + size]) for k in range(at, at + GROUP_BYTES, size))
                    for at in range(0, beat_bytes, GROUP_BYTES)] if take else None

    async def watch(ctx: Any) -> None:
        held: _Line | None = None
        while True:
            if ctx.get(dut.done):
                held = lines.pop(0)
            if held is not None:
                # It stays until the next line is done.
                found = _read(ctx, dut)
                assert {name: found[name] for name in held} == held, f"{len(lines)} lines before the end"
            if ctx.get(dut.block_done):
                assert ctx.get(dut.rests) == rests.pop(0), f"{len(rests)} blocks before the end"
            await ctx.tick()

    stalls = 0

    async def process(ctx: Any) -> None:
        nonlocal stalls
        stalls = await send(ctx, dut, packets, beat_bytes, rng, busy)
        await ctx.tick().repeat(30)

    bench.run(process, counts, watch)
    assert not lines and not rests
    return stalls


@pytest.mark.parametrize("beat_bytes", [32, 64])
@pytest.mark.parametrize("busy", [1.0, 0.6])
def test_blocks_of_every_kind(beat_bytes: int, busy: float) -> None:
    """Both sizes in turns, with blocks of zero-value coding between them, which leave no trace."""
    rng = random.Random(f"{beat_bytes} {busy}")
    packets = []
    for _ in range(50):
        size = rng.choice([2, 4])
        packets.append(Packet(random_floats(rng, random_length(rng, size), size), size, rng.random() < 0.8,
                              rng.random() < 0.2))
    _run(beat_bytes, with_every_kind(packets), busy)


@pytest.mark.parametrize(("beat_bytes", "size"), [(32, 2), (64, 4)])
def test_every_length(beat_bytes: int, size: int) -> None:
    """Of up to three lines; and blocks that end within their first element, or within that of a line."""
    rng = random.Random(size)
    packets = [plain_block(rng, length, size) for length in range(size, 385, 4 if size == 4 else 6)]
    packets += [Packet(random_floats(rng, length, size), size, cut=True) for length in (0, 0, 0, 128, 160, 256, 320)]
    rng.shuffle(packets)
    _run(beat_bytes, packets)


@pytest.mark.parametrize("beat_bytes", [32, 64])
def test_whole_lines_come_without_a_stall(beat_bytes: int) -> None:
    assert _run(beat_bytes, [*whole_blocks(1), plain_block(random.Random(1), 2048, 4)]) == 0


@pytest.mark.parametrize("size", [2, 4])
def test_most_bytes_of_rests(size: int) -> None:
    """Whole exponents with signs, no element zero: the largest block has the most rests there are."""
    rng = random.Random(size)
    raw = b"".join((rng.getrandbits(8 * size) | 1).to_bytes(size, "little") for _ in range(_BLOCK // size))
    packet = Packet(raw, size)
    assert packet.rests == _BLOCK // size
    _run(32, [packet, packet])


@pytest.mark.parametrize(("beat_bytes", "beats"), [(32, 4), (32, 1), (32, 7), (64, 2), (64, 3)])
def test_when_a_line_is_done(beat_bytes: int, beats: int) -> None:
    """The table of cycles; beats that are missing in the last line put it off, and no beat may come meanwhile."""
    dut, bench = _bench(beat_bytes)
    missing = -beats % (LINE // beat_bytes)
    seen: dict[str, int] = {}

    async def process(ctx: Any) -> None:
        for cycle in range(beats + 20):
            ctx.set(dut.take, cycle < beats)
            ctx.set(dut.last, cycle == beats - 1)
            for name in ("done", "block_done"):
                if ctx.get(getattr(dut, name)):
                    # Of lines, the last one.
                    seen[name] = cycle - (beats - 1)
            assert ctx.get(dut.waits) == (beats - 1 <= cycle < beats - 1 + missing)
            await ctx.tick()

    bench.run(process)
    assert seen == {"done": 5 + missing, "block_done": (10 if beat_bytes == 32 else 8) + missing}
