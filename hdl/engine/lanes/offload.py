"""A lane of offload: reads blocks from one memory controller, codes, frames and buffers them."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.codec.blocks.raw_store import RawStore, scanned_layout
from hdl.codec.blocks.zero_count import DELAY, ZeroCount
from hdl.codec.coding import RAW_CODING, WORD_BYTES
from hdl.codec.lines.compressor import Compressor
from hdl.codec.narrowing.float_narrower import FloatNarrower
from hdl.codec.narrowing.rounding import Narrowing
from hdl.common.beat import beat_stream
from hdl.common.fifo import StreamFifo
from hdl.config.engine import EngineConfig
from hdl.engine.axi.bursts import fault_layout
from hdl.engine.axi.reader import AxiReader
from hdl.engine.axi.signature import axi_read
from hdl.engine.lanes.framer import Framer
from hdl.engine.transfer.interleave import lane_block_layout
from hdl.engine.transfer.streams import framed_stream

__all__ = ["OffloadLane"]

_ASKED = 4      # blocks that may be requested before their first beat arrives, besides those in the reader
_ORDERED = 4    # blocks between the store and the buffer
_FRAMED = 16    # limit of blocks in the packed buffer, for blocks of any length


class OffloadLane(wiring.Component):
    """Reads blocks, codes each or leaves it raw, and buffers them for the link.

    ::

             +--------+   +----------+   +-------+   +------------+   +--------+   +--------+
        i -->| reader |-->| narrower |-->| store |-->| compressor |-->| framer |-->| buffer |--> header --> o
             +--------+   +----------+ | +-------+ | +------------+ | +--------+   +--------+
                                       |    ^      +----------------+
                                       +-> zero count          (raw blocks)

    The narrower is built with ``narrowing``; beats bypass it unless the transfer asks for it. A narrowed block is half
    as long. The non-zero elements of a block are counted while it is stored, so its coded length is known before it is
    coded, and a block that would not shrink bypasses the compressor. Without the raw fallback there is no store. A
    block is taken out of the buffer only when all of it is there; its header is inserted then.

    Throughput: 1 raw beat per cycle. A raw block after a coded one waits until the compressor is empty. Latency: since
    a block is stored first, it leaves about as many cycles after its last beat as it has beats.

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    i : In(stream.Signature(lane_block_layout(config)))
        Blocks to offload.
    narrow : In(Narrowing)
        What float32 values are rounded to; must not change during a transfer.
    axi : Out(axi_read(...))
        The memory controller.
    o : Out(framed_stream(config))
        Framed blocks, in order.
    stop : In(1)
        Begin nothing new and discard what arrives. Must stay high until reset.
    idle : Out(1)
        No AXI transaction is open.
    fault : Out(fault_layout(address_bits))
        The first error response.
    waits : Out({memory, buffer})
        In this cycle the lane waits for the memory (a block is requested), or for the link (the buffer is full).

    Source: Rhu et al., HPCA 2018, section V-B; the block stream of docs/formats.md.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({
            "i": In(stream.Signature(lane_block_layout(config))),
            "narrow": In(Narrowing), "axi": Out(axi_read(config.address_bits, config.beat_bytes)),
            "o": Out(framed_stream(config)),
            "stop": In(1), "idle": Out(1), "fault": Out(fault_layout(config.address_bits)),
            "waits": Out(data.StructLayout({"memory": 1, "buffer": 1})),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        n = config.beat_bytes
        m.submodules.reader = reader = AxiReader(
            config.address_bits, n, exact_log2(config.block_bytes) + 1, config.outstanding_reads)
        m.submodules.asked = asked = StreamFifo(scanned_layout(config.block_bytes), config.outstanding_reads + _ASKED)
        m.submodules.zeros = zeros = ZeroCount(n, config.element_bytes, config.block_bytes)
        m.submodules.compressor = compressor = Compressor(n, config.element_bytes, config.pipeline)
        m.submodules.framer = framer = Framer(config)
        m.submodules.order = order = StreamFifo(
            data.StructLayout({"raw": 1, "block": scanned_layout(config.block_bytes)}), _ORDERED)
        wiring.connect(m, reader.axi, wiring.flipped(self.axi))

        # Requests go to the reader; the facts of each block wait in `asked` for its beats.
        m.d.comb += [
            self.i.ready.eq(reader.i.ready & asked.i.ready),
            reader.i.valid.eq(self.i.valid & asked.i.ready),
            asked.i.valid.eq(self.i.valid & reader.i.ready),
            reader.i.payload.address.eq(self.i.payload.address),
            reader.i.payload.bytes.eq(self.i.payload.bytes),
            asked.i.payload.bytes.eq(self._coded(self.i.payload.bytes)),
            asked.i.payload.element.eq(self.i.payload.element),
            asked.i.payload.fallback.eq(self.i.payload.fallback),
            asked.i.payload.leave_raw.eq(self.i.payload.leave_raw),
            asked.i.payload.sequence.eq(self.i.payload.sequence),
            reader.stop.eq(self.stop),
            self.idle.eq(reader.idle),
            self.fault.eq(reader.fault),
        ]

        # Beats pass the zero count; the facts of a block are delayed as much as its count.
        beats = self._narrowed(m, reader)
        beat = beats.payload
        passes = Signal()
        ready = Signal()
        facts = [asked.o.payload] + [Signal(scanned_layout(config.block_bytes), name=f"facts_{k}", reset_less=True)
                                     for k in range(DELAY)]
        scanned = Signal(scanned_layout(config.block_bytes))
        m.d.comb += [
            beats.ready.eq(ready & asked.o.valid),
            passes.eq(beats.valid & beats.ready),
            asked.o.ready.eq(passes & beat.last),
            zeros.valid.eq(passes),
            zeros.data.eq(beat.data),
            zeros.keep.eq(beat.keep),
            zeros.last.eq(beat.last),
            zeros.element.eq(asked.o.payload.element),
            scanned.eq(facts[DELAY]),
            scanned.nonzero_bytes.eq(zeros.bytes),
            self.waits.memory.eq(asked.o.valid & ready & ~beats.valid & ~reader.o.valid),
        ]
        m.d.sync += [facts[k + 1].eq(facts[k]) for k in range(DELAY)]
        if config.raw_fallback:
            self._choose(m, beat, zeros, scanned, ready, passes, compressor, framer, order)
        else:
            # Up to two blocks may be inside the zero count.
            room = order.level <= _ORDERED - 2
            m.d.comb += [
                ready.eq(compressor.i.ready & room),
                compressor.i.valid.eq(beats.valid & asked.o.valid & room),
                compressor.i.payload.data.eq(beat.data),
                compressor.i.payload.keep.eq(beat.keep),
                compressor.i.payload.last.eq(beat.last),
                compressor.i.payload.element.eq(asked.o.payload.element),
                order.i.valid.eq(zeros.done),
                order.i.payload.block.eq(scanned),
            ]
            wiring.connect(m, compressor.o, framer.i)
        self._buffer(m, framer, order)
        return m

    def _coded(self, raw_bytes: Value) -> Value:
        """Bytes of a block after the narrower."""
        return Mux(self.narrow == Narrowing.NONE, raw_bytes, raw_bytes >> 1) if self._config.narrowing else raw_bytes

    def _narrowed(self, m: Module, reader: AxiReader) -> stream.Interface:
        """The reader's packets, through the narrower or around it."""
        if not self._config.narrowing:
            return reader.o
        m.submodules.narrower = narrower = FloatNarrower(self._config.beat_bytes)
        beats = beat_stream(self._config.beat_bytes).create(path=("beats",))
        plain = self.narrow == Narrowing.NONE
        m.d.comb += [
            narrower.narrow.eq(self.narrow),
            narrower.i.payload.eq(reader.o.payload),
            narrower.i.valid.eq(reader.o.valid & ~plain),
            narrower.o.ready.eq(beats.ready & ~plain),
            beats.valid.eq(Mux(plain, reader.o.valid, narrower.o.valid)),
            beats.payload.eq(Mux(plain, reader.o.payload.as_value(), narrower.o.payload.as_value())),
            reader.o.ready.eq(Mux(plain, beats.ready, narrower.i.ready)),
        ]
        return beats

    def _choose(self, m: Module, beat: data.View, zeros: ZeroCount, scanned: data.View, ready: Signal, passes: Signal,
                compressor: Compressor, framer: Framer, order: StreamFifo) -> None:
        """The store, followed by two ways to the framer: through the compressor, or around it."""
        m.submodules.store = store = RawStore(
            self._config.beat_bytes, self._config.element_bytes, self._config.block_bytes)
        inside = Signal(range(8))       # blocks in the compressor
        empty = Signal(init=1)          # no block is in the compressor
        entered = Signal()              # the current block has been entered into `order`
        known = Signal()
        past = Signal()
        goes = Signal()
        enters = Signal()
        leaves = Signal()
        m.d.comb += [
            ready.eq(store.i.ready & store.room),
            store.i.valid.eq(passes),
            store.i.payload.eq(beat.data),
            store.scanned.valid.eq(zeros.done),
            store.scanned.payload.eq(scanned),

            past.eq(store.raw & empty),
            known.eq(entered | order.i.ready),
            compressor.i.valid.eq(store.o.valid & ~store.raw & known),
            compressor.i.payload.data.eq(store.o.payload.data),
            compressor.i.payload.keep.eq(store.o.payload.keep),
            compressor.i.payload.last.eq(store.o.payload.last),
            compressor.i.payload.element.eq(store.block.element),
            framer.i.valid.eq(Mux(past, store.o.valid & known, compressor.o.valid)),
            framer.i.payload.eq(Mux(past, store.o.payload, compressor.o.payload)),
            compressor.o.ready.eq(~past & framer.i.ready),
            store.o.ready.eq(known & Mux(store.raw, past & framer.i.ready, compressor.i.ready)),
            goes.eq(store.o.valid & store.o.ready),
            order.i.valid.eq(store.o.valid & ~entered),
            order.i.payload.raw.eq(store.raw),
            order.i.payload.block.eq(store.block),
            enters.eq(goes & store.o.payload.last & ~store.raw),
            leaves.eq(compressor.o.valid & compressor.o.ready & compressor.o.payload.last),
        ]
        with m.If(store.o.valid & known):
            m.d.sync += entered.eq(~(goes & store.o.payload.last))
        with m.If(enters & ~leaves):
            m.d.sync += [inside.eq(inside + 1), empty.eq(0)]
        with m.Elif(leaves & ~enters):
            m.d.sync += [inside.eq(inside - 1), empty.eq(inside == 1)]

    def _buffer(self, m: Module, framer: Framer, order: StreamFifo) -> None:
        """Writes rows to the packed buffer, and sends whole blocks from it, each with its header."""
        config = self._config
        words = config.link_words
        payload = self.o.payload
        m.submodules.rows = rows = StreamFifo(8 * config.link_beat_bytes, config.buffer_bytes // config.link_beat_bytes)
        facts = {"payload_bytes": len(framer.o.payload.bytes), "coding": 3, "sequence": 8,
                 "nonzero": len(payload.nonzero), "raw": 1}
        m.submodules.blocks = blocks = StreamFifo(
            data.StructLayout(facts | {"block_words": len(payload.block_words)}), _FRAMED)
        block = order.o.payload.block
        known = Signal()
        # The payload's length settles late in its cycle, so the number of words is computed in the next one.
        closed = Signal(data.StructLayout(facts), reset_less=True)
        closes = Signal()
        free = Signal()
        m.d.comb += [
            free.eq(~closes | blocks.i.ready),
            known.eq(~framer.o.payload.last | (order.o.valid & free)),
            rows.i.valid.eq(framer.o.valid & known),
            rows.i.payload.eq(framer.o.payload.data),
            framer.o.ready.eq(rows.i.ready & known),
            order.o.ready.eq(framer.o.valid & framer.o.ready & framer.o.payload.last),
            blocks.i.valid.eq(closes),
            *(blocks.i.payload[name].eq(closed[name]) for name in facts),
            blocks.i.payload.block_words.eq(((closed.payload_bytes + (WORD_BYTES - 1)) >> 2) + 1),
            self.waits.buffer.eq(framer.o.valid & ~framer.o.ready),
        ]
        with m.If(free):
            m.d.sync += [
                closes.eq(order.o.ready),
                closed.payload_bytes.eq(framer.o.payload.bytes),
                closed.coding.eq(Mux(order.o.payload.raw, RAW_CODING, block.element)),
                closed.sequence.eq(block.sequence),
                closed.raw.eq(order.o.payload.raw),
            ]
            with m.Switch(block.element):
                for size in config.element_bytes:
                    with m.Case(size):
                        m.d.sync += closed.nonzero.eq(block.nonzero_bytes >> exact_log2(size))

        fresh = Signal(init=1)
        left = Signal.like(payload.block_words)
        behind = Signal.like(left, reset_less=True)
        head = blocks.o.payload
        goes = Signal()
        m.d.comb += [
            left.eq(Mux(fresh, head.block_words, behind)),
            self.o.valid.eq(rows.o.valid & blocks.o.valid),
            payload.data.eq(rows.o.payload),
            payload.first.eq(fresh),
            payload.last.eq(left <= words),
            payload.words.eq(Mux(left <= words, left, words)),
            payload.block_words.eq(head.block_words),
            payload.nonzero.eq(head.nonzero),
            payload.raw.eq(head.raw),
            goes.eq(self.o.valid & self.o.ready),
            rows.o.ready.eq(goes),
            blocks.o.ready.eq(goes & payload.last),
        ]
        with m.If(fresh):
            m.d.comb += [
                payload.data[:16].eq(head.payload_bytes),
                payload.data[16:24].eq(head.coding),
                payload.data[24:32].eq(head.sequence),
            ]
        with m.If(goes):
            m.d.sync += [fresh.eq(payload.last), behind.eq(left - Const(words))]
