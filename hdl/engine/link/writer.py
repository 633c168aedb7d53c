"""Writes the block stream to the link's memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import WORD_BYTES
from cdma.hdl.common.counters import count_up
from cdma.hdl.common.fifo import StreamFifo
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.bursts import burst_beats, span_layout
from cdma.hdl.engine.axi.pages import PAGE_SIZE_BITS, pages_port, paging_layout
from cdma.hdl.engine.axi.signature import axi_write
from cdma.hdl.engine.axi.writer import AxiWriter
from cdma.hdl.engine.transfer.records import axi_fault_layout
from cdma.hdl.engine.transfer.streams import words_stream

__all__ = ["LinkWriter"]


class LinkWriter(wiring.Component):
    """Writes the words of transfers, one after the other, in bursts of the greatest length allowed.

    ::

              +-------------------+        +-----------+
        i --->| FIFO: two bursts  |------->| AxiWriter |--> axi
          |   +-------------------+        +-----------+
          +-> [beats up to the segment's end, or last] ---+-^
                         requests                         |
                                        [FIFO: last?] <---+
                                              +--> with the response of a burst: written

    A burst is requested when its last beat goes into the FIFO, so the link never waits for a lane in mid-burst. While
    it is written, the beats of the next one collect in the FIFO. A *segment* has the bytes of a full-length burst;
    bursts end where segments end. A transfer may begin when the last beat of the one before it was taken: responses
    come in order, so the bursts of several may be outstanding.

    Latency: a burst's ``awvalid`` rises 4 cycles after its last beat was taken, if the port is free. Throughput: one
    beat per cycle.

    Parameters
    ----------
    config : EngineConfig
        What to build; ``outstanding_reads`` also limits the outstanding write bursts here.

    Members
    -------
    start : In(stream of {address})
        Address of the next transfer, a multiple of the beat. Taken when the last beat of the previous one was. With
        ``page_lists``, also ``paging``; the address of a stream in pages is 0.
    i : In(words_stream(config))
        Words of the transfer, up to ``last``. Ready from the start on, unless the FIFO is full; ``i.ready`` does not
        depend on ``i.valid`` or ``i.payload``. With ``stop``, or after a fault, all beats are taken and discarded.
    axi : Out(axi_write(config.address_bits, config.link_beat_bytes))
        The link's memory. Of the last beat, only the bytes of its words are written.
    pages : Out(pages_port(config.address_bits))
        With ``page_lists``: the pages of streams, without ``paging``.
    stop : In(1)
        Begin no new burst and discard what arrives; a burst that has begun is completed with all strobes low.
    idle : Out(1)
        No burst is outstanding.
    fault : Out(axi_fault_layout(config))
        The first error response; after it the unit behaves as if stopped, until reset.
    written : Out(1)
        High for one cycle after the last response of each transfer; never after a fault or with ``stop``.
    """

    start: stream.Interface
    i: stream.Interface

    def __init__(self, config: EngineConfig):
        self._config = config
        start: dict[str, ShapeLike] = {"address": config.address_bits}
        if config.page_lists:
            start |= {"listed": 1, "size": PAGE_SIZE_BITS}
        super().__init__({
            "start": In(stream.Signature(data.StructLayout(start))),
            "i": In(words_stream(config)),
            "axi": Out(axi_write(config.address_bits, config.link_beat_bytes)),
            "stop": In(1), "idle": Out(1), "fault": Out(axi_fault_layout(config)), "written": Out(1),
            **({"pages": Out(pages_port(config.address_bits))} if config.page_lists else {}),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        beat_bytes = config.link_beat_bytes
        shift = exact_log2(beat_bytes)
        segment_beats = burst_beats(beat_bytes, config.burst_beats)
        segment_bits = exact_log2(segment_beats * beat_bytes)
        length_bits = segment_bits + 1
        depth = 2 * segment_beats
        m.submodules.fifo = fifo = StreamFifo(8 * beat_bytes, depth)
        m.submodules.writer = writer = AxiWriter(
            config.address_bits, beat_bytes, length_bits, config.outstanding_reads, config.burst_beats,
            paged=config.page_lists)
        wiring.connect(m, writer.axi, wiring.flipped(self.axi))

        # For each burst at the writer, whether it is the last of its transfer. One more may be in the splitter, and one
        # behind it that waits for its page.
        m.submodules.finals = finals = StreamFifo(1, config.outstanding_reads + config.page_lists)

        halted = Signal()
        active = Signal()       # a transfer runs, and its last beat has not arrived
        final = Signal(reset_less=True)     # the request that waits is the last of its transfer
        asks = Signal()         # a request waits for the writer
        request = Signal(span_layout(config.address_bits, length_bits), reset_less=True)
        # Place of the next beat; a transfer's first burst may begin inside a segment.
        segment = Signal(config.address_bits - segment_bits, reset_less=True)
        place = Signal(exact_log2(segment_beats), reset_less=True)
        first = Signal.like(place, reset_less=True)
        takes = Signal()
        cuts = Signal()
        # All lanes wait for `ready`, so whether the FIFO has a place is registered. Of its `depth` + 1 places, a beat
        # may take one in the cycle before.
        room = Signal(init=1)
        m.d.sync += room.eq(fifo.level < depth)
        m.d.comb += [
            halted.eq(self.stop | writer.fault.valid),
            self.i.ready.eq(halted | (active & room & (~asks | writer.i.ready))),
            takes.eq(self.i.valid & self.i.ready & ~halted),
            cuts.eq(takes & (self.i.payload.last | place.all())),
            fifo.i.payload.eq(self.i.payload.data),
            fifo.i.valid.eq(takes),
            writer.i.payload.eq(request),
            writer.i.valid.eq(asks),
            writer.data.payload.data.eq(fifo.o.payload),
            writer.data.valid.eq(fifo.o.valid),
            fifo.o.ready.eq(writer.data.ready),
            writer.stop.eq(self.stop),
            self.idle.eq(writer.idle),
            self.fault.eq(writer.fault),
            self.start.ready.eq(~active),
            finals.i.valid.eq(asks & writer.i.ready),
            finals.i.payload.eq(final),
            finals.o.ready.eq(self.axi.bvalid & self.axi.bready),
        ]
        if config.page_lists:
            self._pages(m, writer, cuts, final)
        m.d.sync += self.written.eq(finals.o.ready & finals.o.payload & ~self.axi.bresp[1] & ~halted)
        m.d.sync += asks.eq(cuts | (asks & ~writer.i.ready))
        with m.If(cuts):
            words = Mux(self.i.payload.last, self.i.payload.words, config.link_words)
            m.d.sync += [
                request.address.eq(Cat(Const(0, shift), first, segment)),
                request.bytes.eq(Cat(Const(0, exact_log2(WORD_BYTES)), (place - first) * config.link_words + words)),
                first.eq(0),
                final.eq(self.i.payload.last),
            ]
        with m.If(takes):
            m.d.sync += place.eq(place + 1)
            with m.If(place.all()):
                count_up(m, segment)
            with m.If(self.i.payload.last):
                m.d.sync += active.eq(0)
        with m.If(self.start.valid & self.start.ready):
            address = self.start.payload.address
            m.d.sync += [Cat(place, segment).eq(address[shift:]), first.eq(address[shift:]), active.eq(1)]
        return m

    def _pages(self, m: Module, writer: AxiWriter, cuts: Value, final: Value) -> None:
        """How each request finds its bytes; the next transfer may begin while the last request of one waits."""
        start = self.start.payload
        listed, size = (Signal.like(field, name=name, reset_less=True)
                        for name, field in (("listed", start.listed), ("size", start.size)))
        paging = Signal(paging_layout(), reset_less=True)
        with m.If(self.start.valid & self.start.ready):
            m.d.sync += [listed.eq(start.listed), size.eq(start.size)]
        with m.If(cuts):
            m.d.sync += [paging.listed.eq(listed), paging.size.eq(size)]
        wiring.connect(m, wiring.flipped(self.pages.entries), writer.pages.entries)
        m.d.comb += [
            writer.pages.paging.eq(paging), writer.pages.paging.final.eq(final),
            self.pages.done.eq(writer.pages.done), self.pages.bad.eq(writer.pages.bad),
            self.pages.place.eq(writer.pages.place),
        ]
