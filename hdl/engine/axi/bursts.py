"""Splits requests into bursts that AXI4 allows."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

__all__ = ["INCR", "MOST_BEATS", "BurstSplitter", "burst_beats", "burst_layout", "fault_layout", "span_layout"]

INCR = 1
"""Addresses count up in a burst."""

MOST_BEATS = 256
"""Beats of a burst that AXI4 allows (IHI 0022, A3.4.1)."""

_BOUNDARY_BYTES = 4096  # no burst crosses such a boundary


def burst_beats(beat_bytes: int, most_beats: int = MOST_BEATS) -> int:
    """Beats of a full-length burst: ``most_beats``, a power of two, or 4 KiB if that is less."""
    return min(_BOUNDARY_BYTES // beat_bytes, most_beats)


def span_layout(address_bits: int, length_bits: int) -> data.StructLayout:
    """A request: ``bytes`` (1 or more) from ``address`` on, which is a multiple of the beat."""
    return data.StructLayout({"address": address_bits, "bytes": length_bits})


def burst_layout(address_bits: int, beat_bytes: int) -> data.StructLayout:
    """A burst: start address, number of beats less one, whether it is the last of its request, and the bytes of the
    request's last beat (0 for a full one)."""
    return data.StructLayout({"address": address_bits, "len": 8, "last": 1, "tail": exact_log2(beat_bytes)})


def fault_layout(address_bits: int) -> data.StructLayout:
    """The first error response: ``resp`` and the start ``address`` of its burst, if ``valid``."""
    return data.StructLayout({"valid": 1, "resp": 2, "address": address_bits})


class BurstSplitter(wiring.Component):
    """Splits requests into bursts of the greatest length allowed: up to the next boundary.

    ::

        i --> [segment, offset, beats left] --> [length: to the end of the request, or of the segment] --> o

    A *segment* has the bytes of a full-length burst, 4 KiB or less, and begins at a multiple of them. Bursts end where
    segments end, so none crosses 4 KiB.

    A request is registered as it comes: no path leads from it through an adder. A request of one burst takes three
    cycles, every further burst two. A full-length burst occupies the bus for 16 cycles or more, so the sums are
    registered.

    Parameters
    ----------
    address_bits, beat_bytes, length_bits : int
        Bits of an address, bytes of a beat, bits of a request's length.
    most_beats : int
        Greatest number of beats of a burst, a power of two.

    Members
    -------
    i : In(stream.Signature(span_layout(address_bits, length_bits)))
        Requests.
    o : Out(stream.Signature(burst_layout(address_bits, beat_bytes)))
        Their bursts, in order; all outputs are registered.
    begin : In(1)
        Another burst may be valid at ``o`` in the next cycle.
    drop : In(1)
        Discard requests, except a burst that is already valid at ``o``.

    Source: AMBA AXI and ACE (IHI 0022), A3.4.1: a burst must not cross a 4 KiB boundary.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, address_bits: int, beat_bytes: int, length_bits: int, most_beats: int = MOST_BEATS):
        self._beat_bytes = beat_bytes
        self._burst_beats = burst_beats(beat_bytes, most_beats)
        super().__init__({
            "i": In(stream.Signature(span_layout(address_bits, length_bits))),
            "o": Out(stream.Signature(burst_layout(address_bits, beat_bytes))),
            "begin": In(1), "drop": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shift = exact_log2(self._beat_bytes)
        request = self.i.payload
        beat_bits = exact_log2(self._burst_beats)
        segment_bits = shift + beat_bits
        # What is left of the request, from `offset` on: whole segments of beats, `beats`, and one if `partial`. The
        # request's bytes are not decremented by one first, because they arrive late and are wide.
        beats = Signal(beat_bits, reset_less=True)
        segments = Signal(max(0, len(request.bytes) - segment_bits), reset_less=True)
        partial = Signal(reset_less=True)
        segment = Signal(len(request.address) - segment_bits, reset_less=True)
        offset = Signal.like(beats, reset_less=True)
        length_less_one = Signal.like(beats, reset_less=True)
        last = Signal(reset_less=True)
        tail = Signal(shift, reset_less=True)
        # Beats from the segment's beginning to the request's end, less the whole segments.
        reach = Signal(len(beats) + 1)
        crossing = Signal()
        ends = Signal()
        # The segment's number and the number of segments are wide: the carry into the upper half of one and the borrow
        # from that of the other are computed one cycle before they change.
        half, segments_half = len(segment) // 2, len(segments) // 2
        carry = Signal(reset_less=True)
        counts = Signal(reset_less=True)
        borrow = Signal(reset_less=True)
        m.d.comb += [
            reach.eq(beats + offset + partial),
            crossing.eq(reach[-1]),
            ends.eq(((segments == 0) & ~(crossing & reach[:-1].any())) | ((segments == 1) & (reach == 0))),
            self.o.payload.address.eq(Cat(Const(0, shift), offset, segment)),
            self.o.payload.len.eq(length_less_one),
            self.o.payload.last.eq(last),
            self.o.payload.tail.eq(tail),
        ]
        with m.FSM():
            with m.State("take"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += [
                    Cat(offset, segment).eq(request.address[shift:]),
                    Cat(beats, segments).eq(request.bytes[shift:]),
                    partial.eq(request.bytes[:shift].any()),
                    tail.eq(request.bytes[:shift]),
                ]
                with m.If(self.i.valid):
                    m.next = "cut"
            with m.State("cut"):
                m.d.sync += [
                    length_less_one.eq(Mux(ends, Mux(partial, beats, beats - 1), ~offset)),
                    last.eq(ends),
                    carry.eq(segment[:half].all()),
                    counts.eq(~crossing),
                    borrow.eq(~crossing & ~segments[:segments_half].any()),
                ]
                with m.If(self.drop):
                    m.next = "take"
                with m.Elif(self.begin):
                    m.d.sync += [beats.eq(reach[:-1]), partial.eq(0)]
                    m.next = "give"
            with m.State("give"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.d.sync += [
                        segment[:half].eq(segment[:half] + 1),
                        segment[half:].eq(segment[half:] + carry),
                        segments[:segments_half].eq(segments[:segments_half] - counts),
                        segments[segments_half:].eq(segments[segments_half:] - borrow),
                        offset.eq(0),
                    ]
                    with m.If(last):
                        m.next = "take"
                    with m.Else():
                        m.next = "cut"
        return m
