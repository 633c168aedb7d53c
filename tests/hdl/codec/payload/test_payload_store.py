# amaranth: UnusedElaboratable=no
"""The store of payloads against lists of rows: orders, rows of tags and rows of data of each block, in any order."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hdl.codec.payload.payload_store import PayloadStore
from hdl.codec.payload.unpacking import PayloadError
from tests.hdl.bench import clocked
from tests.hdl.codec.payload.payloads import damaged, sampled
from tests.hdl.ports import Sink, Source

_BLOCK = 512


@pytest.mark.parametrize(("size", "sizes"), [(16, (1, 2, 4)), (32, (2, 4)), (64, (4,))])
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (1.0, 0.4), (0.6, 0.8)])
def test_rows(size: int, sizes: tuple[int, ...], busy: float, ready: float) -> None:
    rng = random.Random(f"{size} {busy} {ready}")
    grain = min(sizes)
    dut = PayloadStore(size, sizes, _BLOCK, -(-(_BLOCK + _BLOCK // 8 // grain) // size) + rng.choice([1, 2, 7]))
    rows, orders, tags, data = [], [], [], []
    for number in range(60):
        block = sampled(rng, sizes, _BLOCK)
        block = damaged(rng, block) if number % 3 == 0 else block
        built = rng.random() < 0.9
        payload, coding = block.payload, 0x10 | block.element if built else 0x13
        if rng.random() < 0.15:
            payload = payload[:rng.randrange(1, block.tag_bytes + 1)]
        for at in range(0, len(payload), size):
            part = payload[at:at + size]
            rows.append({"data": int.from_bytes(part, "little"), "last": at + size >= len(payload),
                         "keep": (1 << len(part)) - 1, "coding": rng.getrandbits(8) if at else coding,
                         "raw_bytes": rng.getrandbits(16) if at else block.raw_bytes})
        if not built or len(payload) < block.tag_bytes:
            orders.append(PayloadError.TRUNCATED_TAG if built else PayloadError.BAD_CODING)
            continue
        feed = type(block)(payload, block.element, block.raw_bytes).feed(size, sizes, rng)
        # A row that tags fill up to its end need not be read as data.
        if not feed.data and block.tag_bytes % size:
            feed.order["bare"] = 0
            feed.order["start"] = block.tag_bytes // grain % (size // grain)
            feed.data.append({"data": feed.tags[-1], "last": 1, "end": feed.order["start"], "ragged": 0})
        orders.append(feed.order)
        tags += [(row, block.tag_bytes - k * size) for k, row in enumerate(feed.tags)]
        data += feed.data

    def order(ctx: Any) -> Any:
        found = ctx.get(dut.order.payload)
        if found.error != PayloadError.OK:
            assert (found.bare, found.beats, found.start) == (1, 0, 0)
            return PayloadError(found.error)
        wanted = sinks[0].left[0]
        assert [each for each in sizes if getattr(found.element, f"b{each}")] == [
            each for each in sizes if wanted["element"][f"b{each}"]]
        return wanted | {name: getattr(found, name) for name in ("beats", "tail", "start", "bare")}

    def tag_row(ctx: Any) -> tuple[int, int]:
        row, length = sinks[1].left[0]
        mask = (1 << 8 * min(length, size)) - 1
        return (row if ctx.get(dut.tags.payload) & mask == row & mask else -1), length

    source = Source(dut.i, rows, rng, busy)
    sinks = [Sink(dut.order, orders, order, rng, ready), Sink(dut.tags, tags, tag_row, rng, ready)]

    def take_data(ctx: Any) -> None:
        """A row may go while it is not taken."""
        if ctx.get(dut.data.valid) and ctx.get(dut.data.ready):
            found, wanted = ctx.get(dut.data.payload), data.pop(0)
            used = 8 * (size if not wanted["last"] else wanted["end"] * grain)
            assert found.data & (1 << used) - 1 == wanted["data"] & (1 << used) - 1
            assert found.last == wanted["last"]
            assert not found.last or (found.end, found.ragged) == (wanted["end"], wanted["ragged"])

    async def process(ctx: Any) -> None:
        while data or any(sink.left for sink in sinks):
            source.offer(ctx)
            ctx.set(dut.data.ready, rng.random() < ready)
            for sink in sinks:
                sink.offer(ctx)
            source.settle(ctx)
            take_data(ctx)
            for sink in sinks:
                sink.settle(ctx)
            await ctx.tick()
        assert not source.left

    clocked(dut, process, cycles=20_000)


def test_a_memory_that_is_too_small() -> None:
    with pytest.raises(ValueError, match="rows must be at least 18 for blocks of 512 bytes, not 17"):
        PayloadStore(32, (2, 4), 512, 17)
