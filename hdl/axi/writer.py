"""An AXI4 write master: requests and beats in, bursts out, responses counted."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.axi.bursts import BurstCutter, span_layout
from hdl.axi.reader import CACHE, INCR, fault_layout
from hdl.axi.signature import axi_write
from hdl.beat import beat_stream
from hdl.fifo import StreamFifo
from hdl.routing import thermometer

__all__ = ["AxiWriter"]


class AxiWriter(wiring.Component):
    """Writes exactly the bytes it is asked to, with several bursts on the way.

    ::

             +-----+ bursts  +---------+
        i -->| cut |-------->| request |--> aw
             +-----+         +---------+
                                  | first beat of a burst is there
        data -----------------> [count, strobe] --> [register] --> w
                                                b --> [addresses] --> fault

    Parameters
    ----------
    address_bits, beat_bytes, length_bits : int
        Bits of an address, bytes of a beat, bits of a request's length.
    outstanding : int
        Bursts on the way at most.

    Members
    -------
    i : In(stream of {address, bytes})
        Requests: at least one byte, to a multiple of the beat on.
    data : In(beat_stream(beat_bytes))
        As many beats as a request's bytes take; ``keep`` and ``last`` are not read. One beat per cycle.
    axi : Out(axi_write(address_bits, beat_bytes))
        The memory.
    stop : In(1)
        Begin nothing new; a burst that was begun is completed with beats that write nothing.
    idle : Out(1)
        Nothing is on the way, and no request is being worked on unless stopped.
    fault : Out(fault_layout(address_bits))
        The first error response; nothing new begins until reset.

    Source: AMBA AXI and ACE (IHI 0022), A3 (handshakes, bursts, strobes, responses).
    """

    i: stream.Interface
    data: stream.Interface

    def __init__(self, address_bits: int, beat_bytes: int, length_bits: int, outstanding: int):
        self._sizes = address_bits, beat_bytes, length_bits
        self._outstanding = outstanding
        super().__init__({
            "i": In(stream.Signature(span_layout(address_bits, length_bits))),
            "data": In(beat_stream(beat_bytes)),
            "axi": Out(axi_write(address_bits, beat_bytes)),
            "stop": In(1), "idle": Out(1), "fault": Out(fault_layout(address_bits)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        address_bits, beat_bytes, length_bits = self._sizes
        axi = self.axi
        m.submodules.cutter = cutter = BurstCutter(address_bits, beat_bytes, length_bits)
        m.submodules.open = open_ = StreamFifo(address_bits, self._outstanding)
        wiring.connect(m, wiring.flipped(self.i), cutter.i)
        halted = Signal()
        burst = cutter.o.payload
        begins = Signal()           # the first beat of a burst goes, and its request with it
        left = Signal(8)            # beats of the burst behind the one that goes
        final = Signal(reset_less=True)
        tail = Signal(exact_log2(beat_bytes), reset_less=True)
        free = Signal()
        moves = Signal()
        working = Signal()
        m.d.comb += [
            halted.eq(self.stop | self.fault.valid),
            free.eq(~axi.wvalid | axi.wready),
            begins.eq(cutter.o.valid & self.data.valid & free & (left == 0) & (~axi.awvalid | axi.awready)
                      & (open_.level < self._outstanding) & ~halted),
            moves.eq(begins | (free & (left != 0) & (self.data.valid | halted))),
            cutter.o.ready.eq(begins),
            self.data.ready.eq(moves & ~halted),
            open_.i.valid.eq(begins),
            open_.i.payload.eq(burst.address),
            axi.awsize.eq(exact_log2(beat_bytes)),
            axi.awburst.eq(INCR),
            axi.awcache.eq(CACHE),
        ]
        with m.If(~axi.awvalid | axi.awready):
            m.d.sync += axi.awvalid.eq(begins)
        with m.If(begins):
            m.d.sync += [axi.awaddr.eq(burst.address), axi.awlen.eq(burst.len), final.eq(burst.last),
                         tail.eq(burst.tail), left.eq(burst.len)]
        with m.Elif(moves):
            m.d.sync += left.eq(left - 1)

        last = Signal()
        partial = Signal()
        bytes_ = Signal.like(tail)
        m.d.comb += [
            last.eq(Mux(begins, burst.len == 0, left == 1)),
            bytes_.eq(Mux(begins, burst.tail, tail)),
            partial.eq(last & Mux(begins, burst.last, final) & (bytes_ != 0)),
        ]
        with m.If(free):
            m.d.sync += axi.wvalid.eq(moves)
        with m.If(moves):
            m.d.sync += [
                axi.wdata.eq(self.data.payload.data),
                axi.wlast.eq(last),
                axi.wstrb.eq(Mux(halted, 0, Mux(partial, thermometer(bytes_, beat_bytes), (1 << beat_bytes) - 1))),
            ]

        # Responses come in the order of the requests: all have the same identifier.
        m.d.comb += [
            axi.bready.eq(open_.o.valid),
            open_.o.ready.eq(axi.bvalid),
            working.eq(~cutter.i.ready & ~halted),
            self.idle.eq(~working & ~axi.awvalid & ~axi.wvalid & (left == 0) & (open_.level == 0)),
        ]
        with m.If(axi.bvalid & axi.bready & axi.bresp[1] & ~self.fault.valid):
            m.d.sync += [self.fault.valid.eq(1), self.fault.resp.eq(axi.bresp), self.fault.address.eq(open_.o.payload)]
        return m
