"""The slicer of tags against the bits of tags: every beat's slice, and no gap between rows and blocks."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hdl.codec.payload.tag_slicer import TagSlicer
from hdl.codec.payload.unpacking import PayloadError
from tests.hdl.bench import clocked
from tests.hdl.ports import Source

_BLOCK = 2048
_LINE = 128


class _Tags:
    """The tags of a block, all bits at random, also those of elements that are missing; and the slices of its beats."""

    def __init__(self, rng: random.Random, size: int, sizes: tuple[int, ...]):
        self.element = rng.choice(sizes)
        units = size // min(sizes)
        beats = rng.choice([1, 2, rng.randrange(1, _BLOCK // size + 1), _BLOCK // size])
        lines = -(-beats * size // _LINE)
        places = _LINE // self.element
        tags = [rng.choice([rng.getrandbits(places), 0, 1 << rng.randrange(places)]) for _ in range(lines)]
        bits = [tag >> place & 1 for tag in tags for place in range(places)]
        error = rng.choice([PayloadError.OK] * 6 + [PayloadError.TRUNCATED_TAG])
        if error is not PayloadError.OK:
            beats = 1
        self.order = {"element": {f"b{each}": each == self.element for each in sizes}, "beats": beats - 1,
                      "tail": rng.randrange(units), "start": rng.randrange(units), "bare": rng.getrandbits(1),
                      "error": error}
        in_row = 8 * size
        filled = bits + [rng.getrandbits(1) for _ in range(-len(bits) % in_row)]
        self.rows = [sum(bit << k for k, bit in enumerate(filled[at:at + in_row]))
                     for at in range(0, len(bits), in_row)] if error is PayloadError.OK else []
        each = size // self.element
        self.slices = [sum(bits[k * each + unit * min(sizes) // self.element] << unit for unit in range(units))
                       for k in range(beats)] if error is PayloadError.OK else [0]
        self.beyond = any(bits[beats * each:])


@pytest.mark.parametrize(("size", "sizes"), [(32, (1, 2, 4)), (16, (1, 2, 4)), (64, (1, 2, 4)), (32, (4,)), (16, (2,)),
                                             (64, (1, 4)), (16, (1,))])
@pytest.mark.parametrize(("busy", "moving"), [(1.0, 1.0), (0.5, 0.6)])
def test_slices(size: int, sizes: tuple[int, ...], busy: float, moving: float) -> None:
    rng = random.Random(f"{size} {sizes} {busy} {moving}")
    dut = TagSlicer(size, sizes, _BLOCK)
    blocks = [_Tags(rng, size, sizes) for _ in range(40)]
    sources = [Source(dut.order, [block.order for block in blocks], rng, busy),
               Source(dut.tags, [row for block in blocks for row in block.rows], rng, busy)]
    gaps = 0

    async def step(ctx: Any, block: _Tags, number: int) -> bool:
        moves = rng.random() < moving
        ctx.set(dut.move, moves)
        for source in sources:
            source.offer(ctx)
        for source in sources:
            source.settle(ctx)
        shown, valid = ctx.get(dut.slice), ctx.get(dut.valid)
        if valid:
            assert shown.mask == block.slices[number]
            assert (shown.first, shown.last) == (number == 0, number == len(block.slices) - 1)
            for fact in ("tail", "start", "bare", "error"):
                assert getattr(shown, fact) == block.order[fact]
            if shown.last and block.rows:
                assert shown.beyond == block.beyond
        else:
            assert shown.mask == 0
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
        assert gaps == 1, "there is a gap between slices"
