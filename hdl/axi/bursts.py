"""Cutting requests into bursts that AXI4 allows."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.engine_config import burst_beats

__all__ = ["BurstCutter", "burst_layout", "span_layout"]

_PAGE_BITS = 12


def span_layout(address_bits: int, length_bits: int) -> data.StructLayout:
    """A request: ``bytes`` (1 or more) from ``address`` on, which is a multiple of the beat."""
    return data.StructLayout({"address": address_bits, "bytes": length_bits})


def burst_layout(address_bits: int, beat_bytes: int) -> data.StructLayout:
    """A burst: where it starts, its beats less one, whether its request ends with it, and bytes of the request's last
    beat (0 for a whole one)."""
    return data.StructLayout({"address": address_bits, "len": 8, "last": 1, "tail": exact_log2(beat_bytes)})


class BurstCutter(wiring.Component):
    """Cuts requests into bursts as long as they may be: up to the next 4 KiB boundary.

    Three cycles for a request of one burst, two for every further burst; a full-length burst takes the bus for 64 or
    more, so the adders may take their time.

    Parameters
    ----------
    address_bits, beat_bytes, length_bits : int
        Bits of an address, bytes of a beat, bits of a request's length.

    Members
    -------
    i : In(stream.Signature(span_layout(address_bits, length_bits)))
        Requests.
    o : Out(stream.Signature(burst_layout(address_bits, beat_bytes)))
        Their bursts, in order.

    Source: AMBA AXI and ACE (IHI 0022), A3.4.1: a burst must not cross a 4 KiB boundary.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, address_bits: int, beat_bytes: int, length_bits: int):
        self._beat_bytes = beat_bytes
        super().__init__({
            "i": In(stream.Signature(span_layout(address_bits, length_bits))),
            "o": Out(stream.Signature(burst_layout(address_bits, beat_bytes))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shift = exact_log2(self._beat_bytes)
        most = burst_beats(self._beat_bytes)
        length = self.i.payload.bytes
        page = Signal(len(self.i.payload.address) - _PAGE_BITS, reset_less=True)
        offset = Signal(_PAGE_BITS - shift, reset_less=True)
        left = Signal(len(length) - shift + 1 if len(length) > shift else 1, reset_less=True)
        beats = Signal(range(most + 1), reset_less=True)
        tail = Signal(shift, reset_less=True)
        room = Signal(range(most + 1))
        m.d.comb += [
            room.eq(most - offset),
            self.o.payload.address.eq(Cat(Const(0, shift), offset, page)),
            self.o.payload.len.eq(beats - 1),
            self.o.payload.last.eq(left == 0),
            self.o.payload.tail.eq(tail),
        ]
        with m.FSM():
            with m.State("take"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += [
                    Cat(offset, page).eq(self.i.payload.address[shift:]),
                    left.eq((length + (self._beat_bytes - 1)) >> shift),
                    tail.eq(length[:shift]),
                ]
                with m.If(self.i.valid):
                    m.next = "cut"
            with m.State("cut"):
                m.d.sync += [
                    beats.eq(Mux(left < room, left, room)),
                    left.eq(Mux(left < room, 0, left - room)),
                ]
                m.next = "give"
            with m.State("give"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.d.sync += [page.eq(page + 1), offset.eq(0)]
                    with m.If(left == 0):
                        m.next = "take"
                    with m.Else():
                        m.next = "cut"
        return m
