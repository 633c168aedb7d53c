"""Proofs that transfers stay within their bounds: windows, the capacity of a destination, the blocks of a tensor and
their lanes."""

from __future__ import annotations

from dataclasses import replace

from amaranth.hdl import Cat, Mux, Signal
from amaranth.utils import exact_log2

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.table import MEMORIES, WINDOW_BITS
from cdma.hdl.engine.control.windows import WINDOW_REGISTERS, Windows
from cdma.hdl.engine.link.aggregator import Aggregator
from cdma.hdl.engine.link.ledger import Ledger
from cdma.hdl.engine.transfer.interleave import BlockWalker, LaneFinder
from cdma.hdl.engine.transfer.records import BLOCK_BITS
from cdma.verif.formal.harness import Harness, assigned
from cdma.verif.formal.names import names_of
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.parts import choose

__all__ = ["PROOFS"]

_CONFIG = EngineConfig(lanes=1, beat_bytes=16, link_beat_bytes=16, block_bytes=512, buffer_bytes=640, address_bits=32)


_LANES = (3, 5, 6, 7, 12)
_POWERS = (1, 2, 16)


def _lane_finder(h: Harness) -> None:
    """The lane of a block is the remainder of its number by the number of lanes, for {lanes}."""
    for lanes in (*_POWERS, *_LANES):
        config = replace(_CONFIG, lanes=lanes, block_bytes=4096, buffer_bytes=8192)
        dut = h.add(f"dut_{lanes}", LaneFinder(config))
        block = h.fixed(config.address_bits - exact_log2(config.block_bytes), f"block_{lanes}")
        start = h.free(1, f"start_{lanes}")
        h.m.d.comb += [dut.start.eq(start), dut.address.eq(block << exact_log2(config.block_bytes))]
        if lanes in _POWERS:
            given = Signal(name=f"given_{lanes}")
            h.m.d.sync += given.eq(given | start)
            h.check(f"remainder_{lanes}", ~given | (dut.done & (dut.lane == block % lanes)))
            continue
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


PROOFS = (
    Proof("windows", "hdl/engine/control/windows.py", _windows),
    Proof("lane_finder", "hdl/engine/transfer/interleave.py", _lane_finder, cover_depth=26, words={
        "lanes": f"{', '.join(map(str, sorted((*_POWERS, *_LANES))[:-1]))} and {max(_POWERS)} lanes"}),
    *(Proof(f"block_walker_{lanes}", "hdl/engine/transfer/interleave.py", _walker, {"lanes": lanes})
      for lanes in (1, 3, 16)),
    *(Proof(f"lane_order_{lanes}", "hdl/engine/link/aggregator.py", _lane_order, {"lanes": lanes})
      for lanes in (1, 3, 5, 6, 7, 12, 16)),
    *(Proof(f"ledger_{pipeline}", "hdl/engine/link/ledger.py", _ledger, {"pipeline": pipeline})
      for pipeline in ("small", "fast")),
)
"""Proofs of bounds."""
