"""Proofs of page lists: entries are those in memory, pages lie in their window, and each place of a stream in its page.

Those of the reader's entries and errors are bounded, from the reset on. The solver picks one list among all that are
given, one of its entries, and what memory answers to the read of it. Other lists are anywhere else, and what memory
answers to them is free. As in the engine, only good entries are taken. The reader is not stopped.
"""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value
from amaranth.lib import data
from amaranth.utils import exact_log2

from cdma.hdl.common.counters import part_carries
from cdma.hdl.engine.axi.page_list import ENTRY_BYTES, PageList
from cdma.hdl.engine.axi.pages import LARGEST_PAGE, PAGE_SIZE_BITS, SMALLEST_PAGE, Entry, PageTranslator
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.parts import choose, moves

__all__ = ["PROOFS"]

_ADDRESS_BITS, _BEAT_BYTES = 24, 16
_SHIFT = exact_log2(_BEAT_BYTES)
_SIZES = LARGEST_PAGE - SMALLEST_PAGE
_COUNT_BITS = 3     # of lists that are given
_INDEX_BITS = 5     # of an entry in its list
_FEW = 4            # entries of a list: one read of two beats


class _Reads:
    """Reads that are open at a port, in order: where the next beat is, and where its burst begins."""

    def __init__(self, h: Harness, dut: PageList, most: int) -> None:
        axi = dut.axi
        choose(h, axi, ("arready", "rid", "rdata", "rresp", "rlast", "rvalid"))
        level = Signal(range(most + 1), name="reads")
        starts, lengths = ([Signal(bits, name=f"{name}_{number}") for number in range(most)]
                           for name, bits in (("start", _ADDRESS_BITS), ("length", 8)))
        count = Signal(8, name="beats_that_came")
        asked, self.taken = axi.arvalid & axi.arready, axi.rvalid & axi.rready
        ended = self.taken & (count == lengths[0])
        h.m.d.sync += level.eq(level + asked - ended)
        with h.m.If(self.taken):
            h.m.d.sync += count.eq(Mux(ended, 0, count + 1))
        for number in range(most):
            with h.m.If(asked & (level - ended == number)):
                h.m.d.sync += [starts[number].eq(axi.araddr), lengths[number].eq(axi.arlen)]
            with h.m.Elif(ended & (number + 1 < most)):
                behind = min(number + 1, most - 1)
                h.m.d.sync += [starts[number].eq(starts[behind]), lengths[number].eq(lengths[behind])]
        h.assume("beats_that_were_asked_for", ~axi.rvalid | (level != 0))
        waits = h.past(axi.rvalid & ~axi.rready, "beat_waits")
        beat = Cat(axi.rdata, axi.rresp)
        h.assume("beat_stays", ~waits | (axi.rvalid & (beat == h.past(beat, "beat"))))
        self.level, self.start = level, starts[0]
        self.address = h.named("beat_address", (starts[0] + (count << _SHIFT))[:_ADDRESS_BITS])
        self.error = axi.rresp[1]


def _page_list(h: Harness, lists: int, windowed: bool) -> None:
    """Every entry that is shown is one of the oldest list, as memory has it, with what is wrong with it{window}; an
    error response is that of its list alone, and the first one ({lists} lists are kept, each of at most {few} entries,
    {address}-bit addresses, beats of {bytes} bytes)."""
    dut = h.add("dut", PageList(_ADDRESS_BITS, _BEAT_BYTES, lists, windowed=windowed))
    given = dut.lists.payload
    h.drive(dut.lists, "lists")
    choose(h, dut, ("done",))
    h.keeps(dut.entries, "entries", unless=dut.done)
    reads = _Reads(h, dut, lists)

    # The list that is looked at, where it is in the order of lists, and what is behind one of its entries.
    number, index = h.fixed(_COUNT_BITS, "number"), h.fixed(_INDEX_BITS, "index")
    listed = h.fixed(given.shape(), "listed")
    word, unread = h.fixed(8 * ENTRY_BYTES, "word"), h.fixed(1, "unread")
    begun, over, used = (Signal(bits, name=name) for name, bits in (
        ("begun", _COUNT_BITS), ("over", _COUNT_BITS), ("used", _INDEX_BITS)))
    begins, uses = moves(dut.lists), moves(dut.entries)
    h.m.d.sync += [begun.eq(begun + begins), over.eq(over + dut.done)]
    with h.m.If(dut.done | uses):
        h.m.d.sync += used.eq(Mux(dut.done, 0, used + 1))
    there = h.named("there", begun != over)
    mine = h.named("mine", there & (over == number))
    first, end = listed.address, h.named("listed_end", _end(listed))
    h.assume("lists_are_few", ~begun.all() & ~used.all())
    h.assume("a_list_has_some_entries", ~dut.lists.valid | ((given.pages != 0) & (given.pages <= _FEW)))
    h.assume("a_list_is_aligned", ~dut.lists.valid | ~given.address[:_SHIFT].any())
    h.assume("a_page_has_a_size", ~dut.lists.valid | (given.size <= LARGEST_PAGE - SMALLEST_PAGE))
    h.assume("a_list_ends", ~dut.lists.valid | (_end(given) <= 1 << _ADDRESS_BITS))
    h.assume("it_is_the_one", ~dut.lists.valid | (begun != number) | (Value.cast(given) == Value.cast(listed)))
    h.assume("others_are_elsewhere", ~dut.lists.valid | (begun == number) | (_end(given) <= first)
             | (given.address >= end))
    h.assume("done_behind_an_entry", ~dut.done | (there & (used != 0) & ~dut.entries.ready))
    h.assume("good_ones_are_taken", ~dut.entries.ready | (dut.entries.payload.state == Entry.GOOD))
    place = h.named("place", first + (index << exact_log2(ENTRY_BYTES)))
    comes = h.named("comes", reads.taken & (reads.address[_SHIFT:] == place[_SHIFT:]) & (index < listed.pages))
    words = Array(dut.axi.rdata.word_select(each, 8 * ENTRY_BYTES) for each in range(_BEAT_BYTES // ENTRY_BYTES))
    h.assume("memory_has_the_entry", ~comes | (words[place[3:_SHIFT]] == word))
    h.assume("memory_fails_or_not", ~comes | (reads.error == unread))

    inside = h.named("inside", (reads.address >= first) & (reads.address < end))
    failed = Signal(name="failed")
    cause = Signal(2 + _ADDRESS_BITS, name="cause")
    with h.m.If(reads.taken & reads.error & inside & ~failed):
        h.m.d.sync += [failed.eq(1), cause.eq(Cat(dut.axi.rresp, reads.start))]

    entry = dut.entries.payload
    shown = h.named("shown", dut.entries.valid & mine & (used == index))
    size = listed.size
    misaligned = Array(word[:SMALLEST_PAGE + each].any() for each in range(LARGEST_PAGE - SMALLEST_PAGE + 1))[size]
    page = word[SMALLEST_PAGE:_ADDRESS_BITS]
    confined: Value | None = None
    if windowed:
        window = h.fixed(dut.window.shape(), "window")
        h.m.d.comb += dut.window.eq(window)
        confined = (page >= window.base) & (window.unlimited | (page + (1 << size) <= window.limit))
    outside = word[_ADDRESS_BITS:].any()
    state = Mux(index >= listed.pages, Entry.MISSING, Mux(unread, Entry.UNREAD, Mux(outside, Entry.OUTSIDE, Mux(
        misaligned, Entry.MISALIGNED, Entry.GOOD if confined is None else Mux(confined, Entry.GOOD, Entry.OUTSIDE)))))
    h.check("entry_is_of_a_list", ~dut.entries.valid | there)
    h.check("state_of_the_entry", ~shown | (Value.cast(entry.state) == state))
    h.check("page_of_the_entry", ~shown | (entry.state != Entry.GOOD) | (entry.page == page))
    h.check("unread_has_its_error", ~dut.entries.valid | (entry.state != Entry.UNREAD) | dut.fault.valid)
    h.check("error_is_its_own", ~(dut.fault.valid & mine) | (
        failed & (Cat(dut.fault.resp, dut.fault.address) == cause)))
    h.check("no_more_reads_than_lists", reads.level <= lists)
    others = Signal(name="another_list_failed")
    h.m.d.sync += others.eq(others | (reads.taken & reads.error & ~inside))
    good = shown & (entry.state == Entry.GOOD)
    h.cover("behind_an_error_of_another_list", good & others & (over != 0))
    h.cover("entry_of_a_second_beat", good & (index == 2))
    h.cover("unread", shown & (entry.state == Entry.UNREAD) & (index != 0))
    h.cover("missing", shown & (entry.state == Entry.MISSING))


def _page_window(h: Harness) -> None:
    """An entry that is stored as good is a multiple of its page, and all of its page lies inside the window, whatever
    memory answers, for every page size from 4 KiB to 2 MiB ({address}-bit addresses)."""
    dut = h.add("dut", PageList(_ADDRESS_BITS, _BEAT_BYTES, 2, windowed=True))
    h.drive(dut.lists, "lists")
    choose(h, dut, ("done", "stop"))
    choose(h, dut.axi, ("arready", "rid", "rdata", "rresp", "rlast", "rvalid"))
    h.m.d.comb += dut.entries.ready.eq(h.free(1, "entries_ready"))
    window = h.fixed(dut.window.shape(), "window")
    h.m.d.comb += dut.window.eq(window)
    sizes = Cat(h.inner("dut.size_0"), h.inner("dut.size_1"))
    given = sizes.word_select(h.inner("dut.owner")[0], PAGE_SIZE_BITS)
    size = h.past(given, "size")
    of_size = Array(Const(1 << each, _SIZES + 1) for each in range(_SIZES + 1))[size]
    later, stored = (data.View(dut.entries.payload.shape(), h.inner(name)) for name in ("dut.later", "dut.write__data"))
    writes = h.named("writes", h.inner("dut.write__en") & (size <= _SIZES))
    good = h.named("good", writes & (stored.state == Entry.GOOD))
    page, end = stored.page, h.named("end", stored.page + of_size)
    h.check("page_is_aligned", ~good | ~(page[:_SIZES] & (of_size - 1)[:_SIZES]).any())
    h.check("page_begins_inside", ~good | (page >= window.base))
    h.check("page_ends_inside", ~good | window.unlimited | (end <= window.limit))
    h.check("none_inside_is_refused", ~writes | (later.state != Entry.GOOD) | good
            | (page < window.base) | (end > window.limit))

    # What the registers hold.
    last = Cat(later.page[:_SIZES] | (of_size - 1)[:_SIZES], later.page[_SIZES:])
    h.check("alignment_is_held", ~h.inner("dut.later_valid") | (later.state != Entry.GOOD) | ~(
        later.page[:_SIZES] & (of_size - 1)[:_SIZES]).any())
    h.check("comparisons_are_held", ~h.inner("dut.later_valid") | (
        (h.inner("dut.before") == part_carries(later.page, ~window.base))
        & (h.inner("dut.behind") == part_carries(window.limit, ~last))))
    h.cover("largest_page_of_a_window", good & (size == _SIZES) & ~window.unlimited & (window.base != 0))


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
    same = Value.cast(burst)
    asked = h.past(Mux(pages.paging.listed, Cat(address, same[_ADDRESS_BITS:]), same), "asked")
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


def _end(listed: data.View) -> Value:
    """Behind the last beat of a list."""
    bytes_ = (listed.pages << exact_log2(ENTRY_BYTES)) + _BEAT_BYTES - 1
    return listed.address + (bytes_[_SHIFT:] << _SHIFT)


PROOFS = (*(
    Proof(name, "hdl/engine/axi/page_list.py", _page_list, {"lists": 2, "windowed": windowed}, cycles, "deep",
          "a list and a part of the next one", solver="sat", words={
              "window": ", its page inside a window" if windowed else "", "few": _FEW, "address": _ADDRESS_BITS,
              "bytes": _BEAT_BYTES})
    for name, cycles, windowed in (("page_list", 20, False), ("page_list_windowed", 21, True))),
    Proof("page_window", "hdl/engine/axi/page_list.py", _page_window, cover_depth=20, words={"address": _ADDRESS_BITS}),
    Proof("page_translator", "hdl/engine/axi/pages.py", _translator, cover_depth=20, words={"address": _ADDRESS_BITS}),
)
"""Proofs of page lists."""
