"""Proofs of exponent coding: a group that is coded and decoded again is what it was, whatever describes it rightly."""

from __future__ import annotations

from amaranth.hdl import Cat, Mux, Signal, Value

from cdma.hdl.codec.coding import EXPONENTS
from cdma.hdl.codec.line_record import GROUP_BYTES, WHOLE_BASE, WHOLE_WIDTH
from cdma.hdl.codec.payload.group_coder import GroupCoder
from cdma.hdl.codec.payload.group_decoder import GroupDecoder
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof

__all__ = ["PROOFS"]

_MOST_WIDTH = 6
"""Bits of the longest distance that is no whole exponent."""


def _fits(element: Value, width: Value, base: Value, signs: Value, escape: Value) -> Value:
    """Whether an element that is not zero can be coded so, by docs/formats.md."""
    exponent, sign = element[-9:-1], element[-1]
    distance = (base - exponent)[:8]
    most = (1 << width)[:8] - 1
    near = Mux(escape, (exponent == 0) | (distance < most), distance <= most)
    return ((width == WHOLE_WIDTH) | near) & (signs | ~sign)


def _group(size: int) -> Harness:
    h = Harness()
    m = h.m
    coder, decoder = h.add("coder", GroupCoder((size,))), h.add("decoder", GroupDecoder((size,)))
    raw, coded = h.free(8 * GROUP_BYTES, "raw"), h.free(1, "coded")
    width, base = h.free(4, "width"), h.free(8, "base")
    signs, escape = h.free(1, "signs"), h.free(1, "escape")
    elements = [raw.word_select(k, 8 * size) for k in range(GROUP_BYTES // size)]
    live = Signal(len(elements), name="live")
    m.d.comb += live.eq(Cat(element.any() for element in elements))
    h.assume("widths_that_there_are", (width <= _MOST_WIDTH) | (
        (width == WHOLE_WIDTH) & (base == WHOLE_BASE) & ~escape))
    h.assume("elements_fit", Cat(~element.any() | _fits(element, width, base, signs, escape)
                                 for element in elements).all())
    group = {"width": width, "base": base, "signs": signs, "escape": escape}
    m.d.comb += [
        coder.move.eq(1), decoder.move.eq(1), coder.data.eq(raw), coder.coded.eq(coded), coder.live.eq(live),
        coder.mask.eq(Cat(bit.replicate(size) for bit in live)), coder.element.eq(1),
        *(coder.group[name].eq(value) for name, value in group.items()),
        # The decoder gets the group a cycle later, and bytes that are not there as 0.
        decoder.coded.eq(h.past(coded, "coded")), decoder.mask.eq(coder.o_mask),
        decoder.data.eq(coder.o & Cat(bit.replicate(8) for bit in coder.o_mask)),
        *(decoder.group[name].eq(h.past(value, name)) for name, value in group.items()),
    ]
    before = h.past(h.past(raw, "raw"), "raw_before")
    comes = h.past(h.past(h.begun, "begun"), "begun_before")
    for k in range(len(elements)):
        h.check(f"element_{k}", ~comes | (decoder.o.word_select(k, 8 * size) == before.word_select(k, 8 * size)))
    was_coded = comes & h.past(h.past(coded, "coded_once"), "coded_twice")
    widths = h.past(h.past(width, "width_once"), "width_twice")
    h.cover("short_distances", was_coded & (widths == 3) & before.any())
    h.cover("whole_exponents", was_coded & (widths == WHOLE_WIDTH) & before.any())
    h.cover("escape", was_coded & h.past(h.past(escape, "escape_once"), "escape_twice") & before.any())
    h.cover("not_coded", comes & ~was_coded & before.any())
    return h


def _proof(name: str, size: int) -> Proof:
    return Proof(
        f"group_{name}", "hdl/codec/payload/group_coder.py",
        f"A group of {name} that is coded with exponents, or passes as it is, comes back from the decoder of groups "
        "bit for bit, whatever base, width, signs and escape describe it rightly.",
        lambda: _group(size), "bounded", 4, "deep",
        coverage="a group of any content behind any other; no register keeps more than the group before", solver="sat")


PROOFS = tuple(_proof(name, size) for name, size in (("bfloat16", 2), ("float32", 4)) if size in EXPONENTS)
"""Proofs of groups."""
