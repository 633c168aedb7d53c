# amaranth: UnusedElaboratable=no
"""The store of payloads against the reference: orders, words of tags, lines and rows of data of each block."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.codec.coding import largest_payload
from cdma.hdl.codec.payload.payload_store import PayloadStore
from cdma.hdl.codec.payload.unpacking import PayloadError
from tests.hdl.bench import clocked
from tests.hdl.codec.payload.payloads import Block, damaged, random_floats, sampled
from tests.hdl.ports import Sink, Source

PARTS = [
    "cdma.hdl.codec.payload.line_reader.LineReader", "cdma.hdl.codec.payload.line_reader.Section",
    "cdma.hdl.codec.payload.payload_ring.PayloadRing", "cdma.hdl.codec.payload.tag_words.TagWords"]
"""Components whose faults show here; mutants of them were tried."""

_BLOCK = 512


def _block(rng: random.Random, number: int, sizes: tuple[int, ...], exponents: tuple[int, ...]) -> Block:
    """A block: every third one is damaged, some are cut before their data."""
    block = sampled(rng, sizes, _BLOCK, exponents)
    block = damaged(rng, block) if number % 3 == 0 else block
    if rng.random() < 0.15:
        behind = block.fact_bytes + block.tag_bytes
        block = Block(block.payload[:rng.randrange(1, behind + 1)], block.element, block.raw_bytes, block.exponents)
    return block


class _Wanted:
    """What is to come of blocks, and the rows that go in."""

    def __init__(self, size: int, sizes: tuple[int, ...], exponents: tuple[int, ...], rng: random.Random,
                 for_lane: bool = False, beats: int = 1):
        self.for_lane, self.beats = for_lane, beats
        self.size, self.sizes, self.exponents, self.rng = size, sizes, exponents, rng
        self.rows: list[dict[str, int]] = []
        self.orders: list[Any] = []
        self.words: list[tuple[int, int]] = []
        self.lines: list[dict[str, Any]] = []
        self.data: list[dict[str, int]] = []

    def add(self, block: Block, coding: int | None = None) -> None:
        """Adds a block; one with a ``coding`` that is not built."""
        size, rng, payload = self.size, self.rng, block.payload
        own = (0x20 if block.exponents else 0x10) | block.element
        self._add_rows(payload, own if coding is None else coding, block.raw_bytes)
        if coding is not None:
            self.orders.append({"beats": 0, "start": 0, "bare": 1, "error": PayloadError.BAD_CODING})
            return
        feed = block.feed(size, self.sizes, rng, self.exponents)
        order, unit = feed.order, 1 if self.exponents else min(self.sizes)
        if order["error"] != PayloadError.OK:
            self.orders.append({name: order[name] for name in ("beats", "start", "bare", "error")})
            return
        # A row that tags fill in part is read as data even if nothing follows them.
        behind = block.fact_bytes + block.tag_bytes
        if not feed.data and behind % size:
            order |= {"bare": 0, "start": behind % size // unit}
            feed.data.append({"data": int.from_bytes(payload[behind // size * size:], "little"), "last": 1,
                              "end": order["start"], "ragged": 0})
        self.orders.append(order | ({"raw": 0} if self.for_lane else {}))
        first = block.fact_bytes // (size // 8) * (size // 8)
        self.words += [(word, (1 << 8 * min(size // 8, behind - first - k * size // 8)) - 1)
                       for k, word in enumerate(feed.words)]
        self.lines += feed.lines
        self.data += feed.data


    def add_raw(self, payload: bytes, raw_bytes: int) -> None:
        """Adds a raw block that is said to have so many bytes."""
        size, unit = self.size, 1 if self.exponents else min(self.sizes)
        self._add_rows(payload, self.rng.choice([0, 0x80]), raw_bytes)
        self.orders.append({
            "raw": 1, "element": {f"b{each}": 0 for each in self.sizes}, "beats": (raw_bytes - 1) // size,
            "tail": raw_bytes % size // unit, "start": 0, "bare": 0, "error": PayloadError.OK,
            **({"exponents": 0} if self.exponents else {})})
        for at in range(0, len(payload), size):
            part = payload[at:at + size]
            self.data.append({"data": int.from_bytes(part, "little"), "last": at + size >= len(payload),
                              "end": len(part) // unit, "ragged": len(part) % unit != 0})

    def _add_rows(self, payload: bytes, coding: int, raw_bytes: int) -> None:
        """What goes in, row by row; what does not count is noise."""
        rng, row = self.rng, self.beats * self.size
        for at in range(0, len(payload), row):
            part = payload[at:at + row]
            self.rows.append({"data": int.from_bytes(part, "little"), "last": at + row >= len(payload),
                              "keep": (1 << len(part)) - 1, "coding": rng.getrandbits(8) if at else coding,
                              "raw_bytes": rng.getrandbits(16) if at else raw_bytes})


def _plain(view: Any, like: Any) -> Any:
    """The fields of a view that ``like`` has, as numbers."""
    if isinstance(like, dict):
        return {name: _plain(getattr(view, name), field) for name, field in like.items()}
    return [view[k] for k in range(len(like))] if isinstance(like, list) else view


@pytest.mark.parametrize(("size", "sizes", "exponents"), [
    (16, (1, 2, 4), ()), (32, (2, 4), ()), (64, (4,), ()), (32, (1, 2, 4), (2, 4)), (64, (2, 4), (2, 4))])
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (0.8, 0.5)])
def test_blocks(size: int, sizes: tuple[int, ...], exponents: tuple[int, ...], busy: float, ready: float) -> None:
    rng = random.Random(f"{size} {sizes} {busy} {ready}")
    wanted = _Wanted(size, sizes, exponents, rng)
    for number in range(30 if size == 32 and exponents else 16):
        wanted.add(_block(rng, number, sizes, exponents), None if rng.random() < 0.9 else 0x13)
    _play(wanted, _BLOCK, busy, ready)


@pytest.mark.parametrize(("size", "sizes", "exponents", "beats"), [
    (16, (1, 2, 4), (), 4), (32, (2, 4), (), 1), (32, (4,), (), 2), (32, (1, 2, 4), (2, 4), 2), (16, (2, 4), (), 2)])
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (0.8, 0.5)])
def test_blocks_of_a_lane(size: int, sizes: tuple[int, ...], exponents: tuple[int, ...], beats: int, busy: float,
                          ready: float) -> None:
    """Raw blocks among coded ones, some of the wrong length; rows of one beat or more."""
    rng = random.Random(f"lane {size} {sizes} {beats} {busy}")
    wanted, unit = _Wanted(size, sizes, exponents, rng, True, beats), 1 if exponents else min(sizes)
    for number in range(20):
        if number % 2:
            wanted.add(_block(rng, number, sizes, exponents), 0x13 if number == 9 else None)
        else:
            raw_bytes = rng.choice([_BLOCK, rng.randrange(8, _BLOCK)]) // unit * unit
            wanted.add_raw(rng.randbytes(raw_bytes if number % 4 else rng.randrange(1, _BLOCK)), raw_bytes)
    _play(wanted, _BLOCK, busy, ready)


def test_the_largest_block() -> None:
    """32 KiB: 256 lines. Of two damaged headers the first one counts."""
    rng = random.Random("large")
    wanted = _Wanted(32, (2,), (2,), rng)
    block = Block.of(random_floats(rng, 32768, 2), 2, True)
    wanted.add(block)
    for places in ([255], [131, 200]):
        payload = bytearray(block.payload)
        for place in places:
            payload[place] = 0xE7
        wanted.add(Block(bytes(payload), 2, 32768, True))
        assert wanted.orders[-1]["beats"] == 4 * places[0]
    _play(wanted, 32768, 1.0, 1.0)


def _play(wanted: _Wanted, block_bytes: int, busy: float, ready: float) -> None:
    """Plays all blocks, and compares what comes."""
    rng, size, sizes, exponents = wanted.rng, wanted.size, wanted.sizes, wanted.exponents
    least = -(-largest_payload(block_bytes, sizes, exponents) // (wanted.beats * size)) + 1
    dut = PayloadStore(size, sizes, block_bytes, least + rng.choice([0, 1, 6]), exponents, wanted.for_lane,
                       wanted.beats)

    def order(ctx: Any) -> Any:
        return _plain(ctx.get(dut.order.payload), sinks[0].left[0])

    def word(ctx: Any) -> tuple[int, int]:
        value, mask = sinks[1].left[0]
        return (value if ctx.get(dut.words.payload) & mask == value & mask else -1), mask

    def row(ctx: Any) -> Any:
        found, expected = ctx.get(dut.data.payload), sinks[2].left[0]
        used = 8 * (size if not expected["last"] else expected["end"] * (1 if exponents else min(sizes)))
        same = found.data & (1 << used) - 1 == expected["data"] & (1 << used) - 1
        return expected | {"data": expected["data"] if same else -1, "last": found.last} | (
            {"end": found.end, "ragged": found.ragged} if expected["last"] else {})

    def line(ctx: Any) -> Any:
        found, expected = ctx.get(dut.lines.payload), sinks[3].left[0]
        if expected["record"]["zero"]:
            return expected if found.record.zero and not found.bad else None
        return _plain(found, expected)

    source = Source(dut.i, wanted.rows, rng, busy)
    sinks = [Sink(dut.order, wanted.orders, order, rng, ready), Sink(dut.words, wanted.words, word, rng, ready),
             Sink(dut.data, wanted.data, row, rng, ready)]
    if exponents:
        sinks.append(Sink(dut.lines, wanted.lines, line, rng, ready))

    async def process(ctx: Any) -> None:
        while any(sink.left for sink in sinks):
            for port in (source, *sinks):
                port.offer(ctx)
            for port in (source, *sinks):
                port.settle(ctx)
            await ctx.tick()
        for _ in range(10):
            for port in (source, *sinks):
                port.settle(ctx)
            await ctx.tick()
        assert not source.left

    clocked(dut, process, cycles=20_000)


def test_a_memory_that_is_too_small() -> None:
    with pytest.raises(ValueError, match="rows must be at least 18 for blocks of 512 bytes, not 17"):
        PayloadStore(32, (2, 4), 512, 17)
    with pytest.raises(ValueError, match="rows must be at least 19 for blocks of 512 bytes, not 18"):
        PayloadStore(32, (2, 4), 512, 18, (2,))
