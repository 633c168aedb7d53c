"""An AXI4 read master: requests in, packets of beats out."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, ResetInserter, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.common.beat import beat_layout, beat_stream
from cdma.hdl.common.bits import thermometer
from cdma.hdl.common.fifo import StreamFifo
from cdma.hdl.common.skid import Spare
from cdma.hdl.engine.axi.bursts import INCR, MOST_BEATS, BurstSplitter, burst_layout, fault_layout, span_layout
from cdma.hdl.engine.axi.pages import pages_port, translated
from cdma.hdl.engine.axi.signature import axi_read

__all__ = ["AxiReader"]


class AxiReader(wiring.Component):
    """Reads the bytes of each request, with several bursts outstanding.

    ::

             +-----+
        i -->| cut |----+---> ar            the splitter's registers are the port's
             +-----+    |
                        +--> [FIFO] --+
                                      v
        r ------------------------> [count, check] --> [register] --> o, fault

    Latency: ``arvalid`` rises 2 cycles after a request was taken; a beat is output 1 cycle after it was taken.
    Throughput: one beat per cycle across bursts and requests. A request takes 3 cycles of the request channel, and 2
    more for every burst after its first, so successive requests of one or two beats are slower.

    ``rready`` depends on registers, ``stop`` and ``o.ready``; in the pipeline ``fast``, which has a spare place behind
    the register, not on ``o.ready``. It is low while no burst is outstanding. ``rlast`` and ``rid`` are ignored: bursts
    arrive in order, with the number of beats that was requested.

    Parameters
    ----------
    address_bits, beat_bytes, length_bits : int
        Bits of an address, bytes of a beat, bits of a request's length.
    outstanding : int
        Greatest number of outstanding bursts.
    most_beats : int
        Greatest number of beats of a burst, a power of two.
    paged : bool
        Whether requests may be those of streams in pages.
    passes_errors : bool
        Whether beats with an error response are output as well, and the unit goes on behind them.
    pipeline : str
        "small" or "fast".

    Raises
    ------
    ValueError
        ``passes_errors`` with ``fast``: its spare place knows of no errors.

    Members
    -------
    i : In(stream.Signature(span_layout(address_bits, length_bits)))
        Requests: at least one byte, from a multiple of the beat on.
    o : Out(beat_stream(beat_bytes))
        One packet for each request, in order; ``keep`` is valid on every beat.
    axi : Out(axi_read(address_bits, beat_bytes))
        The memory.
    stop : In(1)
        Begin no new burst; discard arriving beats and those that wait at ``o``.
    idle : Out(1)
        No burst is outstanding. Requests may wait, unless stopped.
    pages : Out(pages_port(address_bits))
        If ``paged``: the pages of streams. Requests then take one cycle more.
    fault : Out(fault_layout(address_bits))
        The first error response. Its beat and all later ones are discarded, and the unit begins nothing new until
        reset. If ``passes_errors``: that of the beat at ``o``.

    Source: AMBA AXI and ACE (IHI 0022), A3 (handshakes, bursts, responses).
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, address_bits: int, beat_bytes: int, length_bits: int, outstanding: int,
                 most_beats: int = MOST_BEATS, paged: bool = False, passes_errors: bool = False,
                 pipeline: str = "small"):
        if passes_errors and pipeline == "fast":
            raise ValueError("a reader of the pipeline fast cannot pass on beats with an error: use pipeline=\"small\"")
        self._sizes = address_bits, beat_bytes, length_bits
        self._passes_errors = passes_errors
        self._pipeline = pipeline
        self._most_beats = most_beats
        self._paged = paged
        self._outstanding = outstanding
        super().__init__({
            "i": In(stream.Signature(span_layout(address_bits, length_bits))),
            "o": Out(beat_stream(beat_bytes)),
            "axi": Out(axi_read(address_bits, beat_bytes)),
            "stop": In(1), "idle": Out(1), "fault": Out(fault_layout(address_bits)),
            **({"pages": Out(pages_port(address_bits))} if paged else {}),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        address_bits, beat_bytes, length_bits = self._sizes
        axi = self.axi
        m.submodules.splitter = splitter = BurstSplitter(
            address_bits, beat_bytes, length_bits, self._most_beats)
        bursts = translated(m, splitter, self) if self._paged else splitter
        # It holds `outstanding` bursts: one of them in its output register.
        m.submodules.open = open_ = StreamFifo(burst_layout(address_bits, beat_bytes), self._outstanding - 1)
        wiring.connect(m, wiring.flipped(self.i), splitter.i)
        faulty = Signal()
        fault_resp = Signal(2, reset_less=True)
        fault_address = Signal(address_bits, reset_less=True)
        halted = Signal()
        m.d.comb += [
            halted.eq(self.stop if self._passes_errors else self.stop | faulty),
            self.fault.valid.eq(faulty),
            self.fault.resp.eq(fault_resp),
            self.fault.address.eq(fault_address),
        ]

        # Requests are entered into the FIFO in the first cycle in which they are valid at the port.
        shown = Signal()
        m.d.comb += [
            bursts.begin.eq(open_.i.ready),
            bursts.drop.eq(halted),
            axi.arvalid.eq(bursts.o.valid),
            axi.araddr.eq(bursts.o.payload.address),
            axi.arlen.eq(bursts.o.payload.len),
            axi.arsize.eq(exact_log2(beat_bytes)),
            axi.arburst.eq(INCR),
            bursts.o.ready.eq(axi.arready),
            open_.i.valid.eq(bursts.o.valid & ~shown),
            open_.i.payload.eq(bursts.o.payload),
        ]
        m.d.sync += shown.eq(bursts.o.valid & ~axi.arready)

        # Beats are counted, so that a memory with a wrong rlast cannot shift packets.
        burst = open_.o.payload
        count = Signal(8)
        ends = Signal()
        taken = Signal()
        held = Signal()
        beat = Signal(beat_layout(beat_bytes), reset_less=True)
        o = wiring.flipped(self.o)
        if self._pipeline == "fast":
            spare = Spare(beat_layout(beat_bytes))
            m.submodules.spare = ResetInserter(self.stop)(spare)
            wiring.connect(m, spare.o, o)
            o = spare.i
        m.d.comb += [
            axi.rready.eq(open_.o.valid & (~held | o.ready | halted)),
            taken.eq(axi.rvalid & axi.rready),
            ends.eq(count == burst.len),
            open_.o.ready.eq(taken & ends),
            o.valid.eq(held),
            o.payload.eq(beat),
            self.idle.eq(~axi.arvalid & (open_.level == 0)),
        ]
        with m.If(taken):
            m.d.sync += count.eq(Mux(ends, 0, count + 1))
        moves = ~held | o.ready | self.stop
        if self._passes_errors:
            with m.If(moves):
                m.d.sync += [faulty.eq(axi.rresp[1]), fault_resp.eq(axi.rresp), fault_address.eq(burst.address)]
        else:
            # A valid beat stays until it is taken, so its error may be registered before that.
            with m.If(axi.rvalid & open_.o.valid & axi.rresp[1] & ~faulty):
                m.d.sync += [faulty.eq(1), fault_resp.eq(axi.rresp), fault_address.eq(burst.address)]
        closes = ends & burst.last
        with m.If(moves):
            m.d.sync += [
                held.eq(taken & ~halted if self._passes_errors else taken & ~axi.rresp[1] & ~halted),
                beat.data.eq(axi.rdata),
                beat.last.eq(closes),
                beat.keep.eq(Mux(closes & (burst.tail != 0), thermometer(burst.tail, beat_bytes),
                                 (1 << beat_bytes) - 1)),
            ]
        return m
