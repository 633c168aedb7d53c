"""What the compressor finds on its way in, for blocks with exponents, against the golden reference: records of lines,
lengths, and rows of facts with the tags of those lines that have one; rows of tags of the blocks between them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring

from cdma.golden.reference.tags_first import lines_of, tag_of
from cdma.hdl.codec.payload.metadata_writer import MetadataWriter
from cdma.hdl.codec.payload.tag_writer import TagWriter
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

PARTS = [
    "cdma.hdl.codec.payload.exponent_range.ExponentRange", "cdma.hdl.codec.payload.line_metadata.LineMetadata",
    "cdma.hdl.codec.payload.metadata_packer.MetadataPacker"]
"""Components whose faults show here; mutants of them were tried."""

_SIZES = (1, 2, 4)
_ROWS = 20


class _WayIn(wiring.Component):
    """The tag writer and the facts writer behind each other; that of 64-byte beats has memories with parity."""

    def __init__(self, beat_bytes: int, block_bytes: int):
        super().__init__({})
        self.tags = TagWriter(beat_bytes, _SIZES, block_bytes, _ROWS, (2, 4), beat_bytes == 64)
        self.facts = MetadataWriter(beat_bytes, _SIZES, block_bytes, (2, 4), 16, protected=beat_bytes == 64)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.tags, m.submodules.facts = self.tags, self.facts
        m.d.comb += self.facts.groups.eq(self.tags.groups)
        wiring.connect(m, self.tags.o, self.facts.tags)
        return m


@cache
def _bench(beat_bytes: int, block_bytes: int) -> tuple[_WayIn, Bench]:
    dut = _WayIn(beat_bytes, block_bytes)
    return dut, Bench(dut)


class _Output:
    """What comes out of a stream, held against what is to come: the bytes that count, or the fields."""

    def __init__(self, port: Any, expected: Sequence[Any], read: Callable[[Any], Any], rng: random.Random,
                 ready: float):
        self._port, self.left, self._read, self._rng, self._ready = port, list(expected), read, rng, ready

    async def watch(self, ctx: Any) -> None:
        while True:
            ctx.set(self._port.ready, self._rng.random() < self._ready)
            if ctx.get(self._port.valid) and ctx.get(self._port.ready):
                found, expected = self._read(ctx.get(self._port.payload)), self.left.pop(0)
                if isinstance(expected, bytes):
                    found = found[:len(expected)]
                assert found == expected, f"{len(self.left)} before the end"
            await ctx.tick()


def _tags(packet: Packet) -> bytes:
    if packet.exponents:
        return packet.coded.parts[1]
    return b"".join(tag_of(line) for line in lines_of(packet.raw, packet.size)) + bytes(
        LINE // 8 // packet.size * packet.begun)


def _run(beat_bytes: int, block_bytes: int, packets: Sequence[Packet], busy: float, ready: float) -> int:
    """Sends blocks, and compares all that comes; cycles in which no beat could be taken."""
    rng = random.Random(f"{beat_bytes} {busy} {ready}")
    dut, bench = _bench(beat_bytes, block_bytes)
    n, facts_port, tags_port = beat_bytes, dut.facts, dut.tags

    def read(row: int) -> bytes:
        return row.to_bytes(n, "little")

    def rows(parts: bytes) -> list[bytes]:
        return [parts[k:k + n] for k in range(0, len(parts), n)]

    metadata: list[bytes] = []
    records, lengths, counts, orders = [], [], [], []
    for packet in packets:
        raw, size = packet.raw, packet.size
        tags = _tags(packet)
        lines = -(-len(raw) // LINE) + packet.begun
        if packet.exponents:
            block = packet.coded
            metadata += rows(block.parts[0] + tags)
            records += packet.records()
            lengths.append({"words": len(block.parts[0]) // 4, "rests": packet.rests})
            lines = len(block.parts[1]) * 8 * size // LINE
        else:
            metadata += rows(tags)
        counts.append((lines, packet.elements))
        orders.append({"recorded": packet.exponents, "lines": lines,
                       "element": {f"b{each}": each == size for each in _SIZES}})
    outputs = [
        _Output(facts_port.rows, metadata, read, rng, ready),
        _Output(facts_port.records, records, read_record, rng, ready),
        _Output(facts_port.lengths, lengths, lambda each: {"words": each.words, "rests": each.rests}, rng, 1.0)]
    found: list[tuple[int, int]] = []

    async def joins(ctx: Any) -> None:
        """Orders each block when its tags are in rows."""
        for number, order in enumerate(orders):
            while len(found) <= number:
                await ctx.tick()
            ctx.set(facts_port.joining.payload, order)
            ctx.set(facts_port.joining.valid, 1)
            while not ctx.get(facts_port.joining.ready):
                await ctx.tick()
            await ctx.tick()
            ctx.set(facts_port.joining.valid, 0)

    async def done(ctx: Any) -> None:
        while True:
            assert n < 64 or not (ctx.get(tags_port.bad) or ctx.get(facts_port.bad)), "an error of parity that is none"
            if ctx.get(tags_port.done):
                found.append((ctx.get(tags_port.lines), ctx.get(tags_port.elements)))
            await ctx.tick()

    def also(ctx: Any, packet: Packet | None, last: bool) -> None:
        ctx.set(tags_port.take, packet is not None)
        ctx.set(tags_port.data, present_bytes(ctx.get(facts_port.data), ctx.get(facts_port.present)))
        ctx.set(tags_port.last, last)
        if packet is not None:
            ctx.set(tags_port.exponent, packet.exponents)
            ctx.set(tags_port.element, {f"b{each}": each == packet.size for each in _SIZES})

    stalls = 0

    async def process(ctx: Any) -> None:
        nonlocal stalls
        stalls = await send(ctx, facts_port, packets, n, rng, busy, also,
                            lambda ctx: ctx.get(tags_port.level) > _ROWS - 5)
        for _ in range(600):
            if not any(output.left for output in outputs):
                break
            await ctx.tick()
        # Nothing comes behind it.
        await ctx.tick().repeat(20)

    bench.run(process, done, joins, *(output.watch for output in outputs))
    assert [len(output.left) for output in outputs] == [0, 0, 0]
    assert found == counts
    return stalls


@pytest.mark.parametrize("beat_bytes", [32, 64])
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (0.6, 0.3), (1.0, 0.1)])
def test_blocks_of_every_kind(beat_bytes: int, busy: float, ready: float) -> None:
    rng = random.Random(f"{beat_bytes} {ready}")
    packets = []
    for _ in range(60):
        size, exponents = rng.choice([(2, True), (4, True), (2, True), (4, True), (1, False), (2, False)])
        length = random_length(rng, size)
        packets.append(Packet(random_floats(rng, length, max(size, 2))[:length], size, exponents))
    _run(beat_bytes, 1024, with_every_kind(packets), busy, ready)


@pytest.mark.parametrize("size", [2, 4])
def test_every_length(size: int) -> None:
    rng = random.Random(size)
    packets = [Packet(random_floats(rng, length, size), size, cut=rng.random() < 0.2)
               for length in range(size, 513, 28 if size == 4 else 26)]
    # Blocks that end within their first element.
    packets[3:3] = [Packet(b"", size, cut=True)] * 3
    _run(32, 1024, packets, 1.0, 1.0)


@pytest.mark.parametrize("beat_bytes", [32, 64])
def test_whole_blocks_come_without_a_stall(beat_bytes: int) -> None:
    rng = random.Random(beat_bytes)
    assert _run(beat_bytes, 4096, whole_blocks(3), 1.0, 1.0) == 0
    assert _run(beat_bytes, 1024, [plain_block(rng, 512, 2) for _ in range(20)], 1.0, 1.0) == 0


@pytest.mark.parametrize("size", [2, 4])
def test_most_bytes_of_rests(size: int) -> None:
    """Whole exponents with signs, no element zero: the largest block has the most rests there are."""
    rng = random.Random(size)
    values = (rng.getrandbits(8 * size) | 1 for _ in range(4096 // size))
    packet = Packet(b"".join(value.to_bytes(size, "little") for value in values), size)
    assert packet.rests == 4096 // size
    _run(32, 4096, [packet, packet], 1.0, 1.0)


@pytest.mark.parametrize(("beat_bytes", "beats"), [(32, 128), (32, 1), (32, 7), (64, 64), (64, 3)])
def test_when_things_come(beat_bytes: int, beats: int) -> None:
    """The table of cycles; beats that are missing in the last line put all off."""
    dut, bench = _bench(beat_bytes, 4096)
    missing = -beats % (LINE // beat_bytes)
    seen: dict[str, int] = {}

    async def process(ctx: Any) -> None:
        for cycle in range(beats + 60):
            ctx.set(dut.facts.take, cycle < beats)
            ctx.set(dut.tags.take, cycle < beats)
            ctx.set(dut.facts.last, cycle == beats - 1)
            for name in ("records", "lengths"):
                port = getattr(dut.facts, name)
                ctx.set(port.ready, name == "records")
                # Of records, the last one.
                if ctx.get(port.valid) and (name == "records" or name not in seen):
                    seen[name] = cycle - (beats - 1)
            waits = ctx.get(dut.facts.waits)
            assert waits == (beats - 1 <= cycle < beats - 1 + missing)
            await ctx.tick()

    bench.run(process)
    assert seen["records"] == 7 + missing
    assert seen["lengths"] == (11 if beat_bytes == 32 else 9) + missing
