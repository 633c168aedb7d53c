"""The expander against elements: what a beat is made of, and where a packet may end inside a line."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from amaranth.hdl import Module

from cdma.hdl.codec.lines.expander import Expander
from cdma.hdl.codec.packets import ErrorCode
from cdma.hdl.codec.routing import Ranks
from tests.hdl.bench import settled


@dataclass
class _Beat:
    """A beat of a line, and how much of the packet is left."""

    element: int            # bytes
    tag: list[bool]         # of its elements: there, or zero
    opens: bool
    closes: bool
    rest: bool              # the elements behind it in the line are all tagged as there
    left: int | None        # bytes that the packet still has, if its end is near
    final: bool             # the packet ends with this line


@dataclass
class _Raw:
    """What is to come of it: raw bytes that count, whether the packet ends, and inside its line, and its fate."""

    content: bytes
    last: bool
    ends: bool
    code: ErrorCode


def _beat(rng: random.Random, size: int, grain: int, element: int) -> _Beat:
    count = size // element
    density = rng.choice([0.0, 0.3, 0.7, 1.0])
    tag = [rng.random() < density for _ in range(count)]
    if rng.random() < 0.6:
        ones = rng.randrange(count + 1)
        tag[count - ones:] = [True] * ones
    closes = rng.random() < 0.4
    needs = sum(tag) * element
    kind = rng.choice(["far", "whole", "near", "near", "any"])
    left = None if kind == "far" else needs
    if kind == "near":
        left = max(0, needs - rng.randrange(3 * element + 1))
    elif kind == "any":
        left = rng.randrange(2 * size)
    if left is not None and rng.random() < 0.3:
        left = left // grain * grain + rng.randrange(grain)
    return _Beat(element, tag, rng.random() < 0.4, closes, closes or rng.random() < 0.6, left,
                 closes and left == needs and rng.random() < 0.5)


def _expected(beat: _Beat, grain: int, packed: bytes) -> _Raw:
    """The beat, element by element. The first element that is not there any more ends the packet.

    With all behind it, it must be tagged as there; and no line is without elements.
    """
    raw = bytearray()
    used = 0
    for number, there in enumerate(beat.tag):
        if there and beat.left is not None and used + beat.element > beat.left:
            if not (beat.rest and all(beat.tag[number:]) and (number or not beat.opens)):
                return _Raw(b"", True, True, ErrorCode.TRUNCATED_DATA)
            return _Raw(bytes(raw), True, True, ErrorCode.TRAILING_BYTES if beat.left > used else ErrorCode.OK)
        raw += packed[used:used + beat.element] if there else bytes(beat.element)
        used += beat.element * there
    # It is all there; the packet ends with it if all that follows in the line is missing.
    behind = None if beat.left is None else beat.left - used
    ends = behind is not None and behind < grain and beat.rest and not beat.closes
    return _Raw(bytes(raw), ends or beat.final, ends,
                ErrorCode.TRAILING_BYTES if ends and behind else ErrorCode.OK)


def _slot(rng: random.Random, beat: _Beat, size: int, sizes: tuple[int, ...], packed: bytes) -> dict[str, Any]:
    """The slot of a beat, but for the ranks; what does not count in it is noise."""
    grain = min(sizes)
    units, each = size // grain, beat.element // grain
    mask = [there for there in beat.tag for _ in range(each)]
    start = rng.randrange(units)
    window = [rng.randbytes(grain) for _ in range(units)]
    for k in range(sum(mask)):
        window[(start + k) % units] = packed[k * grain:(k + 1) * grain]
    ones = next((k for k in range(units) if not mask[units - 1 - k]), units)
    left, over = (rng.randrange(4 * units), rng.getrandbits(1)) if beat.left is None else divmod(beat.left, grain)
    return {
        "window": int.from_bytes(b"".join(window), "little"), "start": start,
        "mask": sum(bit << k for k, bit in enumerate(mask)), "count": sum(mask), "bounded": beat.left is not None,
        "left": left, "ragged": over != 0,
        "element": {f"b{other}": other == beat.element for other in sizes}, "opens": beat.opens,
        "closes": beat.closes, "ones": ones, "rest": beat.rest, "final": beat.final, "bare": 0,
        "torn": rng.getrandbits(1),
    }


def _design(size: int, sizes: tuple[int, ...]) -> tuple[Module, Expander, Ranks]:
    m = Module()
    m.submodules.dut = dut = Expander(size, sizes)
    m.submodules.ranks = ranks = Ranks(size, min(sizes))
    return m, dut, ranks


async def _show(ctx: Any, dut: Expander, ranks: Ranks, slot: dict[str, Any]) -> None:
    """Sets a slot, with the ranks of its mask."""
    ctx.set(ranks.mask, slot["mask"])
    await ctx.delay(1e-9)
    ctx.set(dut.slot, slot)
    ctx.set(dut.slot.before, ctx.get(ranks.before))
    await ctx.delay(1e-9)


@pytest.mark.parametrize(("size", "sizes"), [(16, (1, 2, 4)), (16, (2, 4)), (32, (4,)), (16, (1,)), (32, (1, 4))])
def test_beats(size: int, sizes: tuple[int, ...]) -> None:
    m, dut, ranks = _design(size, sizes)
    grain = min(sizes)
    rng = random.Random(f"{size} {sizes}")
    seen: Counter[tuple[bool, bool, ErrorCode]] = Counter()

    async def process(ctx: Any) -> None:
        for _ in range(500):
            element = rng.choice(sizes)
            beat = _beat(rng, size, grain, element)
            packed = b"".join(rng.randbytes(element) for _ in range(size // element))
            expected = _expected(beat, grain, packed)
            await _show(ctx, dut, ranks, _slot(rng, beat, size, sizes, packed))
            kept = ctx.get(dut.keep)
            count = kept.bit_count() * grain
            assert kept == (1 << count // grain) - 1, beat
            assert ctx.get(dut.data).to_bytes(size, "little")[:count] == expected.content, beat
            assert (ctx.get(dut.last), ctx.get(dut.ends)) == (expected.last, expected.ends), beat
            if expected.last:
                assert ctx.get(dut.code) == expected.code, beat
            seen[expected.last, expected.ends, expected.code] += 1

    settled(m, process)
    kinds = {(False, False, ErrorCode.OK), (True, False, ErrorCode.OK), (True, True, ErrorCode.OK),
             (True, True, ErrorCode.TRUNCATED_DATA)}
    if max(sizes) > 1:
        kinds.add((True, True, ErrorCode.TRAILING_BYTES))
    assert set(seen) == kinds


def test_an_end_where_a_tag_was_due() -> None:
    size, sizes = 16, (1, 2, 4)
    m, dut, ranks = _design(size, sizes)
    rng = random.Random(1)

    async def process(ctx: Any) -> None:
        for _ in range(100):
            element = rng.choice(sizes)
            slot = _slot(rng, _beat(rng, size, 1, element), size, sizes, rng.randbytes(size))
            slot["bare"] = 1
            await _show(ctx, dut, ranks, slot)
            assert (ctx.get(dut.keep), ctx.get(dut.last), ctx.get(dut.ends)) == (0, 1, 1)
            assert ctx.get(dut.code) == (ErrorCode.TRUNCATED_TAG if slot["torn"] else ErrorCode.OK)

    settled(m, process)
