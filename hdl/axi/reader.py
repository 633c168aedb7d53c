"""An AXI4 read master: requests in, packets of beats out."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.axi.bursts import BurstCutter, burst_layout, span_layout
from hdl.axi.signature import axi_read
from hdl.beat import beat_stream
from hdl.fifo import StreamFifo
from hdl.routing import thermometer

__all__ = ["AxiReader", "fault_layout"]

INCR = 1
CACHE = 0b0011
"""Modifiable and bufferable: interconnects may widen, narrow and cut the bursts."""


def fault_layout(address_bits: int) -> data.StructLayout:
    """The first error response: ``resp``, and the ``address`` that its burst starts at."""
    return data.StructLayout({"valid": 1, "resp": 2, "address": address_bits})


class AxiReader(wiring.Component):
    """Reads whatever it is asked for, with several bursts on the way.

    ::

             +-----+ bursts  +---------+
        i -->| cut |----+--->| request |--> ar
             +-----+    |    +---------+
                        +--> [FIFO] --+
                                      v
        r ------------------------> [count, check] --> [register] --> o, fault

    Parameters
    ----------
    address_bits, beat_bytes, length_bits : int
        Bits of an address, bytes of a beat, bits of a request's length.
    outstanding : int
        Bursts on the way at most.

    Members
    -------
    i : In(stream of {address, bytes})
        Requests: at least one byte, from a multiple of the beat on.
    o : Out(beat_stream(beat_bytes))
        One packet for each request, in order. One beat per cycle.
    axi : Out(axi_read(address_bits, beat_bytes))
        The memory.
    stop : In(1)
        Begin nothing new, drop what comes.
    idle : Out(1)
        No burst is on the way.
    fault : Out(fault_layout(address_bits))
        The first error response; the beat it came with and all later ones do not come out, and nothing new begins,
        until reset.

    Source: AMBA AXI and ACE (IHI 0022), A3 (handshakes, bursts, responses).
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, address_bits: int, beat_bytes: int, length_bits: int, outstanding: int):
        self._sizes = address_bits, beat_bytes, length_bits
        self._outstanding = outstanding
        super().__init__({
            "i": In(stream.Signature(span_layout(address_bits, length_bits))),
            "o": Out(beat_stream(beat_bytes)),
            "axi": Out(axi_read(address_bits, beat_bytes)),
            "stop": In(1), "idle": Out(1), "fault": Out(fault_layout(address_bits)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        address_bits, beat_bytes, length_bits = self._sizes
        axi = self.axi
        m.submodules.cutter = cutter = BurstCutter(address_bits, beat_bytes, length_bits)
        m.submodules.open = open_ = StreamFifo(burst_layout(address_bits, beat_bytes), self._outstanding)
        wiring.connect(m, wiring.flipped(self.i), cutter.i)
        halted = Signal()
        m.d.comb += halted.eq(self.stop | self.fault.valid)

        # Requests.
        issues = Signal()
        m.d.comb += [
            issues.eq(cutter.o.valid & (~axi.arvalid | axi.arready) & (open_.level < self._outstanding) & ~halted),
            cutter.o.ready.eq(issues),
            open_.i.valid.eq(issues),
            open_.i.payload.eq(cutter.o.payload),
            axi.arsize.eq(exact_log2(beat_bytes)),
            axi.arburst.eq(INCR),
            axi.arcache.eq(CACHE),
        ]
        with m.If(~axi.arvalid | axi.arready):
            m.d.sync += axi.arvalid.eq(issues)
        with m.If(issues):
            m.d.sync += [axi.araddr.eq(cutter.o.payload.address), axi.arlen.eq(cutter.o.payload.len)]

        # Responses: counted, so that a memory whose rlast is wrong cannot shift packets.
        burst = open_.o.payload
        count = Signal(8)
        ends = Signal()
        taken = Signal()
        held = Signal()
        m.d.comb += [
            axi.rready.eq(open_.o.valid & (~held | self.o.ready | halted)),
            taken.eq(axi.rvalid & axi.rready),
            ends.eq(count == burst.len),
            open_.o.ready.eq(taken & ends),
            self.o.valid.eq(held),
            self.idle.eq(~axi.arvalid & (open_.level == 0)),
        ]
        with m.If(taken):
            m.d.sync += count.eq(Mux(ends, 0, count + 1))
            with m.If(axi.rresp[1] & ~self.fault.valid):
                m.d.sync += [self.fault.valid.eq(1), self.fault.resp.eq(axi.rresp),
                             self.fault.address.eq(burst.address)]
        with m.If(~held | self.o.ready):
            m.d.sync += [
                held.eq(taken & ~axi.rresp[1] & ~halted),
                self.o.payload.data.eq(axi.rdata),
                self.o.payload.last.eq(ends & burst.last),
                self.o.payload.keep.eq(Mux(ends & burst.last & (burst.tail != 0),
                                           thermometer(burst.tail, beat_bytes), (1 << beat_bytes) - 1)),
            ]
        return m
