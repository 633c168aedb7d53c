"""What the compressor finds on its way in, for blocks with exponents, against the golden reference: records of lines,
rows of facts, rows of tags without those of dense lines and lines of zeros, and lengths."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring

from golden.reference.exponents import WHOLE, ZEROS
from golden.reference.tags_first import lines_of, tag_of
from hdl.codec.payload.facts_writer import FactsWriter
from hdl.codec.payload.tag_writer import TagWriter
from tests.hdl.bench import Bench
from tests.hdl.codec.payload.exponent_blocks import LINE, CodedBlock, random_values

_SIZES = (1, 2, 4)
_ROWS = 20


class _WayIn(wiring.Component):
    """The tag writer and the facts writer beside each other."""

    def __init__(self, beat_bytes: int, block_bytes: int):
        super().__init__({})
        self.tags = TagWriter(beat_bytes, _SIZES, block_bytes, _ROWS, (2, 4))
        self.facts = FactsWriter(beat_bytes, block_bytes, 16)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.tags, m.submodules.facts = self.tags, self.facts
        m.d.comb += self.facts.groups.eq(self.tags.groups)
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
                if isinstance(expected, dict):
                    found = {name: found[name] for name in expected}
                assert found == expected, f"{len(self.left)} before the end"
            await ctx.tick()


Block = tuple[bytes, int, bool, bool]
"""Raw bytes, element, whether it is coded with exponents, and whether a part of an element comes behind it."""


def _tags(raw: bytes, size: int, exponents: bool) -> bytes:
    if exponents:
        return CodedBlock(raw, size).parts[1]
    return b"".join(tag_of(line) for line in lines_of(raw, size))


def _run(beat_bytes: int, block_bytes: int, blocks: Sequence[Block], busy: float, ready: float) -> int:
    """Sends blocks, and compares all that comes; cycles in which no beat could be taken."""
    rng = random.Random(f"{beat_bytes} {busy} {ready}")
    dut, bench = _bench(beat_bytes, block_bytes)
    n, facts_port, tags_port = beat_bytes, dut.facts, dut.tags

    def read(row: int) -> bytes:
        return row.to_bytes(n, "little")

    def rows(parts: bytes) -> list[bytes]:
        return [parts[k:k + n] for k in range(0, len(parts), n)]

    facts: list[bytes] = []
    tags: list[bytes] = []
    records, lengths, counts = [], [], []
    for raw, size, exponents, cut in blocks:
        begun = cut and len(raw) % LINE == 0
        tags += rows(_tags(raw, size, exponents) + bytes(LINE // 8 // size * (begun and not exponents)))
        lines = -(-len(raw) // LINE) + begun
        if exponents:
            block = CodedBlock(raw, size)
            facts += rows(block.parts[0])
            records += [*block.records(), *([{"zero": 1}] * begun)]
            lengths.append({"words": len(block.parts[0]) // 4, "rests": block.rests})
            lines = len(block.parts[1]) * 8 * size // LINE
        counts.append((lines, sum(any(raw[k:k + size]) for k in range(0, len(raw), size))))
    outputs = [
        _Output(facts_port.rows, facts, read, rng, ready),
        _Output(tags_port.o, tags, lambda pair: read(pair.rows[pair.turn]), rng, ready),
        _Output(facts_port.records, records, lambda each: {
            "less": list(each.less), **{name: getattr(each, name) for name in
                                        ("zero", "dense", "signs", "escape", "base", "width")}}, rng, ready),
        _Output(facts_port.lengths, lengths, lambda each: {"words": each.words, "rests": each.rests}, rng, 1.0)]
    found: list[tuple[int, int]] = []

    async def done(ctx: Any) -> None:
        while True:
            if ctx.get(tags_port.done):
                found.append((ctx.get(tags_port.lines), ctx.get(tags_port.elements)))
            await ctx.tick()

    stalls = 0

    async def process(ctx: Any) -> None:
        nonlocal stalls
        waits = False
        for raw, size, exponents, cut in blocks:
            beats = [raw[k:k + n] for k in range(0, len(raw), n)]
            if cut and len(raw) % n == 0:
                beats.append(b"")
            for k, beat in enumerate(beats):
                while waits or rng.random() >= busy or ctx.get(tags_port.level) > _ROWS - 5:
                    stalls += waits
                    ctx.set(facts_port.take, 0)
                    ctx.set(tags_port.take, 0)
                    ctx.set(facts_port.data, rng.getrandbits(8 * n))
                    ctx.set(facts_port.last, rng.getrandbits(1))
                    waits = bool(ctx.get(facts_port.waits))
                    await ctx.tick()
                for port in (facts_port, tags_port):
                    ctx.set(port.data, int.from_bytes(beat, "little"))
                    ctx.set(port.last, k == len(beats) - 1)
                ctx.set(tags_port.take, 1)
                ctx.set(facts_port.take, exponents)
                ctx.set(tags_port.exponent, exponents)
                ctx.set(tags_port.element, {f"b{each}": each == size for each in _SIZES})
                ctx.set(facts_port.wide, size == 4)
                ctx.set(facts_port.empty, not beat)
                waits = bool(ctx.get(facts_port.waits))
                await ctx.tick()
        ctx.set(facts_port.take, 0)
        ctx.set(tags_port.take, 0)
        for _ in range(600):
            if not any(output.left for output in outputs):
                break
            await ctx.tick()
        # Nothing comes behind it.
        await ctx.tick().repeat(20)

    bench.run(process, done, *(output.watch for output in outputs))
    assert [len(output.left) for output in outputs] == [0, 0, 0, 0]
    assert found == counts
    return stalls


@pytest.mark.parametrize("beat_bytes", [32, 64])
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (0.6, 0.3)])
def test_blocks_of_every_kind(beat_bytes: int, busy: float, ready: float) -> None:
    rng = random.Random(f"{beat_bytes} {ready}")
    blocks = []
    for _ in range(60):
        size, exponents = rng.choice([(2, True), (4, True), (2, True), (4, True), (1, False), (2, False)])
        length = rng.choice([size, 32, 64, 100, 128, 132, 384, 512, 1024, 1024, size * rng.randrange(1, 1024 // size)])
        blocks.append((random_values(rng, length, max(size, 2))[:length], size, exponents, False))
    kinds = {(header, size) for raw, size, exponents, _ in blocks if exponents
             for header in CodedBlock(raw, size).parts[0][:-(-len(raw) // LINE)]}
    assert {header & 7 for header, _ in kinds} == set(range(8))
    assert {ZEROS} < {header for header, _ in kinds} and any(header & 7 == WHOLE != header for header, _ in kinds)
    for bit in range(3, 8):
        assert {header >> bit & 1 for header, _ in kinds if header != ZEROS} == {0, 1}
    _run(beat_bytes, 1024, blocks, busy, ready)


@pytest.mark.parametrize("size", [2, 4])
def test_every_length(size: int) -> None:
    rng = random.Random(size)
    blocks = [(random_values(rng, length, size), size, True, rng.random() < 0.2)
              for length in range(size, 513, 28 if size == 4 else 26)]
    # Blocks that end within their first element.
    blocks[3:3] = [(b"", size, True, True)] * 3
    _run(32, 1024, blocks, 1.0, 1.0)


@pytest.mark.parametrize("beat_bytes", [32, 64])
def test_whole_blocks_come_without_a_stall(beat_bytes: int) -> None:
    """Every line has a base, widths and a tag."""
    rng = random.Random(beat_bytes)
    out = bytearray()
    for line in range(3 * 4096 // LINE):
        out += b"".join((200 + line % 2 - (k if k < 16 else 0) << 7).to_bytes(2, "little") for k in range(63))
        out += bytes(2)
    blocks = [(bytes(out[k:k + 4096]), 2, True, False) for k in range(0, len(out), 4096)]
    assert all(len(CodedBlock(raw, 2).parts[0]) == 96 for raw, *_ in blocks)
    assert _run(beat_bytes, 4096, blocks, 1.0, 1.0) == 0
    blocks = [(random_values(rng, 512, 2), 2, True, False) for _ in range(20)]
    assert _run(beat_bytes, 1024, blocks, 1.0, 1.0) == 0


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
            for name in ("records", "lengths", "rows"):
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
    if beats == 128:
        assert seen["rows"] == 18
