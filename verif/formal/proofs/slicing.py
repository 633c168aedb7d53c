"""Proofs of what cuts the tags of a block: the masks of its beats are the bits of its tags, in order."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.lib import data
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.codec.payload.tag_slicer import TagSlicer
from cdma.hdl.codec.payload.unpacking import PayloadError, order_layout
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof

__all__ = ["PROOFS"]

_SIZES = (1, 2, 4)
_BLOCK_BYTES = 512


def _chosen(element: Value, choices: Sequence[Value]) -> Value:
    """The choice for a one-hot element size."""
    total: Value = Const(0)
    for bit, choice in zip(element, choices, strict=True):
        total = total | Mux(bit, choice, 0)
    return total


def _slicer(n: int, for_lane: bool) -> Harness:
    """Slices against the words of tags, counted from the block's first one on. A unit is a byte."""
    h = Harness()
    m = h.m
    dut = h.add("dut", TagSlicer(n, _SIZES, _BLOCK_BYTES, for_lane=for_lane))
    h.drive(dut.order, "order")
    h.drive(dut.words, "words")
    m.d.comb += dut.move.eq(h.free(1, "move"))
    layout = order_layout(n, _SIZES, _BLOCK_BYTES, for_lane=for_lane)
    coming = dut.order.payload
    raw_comes = coming.raw if for_lane else Const(0)
    elements = Value.cast(coming.element)
    h.assume("one_element_size", ~dut.order.valid | Mux(raw_comes, elements == 0, Cat(
        elements == 1 << number for number in range(len(_SIZES))).any()))
    h.assume("errors_are_told", ~dut.order.valid | (Value.cast(coming.error) <= max(int(each.value) for each in
                                                                                     PayloadError)))
    # The block, the number of its beat, and the words that were taken since it began.
    have, block = Signal(name="have_block"), Signal(layout, name="block", reset_less=True)
    number = Signal(range(_BLOCK_BYTES // n + 1), name="beat_number")
    taken = Signal(range(_BLOCK_BYTES // n + 2), name="words_taken")
    word, later = Signal(n, name="word", reset_less=True), Signal(name="later_ones")
    element = Value.cast(block.element)
    faulty, raw = Value.cast(block.error) != 0, block.raw if for_lane else Const(0)
    tagged = ~faulty & ~raw
    last = number == block.beats

    def place(beat: Value, sizes: Value = element) -> Value:
        """The number of the word that has a beat's tags."""
        return _chosen(sizes, [beat >> exact_log2(size) for size in _SIZES])

    in_line = LINE_BYTES // n
    lines = (number >> exact_log2(in_line)) + 1
    needed = Signal(taken.shape(), name="words_needed")
    m.d.comb += needed.eq(Mux(have & tagged, _chosen(element, [lines * (in_line // size) for size in _SIZES]), 0))
    goes, fires = dut.valid & dut.move, dut.words.valid & dut.words.ready
    closes = goes & last
    # The number of a word that comes, and of that whose bits are needed next.
    comes = Mux(closes, taken - needed, taken)[:len(taken)]
    wanted = Mux(closes | ~have | ~tagged, 0, place((number + goes)[:len(number)]))
    m.d.sync += taken.eq(comes + fires)
    with m.If(fires & (comes == wanted)):
        m.d.sync += word.eq(dut.words.payload)
    m.d.sync += later.eq(~closes & (later | (fires & (comes != wanted) & dut.words.payload.any())))
    with m.If(dut.order.ready):
        m.d.sync += [have.eq(dut.order.valid), block.eq(coming), number.eq(0)]
    with m.Elif(goes):
        m.d.sync += number.eq(number + 1)

    shown = dut.slice
    h.check("order_is_taken", dut.order.ready == (~have | closes))
    h.check("slice_of_a_block", ~dut.valid | have)
    h.check("first_and_last", ~dut.valid | ((shown.first == (number == 0)) & (shown.last == last)))
    for name in ("tail", "start", "bare", "error"):
        h.check(f"{name}_is_told", ~dut.valid | (Value.cast(shown[name]) == Value.cast(block[name])))
    h.check("word_by_number", ~dut.valid | ~tagged | Mux(last, taken == needed, taken == place(number) + 1))
    h.check("words_that_are_needed", ~fires | closes | (comes == wanted) | (last & (comes < needed)))
    parts = [number[:exact_log2(size)] if size > 1 else Const(0, 1) for size in _SIZES]
    masks = [Cat(bit.replicate(size) for bit in word.word_select(part, n // size))
             for size, part in zip(_SIZES, parts, strict=True)]
    behind = [(word >> ((part + 1) * (n // size))).any() for size, part in zip(_SIZES, parts, strict=True)]
    whole = Cat(~last | (block.tail == 0) | (unit < block.tail) for unit in range(n))
    h.check("mask", shown.mask == Mux(dut.valid & ~faulty, Mux(raw, whole, _chosen(element, masks)), 0))
    h.check("beyond", ~dut.valid | ~last | faulty | raw | (shown.beyond == (later | _chosen(element, behind))))

    # What the registers mean, for the induction.
    has_word, has_order, is_faulty, seen = (h.inner(f"dut.{name}") for name in (
        "has_word", "has_order", "faulty", "seen"))
    held = data.View(layout, h.inner("dut.order_held"))
    here = taken > place(number)
    h.check("block_is_held", (has_order == have) & (~have | (
        (held.beats == block.beats - number) & (number <= block.beats) & (is_faulty == faulty))))
    for name in (name for name in layout.members if name != "beats"):
        h.check(f"{name}_is_held", ~have | (Value.cast(held[name]) == Value.cast(block[name])))
    h.check("element_is_one", ~have | Mux(raw, element == 0, Cat(
        element == 1 << bit for bit in range(len(_SIZES))).any()))
    h.check("beat_of_the_line", ~have | (h.inner("dut.beat") == number[:exact_log2(in_line)]))
    h.check("first_is_known", ~have | (h.inner("dut.first") == (number == 0)))
    h.check("final_is_known", ~have | (h.inner("dut.final") == last))
    h.check("no_word_of_another", have & tagged | (taken <= 1))
    h.check("no_word_is_ahead", ~have | ~tagged | (taken <= Mux(last, needed, place(number) + 1)))
    h.check("no_word_is_missing", ~have | ~tagged | (taken >= place(number)))
    h.check("word_is_there", has_word == Mux(have & tagged, here, taken == 1))
    h.check("word_is_held", ~has_word | (h.inner("dut.word") == word))
    h.check("later_words", Mux(have & tagged & last & here, (seen == taken - place(number) - 1) & (
        h.inner("dut.found") == later), ~have | ((seen == 0) & ~h.inner("dut.found"))))
    h.check("no_later_words", (have & tagged & last & here) | ~later)
    h.cover("last_line_has_more", closes & later & (block.beats > in_line))
    closed = Signal(name="closed")
    m.d.sync += closed.eq(closed | closes)
    h.cover("second_block_ends", closed & closes & tagged & (block.beats != 0))
    return h


def _proof(n: int, for_lane: bool) -> Proof:
    also = " raw blocks have all their units;" if for_lane else ""
    return Proof(f"tag_slicer_{n}" + ("_lane" if for_lane else ""), "hdl/codec/payload/tag_slicer.py", "The mask of "
                 "each beat is its bits of the block's tags, a bit for all units of an element, whatever the gaps "
                 f"between words;{also} no word is lost or taken twice, and ones behind the last beat are told (beats "
                 f"of {n} bytes, elements of 1, 2 and 4 bytes, no exponents).", lambda: _slicer(n, for_lane),
                 "induction", 1, cover_depth=20)


PROOFS = (_proof(16, True), _proof(32, False))
"""Proofs of what cuts tags."""
