"""An AXI4 write master: requests and beats in, bursts out, responses counted."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.common.beat import beat_stream
from cdma.hdl.common.bits import thermometer
from cdma.hdl.common.fifo import StreamFifo
from cdma.hdl.common.protected import protection, stream_fifo
from cdma.hdl.engine.axi.bursts import INCR, MOST_BEATS, BurstSplitter, fault_layout, span_layout
from cdma.hdl.engine.axi.pages import PageTranslator, pages_port, translated
from cdma.hdl.engine.axi.signature import axi_write

__all__ = ["AxiWriter"]


class AxiWriter(wiring.Component):
    """Writes exactly the bytes of each request, with several bursts outstanding.

    ::

             +-----+
        i -->| cut |----+----------------------> aw      the splitter's registers are the port's
             +-----+    | a cycle before its first beat
                        v
        data --> [count, strobe] --> [register] --> w
                        |
                        +--> [FIFO of addresses] --+
                                                   v
        b -----------------------------------------+--> fault

    Latency: ``awvalid`` rises 1 cycle after the first beat of a burst is valid, at the earliest 2 cycles after its
    request; ``wvalid`` rises one cycle later. Other beats take 1 cycle. A memory that accepts no beat before its
    address therefore loses no cycle. Throughput: one beat per cycle across bursts and requests, if ``awready`` comes 3
    cycles before the end of a burst. A request takes 4 cycles of the request channel, and 3 more for every burst after
    its first, so successive requests of up to 3 beats are slower.

    ``data.ready`` depends on registers, ``stop`` and ``wready``. ``bready`` depends on registers; it is high from the
    last beat of a burst on. ``wvalid`` does not wait for ``awready`` of its own burst, only for that of the previous
    one. While the previous burst ends, an address may be sent before the data of its burst arrive.

    **Whole bursts.** With ``whole`` beats pass a FIFO of two bursts, and a burst begins only when all of its beats are
    in it, so that the master never waits between an address and the last beat of its burst::

        data --> [FIFO: two bursts] --> [count, strobe] --> ...
                   |
                   +--> stored: beats of bursts that have not begun >= beats of the next burst?

    ``awvalid`` then rises 3 cycles after the last beat of a burst was taken, if the port is free and the burst's
    request was there. While a burst is written the next one collects, so the throughput is the same, but for bursts of
    fewer than 5 beats.

    Parameters
    ----------
    address_bits, beat_bytes, length_bits : int
        Bits of an address, bytes of a beat, bits of a request's length.
    outstanding : int
        Greatest number of outstanding bursts.
    most_beats : int
        Greatest number of beats of a burst, a power of two.
    whole : int
        Give an address only when all data of its burst are there, of bursts of so many beats at most; 0: as soon as the
        first beat is.
    paged : bool
        Whether requests may be those of streams in pages.
    protected : bool
        With parity in the memory that ``whole`` needs.

    Members
    -------
    i : In(stream.Signature(span_layout(address_bits, length_bits)))
        Requests: at least one byte, to an address that is a multiple of the beat.
    data : In(beat_stream(beat_bytes))
        As many beats as the bytes of a request take; ``keep`` and ``last`` are ignored. No beat is taken before its
        request.
    axi : Out(axi_write(address_bits, beat_bytes))
        The memory.
    pages : Out(pages_port(address_bits))
        If ``paged``: the pages of streams. Requests then take one cycle more.
    stop : In(1)
        Begin no new burst and discard what arrives; a burst that has begun is completed with all strobes low.
    idle : Out(1)
        No burst is outstanding; and, unless the unit is stopped, no request is being processed.
    fault : Out(fault_layout(address_bits))
        The first error response; after it the unit behaves as if stopped, until reset.
    inject, bad
        If ``protected`` and ``whole``: as :func:`cdma.hdl.common.protected.protection` says. The beat with the error
        has all strobes low.

    Source: AMBA AXI and ACE (IHI 0022), A3 (handshakes, bursts, strobes, responses).
    """

    i: stream.Interface
    data: stream.Interface

    def __init__(self, address_bits: int, beat_bytes: int, length_bits: int, outstanding: int,
                 most_beats: int = MOST_BEATS, whole: int = 0, paged: bool = False,
                 protected: bool = False):
        self._protected = protected
        self._sizes = address_bits, beat_bytes, length_bits
        self._most_beats = most_beats
        self._whole = whole
        self._paged = paged
        self._outstanding = outstanding
        super().__init__({
            "i": In(stream.Signature(span_layout(address_bits, length_bits))),
            "data": In(beat_stream(beat_bytes)),
            "axi": Out(axi_write(address_bits, beat_bytes)),
            "stop": In(1), "idle": Out(1), "fault": Out(fault_layout(address_bits)),
            **({"pages": Out(pages_port(address_bits))} if paged else {}),
            **protection(protected and whole > 0),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        address_bits, beat_bytes, length_bits = self._sizes
        shift = exact_log2(beat_bytes)
        axi = self.axi
        m.submodules.splitter = splitter = BurstSplitter(
            address_bits, beat_bytes, length_bits, self._most_beats)
        bursts = translated(m, splitter, self) if self._paged else splitter
        # It holds `outstanding` addresses: one of them in its output register.
        m.submodules.open = open_ = StreamFifo(address_bits - shift, self._outstanding - 1)
        wiring.connect(m, wiring.flipped(self.i), splitter.i)
        burst = bursts.o.payload
        faulty = Signal()
        fault_resp = Signal(2, reset_less=True)
        fault_address = Signal(address_bits, reset_less=True)
        halted = Signal()
        asks = Signal()             # the splitter's burst is valid at the port
        more = Signal()             # beats of the burst are outstanding
        left = Signal(8, reset_less=True)
        final = Signal(reset_less=True)
        tail = Signal(shift, reset_less=True)
        begins = Signal()
        last = Signal()
        free = Signal()
        moves = Signal()
        held = Signal()
        beat = Signal(data.StructLayout({"data": 8 * beat_bytes, "strobe": beat_bytes, "last": 1}), reset_less=True)
        m.d.comb += [
            halted.eq(self.stop | faulty),
            self.fault.valid.eq(faulty),
            self.fault.resp.eq(fault_resp),
            self.fault.address.eq(fault_address),
            free.eq(~held | axi.wready),
        ]
        source, complete, empty = self._source(m, bursts, halted, begins, asks)
        m.d.comb += [
            # The address is sent a cycle before the first beat, in the cycle of the previous burst's last beat.
            begins.eq(bursts.o.valid & ~asks & open_.i.ready & ~halted & complete
                      & Mux(more, moves & last, source.valid)),
            moves.eq(more & free & (source.valid | halted)),
            source.ready.eq(halted | (free & more)),
        ]

        # Requests: the splitter holds a burst until it may begin; then it is valid at the port until it is taken.
        m.d.comb += [
            bursts.begin.eq(1),
            bursts.drop.eq(halted),
            bursts.o.ready.eq(Mux(asks, axi.awready, halted)),
            open_.i.valid.eq(begins),
            open_.i.payload.eq(burst.address[shift:]),
            axi.awvalid.eq(asks),
            axi.awaddr.eq(burst.address),
            axi.awlen.eq(burst.len),
            axi.awsize.eq(shift),
            axi.awburst.eq(INCR),
        ]
        m.d.sync += asks.eq(begins | (asks & ~axi.awready))

        # Beats.
        partial = Signal()
        m.d.comb += [
            last.eq(left == 0),
            partial.eq(last & final & (tail != 0)),
            axi.wvalid.eq(held),
            axi.wdata.eq(beat.data),
            axi.wstrb.eq(self._strobe(m, beat.strobe, moves, held)),
            axi.wlast.eq(beat.last),
        ]
        with m.If(begins):
            m.d.sync += [more.eq(1), left.eq(burst.len), final.eq(burst.last), tail.eq(burst.tail)]
        with m.Elif(moves):
            m.d.sync += [more.eq(~last), left.eq(left - 1)]
        with m.If(free):
            m.d.sync += held.eq(moves)
        with m.If(moves):
            m.d.sync += [
                beat.data.eq(source.payload.data),
                beat.last.eq(last),
                beat.strobe.eq(Mux(partial, thermometer(tail, beat_bytes), (1 << beat_bytes) - 1)
                               & (~halted).replicate(beat_bytes)),
            ]

        free_of_requests = splitter.i.ready & ~bursts.o.valid if self._paged else splitter.i.ready
        # Responses come in the order of the requests, because all have the same identifier. `bready` stays low while
        # the oldest burst still has beats to send, so that a port that waits for them does not count as silent.
        m.d.comb += [
            axi.bready.eq(open_.o.valid & ~((open_.level == 1) & (more | held))),
            open_.o.ready.eq(axi.bvalid & axi.bready),
            self.idle.eq((free_of_requests & empty | halted) & ~asks & ~held & ~more & (open_.level == 0)),
        ]
        with m.If(axi.bvalid & axi.bready & axi.bresp[1] & ~faulty):
            m.d.sync += [faulty.eq(1), fault_resp.eq(axi.bresp),
                         fault_address.eq(Cat(Const(0, shift), open_.o.payload))]
        return m

    def _strobe(self, m: Module, strobe: Value, moves: Value, held: Value) -> Value:
        """The strobes at the port: none for a beat with an error of parity, which is known in its first cycle there."""
        if not (self._protected and self._whole):
            return strobe
        moved, marked, wrong = Signal(), Signal(), Signal()
        m.d.comb += wrong.eq((moved & self.bad) | marked)
        m.d.sync += [moved.eq(moves), marked.eq(wrong & held & ~self.axi.wready)]
        return strobe & ~wrong.replicate(len(strobe))

    def _source(self, m: Module, bursts: BurstSplitter | PageTranslator, halted: Signal, begins: Signal, asks: Signal
                ) -> tuple[stream.Interface, Value, Value]:
        """Where beats come from; whether those of the next burst may begin; and whether none is stored."""
        if not self._whole:
            return self.data, Const(1), Const(1)
        depth = 2 * self._whole
        m.submodules.beats = beats = stream_fifo(len(self.data.payload.data), depth, self._protected)
        if self._protected:
            m.d.comb += [beats.inject.eq(self.inject), self.bad.eq(beats.bad)]
        source = beat_stream(self._sizes[1]).create(path=("source",))
        # Stored beats of bursts that have not begun. Their comparison is registered, because the sum is wide.
        stored = Signal(range(depth + 3))
        complete = Signal()
        burst = bursts.o.payload
        m.d.comb += [
            beats.i.payload.eq(self.data.payload.data),
            beats.i.valid.eq(self.data.valid & ~halted),
            self.data.ready.eq(halted | beats.i.ready),
            source.valid.eq(beats.o.valid), source.payload.data.eq(beats.o.payload),
            beats.o.ready.eq(source.ready),
        ]
        m.d.sync += [
            stored.eq(stored + (beats.i.valid & beats.i.ready) - Mux(begins, burst.len + 1, 0)),
            complete.eq(bursts.o.valid & ~asks & ~begins & (stored > burst.len)),
        ]
        return source, complete, stored == 0
