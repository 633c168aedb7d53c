"""Proofs that bytes stay where they belong: pages of a stream, windows, the capacity of a destination, and the blocks
of a tensor.

What one unit assumes, another one asserts:

====================  ================================================  ============================================
unit                  assumes                                           asserted of
====================  ================================================  ============================================
page translator       bursts follow on each other, none crosses 4 KiB   burst splitter
page translator       good entries are multiples of their page          page list
page list, its check  the window stays as it is                         windows, while a descriptor is processed
====================  ================================================  ============================================
"""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value
from amaranth.utils import exact_log2

from cdma.hdl.engine.axi.pages import LARGEST_PAGE, PAGE_SIZE_BITS, SMALLEST_PAGE, Entry, PageTranslator
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.parts import choose

__all__ = ["PROOFS"]

_ADDRESS_BITS, _BEAT_BYTES = 24, 16
_SIZES = LARGEST_PAGE - SMALLEST_PAGE


def _translator(h: Harness) -> None:
    """Each burst of a stream in pages gets the address that division says, place modulo page in the page of its number,
    for every page size from 4 KiB to 2 MiB; an entry is taken for each page and no other; a burst that is not in pages
    passes unchanged ({address}-bit addresses)."""
    m, shift = h.m, exact_log2(_BEAT_BYTES)
    dut = h.add("dut", PageTranslator(_ADDRESS_BITS, _BEAT_BYTES))
    pages, burst = dut.pages, dut.i.payload
    h.drive(dut.i, "i")
    h.drive(pages.entries, "entries")
    _, drop = choose(h, dut, ("begin", "drop"))
    paging = h.free(len(Value.cast(pages.paging)), "paging")
    m.d.comb += Value.cast(pages.paging).eq(paging)
    h.keeps(dut.o, "o")

    # The stream so far: its size of a page, its next place, and the entries that were taken.
    entry, size = pages.entries.payload, pages.paging.size
    place, its_size = Signal(_ADDRESS_BITS, name="next_place"), Signal(PAGE_SIZE_BITS, name="its_size")
    used = Signal(_ADDRESS_BITS - SMALLEST_PAGE + 1, name="used")
    newest = Signal(_ADDRESS_BITS - SMALLEST_PAGE, name="newest")
    moves = h.named("moves", dut.i.valid & dut.i.ready & ~drop)
    takes = h.named("takes", pages.entries.valid & pages.entries.ready)
    end = h.named("burst_end", burst.address + ((burst.len + 1) << shift))
    over = burst.last & pages.paging.final
    h.assume("size_of_a_page", size <= _SIZES)
    h.assume("in_order", ~dut.i.valid | ~pages.paging.listed | ((burst.address == place) & (
        (place == 0) | (size == its_size))))
    h.assume("within_4_kib", ~dut.i.valid | ((end - 1)[SMALLEST_PAGE:] == burst.address[SMALLEST_PAGE:]))
    h.assume("a_beat_is_aligned", ~burst.address[:shift].any())
    h.assume("within_the_space", ~dut.i.valid | ~end[_ADDRESS_BITS] | over)
    inside = Array(Const((1 << each) - 1, _SIZES) for each in range(_SIZES + 1))[size]
    low = entry.page[:_SIZES]
    h.assume("good_ones_are_aligned", (entry.state != Entry.GOOD) | ~(low & inside).any())
    with m.If(moves & pages.paging.listed):
        m.d.sync += [place.eq(Mux(over, 0, end)), its_size.eq(size), used.eq(Mux(over, 0, used + takes))]
    with m.If(takes):
        m.d.sync += newest.eq(entry.page)

    # Page number and place in the page, by division.
    units = burst.address[SMALLEST_PAGE:]
    number = h.named("number", Array(units[each:] for each in range(_SIZES + 1))[size])
    first = Mux(takes, entry.page, newest)
    address = Cat(burst.address[:SMALLEST_PAGE], (first + (units & inside))[:len(units)])
    asked = h.past(Mux(pages.paging.listed, Cat(address, Value.cast(burst)[_ADDRESS_BITS:]), Value.cast(burst)), "asked")
    moved = h.past(moves, "moved")
    h.check("address_is_that_of_its_page", ~moved | (dut.o.valid & (Value.cast(dut.o.payload) == asked)))
    h.check("entry_is_of_its_number", ~(moves & pages.paging.listed) | (used + takes - 1 == number))
    h.check("entry_is_for_a_burst", ~takes | (moves & pages.paging.listed & (entry.state == Entry.GOOD)))
    h.check("nothing_else_comes", ~dut.o.valid | moved | h.past(dut.o.valid & ~dut.o.ready, "waited"))
    h.check("bad_entries_are_shown", (pages.bad == Entry.GOOD) | ~moves)

    # What the registers hold.
    before = (place - 1)[SMALLEST_PAGE:_ADDRESS_BITS]
    h.check("used_is_held", used == Mux(place == 0, 0, Array(
        before[each:] for each in range(_SIZES + 1))[its_size] + 1))
    h.check("size_is_held", its_size <= _SIZES)
    h.check("page_is_held", (place == 0) | (h.inner("dut.page") == newest))
    h.check("newest_is_aligned", (place == 0) | ~(newest[:_SIZES] & Array(
        Const((1 << each) - 1, _SIZES) for each in range(_SIZES + 1))[its_size]).any())
    h.cover("third_page", dut.o.valid & (used == 3) & (its_size == 2))
    h.cover("second_4_kib_of_a_page", moves & pages.paging.listed & units[0] & (size == 1) & ~takes)


PROOFS = (
    Proof("page_translator", "hdl/engine/axi/pages.py", _translator, cover_depth=20, words={"address": _ADDRESS_BITS}),
)
"""Proofs of bounds."""
