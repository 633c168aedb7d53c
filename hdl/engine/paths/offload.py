"""The offload path: reads device memory, compresses, and writes over the link."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, ResetInserter, Signal, Value, ValueLike
from amaranth.hdl._ast import Assign
from amaranth.lib import data, wiring
from amaranth.utils import exact_log2

from cdma.hdl.common.counters import counter
from cdma.hdl.common.modules import shared
from cdma.hdl.common.record_fifo import RecordFifo
from cdma.hdl.common.skid import Skid
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.signature import axi_read, axi_write
from cdma.hdl.engine.lanes.offload import OffloadLane
from cdma.hdl.engine.link.aggregator import Aggregator
from cdma.hdl.engine.link.crc32c import Crc32c
from cdma.hdl.engine.link.writer import LinkWriter
from cdma.hdl.engine.paths.data_path import DataPath
from cdma.hdl.engine.paths.supervisor import Supervisor, totals_layout
from cdma.hdl.engine.transfer.interleave import BlockWalker, lane_bits
from cdma.hdl.engine.transfer.records import BLOCK_BITS, Status, request_layout

__all__ = ["OffloadPath"]


class OffloadPath(DataPath):
    """Reads tensors through the lanes and writes their block streams over the link.

    ::

                    +--------+   +------+
        lanes[0] -->| walker |-->| lane |--\\     +------------+        +-------------+
        lanes[1] -->| walker |-->| lane |---+--->| aggregator |---+--->| link writer |--> link
          ...       +--------+   +------+  /     +------------+   |    +-------------+
                                                                  +--> CRC
        request --> supervisor --> result

    In the pipeline ``fast`` there is a skid buffer in front of the link writer.

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    As :class:`cdma.hdl.engine.paths.data_path.DataPath`: the lanes read, the link writes.
    """

    def __init__(self, config: EngineConfig):
        super().__init__(config, lane=axi_read(config.address_bits, config.beat_bytes),
                         link=axi_write(config.address_bits, config.link_beat_bytes))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        supervisor = self._supervised(m, "source")
        clear = ResetInserter(supervisor.clear)
        unit_clear = self._unit_clears(m, supervisor)
        lanes = [OffloadLane(config) for _ in range(config.lanes)]
        walkers = [BlockWalker(config) for _ in range(config.lanes)]
        aggregator, writer = Aggregator(config), LinkWriter(config)
        for number, (lane, walker) in enumerate(zip(lanes, walkers)):
            m.submodules[f"lane{number}"] = shared(platform, "offload.lane", lane, unit_clear[number])
            m.submodules[f"walker{number}"] = clear(walker)
            wiring.connect(m, walker.o, lane.i)
            wiring.connect(m, lane.o, aggregator.lanes[number])
            wiring.connect(m, lane.axi, wiring.flipped(self.lanes[number]))
            m.d.comb += lane.stop.eq(supervisor.unit_stop[number])
        m.submodules.aggregator = clear(aggregator)
        m.submodules.writer = ResetInserter(unit_clear[config.lanes])(writer)
        wiring.connect(m, writer.axi, wiring.flipped(self.link))

        free = Signal(name="front_free")
        launched: Value = Const(1)
        idle = [lane.idle for lane in lanes] + [writer.idle]
        # Records of completions use the link's write port as well.
        m.d.comb += supervisor.silent[config.lanes].eq(self.silent[config.lanes] & ~writer.idle)
        list_faults: list[dict[str, ValueLike]] = []
        if config.page_lists:
            lists, launched, list_faults = self._page_list(
                m, supervisor, writer.pages, supervisor.launch.payload.transfer.destination)
            idle.append(lists.idle)
            m.d.comb += supervisor.silent[-1].eq(self.silent[-1] & ~lists.idle)
        self._begin(m, supervisor, walkers, free, launched)
        follow = supervisor.follow
        m.d.comb += [
            follow.ready.eq(aggregator.start.ready & writer.start.ready),
            aggregator.start.valid.eq(follow.valid & writer.start.ready),
            aggregator.start.payload.first_lane.eq(follow.payload.first_lane),
            aggregator.start.payload.last_block.eq(follow.payload.last_block),
            aggregator.start.payload.capacity.eq(follow.payload.transfer.capacity),
            writer.start.valid.eq(follow.valid & aggregator.start.ready),
            *self._destination(writer.start.payload, follow.payload.transfer),
            writer.stop.eq(supervisor.unit_stop[config.lanes]),
        ]
        unanswered = [*supervisor.silent]
        if config.page_lists:
            # Entries that an earlier stream left over are no transfer's, until their unit is isolated.
            unanswered[-1] = unanswered[-1] & (lists.wanted | supervisor.unit_stop[-1])
        faults = self._timeouts(unanswered, Status.LANE_READ_TIMEOUT, Status.LINK_WRITE_TIMEOUT,
                                Status.PAGE_LIST_READ_TIMEOUT)
        faults += self._protect(m, lanes)
        faults += [{"valid": lane.fault.valid, "status": Status.LANE_READ_ERROR, "lane": number,
                   "resp": lane.fault.resp, "place": lane.fault.address} for number, lane in enumerate(lanes)]
        faults += [
            {"valid": writer.fault.valid, "status": Status.LINK_WRITE_ERROR, "resp": writer.fault.resp,
             "place": writer.fault.address},
            {"valid": aggregator.overflow.valid, "status": Status.DESTINATION_TOO_SMALL,
             "place": aggregator.overflow.block},
            *list_faults,
        ]
        self._report(m, supervisor, faults)
        self._totals(m, supervisor, aggregator, writer)
        m.d.comb += supervisor.unit_idle.eq(Cat(idle))
        self._count(m, self.link.wvalid & self.link.wready, [lane.waits.memory for lane in lanes],
                    [lane.waits.buffer for lane in lanes])
        return m

    def _destination(self, start: data.View, transfer: data.View) -> list[Assign]:
        """Where the stream of a transfer goes. In pages, its bytes count from 0."""
        if not self._config.page_lists:
            return [start.address.eq(transfer.destination)]
        return [start.address.eq(Mux(transfer.listed, 0, transfer.destination)), start.listed.eq(transfer.listed),
                start.size.eq(transfer.page_size)]

    def _begin(self, m: Module, supervisor: Supervisor, walkers: list[BlockWalker], free: Signal,
               launched: Value) -> None:
        """Gives each lane its first block, one lane per cycle, beginning with the transfer's first lane.

        A lane that still has blocks of the transfer before is waited for. ``free``: the next transfer may come, if it
        is ``launched``.
        """
        config = self._config
        start = supervisor.launch.payload
        lane = Signal(lane_bits(config), reset_less=True)
        page = Signal.like(walkers[0].page, reset_less=True)
        to_end = Signal(BLOCK_BITS + 1, reset_less=True)
        sequence = Signal(8, reset_less=True)
        tail_bytes = Signal.like(start.tail_bytes, reset_less=True)
        how = [(name, Signal(request_layout(config)[name].shape, name=name, reset_less=True))
               for name in ("element", "exponents", "narrow", "fallback", "leave_raw")]
        left = Signal(range(config.lanes + 1))
        loads, goes = Signal(), Signal()
        m.d.comb += [
            free.eq(left == 0), supervisor.launch.ready.eq(free & launched),
            loads.eq(supervisor.launch.valid & free & launched),
        ]
        counter(m, page, goes, clear=loads, begin=start.transfer.source[exact_log2(config.block_bytes):])
        # Minus the number of blocks.
        counter(m, to_end, goes, clear=loads, begin=Cat(~start.last_block, Const(1)))
        with m.If(loads):
            m.d.sync += [
                lane.eq(start.first_lane),
                sequence.eq(0),
                tail_bytes.eq(start.tail_bytes),
                *(held.eq(start.transfer[name]) for name, held in how),
                left.eq(config.lanes),
            ]
        with m.Elif(goes):
            m.d.sync += [
                lane.eq(Mux(lane == config.lanes - 1, 0, lane + 1)),
                sequence.eq(sequence + 1),
                left.eq(left - 1),
            ]
        with m.If(supervisor.stop):
            m.d.sync += left.eq(0)
        m.d.comb += goes.eq(Cat(walker.load for walker in walkers).any())
        for number, walker in enumerate(walkers):
            m.d.comb += [
                walker.load.eq((left != 0) & (lane == number) & walker.free),
                walker.page.eq(page),
                walker.to_end.eq(to_end),
                walker.sequence.eq(sequence),
                walker.tail_bytes.eq(tail_bytes),
                *(getattr(walker, name).eq(held) for name, held in how),
            ]

    def _totals(self, m: Module, supervisor: Supervisor, aggregator: Aggregator, writer: LinkWriter) -> None:
        """Connects aggregator and writer, and keeps the totals of each transfer until all its bursts are answered."""
        config = self._config
        most = config.transfers_in_flight
        names = ("bytes", "nonzero", "raw_blocks", *(["crc"] if config.crc else []))
        layout = data.StructLayout({name: totals_layout()[name].shape for name in names})
        kept = RecordFifo(layout, most)
        written = Signal(range(most + 1))
        counted = Signal(layout, reset_less=True)       # of the transfer whose last beat left
        complete, holds = Signal(), Signal()
        totals = supervisor.totals
        ends = totals.valid & totals.ready
        m.submodules.kept = ResetInserter(supervisor.clear)(kept)
        words = writer.i
        if config.pipeline == "fast":
            # The ready of the lanes depends on that of the aggregator's sink: here it is registered.
            skid = Skid(writer.i.payload.shape())
            m.submodules.skid = ResetInserter(supervisor.clear)(skid)
            wiring.connect(m, skid.o, writer.i)
            words = skid.i
        with m.If(aggregator.done):
            m.d.sync += [counted[name].eq(getattr(aggregator, name)) for name in names if name != "crc"]
        m.d.comb += [
            kept.i.valid.eq(complete), kept.i.payload.eq(counted), kept.keep.eq(supervisor.keeps),
            *(totals.payload[name].eq(kept.o.payload[name]) for name in names),
            kept.o.ready.eq(ends),
            words.valid.eq(aggregator.o.valid & ~holds), aggregator.o.ready.eq(words.ready & ~holds),
            words.payload.eq(aggregator.o.payload),
        ]
        finished: Value = aggregator.done
        busy: Value = aggregator.done
        if config.crc:
            crc = Crc32c(config.link_beat_bytes)
            m.submodules.crc = ResetInserter(supervisor.clear)(crc)
            m.d.comb += [
                crc.i.valid.eq(aggregator.o.valid & aggregator.o.ready),
                crc.i.payload.eq(aggregator.o.payload),
            ]
            with m.If(crc.done):
                m.d.sync += counted.crc.eq(crc.value)
            finished, busy = crc.done, crc.busy | crc.done
        # A last beat waits until the totals of the transfer before are kept, for transfers of a few beats.
        unfinished: Value = busy | complete
        if config.pipeline == "fast":
            leaves = aggregator.o.valid & aggregator.o.ready & aggregator.o.payload.last
            unfinished = Signal(name="unfinished")
            m.d.sync += unfinished.eq(((unfinished & ~(complete & kept.i.ready)) | leaves) & ~supervisor.clear)
        m.d.comb += holds.eq(aggregator.o.payload.last & unfinished)
        m.d.sync += complete.eq((complete & ~kept.i.ready) | finished)
        m.d.comb += totals.valid.eq(kept.o.valid & (written != 0))
        m.d.sync += written.eq(written + writer.written - ends)
        with m.If(supervisor.clear):
            m.d.sync += [written.eq(0), complete.eq(0)]
