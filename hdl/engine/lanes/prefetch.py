"""A lane of prefetch: holds blocks from the link, expands them and writes them to one memory controller."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.line_record import GROUP_BYTES
from cdma.hdl.codec.narrowing.float_widener import FloatWidener
from cdma.hdl.codec.narrowing.rounding import Narrowing
from cdma.hdl.codec.payload.block_decompressor import BlockDecompressor
from cdma.hdl.codec.payload.unpacking import PayloadError
from cdma.hdl.common.beat import beat_layout
from cdma.hdl.common.bits import thermometer
from cdma.hdl.common.fifo import StreamFifo
from cdma.hdl.common.skid import Spare
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.bursts import burst_beats, fault_layout, span_layout
from cdma.hdl.engine.axi.signature import axi_write
from cdma.hdl.engine.axi.writer import AxiWriter
from cdma.hdl.engine.transfer.buffers import PREFETCH_MEMORIES
from cdma.hdl.engine.transfer.records import BLOCK_BITS, Status
from cdma.hdl.engine.transfer.streams import payload_stream, stream_fault_layout

__all__ = ["PrefetchLane"]

_BLOCKS = 4
"""Most blocks in the lane, without those whose last beats are being written."""


class PrefetchLane(wiring.Component):
    """Expands blocks, and writes them to their places.

    ::

                +--------------+   +---------+   +--------+
        i --+-->| decompressor |-->| widener |-->| writer |--> axi
            |   +--------------+   +---------+   |        |
            |   +----------+                     |        |
            +-->| requests |-------------------->|        |
            |   +----------+                     +--------+
            |   +----------+
            +-->| blocks   |--> format for the widener, number of a faulty block
                +----------+

    The memory of the decompressor is the buffer of the lane: the rows of a block wait in it, those of a raw block too.
    The widener is built with ``narrowing``; beats pass beside it unless their block was narrowed. Such a block is half
    as long in front of the widener. With ``safe_writes`` the writer holds two bursts, and gives an address when all
    data of its burst are there. The pipeline ``fast`` has a :class:`~cdma.hdl.common.skid.Spare` in front of the
    writer, so that the memory's port enables nothing before it.

    Latency: that of :class:`~cdma.hdl.codec.payload.block_decompressor.BlockDecompressor`, and that of the writer.
    Throughput: 1 lane beat per cycle.

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    i : In(payload_stream(config))
        Blocks, every ``lanes``-th of a transfer. After a fault or with ``stop``, beats are taken and discarded.
    axi : Out(axi_write(address_bits, beat_bytes))
        The memory controller. Only the places of the blocks are written, each up to its raw length at most.
    stop : In(1)
        Begin nothing new. Must stay high until reset.
    idle : Out(1)
        No AXI transaction is open; and, unless the lane is stopped, every block that arrived whole has been written.
    settled : Out(1)
        Every block that arrived whole has been found good, or a fault was found.
    axi_fault : Out(fault_layout(address_bits))
        The first error response; the lane writes nothing more until reset.
    fault : Out(stream_fault_layout())
        The first block that does not expand to its raw length; the lane stops until reset.
    waits : Out({memory, buffer})
        In this cycle the lane waits for the memory (a beat is ready), or for the link (no block is there: the path
        counts that while there is a stream).
    inject : In(PREFETCH_MEMORIES), spoiled : Out(1)
        With ``buffer_parity``: what is read next from a memory is changed
        (:class:`cdma.hdl.engine.transfer.buffers.LaneMemory`); an error was read from one of them, until reset. The
        lane writes nothing more then, and beats of bursts that have begun have all strobes low.

    Source: the block stream of docs/formats.md.
    """

    i: stream.Interface

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({
            "i": In(payload_stream(config)),
            "axi": Out(axi_write(config.address_bits, config.beat_bytes)), "stop": In(1), "idle": Out(1),
            "settled": Out(1), "axi_fault": Out(fault_layout(config.address_bits)),
            "fault": Out(stream_fault_layout()), "waits": Out(data.StructLayout({"memory": 1, "buffer": 1})),
            **({"inject": In(PREFETCH_MEMORIES), "spoiled": Out(1)} if config.buffer_parity else {}),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        row_bytes = config.link_beat_bytes
        block_bits = exact_log2(config.block_bytes)
        # A group of exponents fills a row of the decompressor's memory at most.
        rows = config.buffer_bytes // max(row_bytes, GROUP_BYTES if config.exponents else 0)
        span = span_layout(config.address_bits, block_bits + 1)
        m.submodules.decompressor = decompressor = BlockDecompressor(
            config.beat_bytes, config.element_bytes, config.block_bytes, rows, config.exponents,
            for_lane=True, row_bytes=row_bytes, protected=config.buffer_parity, pipeline=config.pipeline)
        longest = min(burst_beats(config.beat_bytes, config.burst_beats), config.block_bytes // config.beat_bytes)
        m.submodules.writer = writer = AxiWriter(
            config.address_bits, config.beat_bytes, block_bits + 1, config.outstanding_reads, config.burst_beats,
            longest if config.safe_writes else 0, protected=config.buffer_parity)
        m.submodules.requests = requests = StreamFifo(span, _BLOCKS)
        m.submodules.blocks = blocks = StreamFifo(
            data.StructLayout({"number": BLOCK_BITS, **({"narrow": Narrowing} if config.narrowing else {})}), _BLOCKS)
        wiring.connect(m, writer.axi, wiring.flipped(self.axi))
        wiring.connect(m, requests.o, writer.i)

        # Rows go to the decompressor. Address, number and format of a block come with its first row.
        bad, halted, room, push = Signal(), Signal(), Signal(), Signal()
        spoiled = self._spoiled(m, decompressor, writer)
        ended = bad if spoiled is None else bad | spoiled
        row, block = self.i.payload, self.i.payload.block
        end = Signal(exact_log2(row_bytes))
        held_end = Signal.like(end, reset_less=True)
        m.d.sync += room.eq((requests.level <= _BLOCKS - 2) & (blocks.level <= _BLOCKS - 2))
        m.d.comb += [
            halted.eq(self.stop | ended),
            self.i.ready.eq(halted | (room & decompressor.i.ready)),
            push.eq(self.i.valid & room & ~halted),
            decompressor.i.valid.eq(push),
            decompressor.i.payload.data.eq(row.data), decompressor.i.payload.last.eq(row.last),
            decompressor.i.payload.coding.eq(block.coding), decompressor.i.payload.raw_bytes.eq(block.raw_bytes),
            end.eq(Mux(row.first, block.payload_bytes[:len(end)], held_end)),
            decompressor.i.payload.keep.eq(Mux(end == 0, (1 << row_bytes) - 1, Cat(thermometer(end, row_bytes)))),
            requests.i.valid.eq(push & decompressor.i.ready & row.first),
            requests.i.payload.address.eq(block.address),
            requests.i.payload.bytes.eq(
                Mux(block.narrow == Narrowing.NONE, block.raw_bytes, block.raw_bytes << 1)
                if config.narrowing else block.raw_bytes),
            blocks.i.valid.eq(requests.i.valid), blocks.i.payload.number.eq(block.number),
            writer.stop.eq(self.stop if spoiled is None else self.stop | spoiled),
        ]
        if config.narrowing:
            m.d.comb += blocks.i.payload.narrow.eq(block.narrow)
        with m.If(row.first):
            m.d.sync += held_end.eq(end)

        # Raw beats leave until a block is found bad.
        number = blocks.o.payload.number
        done, fails, ends = Signal(), Signal(), Signal()
        ready, held, waits = self._widened(m, decompressor, writer, blocks, ~ended)
        m.d.comb += [
            decompressor.o.ready.eq(ready & ~ended),
            ends.eq(decompressor.o.valid & ready & ~ended & decompressor.o.payload.last),
            fails.eq(decompressor.error.code != PayloadError.OK),
            done.eq(ends & ~fails), blocks.o.ready.eq(done),
        ]
        with m.If(ends & fails):
            m.d.sync += bad.eq(1)

        # Counts blocks that arrived whole and have not been found good.
        open_ = Signal(range(2 * _BLOCKS + 4))
        comes = Signal()
        m.d.comb += [
            comes.eq(push & decompressor.i.ready & row.last),
            self.settled.eq((open_ == 0) | ended),
            self.idle.eq(writer.idle & (self.stop | ((open_ == 0) & ~held))),
            self.axi_fault.eq(writer.fault),
            self.fault.valid.eq(bad),
            self.fault.status.eq(Status.BAD_PAYLOAD),
            self.fault.block.eq(number),
            self.waits.memory.eq(waits),
            self.waits.buffer.eq(~decompressor.o.valid & (open_ == 0)),
        ]
        with m.If(comes & ~done):
            m.d.sync += open_.eq(open_ + 1)
        with m.Elif(done & ~comes):
            m.d.sync += open_.eq(open_ - 1)
        return m

    def _spoiled(self, m: Module, decompressor: BlockDecompressor, writer: AxiWriter) -> Value | None:
        """With ``buffer_parity``: whether an error was read from a memory; and injects errors."""
        if not self._config.buffer_parity:
            return None
        bad: Value = decompressor.bad
        m.d.comb += decompressor.inject.eq(self.inject)
        if self._config.safe_writes:
            m.d.comb += writer.inject.eq(self.inject[-1])
            bad = bad | writer.bad
        with m.If(bad):
            m.d.sync += self.spoiled.eq(1)
        return self.spoiled

    def _widened(self, m: Module, decompressor: BlockDecompressor, writer: AxiWriter, blocks: StreamFifo, goes: Value
                 ) -> tuple[Value, Value, Value]:
        """Connects decompressor and writer, through the widener or around it, while it ``goes``; returns whether a beat
        is taken, whether one is held between them, and whether one waits for the writer."""
        beat, sink, held = decompressor.o.payload, writer.data, None
        if self._config.pipeline == "fast":
            # `ready` of the decompressor comes from a register, so the memory's port enables none of its registers.
            m.submodules.spare = spare = Spare(beat_layout(self._config.beat_bytes))
            wiring.connect(m, spare.o, writer.data)
            sink, held = spare.i, ~spare.i.ready
        if not self._config.narrowing:
            m.d.comb += [sink.valid.eq(decompressor.o.valid & goes), sink.payload.data.eq(beat.data)]
            return sink.ready, Const(0) if held is None else held, sink.valid & ~sink.ready
        m.submodules.widener = widener = FloatWidener(self._config.beat_bytes)
        # The format changes while the widener is empty.
        form, plain, passes, ready = Signal(Narrowing), Signal(), Signal(), Signal()
        asked = blocks.o.payload.narrow
        with m.If(widener.idle & blocks.o.valid):
            m.d.sync += form.eq(asked)
        m.d.comb += [
            plain.eq(form == Narrowing.NONE), passes.eq(goes & blocks.o.valid & (form == asked)),
            ready.eq(passes & Mux(plain, sink.ready, widener.i.ready)),
            widener.narrow.eq(form),
            widener.i.payload.eq(beat),
            widener.i.valid.eq(decompressor.o.valid & passes & ~plain),
            widener.o.ready.eq(sink.ready & ~plain),
            sink.valid.eq(Mux(plain, decompressor.o.valid & passes, widener.o.valid)),
            sink.payload.data.eq(Mux(plain, beat.data, widener.o.payload)),
        ]
        return ready, ~widener.idle if held is None else held | ~widener.idle, sink.valid & ~sink.ready
