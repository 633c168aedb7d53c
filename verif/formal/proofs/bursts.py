"""Proofs of the burst splitter: legal bursts that are exactly the bytes of their request."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.utils import exact_log2

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.bursts import BurstSplitter, burst_beats
from cdma.hdl.engine.transfer.records import LENGTH_BITS
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof

__all__ = ["PROOFS", "of_engine"]

_UNIT = "hdl/engine/axi/bursts.py"
_BOUNDARY = 4096


def _splitter(address_bits: int, beat_bytes: int, length_bits: int, most_beats: int) -> Harness:
    h = Harness()
    m = h.m
    dut = h.add("dut", BurstSplitter(address_bits, beat_bytes, length_bits, most_beats))
    h.drive(dut.i, "i")
    h.keeps(dut.o, "o")
    begin, drop = h.free(1, "begin"), h.free(1, "drop")
    m.d.comb += [dut.begin.eq(begin), dut.drop.eq(drop)]
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
    _invariants(h, dut, idle, busy, whole, next_address, left, burst, shift, beat_bits)
    return h


def _invariants(h: Harness, dut: BurstSplitter, idle: Value, busy: Value, whole: Value, next_address: Value,
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


def _proof(name: str, claim: str, sizes: tuple[int, int, int, int], configured: bool = False) -> Proof:
    return Proof(name, _UNIT, claim, lambda: _splitter(*sizes), "induction", 1, cover_depth=14, configured=configured)


def of_engine(config: EngineConfig) -> tuple[Proof, ...]:
    """The splitters of an engine, those of its lanes and those of its link."""
    return tuple(_proof(
        f"{port}_splitter", "Bursts of a request follow on each other, stay within 4 KiB and the greatest length, and "
        f"have exactly its bytes; all but the last reach a boundary ({config.address_bits}-bit addresses, {length}-bit "
        f"lengths, beats of {beat} bytes, {burst_beats(beat, config.burst_beats)} of them in a burst).",
        (config.address_bits, beat, length, config.burst_beats), configured=True)
        for port, beat, length in (("lane", config.beat_bytes, exact_log2(config.block_bytes) + 1),
                                   ("link", config.link_beat_bytes, LENGTH_BITS)))


PROOFS = (
    _proof("splitter_small", "Bursts of a request follow on each other, stay within 4 KiB and the greatest "
           "length, and have exactly its bytes; all but the last reach a boundary (24-bit addresses, beats of 16 "
           "bytes, 16 of them in a burst).", (24, 16, 16, 16)),
    _proof("splitter_default", "The same with the default engine's 40-bit addresses, 32-bit lengths and beats of 32 "
           "bytes, 128 of them in a burst.", (40, 32, 32, 256)),
    _proof("splitter_wide", "The same with 64-bit addresses and beats of 64 bytes, 64 of them in a burst.",
           (64, 64, 32, 256)),
)
"""Proofs of the burst splitter."""
