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

from dataclasses import replace

from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value
from amaranth.lib import data
from amaranth.utils import exact_log2

from cdma.hdl.common.counters import part_carries
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.page_list import PageList
from cdma.hdl.engine.axi.pages import LARGEST_PAGE, PAGE_SIZE_BITS, SMALLEST_PAGE, Entry, PageTranslator
from cdma.hdl.engine.control.descriptor import RECORD_BYTES, RECORD_WORDS
from cdma.hdl.engine.control.table import MEMORIES, WINDOW_BITS
from cdma.hdl.engine.control.windows import WINDOW_REGISTERS, Windows
from cdma.hdl.engine.control.write_back import WriteBack
from cdma.hdl.engine.link.aggregator import Aggregator
from cdma.hdl.engine.link.ledger import Ledger
from cdma.hdl.engine.transfer.interleave import BlockWalker, LaneFinder
from cdma.hdl.engine.transfer.records import BLOCK_BITS
from cdma.verif.formal.harness import Harness, assigned
from cdma.verif.formal.names import names_of
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.parts import choose

__all__ = ["PROOFS"]

_ADDRESS_BITS, _BEAT_BYTES = 24, 16
_SIZES = LARGEST_PAGE - SMALLEST_PAGE
_CONFIG = EngineConfig(lanes=1, beat_bytes=16, link_beat_bytes=16, block_bytes=512, buffer_bytes=640, address_bits=32)


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


_LANES = (3, 5, 6, 7, 12)


def _lane_finder(h: Harness) -> None:
    """The lane of a block is the remainder of its number by the number of lanes, for {lanes}."""
    for lanes in _LANES:
        config = replace(_CONFIG, lanes=lanes, block_bytes=4096, buffer_bytes=8192)
        dut = h.add(f"dut_{lanes}", LaneFinder(config))
        block = h.fixed(config.address_bits - exact_log2(config.block_bytes), f"block_{lanes}")
        start = h.free(1, f"start_{lanes}")
        h.m.d.comb += [dut.start.eq(start), dut.address.eq(block << exact_log2(config.block_bytes))]
        # The greatest multiple in the number's upper bits so far: it doubles, and takes up another one where it can.
        left, rest = h.inner(f"dut_{lanes}.left"), h.inner(f"dut_{lanes}.rest")
        multiple, begun = Signal(len(block), name=f"multiple_{lanes}"), Signal(name=f"begun_{lanes}")
        with h.m.If(start):
            h.m.d.sync += [begun.eq(1), multiple.eq(0)]
        with h.m.Elif(~dut.done):
            h.m.d.sync += multiple.eq((multiple << 1) + Mux(Cat(rest[-1], dut.lane) >= lanes, lanes, 0))
        upper = h.named(f"upper_{lanes}", block >> left)
        h.check(f"remainder_{lanes}", ~begun | ((dut.lane < lanes) & (multiple + dut.lane == upper)))
        h.check(f"bits_left_{lanes}", ~begun | ((left <= len(block)) & (
            rest == (block << (len(block) - left)[:len(left)])[:len(block)])))
    h.cover("the_last_lane", begun & dut.done & (dut.lane == _LANES[-1] - 1) & block[-1])


def _walker(h: Harness, lanes: int) -> None:
    """The blocks of a lane follow on each other, each {lanes} behind the one before; they end with the tensor, and only
    its last block has another length."""
    config = replace(_CONFIG, lanes=lanes)
    dut = h.add("dut", BlockWalker(config))
    names = ("load", "page", "to_end", "sequence", "element", "exponents", "narrow", "fallback", "leave_raw",
             "tail_bytes")
    load, page, to_end, sequence, *_, tail = choose(h, dut, names)
    h.keeps(dut.o, "o")
    h.assume("load_while_free", ~load | dut.free)
    h.assume("to_end_is_small", ~load | ~to_end[-1] | to_end[:-1].any())
    # The next block, by its page and its distance from the end of the tensor.
    where, distance = (Signal(len(each) + 1, name=name) for name, each in (("where", page), ("distance", to_end)))
    number, last = Signal(8, name="block"), Signal(len(tail), name="last_bytes")
    taken, block = dut.o.valid & dut.o.ready, dut.o.payload
    with h.m.If(load):
        h.m.d.sync += [where.eq(page), distance.eq(-to_end.as_signed()), number.eq(sequence), last.eq(tail)]
    with h.m.Elif(taken):
        h.m.d.sync += [where.eq((where + lanes)[:len(page)]), number.eq(number + lanes),
                       distance.eq(distance - lanes)]
    some = h.named("some", distance.as_signed() > 0)
    h.check("blocks_up_to_the_end", dut.o.valid == some)
    h.check("block_is_at_its_place", ~some | (block.address == where << exact_log2(config.block_bytes)))
    h.check("block_has_its_number", ~some | (block.sequence == number))
    h.check("only_the_last_is_short", ~some | (block.bytes == Mux(distance == 1, last, config.block_bytes)))

    # What the registers hold: the counters, and which of their parts are all ones.
    counters = [h.inner("dut.page"), h.inner("dut.to_end"), h.inner("dut.sequence")]
    h.check("distance_is_held", ~some | (counters[1] == (-distance)[:len(to_end)]))
    h.check("end_is_held", some | ~counters[1][-1])
    h.check("page_is_held", ~some | (counters[0] == where[:len(page)]))
    h.check("length_is_held", ~some | (h.inner("dut.tail_bytes") == last))
    h.check("number_is_held", ~some | (counters[2] == number))
    full = iter([each for name, each in names_of(assigned(h.part("dut"))) if name.startswith("full_")])
    for each, name in zip(counters, ("page", "to_end", "sequence"), strict=True):
        upper = each[lanes.bit_length() if lanes > 1 else 0:]
        for start in range(0, len(upper), 8):
            part = upper[start:start + 8]
            h.check(f"carry_of_{name}_{start}", ~some | (next(full) == part.all()))
    h.cover("last_block_of_three", taken & (distance == 1) & (number == sequence + 2 * lanes) & (block.bytes == 16))


def _lane_order(h: Harness, lanes: int) -> None:
    """Beats are taken from the lane of the next block, and from the one behind it beside a block's last beat, and from
    no other, with {lanes} lanes; as many blocks as the transfer has, and no beat behind them."""
    m = h.m
    dut = h.add("dut", Aggregator(replace(_CONFIG, lanes=lanes, block_bytes=4096, buffer_bytes=8192)))
    start, beats = dut.start.payload, [lane.payload for lane in dut.lanes]
    h.drive(dut.start, "start")
    m.d.comb += dut.o.ready.eq(h.free(1, "o_ready"))
    for number, lane in enumerate(dut.lanes):
        h.drive(lane, f"lane_{number}")
    # The lane of the next beat, and blocks whose last beat was not taken.
    turn, left = Signal(lanes, name="turn"), Signal(BLOCK_BITS + 1, name="left")
    begins = h.named("begins", dut.start.valid & dut.start.ready)
    takes = h.named("takes", Cat(lane.valid & lane.ready for lane in dut.lanes))
    lasts = h.named("lasts", takes & Cat(beat.last for beat in beats))
    with m.If(begins):
        m.d.sync += [turn.eq(1 << start.first_lane), left.eq(start.last_block + 1)]
    with m.Elif(lasts.any()):
        m.d.sync += [turn.eq(turn.rotate_left(1)), left.eq(left - 1)]
    h.assume("a_lane_that_is_there", start.first_lane < lanes)
    # The aggregator is idle when the last row was taken: proved with its reset.
    h.assume("one_at_a_time", ~dut.start.valid | (left == 0))
    following = h.named("following", Mux((lasts & turn).any() & (left > 1), turn.rotate_left(1), 0))
    h.check("beats_are_of_their_lanes", ~(takes & ~(turn | following)).any() & (~takes.any() | (takes & turn).any()))
    h.check("none_behind_the_last", ~takes.any() | (left != 0))
    h.check("one_ends_at_a_time", ~(lasts & ~turn).any())

    # What the registers hold: the lanes, and in two parts the blocks behind the next one to begin.
    names = ("current", "head", "opening", "near", "reserve", "reserved", "draws", "some", "one")
    current, head, opening, near, reserve, reserved, draws, some, one = (h.inner(f"dut.{name}") for name in names)
    low = len(near) - 1
    unbegun = h.named("unbegun", left - ~opening)
    behind = h.named("behind", ((reserve - draws) << low) + near)
    busy = h.named("busy", left != 0)
    h.check("current_is_held", current == Mux(busy, turn, 0))
    h.check("head_is_held", ~busy | (head == Mux(opening, turn, turn.rotate_left(1))))
    h.check("turn_is_one", ~busy | ((turn != 0) & ((turn & (turn - 1)[:lanes]) == 0)))
    h.check("some_is_held", ~busy | ((some == (unbegun != 0)) & (one == (unbegun == 1))))
    h.check("behind_is_held", ~busy | (unbegun == 0) | (behind == unbegun - 1))
    drew = h.past(draws & ~begins, "draws")
    h.check("a_refill_is_one", ~busy | ~(draws | drew) | ((near >= (1 << low) - 1 - drew) & ~(draws & drew)))
    h.check("reserve_is_held", ~busy | ((~draws | (reserve != 0)) & (drew | (reserved == reserve.any()))))
    h.cover("two_lanes_at_once", ((takes & ~turn).any() if lanes > 1 else takes.any()) & (left == 2))
    h.cover("the_last_block", lasts.any() & (left == 1) & (takes[-1]))


def _ledger(h: Harness, pipeline: str) -> None:
    """A block fits if, and only if, all blocks up to it have no more words than the capacity, whatever that is; blocks
    are counted up to the first one that does not fit."""
    dut = h.add("dut", Ledger(replace(_CONFIG, pipeline=pipeline)))
    start, begins, capacity = choose(h, dut, ("start", "begins", "capacity"))
    counted = h.free(dut.facts.shape(), "counted")
    h.m.d.comb += dut.facts.eq(counted)
    # Words that are left, and whether a block did not fit.
    left, over = Signal(len(capacity) - 2, name="left"), Signal(name="did_not_fit")
    begun, blocks, raw = Signal(name="begun"), *(Signal(BLOCK_BITS, name=name) for name in ("blocks", "raw"))
    h.assume("blocks_follow_a_start", ~begins | (begun & ~start))
    fits = h.named("does_fit", ~over & (counted.block_words <= left))
    with h.m.If(start):
        h.m.d.sync += [begun.eq(1), left.eq(capacity >> 2), blocks.eq(0), raw.eq(0)]
    with h.m.Elif(begins & ~over):
        h.m.d.sync += over.eq(~fits)
        with h.m.If(fits):
            h.m.d.sync += [left.eq(left - counted.block_words), blocks.eq(blocks + 1), raw.eq(raw + counted.raw)]
    h.check("fits_by_words", ~(begun & begins) | (dut.fits == fits))
    h.check("overflow_stays", (dut.overflow.valid == over) & (begun | ~over))
    h.check("blocks_are_counted", ~begun | ((dut.overflow.block == blocks) & (dut.raw_blocks == raw)))

    # What the registers hold.
    purse, reserve = h.inner("dut.purse"), h.inner("dut.reserve")
    h.check("left_is_held", ~begun | over | (left == (reserve << (len(purse) - 1)) + purse))
    if pipeline == "fast":
        h.check("some_is_held", ~begun | over | (h.inner("dut.some") == reserve.any()))
    h.cover("the_last_word_is_used", begun & begins & dut.fits & (left == counted.block_words) & (blocks == 2)
            & (counted.block_words != 0))
    h.cover("a_block_too_many", begun & begins & ~dut.fits & (blocks == 2))


def _windows(h: Harness) -> None:
    """A window changes with a register that is written while nothing uses it, and never again once it is locked."""
    dut = h.add("dut", Windows(replace(_CONFIG, address_windows=True)))
    written, value, idle = choose(h, dut, ("write", "data", "idle"))
    any_written = h.named("any_written", written[:len(WINDOW_REGISTERS) - 1].any())
    may = h.past(idle & ~dut.locked, "may_change")
    h.check("locked_for_good", dut.locked == h.past(dut.locked | (written[-1] & value[0]), "locks"))
    h.check("a_write_that_changes_nothing_is_refused", ~(any_written & (dut.locked | ~idle)) | dut.refuse)
    h.check("none_else_is_refused", ~dut.refuse | dut.locked | (any_written & ~idle))
    bits = 32 - WINDOW_BITS
    for memory in MEMORIES:
        window = dut.values[memory]
        for end in ("base", "limit"):
            name = f"{memory}_{end}"
            was = h.past(window[end], name)
            writes = h.named(f"writes_{name}", Cat(dut.write[f"{name}_lo"], dut.write[f"{name}_hi"]))
            put = Mux(writes[0], value[WINDOW_BITS:], window[end][:bits])
            put = h.past(Cat(put, Mux(writes[1], value, window[end][bits:])), f"put_to_{name}")
            h.check(f"{name}_is_as_written", window[end] == Mux(may, put[:len(was)], was))
        h.check(f"{memory}_is_limited_by_a_limit", window.unlimited != h.past(window.limit != 0, f"{memory}_has_one"))
    h.cover("locked_in_use", dut.locked & ~idle & dut.refuse & (dut.values.link.limit != 0))


def _record_writer(h: Harness) -> None:
    """A completion's record is written, once and whole, to the entry of its ring that was next when it began: the words
    of its completion in order, and last the entry's index and phase; once the port was silent, no beat that it had not been shown has strobes."""
    m, config = h.m, replace(_CONFIG, write_back=True)
    dut = h.add("dut", WriteBack(config))
    axi = dut.axi
    choose(h, dut, ("pending", "silent", "phase"))
    for name in ("rings", "next", "data"):
        for number, port in enumerate(getattr(dut, name)):
            m.d.comb += Value.cast(port).eq(h.free(len(Value.cast(port)), f"{name}_{number}"))
    choose(h, axi, ("awready", "wready", "bid", "bresp", "bvalid"))
    state, read, asks, sends, bursts = (h.inner(f"dut.{name}") for name in (
        "fsm_state", "read", "asks", "sends", "bursts"))
    h.assume("answers_are_to_whole_bursts", ~axi.bvalid | (bursts > (asks | sends)))

    # What the record is to have: its address; and one of its words, which the solver picks.
    picked, begins = h.fixed(4, "picked"), dut.begin.any()
    base, index, phase, side = Signal.like(dut.rings[0].base, name="base_of_it"), Signal.like(
        dut.next[0], name="index_of_it"), Signal(name="phase_of_it"), Signal(name="side_of_it")
    with m.If(begins):
        m.d.sync += [side.eq(dut.begin[1]), phase.eq(Mux(dut.begin[1], dut.phase[1], dut.phase[0])), *(
            kept.eq(Mux(dut.begin[1], given[1], given[0])) for kept, given in (
                (base, [ring.base for ring in dut.rings]), (index, dut.next)))]
    word, sent_word = Signal(32, name="word_of_it"), Signal(32, name="word_that_is_sent")
    address = Signal(len(axi.awaddr), name="address_that_is_sent")
    shifts, arrived, starts = (h.inner(f"dut.{name}") for name in ("shifts", "arrived", "starts"))
    comes = shifts & (arrived == picked)
    given = h.named("given", Mux(picked.all(), Cat(phase, Const(0, 15), index), Mux(side, dut.data[1], dut.data[0])))
    with m.If(comes):
        m.d.sync += word.eq(given)
    entry = (base + index)[:len(base)] << exact_log2(RECORD_BYTES)
    with m.If(starts):
        m.d.sync += [address.eq(entry), sent_word.eq(Mux(comes, given, word))]
    words = len(axi.wdata) // 32
    beats = RECORD_WORDS // words
    beat = Signal(range(beats + 1), name="beats_sent")
    m.d.sync += beat.eq(Mux(starts, 0, beat + (axi.wvalid & axi.wready)))
    mine = picked[exact_log2(words):] == beat
    h.check("record_is_at_its_entry", ~axi.awvalid | ((axi.awaddr == address) & (axi.awlen == beats - 1)))
    h.check("word_is_as_it_came", ~axi.wvalid | ~mine | (
        axi.wdata.word_select(picked[:exact_log2(words)], 32) == sent_word))
    h.check("beats_are_counted", (~axi.wvalid | (beat < beats)) & (axi.wlast == (h.inner("dut.beat") == beats - 1)))
    h.check("record_is_whole", ~axi.wvalid | axi.wstrb.all() | ((beat != 0) & ~axi.wstrb.any()))
    moved = h.past(axi.wvalid & axi.wready & dut.isolated, "moved_isolated")
    h.check("nothing_behind_a_silent_port", ~(axi.wvalid & moved) | ~axi.wstrb.any())
    h.check("begins_one_of_one_ring", ~dut.begin.all() & ((dut.begin & ~dut.pending) == 0))

    # What the registers hold.
    record, low, high = (h.inner(f"dut.{name}") for name in ("record", "low", "high"))
    reads, sending = h.named("reads", state == 2), h.named("sending", asks | sends)
    shifted = h.named("shifted", Mux(read == 0, 0, read - 1)[:5])
    held = [(base, "base"), (index, "index"), (phase, "phase"), (side, "direction")]
    same = Cat(h.inner(f"dut.{name}") == each for each, name in held).all()
    h.check("ring_is_held", (state == 0) | (state == 3) | same)
    h.check("port_is_of_one_record", ~sending | (state == 3) | ((state != 2) & dut.isolated))
    h.check("none_is_sent_while_read", ~reads | (~sending & ~dut.isolated))
    h.check("reads_from_the_first", ((state != 1) | (read == 0)) & (~reads | ((read <= RECORD_WORDS) & (
        (read == 0) | (arrived == (read - 1)[:4])))))
    h.check("low_is_held", ~reads | (read == 0) | (low == base[:len(low) - 1] + index))
    h.check("high_is_held", ~reads | (read < 2) | (Cat(low[:-1], high) == (base + index)[:len(base)]))
    h.check("word_is_held", ~reads | (picked >= shifted) | (
        record.word_select((RECORD_WORDS - shifted + picked)[:4], 32) == word))
    h.check("address_is_held", ~asks | (Cat(Const(0, exact_log2(RECORD_BYTES)), low[:-1], high) == address))
    h.check("record_is_held", ~sends | (
        (record.word_select((picked - (beat << exact_log2(words)))[:4], 32) == sent_word)
        & (h.inner("dut.beat") == beat) & (beat < beats)))
    h.check("bursts_are_held", (bursts >= sending) & (bursts + ((state == 1) | reads) <= config.outstanding_records))
    h.cover("last_word", axi.wvalid & axi.wlast & picked.all() & phase & (index == 5) & axi.wstrb.all())


PROOFS = (
    Proof("page_translator", "hdl/engine/axi/pages.py", _translator, cover_depth=20, words={"address": _ADDRESS_BITS}),
    Proof("page_window", "hdl/engine/axi/page_list.py", _page_window, cover_depth=20, words={"address": _ADDRESS_BITS}),
    Proof("windows", "hdl/engine/control/windows.py", _windows),
    Proof("lane_finder", "hdl/engine/transfer/interleave.py", _lane_finder, cover_depth=26, words={
        "lanes": f"{', '.join(map(str, _LANES[:-1]))} and {_LANES[-1]} lanes"}),
    *(Proof(f"block_walker_{lanes}", "hdl/engine/transfer/interleave.py", _walker, {"lanes": lanes})
      for lanes in (1, 3, 16)),
    *(Proof(f"lane_order_{lanes}", "hdl/engine/link/aggregator.py", _lane_order, {"lanes": lanes})
      for lanes in (1, 3, 5, 6, 7, 12, 16)),
    Proof("record_writer", "hdl/engine/control/write_back.py", _record_writer, cover_depth=30),
    *(Proof(f"ledger_{pipeline}", "hdl/engine/link/ledger.py", _ledger, {"pipeline": pipeline})
      for pipeline in ("small", "fast")),
)
"""Proofs of bounds."""
