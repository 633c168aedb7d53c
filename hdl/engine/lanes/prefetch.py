"""A lane of prefetch: buffers blocks from the link, expands them and writes them to one memory controller."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.codec.lines.decompressor import Decompressor
from hdl.codec.narrowing.float_widener import FloatWidener
from hdl.codec.narrowing.rounding import Narrowing
from hdl.common.counters import stepped
from hdl.common.fifo import StreamFifo
from hdl.config.engine import EngineConfig
from hdl.engine.axi.bursts import fault_layout
from hdl.engine.axi.signature import axi_write
from hdl.engine.axi.writer import AxiWriter
from hdl.engine.lanes.block_merger import BlockMerger, order_layout
from hdl.engine.lanes.width_converter import WidthConverter, payload_layout
from hdl.engine.transfer.records import Status
from hdl.engine.transfer.streams import payload_stream, stream_fault_layout

__all__ = ["PrefetchLane"]

_BLOCKS = 8     # limit of blocks that wait to be expanded, for blocks of any length


class PrefetchLane(wiring.Component):
    """Buffers blocks, expands those that are coded, and writes them to their places.

    ::

                +--------+   +-----------+ coded  +--------------+   +--------+   +---------+   +--------+
        i --+-->| buffer |-->| converter |------->| decompressor |-->| merger |-->| widener |-->| writer |--> axi
            |   +--------+   +-----------+        +--------------+   |        |   +---------+   |        |
            |                 ^  | raw                               |        |                 |        |
            |                 |  +---------------------------------->|        |                 |        |
            |   +--------+    |                                      +--------+                 +--------+
            +-->| blocks |----+----------------------------------------^--> address ----------------^
                +--------+

    The rows of a block wait in the buffer, its facts in FIFOs beside it. Blocks keep their order: the merger takes a
    block, coded or raw, when the one before it has ended. The widener is built with ``narrowing``; beats bypass it
    unless the transfer asks for it. Before it, a block is half as long.

    Latency: the first address is at the port 6 cycles after the row of a raw block was taken, 7 after that of a coded
    one (8 with a slot register), and the first beat one cycle later. Throughput: 1 lane beat per cycle; a coded block
    after a raw one may start up to 4 cycles late, because the decompressor is empty then.

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    i : In(payload_stream(config))
        Blocks of one transfer, every ``lanes``-th of which belongs to this lane; ``ready`` is registered. After a fault
        or with ``stop``, beats are taken and discarded.
    element : In(3)
        Element size in bytes of coded blocks; must not change during a transfer.
    narrow : In(Narrowing)
        What float32 values were rounded to; must not change during a transfer. ``raw_bytes`` of ``i`` counts the
        narrowed values.
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
        In this cycle the lane waits for the memory (a beat is ready), or for the link (the buffer is empty).

    Source: the block stream of docs/formats.md.
    """

    i: stream.Interface

    def __init__(self, config: EngineConfig):
        self._config = config
        super().__init__({
            "i": In(payload_stream(config)), "element": In(3), "narrow": In(Narrowing),
            "axi": Out(axi_write(config.address_bits, config.beat_bytes)), "stop": In(1), "idle": Out(1),
            "settled": Out(1), "axi_fault": Out(fault_layout(config.address_bits)),
            "fault": Out(stream_fault_layout()), "waits": Out(data.StructLayout({"memory": 1, "buffer": 1})),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        depth = config.buffer_bytes // config.link_beat_bytes
        block_bits = exact_log2(config.block_bytes)
        m.submodules.buffer = buffer = StreamFifo(8 * config.link_beat_bytes, depth)
        m.submodules.payloads = payloads = StreamFifo(payload_layout(config), _BLOCKS)
        m.submodules.orders = orders = StreamFifo(order_layout(), _BLOCKS)
        m.submodules.converter = converter = WidthConverter(config)
        m.submodules.decompressor = decompressor = Decompressor(
            config.beat_bytes, config.element_bytes, config.pipeline)
        m.submodules.merger = merger = BlockMerger(config)
        m.submodules.writer = writer = AxiWriter(
            config.address_bits, config.beat_bytes, block_bits + 1, config.outstanding_reads)
        wiring.connect(m, buffer.o, converter.rows)
        wiring.connect(m, payloads.o, converter.payloads)
        wiring.connect(m, decompressor.o, merger.coded)
        widening = self._widened(m, merger, writer)
        wiring.connect(m, writer.axi, wiring.flipped(self.axi))

        # Input: `ready` is registered, so it needs room for two rows.
        ready = Signal()
        halted = Signal()
        push = Signal()
        block = self.i.payload.block
        whole_bytes: ValueLike = config.block_bytes
        if config.narrowing:
            m.d.comb += merger.halved.eq(~self._plain)
            whole_bytes = Mux(self._plain, config.block_bytes, config.block_bytes // 2)
        room = (buffer.level <= depth - 2) & (payloads.level <= _BLOCKS - 2) & (orders.level <= _BLOCKS - 2)
        m.d.sync += ready.eq(room | halted)
        m.d.comb += [
            halted.eq(self.stop | merger.bad),
            self.i.ready.eq(ready),
            push.eq(self.i.valid & ready & ~halted),
            buffer.i.valid.eq(push),
            buffer.i.payload.eq(self.i.payload.data),
            payloads.i.valid.eq(push & self.i.payload.first),
            payloads.i.payload.end.eq(block.payload_bytes - 1),
            payloads.i.payload.raw.eq(block.raw),
            orders.i.valid.eq(payloads.i.valid),
            orders.i.payload.raw.eq(block.raw),
            orders.i.payload.short.eq(block.raw_bytes != whole_bytes),
        ]

        # Raw blocks bypass the decompressor.
        m.d.comb += [
            decompressor.i.valid.eq(converter.o.valid & ~converter.raw),
            merger.bypass.valid.eq(converter.o.valid & converter.raw),
            converter.o.ready.eq(Mux(converter.raw, merger.bypass.ready, decompressor.i.ready)),
            decompressor.i.payload.data.eq(converter.o.payload.data),
            decompressor.i.payload.keep.eq(converter.o.payload.keep),
            decompressor.i.payload.last.eq(converter.o.payload.last),
            decompressor.i.payload.element.eq(self.element),
            merger.bypass.payload.eq(converter.o.payload),
            merger.code.eq(decompressor.error.code),
        ]

        # Addresses and numbers of later blocks are counted up from those of the first one.
        begun = Signal()
        asks = Signal()
        pulls = Signal()
        address = Signal(config.address_bits - block_bits, reset_less=True)
        number = Signal.like(block.number, reset_less=True)
        short_bytes = Signal(range(config.block_bytes + 1), reset_less=True)
        length = Signal.like(short_bytes, reset_less=True)
        m.d.comb += [
            pulls.eq(orders.o.valid & merger.order.ready & (~asks | writer.i.ready)),
            orders.o.ready.eq(pulls),
            merger.order.valid.eq(pulls),
            merger.order.payload.eq(orders.o.payload),
            merger.short_bytes.eq(short_bytes),
            writer.i.valid.eq(asks),
            writer.i.payload.address.eq(address << block_bits),
            writer.i.payload.bytes.eq(length),
            writer.stop.eq(self.stop),
        ]
        wide_bytes = Mux(self._plain, short_bytes, short_bytes << 1) if config.narrowing else short_bytes
        with m.If(pulls):
            m.d.sync += [asks.eq(1), length.eq(Mux(orders.o.payload.short, wide_bytes, config.block_bytes))]
        with m.Elif(writer.i.ready):
            m.d.sync += asks.eq(0)
        with m.If(payloads.i.valid):
            m.d.sync += begun.eq(1)
            with m.If(orders.i.payload.short):
                m.d.sync += short_bytes.eq(block.raw_bytes)
        with m.If(payloads.i.valid & ~begun):
            m.d.sync += [address.eq(block.address[block_bits:]), number.eq(block.number)]
        with m.Else():
            with m.If(asks & writer.i.ready):
                m.d.sync += address.eq(stepped(address, config.lanes))
            with m.If(merger.done):
                m.d.sync += number.eq(stepped(number, config.lanes))

        # Counts blocks that arrived whole and have not been found good.
        open_ = Signal(range(2 * _BLOCKS + 4))
        comes = Signal()
        m.d.comb += [
            comes.eq(push & self.i.payload.last),
            self.settled.eq((open_ == 0) | merger.bad),
            self.idle.eq(writer.idle & (self.stop | ((open_ == 0) & ~widening))),
            self.axi_fault.eq(writer.fault),
            self.fault.valid.eq(merger.bad),
            self.fault.status.eq(Status.BAD_PAYLOAD),
            self.fault.block.eq(number),
            self.waits.memory.eq(merger.o.valid & ~merger.o.ready),
            self.waits.buffer.eq(begun & ~merger.o.valid & ~buffer.o.valid),
        ]
        with m.If(comes & ~merger.done):
            m.d.sync += open_.eq(open_ + 1)
        with m.Elif(merger.done & ~comes):
            m.d.sync += open_.eq(open_ - 1)
        return m

    @property
    def _plain(self) -> Value:
        return self.narrow == Narrowing.NONE

    def _widened(self, m: Module, merger: BlockMerger, writer: AxiWriter) -> Value:
        """Connects merger and writer, through the widener or around it; returns whether the widener holds data."""
        if not self._config.narrowing:
            wiring.connect(m, merger.o, writer.data)
            return Const(0)
        m.submodules.widener = widener = FloatWidener(self._config.beat_bytes)
        m.d.comb += [
            widener.narrow.eq(self.narrow),
            widener.i.payload.eq(merger.o.payload),
            widener.i.valid.eq(merger.o.valid & ~self._plain),
            widener.o.ready.eq(writer.data.ready & ~self._plain),
            merger.o.ready.eq(Mux(self._plain, writer.data.ready, widener.i.ready)),
            writer.data.valid.eq(Mux(self._plain, merger.o.valid, widener.o.valid)),
            writer.data.payload.data.eq(Mux(self._plain, merger.o.payload.data, widener.o.payload)),
        ]
        return ~widener.idle
