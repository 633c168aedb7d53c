"""The store of raw blocks against bytes: blocks come back as packets, each with its facts and how it is to be coded."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hdl.codec.blocks.raw_store import BLOCKS, RawStore
from tests.hdl.bench import clocked
from tests.hdl.ports import Sink, Source

_SIZE, _BLOCK = 16, 512
_AHEAD = 4      # cycles from room to facts


def _facts(rng: random.Random, length: int, sizes: tuple[int, ...], number: int) -> tuple[dict[str, int], bool]:
    """Facts of a block, and whether it has to stay raw; many are as long coded as raw, or a byte off."""
    element = rng.choice(sizes)
    tags = -(-length // 128) * (128 // element // 8)
    nonzero = min(length, max(0, rng.choice([length - tags + rng.randrange(-1, 2), rng.randrange(length + 1)])))
    facts = {"bytes": length, "nonzero_bytes": nonzero, "element": element, "fallback": rng.random() < 0.7,
             "leave_raw": rng.random() < 0.2, "sequence": number % 256}
    return facts, bool(facts["leave_raw"] or (facts["fallback"] and nonzero + tags >= length))


@pytest.mark.parametrize("sizes", [(1, 2, 4), (4,)])
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (1.0, 0.3), (0.4, 0.9)])
def test_blocks(sizes: tuple[int, ...], busy: float, ready: float) -> None:
    rng = random.Random(f"{sizes} {busy} {ready}")
    dut = RawStore(_SIZE, sizes, _BLOCK)
    beats, facts, expected, begins = [], [], [], []
    kinds = set()
    # Short blocks fill the queue of facts, long ones the memory.
    lengths = [1, 15, 16, 17, 511, 512, 512, 512] + [rng.randrange(1, 17) for _ in range(50)] + [
        rng.randrange(1, 513) for _ in range(8)]
    for number, length in enumerate(lengths):
        content = rng.randbytes(length)
        about, raw = _facts(rng, length, sizes, number)
        kinds.add((raw, bool(about["leave_raw"])))
        begins.append(len(beats))
        facts.append(about)
        for k in range(0, length, _SIZE):
            part = content[k:k + _SIZE]
            beats.append(int.from_bytes(part + rng.randbytes(_SIZE - len(part)), "little"))
            expected.append((part, k + _SIZE >= length, raw, about))
    assert kinds == {(True, True), (True, False), (False, False)}

    def read(ctx: Any) -> tuple[bytes, bool, bool, dict[str, int]]:
        beat, block = ctx.get(dut.o.payload), ctx.get(dut.block)
        count = beat.keep.bit_count() if beat.last else _SIZE
        assert not beat.last or beat.keep == (1 << count) - 1
        return (beat.data.to_bytes(_SIZE, "little")[:count], bool(beat.last), bool(ctx.get(dut.raw)),
                {name: getattr(block, name) for name in facts[0]})

    blocks, about = Source(dut.i, beats, rng, busy), Source(dut.scanned, facts, rng, 1.0)
    sink = Sink(dut.o, expected, read, rng, ready)
    rooms: list[int] = []

    async def process(ctx: Any) -> None:
        while sink.left:
            blocks.offer(ctx)
            sink.offer(ctx)
            number = about.taken
            seen = number < len(begins) and blocks.taken > begins[number]
            about.offer(ctx, may=seen and len(rooms) >= _AHEAD and bool(rooms[-_AHEAD]) and rng.random() < busy)
            assert not ctx.get(dut.scanned.valid) or ctx.get(dut.scanned.ready), "facts wait that there was room for"
            rooms.append(ctx.get(dut.room))
            for each in (blocks, about, sink):
                each.settle(ctx)
            await ctx.tick()
        assert not ctx.get(dut.o.valid)

    clocked(dut, process, cycles=20_000)
    assert 0 in rooms or ready >= 0.5, "the queue of facts was never nearly full"


def test_room_counts_the_facts_under_way() -> None:
    """Facts that come in every cycle in which there was room fill the queue while nothing leaves, and none waits."""
    rng = random.Random("room")
    dut = RawStore(_SIZE, (4,), _BLOCK)
    count = 2 * _BLOCK // _SIZE     # blocks of one beat, as many as the memory holds
    blocks = Source(dut.i, [0] * count, rng, 1.0)
    about = Source(dut.scanned, [_facts(rng, _SIZE, (4,), number)[0] for number in range(count)], rng, 1.0)
    rooms: list[int] = []

    async def process(ctx: Any) -> None:
        ctx.set(dut.o.ready, 0)
        for _ in range(2 * count):
            blocks.offer(ctx)
            about.offer(ctx, may=blocks.taken == count and bool(rooms[-_AHEAD]))
            assert not ctx.get(dut.scanned.valid) or ctx.get(dut.scanned.ready), "facts wait that there was room for"
            rooms.append(ctx.get(dut.room))
            blocks.settle(ctx)
            about.settle(ctx)
            await ctx.tick()

    clocked(dut, process, cycles=1000)
    # One block is at the output, and two are in the pipeline that decides. A queue of this depth may hold one more, but
    # that is not promised.
    assert about.taken == BLOCKS + 3
