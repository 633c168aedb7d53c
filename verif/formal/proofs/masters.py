"""Proofs of burst splitters, whose bursts are legal and exactly the bytes of their request, and of the engine's AXI
masters, which keep the rules of AXI4 while the memory does, and write exactly those bytes."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value
from amaranth.lib import data
from amaranth.utils import exact_log2

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.bursts import BurstSplitter, burst_beats, burst_layout
from cdma.hdl.engine.axi.reader import AxiReader
from cdma.hdl.engine.axi.writer import AxiWriter
from cdma.hdl.engine.transfer.records import LENGTH_BITS
from cdma.verif.formal.bus_rules import Rules, read_rules, write_rules
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs.parts import FifoInside, choose, splitter_is_legal

__all__ = ["PROOFS", "of_engine", "reader", "writer"]

Sizes = tuple[int, int, int]
"""Bits of an address, bytes of a beat, bits of a length."""


_BOUNDARY = 4096


def _splitter(h: Harness, sizes: Sizes, most_beats: int) -> None:
    """Bursts of a request follow on each other, stay within 4 KiB and the greatest length, and have exactly its bytes;
    all but the last reach a boundary ({sizes[0]}-bit addresses, {lengths}beats of {sizes[1]} bytes, {beats} of them in
    a burst)."""
    m, (address_bits, beat_bytes, length_bits) = h.m, sizes
    dut = h.add("dut", BurstSplitter(address_bits, beat_bytes, length_bits, most_beats))
    h.drive(dut.i, "i")
    h.keeps(dut.o, "o")
    _, drop = choose(h, dut, ("begin", "drop"))
    shift, beats = exact_log2(beat_bytes), burst_beats(beat_bytes, most_beats)
    beat_bits = exact_log2(beats)
    request, burst = dut.i.payload, dut.o.payload
    h.assume("some_bytes", ~dut.i.valid | (request.bytes != 0))
    h.assume("aligned", ~dut.i.valid | ~request.address[:shift].any())

    # What is left of the request: its next address, and its bytes.
    next_address = Signal(address_bits, name="next_address", reset_less=True)
    left = Signal(length_bits, name="left", reset_less=True)
    busy, whole = Signal(name="busy"), Signal(name="whole")
    takes, gives = dut.i.valid & dut.i.ready, dut.o.valid & dut.o.ready
    size = Signal(length_bits + 2, name="size")
    m.d.comb += size.eq(((burst.len + 1) << shift) - Mux(burst.last & (burst.tail != 0), beat_bytes - burst.tail, 0))
    idle = dut.i.ready
    with m.If(takes):
        m.d.sync += [next_address.eq(request.address), left.eq(request.bytes), busy.eq(1), whole.eq(1)]
    with m.Elif(gives):
        m.d.sync += [next_address.eq(next_address + size), left.eq(left - size), busy.eq(~burst.last), whole.eq(0)]
    with m.Elif(drop & ~dut.o.valid):
        m.d.sync += busy.eq(0)

    shows = dut.o.valid
    end = Signal(14, name="end")
    m.d.comb += end.eq(burst.address[:12] + ((burst.len + 1) << shift))
    h.check("begins_where_the_last_one_ended", ~shows | (burst.address == next_address))
    h.check("inside_4_kib", ~shows | (end <= _BOUNDARY))
    h.check("not_too_long", ~shows | (burst.len < beats))
    h.check("has_bytes_of_the_request", ~shows | (size <= left))
    h.check("last_has_the_rest", ~shows | (burst.last == (size == left)))
    h.check("others_reach_a_boundary", ~shows | burst.last | ((end & (beats * beat_bytes - 1)) == 0))
    h.check("belongs_to_a_request", ~shows | busy)
    h.cover("second_burst", shows & ~whole)
    h.cover("last_burst_with_tail", shows & ~whole & burst.last & (burst.tail != 0))
    _splitter_invariants(h, dut, idle, busy, whole, next_address, left, burst, shift, beat_bits)


def _splitter_invariants(h: Harness, dut: BurstSplitter, idle: Value, busy: Value, whole: Value, next_address: Value,
                         left: Value, burst: Value, shift: int, beat_bits: int) -> None:
    """What the registers of the splitter mean."""
    offset, segment, segments, beats, partial = (
        h.inner(f"dut.{name}") for name in ("offset", "segment", "segments", "beats", "partial"))
    tail, carry, counts, borrow, state = (
        h.inner(f"dut.{name}") for name in ("tail", "carry", "counts", "borrow", "fsm_state"))
    width = len(left) + 1
    rows, cut, give = Signal(width, name="rows"), Signal(name="cut"), Signal(name="give")
    after = Signal(width, name="rows_after")
    half, low = len(segment) // 2, len(segments) // 2
    h.m.d.comb += [
        rows.eq(left[shift:] + left[:shift].any()),
        give.eq(dut.o.valid), cut.eq(~idle & ~give),
        after.eq(Cat(beats, (segments - counts)[:len(segments)])),
    ]
    h.check("states", state < 3)
    h.check("idle_without_request", busy == ~idle)
    h.check("some_left", ~busy | (left != 0))
    h.check("address_is_kept", ~busy | (Cat(Const(0, shift), offset, segment) == next_address))
    h.check("tail_is_kept", ~busy | (tail == left[:shift]))
    h.check("partial_at_first", ~cut | (partial == (whole & left[:shift].any())))
    h.check("rows_are_kept", ~cut | (Cat(beats, segments) + partial == rows))
    h.check("rows_after", ~give | burst.last | (after + burst.len + 1 == rows))
    h.check("offset_is_0_later", ~cut | whole | (offset == 0))
    h.check("no_partial_behind_cut", ~give | ~partial)
    h.check("carry_is_kept", ~give | (carry == segment[:half].all()))
    h.check("borrow_is_kept", ~give | (borrow == (counts & ~segments[:low].any())))


def _request(h: Harness, dut: Any, shift: int) -> None:
    """Free requests of at least one byte to an aligned address, and a free ``stop``."""
    h.drive(dut.i, "i")
    choose(h, dut, ("stop",))
    h.assume("some_bytes", ~dut.i.valid | (dut.i.payload.bytes != 0))
    h.assume("aligned", ~dut.i.valid | ~dut.i.payload.address[:shift].any())


def reader(h: Harness, sizes: Sizes, outstanding: int, most_beats: int,
           passes_errors: bool = False) -> tuple[AxiReader, Rules]:
    """The reader keeps every rule of AXI4 for managers and gives what memory answers in order, exactly the bytes of its
    splitter's bursts, while the memory keeps the rules for subordinates
    ({sizes[0]}-bit addresses, beats of {sizes[1]} bytes, {bursts})."""
    address_bits, beat_bytes, length_bits = sizes
    shift, beat_bits = exact_log2(beat_bytes), exact_log2(burst_beats(beat_bytes, most_beats))
    dut = h.add("dut", AxiReader(address_bits, beat_bytes, length_bits, outstanding, most_beats,
                                 passes_errors=passes_errors))
    axi = dut.axi
    _request(h, dut, shift)
    h.keeps(dut.o, "o", unless=dut.stop)
    choose(h, axi, ("arready", "rid", "rdata", "rresp", "rlast", "rvalid"))
    rules = read_rules(h, axi, outstanding)
    shows = splitter_is_legal(h, "dut.splitter", shift, beat_bits)
    open_ = FifoInside(h, "dut.open", outstanding - 1)
    shown, count = h.inner("dut.shown"), h.inner("dut.count")

    h.check("silent_after_reset", ~rules.was_reset | ~shows)
    h.check("waits_as_it_was", ~rules.ar_waited | (shows & (rules.ar_was == _requested(axi, "ar"))))
    h.check("burst_that_waits_is_shown", ~shown | shows)
    h.check("first_shown_has_room", ~shows | shown | h.inner("dut.open.i__ready"))
    h.check("open_are_those_taken_and_the_one_shown", open_.level == rules.reads + shown)
    for number in range(outstanding):
        entry = rules.open[number * 10:(number + 1) * 10]
        length = open_.transfer(number)[address_bits:address_bits + 8]
        h.check(f"length_of_{number}", (number >= rules.reads) | (
            entry == Cat((length - (count if number == 0 else 0))[:8], Const(0, 2))))
        newest = shown & (open_.level == number + 1)
        h.check(f"shown_is_{number}", ~newest | (length == axi.arlen))
    h.check("count_of_the_oldest", (rules.reads != 0) | (count == 0))
    h.check("count_is_within", (rules.reads == 0) | (count <= open_.transfer(0)[address_bits:address_bits + 8]))
    h.check("nothing_is_taken_unasked", ~axi.rready | open_.valid)
    _given(h, dut, open_, outstanding, passes_errors)
    h.cover("as_many_as_allowed", rules.reads == outstanding)
    h.cover("second_burst_is_read", (count == 1) & (open_.transfer(0)[:12] == 0) & dut.o.valid)
    return dut, rules


def _given(h: Harness, dut: Any, open_: FifoInside, outstanding: int, passes_errors: bool) -> None:
    """Of any burst of the splitter, every beat that memory answers is given as it came, with as many bytes as it has,
    and the last one of its request is marked; one with an error only where errors are passed on."""
    m, axi = h.m, dut.axi
    burst = data.View(burst_layout(len(axi.araddr), len(axi.rdata) // 8), h.inner("dut.splitter.o__payload"))
    # The solver picks a burst; others are before it.
    mine, there = Signal(burst.shape(), name="picked_burst", reset_less=True), Signal(name="picked_is_there")
    before = Signal(range(outstanding + 1), name="bursts_before_it")
    picks = h.named("picks", h.free(1, "pick") & ~there & axi.arvalid & ~h.inner("dut.shown"))
    taken, count = h.named("beat_comes", axi.rvalid & axi.rready), h.inner("dut.count")
    ends = h.named("burst_ends", taken & (count == open_.transfer(0)[len(axi.araddr):len(axi.araddr) + 8]))
    with m.If(picks):
        m.d.sync += [mine.eq(burst), there.eq(1), before.eq(open_.level - ends)]
    with m.Elif(there & ends):
        m.d.sync += [there.eq(before != 0), before.eq(before - 1)]
    last = h.named("last_of_picked", (count == mine.len) & mine.last)
    size = len(axi.rdata) // 8
    keep = Mux(last & (mine.tail != 0), (Const(1, size + 1) << mine.tail) - 1, (1 << size) - 1)[:size]
    given = Signal.like(Value.cast(dut.o.payload), name="given", reset_less=True)
    of_it, failed = Signal(name="beat_is_of_it"), Signal(name="beat_has_an_error", reset_less=True)
    with m.If(~dut.o.valid | dut.o.ready | dut.stop):
        m.d.sync += [given.eq(Cat(axi.rdata, keep, last)), failed.eq(axi.rresp[1]),
                     of_it.eq(there & (before == 0) & taken)]
    h.check("beat_is_as_it_came", ~(dut.o.valid & of_it) | (Value.cast(dut.o.payload) == given))
    if not passes_errors:
        h.check("a_beat_with_an_error_is_not_given", ~(dut.o.valid & of_it) | ~failed)
    good = taken & ~axi.rresp[1] & ~dut.stop & ~dut.fault.valid
    h.check("no_beat_is_lost", ~h.past(good & there & (before == 0), "good") | (dut.o.valid & of_it))
    h.check("picked_is_open", ~there | ((before < open_.level) & (Array(
        open_.transfer(number) for number in range(outstanding))[before] == Value.cast(mine))))


def writer(h: Harness, sizes: Sizes, outstanding: int, most_beats: int, whole: int = 0) -> tuple[AxiWriter, Rules]:
    """The writer keeps every rule of AXI4 for managers, asks for the bursts of its splitter and gives each the data in
    order with strobes of exactly its bytes, while the memory keeps the rules for subordinates
    ({sizes[0]}-bit addresses, beats of {sizes[1]} bytes, {bursts})."""
    address_bits, beat_bytes, length_bits = sizes
    shift, most = exact_log2(beat_bytes), burst_beats(beat_bytes, most_beats)
    dut = h.add("dut", AxiWriter(address_bits, beat_bytes, length_bits, outstanding, most_beats, whole))
    axi = dut.axi
    _request(h, dut, shift)
    h.drive(dut.data, "data")
    choose(h, axi, ("awready", "wready", "bid", "bresp", "bvalid"))
    rules = write_rules(h, axi, outstanding)
    shows = splitter_is_legal(h, "dut.splitter", shift, exact_log2(most))
    open_ = FifoInside(h, "dut.open", outstanding - 1)
    asks, more, left, held, final = (h.inner(f"dut.{name}") for name in ("asks", "more", "left", "held", "final"))

    h.check("silent_after_reset", ~rules.was_reset | ~(asks | held))
    h.check("address_waits_as_it_was", ~rules.aw_waited | (asks & (rules.aw_was == _requested(axi, "aw"))))
    beat = Cat(Const(0, 1), axi.wlast, axi.wstrb, axi.wdata)
    h.check("beat_waits_as_it_was", ~rules.w_waited | (held & (rules.w_was == beat)))
    h.check("address_is_of_a_burst", ~asks | shows)

    # Bursts that have begun: those whose address was taken and the one that asks; or those whose beats were all taken,
    # the one whose last beat waits at the port, and the one of which more beats are to come.
    sends = Signal(range(3), name="sends")
    h.m.d.comb += sends.eq((held & axi.wlast) + more)
    h.check("begun_by_address", open_.level == rules.addresses + asks)
    h.check("begun_by_data", open_.level == rules.bursts + sends)
    h.check("beats_have_a_burst", ~held | axi.wlast | more)
    lengths = [Signal(8, name=f"length_{number}") for number in range(outstanding)]
    for number, length in enumerate(lengths):
        entry = rules.open[number * 22:(number + 1) * 22]
        asked = number == rules.addresses
        h.m.d.comb += length.eq(Mux(asked, axi.awlen, entry[:8]))
        h.check(f"entry_{number}", (number >= rules.addresses) | (
            (entry[8:] == Cat(Const(shift, 3), Const(1, 2), entry[13:20], Const(0, 2))) & ~entry[13:13 + shift].any()))
        h.check(f"data_ahead_of_{number}", ~(asked & (rules.bursts > number)) | (entry[:8] == axi.awlen))
        oldest, newest = sends.any() & (rules.bursts == number), more & (open_.level == number + 1)
        h.check(f"beats_of_{number}", ~oldest | ~more | (held & axi.wlast) | (rules.beat + held + left == length))
        h.check(f"last_of_{number}", ~oldest | ~(held & axi.wlast) | (rules.beat == length))
        h.check(f"left_of_{number}", ~newest | ~(held & axi.wlast) | (left == length))
        h.check(f"length_of_{number}", ~(newest | oldest) | (length < most))
    h.check("no_beat_between_bursts", sends.any() | (rules.beat == 0))
    h.check("beats_are_few", rules.beat < most)
    h.check("answers_have_a_burst", ~axi.bready | open_.valid)
    _beats(h, dut, bool(whole))
    h.cover("as_many_as_allowed", rules.bursts == outstanding)
    h.cover("data_before_address", rules.bursts > rules.addresses)
    h.cover("tail", axi.wvalid & axi.wlast & final & ~axi.wstrb.all() & axi.wstrb.any())
    return dut, rules


def _beats(h: Harness, dut: Any, whole: bool) -> None:
    """Each burst of the splitter is asked for as it is, and has exactly its bytes: all beats whole but for the end of
    the request, in the order of the data. A beat of a burst that is abandoned has no strobes."""
    m, axi, burst = h.m, dut.axi, h.inner("dut.splitter.o__payload")
    burst = data.View(burst_layout(len(axi.awaddr), len(axi.wstrb)), burst)
    begins, more, held = (h.inner(f"dut.{name}") for name in ("begins", "more", "held"))
    # The burst at the port, and the one that has begun while the last beat of that waits.
    first, second, asked = (Signal(burst.shape(), name=f"{name}_burst", reset_less=True)
                            for name in ("first", "second", "asked"))
    open_, follows = Signal(name="burst_is_at_the_port"), Signal(name="another_follows")
    sent = Signal(9, name="beats_sent")
    goes = h.named("beat_goes", axi.wvalid & axi.wready)
    ends = h.named("burst_ends", goes & (sent == first.len))
    with m.If(goes):
        m.d.sync += sent.eq(Mux(ends, 0, sent + 1))
    with m.If(ends):
        m.d.sync += [first.eq(second), open_.eq(follows), follows.eq(0)]
    with m.If(begins):
        m.d.sync += asked.eq(burst)
        with m.If(Mux(ends, follows, open_)):
            m.d.sync += [second.eq(burst), follows.eq(1)]
        with m.Else():
            m.d.sync += [first.eq(burst), open_.eq(1)]
    newest = data.View(burst.shape(), h.named("newest", Mux(follows, second, first)))
    last, final = h.named("last_of_burst", sent == first.len), first.last & (first.tail != 0)
    strobes = Mux(last & final, (Const(1, len(axi.wstrb) + 1) << first.tail) - 1, (1 << len(axi.wstrb)) - 1)
    strobes = h.named("strobes", strobes[:len(axi.wstrb)])
    halted, waits = h.past(dut.stop | dut.fault.valid, "halted"), h.past(axi.wvalid & ~axi.wready, "beat_waits")
    abandoned = Signal(name="abandoned")
    m.d.sync += abandoned.eq(abandoned | dut.stop | dut.fault.valid)
    h.check("burst_is_asked_for", ~axi.awvalid | (Cat(axi.awaddr, axi.awlen) == Cat(asked.address, asked.len)))
    h.check("beat_is_of_a_burst", ~axi.wvalid | open_)
    h.check("last_beat_is_marked", ~axi.wvalid | (axi.wlast == last))
    h.check("strobes_are_those_of_the_bytes", ~axi.wvalid | (axi.wstrb == strobes) | (abandoned & ~axi.wstrb.any()))
    h.check("an_abandoned_beat_has_none", ~axi.wvalid | waits | ~halted | ~axi.wstrb.any())
    if not whole:
        taken = h.past(dut.data.valid & dut.data.ready, "taken")
        order = h.past(dut.data.payload.data, "data")
        h.check("beats_are_the_data", ~axi.wvalid | waits | abandoned | (taken & (axi.wdata == order)))
        h.check("no_data_are_dropped", ~taken | abandoned | (axi.wvalid & ~waits))

    # What the registers hold.
    left, tail, ended = (h.inner(f"dut.{name}") for name in ("left", "tail", "final"))
    of_newest = h.named("beats_to_move", Mux(follows, newest.len + 1, newest.len + 1 - sent - held))
    h.check("bursts_are_held", (open_ == (more | held)) & (~follows | open_) & (open_ | (sent == 0)))
    h.check("another_waits_for_a_last_beat", ~follows | (held & last & more))
    h.check("left_is_held", ~more | ((of_newest == left + 1) & (ended == newest.last) & (tail == newest.tail)))
    h.check("all_have_moved", more | ~held | last)
    h.check("sent_is_less", ~open_ | (sent <= first.len))
    h.check("asked_is_held", ~axi.awvalid | (Value.cast(burst) == Value.cast(asked)))


def _requested(axi: Any, channel: str) -> Value:
    """A request as the rules have it."""
    field = {name: Value.cast(getattr(axi, f"{channel}{name}")) for name in ("id", "addr", "len", "size", "burst")}
    return Cat(Const(0, 17), field["burst"], field["size"], field["len"], field["addr"], field["id"])


def _splitter_proof(name: str, sizes: Sizes, most_beats: int, said: str = "", lengths: str = "",
                    configured: bool = False) -> Proof:
    return Proof(name, "hdl/engine/axi/bursts.py", _splitter, {"sizes": sizes, "most_beats": most_beats},
                 cover_depth=14, configured=configured, said=said,
                 words={"lengths": lengths, "beats": burst_beats(sizes[1], most_beats)})


def _proof(name: str, sizes: Sizes, outstanding: int, most_beats: int, configured: bool = False,
           **others: Any) -> Proof:
    kind = name.rpartition("_")[2]
    bursts = f"{burst_beats(sizes[1], most_beats)} of them in a burst, {outstanding} bursts outstanding"
    bursts += "; whole bursts" if others.get("whole") else "; it goes on behind errors" if others else ""
    return Proof(name, f"hdl/engine/axi/{kind}.py", {"reader": reader, "writer": writer}[kind],
                 {"sizes": sizes, "outstanding": outstanding, "most_beats": most_beats, **others},
                 cover_depth=22 + 6 * outstanding, configured=configured, words={"bursts": bursts})


_MOST_OPEN = 8
"""Bursts outstanding, at most, in proofs of configurations: more are a longer FIFO, and take minutes."""


def of_engine(config: EngineConfig) -> tuple[Proof, ...]:
    """The splitters and masters of an engine's lanes and of its link; those of the link without page lists."""
    opened, link_reads = min(config.outstanding_reads, _MOST_OPEN), min(config.link_reads, _MOST_OPEN)
    lane = config.address_bits, config.beat_bytes, exact_log2(config.block_bytes) + 1
    link = config.address_bits, config.link_beat_bytes
    most = config.burst_beats
    segment = exact_log2(config.link_beat_bytes * burst_beats(config.link_beat_bytes, most))
    longest = min(burst_beats(config.beat_bytes, most), config.block_bytes // config.beat_bytes)
    whole = {"whole": longest} if config.safe_writes else {}
    return (
        *(_splitter_proof(f"{port}_splitter", sizes, most, lengths=f"{sizes[2]}-bit lengths, ", configured=True)
          for port, sizes in (("lane", lane), ("link", (*link, LENGTH_BITS)))),
        _proof("lane_reader", lane, opened, most, True), _proof("lane_writer", lane, opened, most, True, **whole),
        _proof("link_reader", (*link, LENGTH_BITS), link_reads, most, True),
        _proof("link_writer", (*link, segment + 1), opened, most, True),
    )


PROOFS = (
    _splitter_proof("splitter_small", (24, 16, 16), 16),
    _splitter_proof("splitter_default", (40, 32, 32), 256, "The same with the default engine's 40-bit addresses, "
                    "32-bit lengths and beats of 32 bytes, 128 of them in a burst."),
    _splitter_proof("splitter_wide", (64, 64, 32), 256, "The same with 64-bit addresses and beats of 64 bytes, 64 of "
                    "them in a burst."),
    _proof("reader", (24, 16, 16), 4, 16), _proof("writer", (24, 16, 16), 4, 16),
    _proof("whole_writer", (24, 16, 16), 4, 16, whole=16),
    _proof("list_reader", (24, 16, 8), 4, 16, passes_errors=True),
)
"""Proofs of burst splitters and masters."""
