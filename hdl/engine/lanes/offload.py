"""A lane of offload: reads blocks from one memory controller, codes, frames and buffers them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import RAW_CODING, SHORT, WORD_BYTES
from cdma.hdl.codec.narrowing.float_narrower import FloatNarrower
from cdma.hdl.codec.narrowing.rounding import Narrowing
from cdma.hdl.codec.payload.block_compressor import BlockCompressor
from cdma.hdl.common.beat import beat_stream
from cdma.hdl.common.fifo import StreamFifo
from cdma.hdl.common.protected import stream_fifo
from cdma.hdl.common.skid import Skid
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.bursts import fault_layout
from cdma.hdl.engine.axi.reader import AxiReader
from cdma.hdl.engine.axi.signature import axi_read
from cdma.hdl.engine.lanes.framer import Framer
from cdma.hdl.engine.transfer.buffers import OFFLOAD_MEMORIES
from cdma.hdl.engine.transfer.interleave import lane_block_layout
from cdma.hdl.engine.transfer.streams import framed_stream

__all__ = ["OffloadLane"]

_ASKED = 4      # most blocks that are requested and have not arrived, besides those in the reader
_CODED = 6      # most blocks in the compressor
_FRAMED = 4     # most blocks in the buffer


class OffloadLane(wiring.Component):
    """Reads blocks, codes each or leaves it raw, and buffers them for the link.

    ::

             +--------+   +----------+   +------------+   +--------+   +--------+
        i -->| reader |-->| narrower |-->| compressor |-->| framer |-->| buffer |--> o
          |  +--------+   +----------+   +------------+   +--------+   +--------+
          |                                ^                ^    |
          +--> [how to code each block] ---+--> [sequence] -+    +--> [length, counts of each block] --> o

    The narrower is built with ``narrowing``; beats pass beside it unless their block is to be narrowed. A narrowed
    block is half as long. The compressor finds out how long a block is on its way into its store, and sends it raw if
    coding would not shrink it. A block leaves the buffer only when all of it is there.
    The pipeline ``fast`` has a skid buffer behind the first queue and in front of the second one.

    Throughput: 1 raw beat per cycle. Latency: that of :class:`~cdma.hdl.codec.payload.block_compressor.BlockCompressor`
    to the first row, then as many cycles as the block has rows, and 2.

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    i : In(stream.Signature(lane_block_layout(config)))
        Blocks to offload.
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
    inject : In(OFFLOAD_MEMORIES), spoiled : Out(1)
        With ``buffer_parity``: what is read next from a memory is changed
        (:class:`cdma.hdl.engine.transfer.buffers.LaneMemory`); an error was read from one of them, until reset.

    Source: Rhu et al., HPCA 2018, section V-B; the block stream of docs/formats.md.
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({
            "i": In(stream.Signature(lane_block_layout(config))),
            "axi": Out(axi_read(config.address_bits, config.beat_bytes)),
            "o": Out(framed_stream(config)),
            "stop": In(1), "idle": Out(1), "fault": Out(fault_layout(config.address_bits)),
            "waits": Out(data.StructLayout({"memory": 1, "buffer": 1})),
            **({"inject": In(OFFLOAD_MEMORIES), "spoiled": Out(1)} if config.buffer_parity else {}),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.reader = reader = AxiReader(
            config.address_bits, config.beat_bytes, exact_log2(config.block_bytes) + 1, config.outstanding_reads,
            config.burst_beats, pipeline=config.pipeline)
        m.submodules.compressor = compressor = BlockCompressor(
            config.beat_bytes, config.element_bytes, config.block_bytes, config.pipeline, config.exponents,
            for_lane=True, protected=config.buffer_parity)
        m.submodules.framer = framer = Framer(config)
        how = {name: 3 if name == "element" else 1 for name in ("element", "exponents", "fallback", "leave_raw")}
        narrowed = {"halved": 1} if config.narrowing else {}
        m.submodules.asked = asked = StreamFifo(
            data.StructLayout({**how, **narrowed, "sequence": 8}), config.outstanding_reads + _ASKED)
        m.submodules.coded = coded = StreamFifo(8, _CODED)
        now, then = asked.o, coded.i        # of the block whose beats pass, and of those in the compressor
        if config.pipeline == "fast":
            # The counters of both queues depend on registers only, not on whether the compressor is ready.
            m.submodules.now = here = Skid(asked.o.payload.shape())
            m.submodules.then = there = Skid(8)
            wiring.connect(m, asked.o, here.i)
            wiring.connect(m, there.o, coded.i)
            now, then = here.o, there.i
        wiring.connect(m, reader.axi, wiring.flipped(self.axi))

        # Requests go to the reader; what else is said of each block waits in `asked` for its beats.
        block = self.i.payload
        m.d.comb += [
            self.i.ready.eq(reader.i.ready & asked.i.ready),
            reader.i.valid.eq(self.i.valid & asked.i.ready),
            asked.i.valid.eq(self.i.valid & reader.i.ready),
            reader.i.payload.address.eq(block.address), reader.i.payload.bytes.eq(block.bytes),
            *(asked.i.payload[name].eq(block[name]) for name in (*how, "sequence")),
            reader.stop.eq(self.stop),
            self.idle.eq(reader.idle),
            self.fault.eq(reader.fault),
        ]
        if narrowed:
            m.d.comb += asked.i.payload.halved.eq(block.narrow != Narrowing.NONE)

        beats = self._narrowed(m, reader)
        facts = now.payload
        room = Signal()
        m.d.comb += [
            room.eq(now.valid & (~beats.payload.last | then.ready)),
            compressor.i.valid.eq(beats.valid & room), beats.ready.eq(compressor.i.ready & room),
            *(compressor.i.payload[name].eq(beats.payload[name]) for name in ("data", "keep", "last")),
            *(compressor.i.payload[name].eq(facts[name]) for name in how),
            now.ready.eq(beats.valid & beats.ready & beats.payload.last),
            then.valid.eq(now.ready), then.payload.eq(facts.sequence),
            self.waits.memory.eq(now.valid & compressor.i.ready & ~beats.valid & ~reader.o.valid),

            framer.i.payload.eq(compressor.o.payload),
            *(framer.block[name].eq(compressor.block[name]) for name in ("coding", "raw_bytes", "payload_bytes")),
            framer.block.sequence.eq(coded.o.payload),
            coded.o.ready.eq(framer.i.valid & framer.i.ready & framer.i.payload.last),
        ]
        m.d.comb += compressor.i.payload.halved.eq(facts.halved if narrowed else 0)
        self._buffer(m, compressor, framer)
        return m

    def _narrowed(self, m: Module, reader: AxiReader) -> stream.Interface:
        """The reader's packets, through the narrower or around it."""
        config = self._config
        if not config.narrowing:
            return reader.o
        m.submodules.narrower = narrower = FloatNarrower(config.beat_bytes)
        m.submodules.forms = forms = StreamFifo(Narrowing, config.outstanding_reads + _ASKED)
        beats = beat_stream(config.beat_bytes).create(path=("beats",))
        # The format changes while the narrower is empty.
        form, plain, passes = Signal(Narrowing), Signal(), Signal()
        with m.If(narrower.idle & forms.o.valid):
            m.d.sync += form.eq(forms.o.payload)
        m.d.comb += [
            forms.i.valid.eq(self.i.valid & self.i.ready), forms.i.payload.eq(self.i.payload.narrow),
            forms.o.ready.eq(reader.o.valid & reader.o.ready & reader.o.payload.last),
            plain.eq(form == Narrowing.NONE), passes.eq(forms.o.valid & (form == forms.o.payload)),
            narrower.narrow.eq(form),
            narrower.i.payload.eq(reader.o.payload),
            narrower.i.valid.eq(reader.o.valid & passes & ~plain),
            narrower.o.ready.eq(beats.ready & ~plain),
            beats.valid.eq(Mux(plain, reader.o.valid & passes, narrower.o.valid)),
            beats.payload.eq(Mux(plain, reader.o.payload.as_value(), narrower.o.payload.as_value())),
            reader.o.ready.eq(passes & Mux(plain, beats.ready, narrower.i.ready)),
        ]
        return beats

    def _buffer(self, m: Module, compressor: BlockCompressor, framer: Framer) -> None:
        """Writes rows to the buffer, and sends whole blocks from it."""
        config = self._config
        words = config.link_words
        payload = self.o.payload
        m.submodules.rows = rows = stream_fifo(
            8 * config.link_beat_bytes, config.buffer_bytes // config.link_beat_bytes, config.buffer_parity)
        if config.buffer_parity:
            m.d.comb += Cat(compressor.inject, rows.inject).eq(self.inject)
            with m.If(compressor.bad | rows.bad):
                m.d.sync += self.spoiled.eq(1)
        shape = data.StructLayout({name: len(payload[name]) for name in ("block_words", "nonzero", "raw")})
        m.submodules.blocks = blocks = StreamFifo(shape, _FRAMED)
        # What is known of a block is registered with its beats, and goes into the queue a cycle behind its last row.
        known: Any = Signal(shape, reset_less=True)
        closes, free = Signal(), Signal()
        block, row = compressor.block, framer.o.payload
        m.d.comb += [
            free.eq(~closes | blocks.i.ready),
            framer.i.valid.eq(compressor.o.valid & free), compressor.o.ready.eq(framer.i.ready & free),
            rows.i.valid.eq(framer.o.valid & free), rows.i.payload.eq(row.data),
            framer.o.ready.eq(rows.i.ready & free),
            blocks.i.valid.eq(closes), blocks.i.payload.eq(known),
            self.waits.buffer.eq(framer.o.valid & ~framer.o.ready),
        ]
        with m.If(free):
            m.d.sync += closes.eq(framer.o.valid & framer.o.ready & row.last)
        with m.If(framer.i.valid & framer.i.ready):
            m.d.sync += [
                known.block_words.eq(((block.payload_bytes + (WORD_BYTES - 1)) >> exact_log2(WORD_BYTES))
                                     + 1 + (block.coding & SHORT).any()),
                known.nonzero.eq(block.elements), known.raw.eq(block.coding == RAW_CODING),
            ]

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
            *(payload[name].eq(head[name]) for name in ("block_words", "nonzero", "raw")),
            goes.eq(self.o.valid & self.o.ready),
            rows.o.ready.eq(goes),
            blocks.o.ready.eq(goes & payload.last),
        ]
        with m.If(goes):
            m.d.sync += [fresh.eq(payload.last), behind.eq(left - Const(words))]
