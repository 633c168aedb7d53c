"""The slicer of tags against the bits of tags: every beat's slice, and no gap between rows and blocks."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.codec.payload.tag_slicer import TagSlicer
from cdma.hdl.codec.payload.unpacking import PayloadError
from tests.hdl.bench import clocked
from tests.hdl.ports import Source

_BLOCK = 2048
_LINE = 128


def _record(rng: random.Random) -> dict[str, Any]:
    """A line of any kind; what does not count in it is noise."""
    width = rng.choice([0, 3, 6, 8])
    return {"bad": rng.random() < 0.1, "record": {
        "zero": rng.random() < 0.2, "dense": rng.random() < 0.3, "signs": rng.getrandbits(1),
        "escape": rng.getrandbits(1), "base": rng.getrandbits(8), "width": width,
        "less": [rng.randrange(min(width, 3) + 1) for _ in range(4)]}}


class _Tags:
    """The tags of a block, all bits at random, also those of elements that are missing; and the slices of its beats."""

    def __init__(self, rng: random.Random, size: int, sizes: tuple[int, ...], exponents: tuple[int, ...],
                 for_lane: bool = False):
        element = rng.choice(sizes)
        coded = element in exponents and rng.random() < 0.8
        units = size if exponents else size // min(sizes)
        beats = rng.choice([1, 2, rng.randrange(1, _BLOCK // size + 1), _BLOCK // size])
        count, places = -(-beats * size // _LINE), _LINE // element
        error = rng.choice([PayloadError.OK] * 6 + [PayloadError.TRUNCATED_TAG])
        half = size == 64 and coded and rng.getrandbits(1)
        self.order = {"element": {f"b{each}": each == element for each in sizes}, "beats": beats - 1,
                      "tail": rng.randrange(units), "start": rng.randrange(units), "bare": rng.getrandbits(1),
                      "error": error, **({"exponents": coded} if exponents else {}),
                      **({"half": half} if exponents and size == 64 else {})}
        raw = for_lane and rng.random() < 0.4
        if for_lane:
            self.order["raw"] = raw
        self.words: list[int] = []
        self.lines: list[dict[str, Any]] = []
        self.beyond, self.behind = False, 0
        # Of each slice: its mask, and with exponents what is said of its line and its groups.
        self.slices: list[tuple[int, dict[str, Any] | None]] = [(0, None)] * beats
        if error is not PayloadError.OK:
            return
        if raw:
            self.order |= {"element": {f"b{each}": 0 for each in sizes}} | ({"exponents": 0} if exponents else {})
            tail = self.order["tail"] or units
            self.slices = [((1 << (units if k < beats - 1 else tail)) - 1, None) for k in range(beats)]
            return
        tags = [rng.choice([rng.getrandbits(places), 0, 1 << rng.randrange(places)]) for _ in range(count)]
        if coded:
            self.lines = [_record(rng) for _ in range(count)]
        # A word has as many bits as a beat has bytes.
        skipped = size // 2 if half else 0
        stored = [rng.getrandbits(1) for _ in range(skipped)]
        record = {"zero": 0, "dense": 0}
        for number, tag in enumerate(tags):
            record = self.lines[number]["record"] if coded else record
            if record["zero"] or record["dense"]:
                tags[number] = 0 if record["zero"] else (1 << places) - 1
            else:
                stored += [tag >> place & 1 for place in range(places)]
        end, tagless = len(stored), bool(record["zero"] or record["dense"])
        if end > skipped:
            stored += [rng.getrandbits(1) for _ in range(-len(stored) % size)]
            self.words = [sum(bit << k for k, bit in enumerate(stored[at:at + size]))
                          for at in range(0, len(stored), size)]
        bits = [tag >> place & 1 for tag in tags for place in range(places)]
        each = size // element
        self.slices = [(sum(bits[k * each + unit * (size // units) // element] << unit for unit in range(units)),
                        self.lines[k * size // _LINE] if coded else None) for k in range(beats)]
        self.beyond = any(bits[beats * each:])
        # Words behind that of the last slice.
        missing = (count * places - beats * each) * (not tagless)
        self.behind = -(-end // size) - -(-(end - missing) // size)


_BUILDS = [(32, (1, 2, 4), (), False), (16, (1, 2, 4), (), False), (64, (1, 2, 4), (), False), (32, (4,), (), False),
           (16, (2,), (), False), (64, (1, 4), (), False), (16, (1,), (), False), (32, (1, 2, 4), (2, 4), False),
           (64, (1, 2, 4), (2, 4), False), (64, (2,), (2,), False), (32, (2, 4), (4,), False),
           (32, (1, 2, 4), (), True), (16, (4,), (), True), (64, (2, 4), (), True), (32, (1, 2, 4), (2, 4), True),
           (64, (2,), (2,), True)]
"""Bytes of a beat, element sizes, those with exponents, and whether raw blocks come among the others."""


@pytest.mark.parametrize(("size", "sizes", "exponents", "for_lane"), _BUILDS)
@pytest.mark.parametrize(("busy", "moving"), [(1.0, 1.0), (0.5, 0.6)])
def test_slices(size: int, sizes: tuple[int, ...], exponents: tuple[int, ...], for_lane: bool, busy: float,
                moving: float) -> None:
    rng = random.Random(f"{size} {sizes} {exponents} {busy} {moving}")
    dut = TagSlicer(size, sizes, _BLOCK, exponents, for_lane)
    blocks = [_Tags(rng, size, sizes, exponents, for_lane) for _ in range(30 if for_lane else 40)]
    sources = [Source(dut.order, [block.order for block in blocks], rng, busy),
               Source(dut.words, [word for block in blocks for word in block.words], rng, busy)]
    if exponents:
        sources.append(Source(dut.lines, [line for block in blocks for line in block.lines], rng, busy))
    gaps = 0

    def check(ctx: Any, block: _Tags, number: int) -> None:
        shown = ctx.get(dut.slice)
        mask, line = block.slices[number]
        assert shown.mask == mask
        assert (shown.first, shown.last) == (number == 0, number == len(block.slices) - 1)
        for fact in ("tail", "start", "bare", "error"):
            assert getattr(shown, fact) == block.order[fact]
        if shown.last:
            assert shown.beyond == block.beyond
        if exponents and shown.error == PayloadError.OK:
            assert [getattr(shown.coded, f"b{each}") for each in exponents] == [
                line is not None and block.order["element"][f"b{each}"] for each in exponents]
            assert shown.bad == (line is not None and line["bad"])
        if line is not None and not line["record"]["zero"]:
            record = line["record"]
            first = number * size % _LINE // 32
            for place, group in enumerate(shown.groups):
                assert group.width == record["width"] - record["less"][first + place]
                assert (group.signs, group.escape, group.base) == (record["signs"], record["escape"], record["base"])

    async def step(ctx: Any, block: _Tags, number: int) -> bool:
        moves = rng.random() < moving
        ctx.set(dut.move, moves)
        for source in sources:
            source.offer(ctx)
        for source in sources:
            source.settle(ctx)
        valid = ctx.get(dut.valid)
        if valid:
            check(ctx, block, number)
        else:
            assert ctx.get(dut.slice.mask) == 0
        await ctx.tick()
        return bool(valid and moves)

    async def process(ctx: Any) -> None:
        nonlocal gaps
        for block in blocks:
            for number in range(len(block.slices)):
                while not await step(ctx, block, number):
                    gaps += 1
        ctx.set(dut.move, 1)
        assert not any(source.left for source in sources)

    clocked(dut, process, cycles=20_000)
    if busy == moving == 1.0:
        assert gaps == 1 + sum(block.behind for block in blocks), "there is a gap between slices"
