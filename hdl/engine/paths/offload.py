"""The offload path: reads device memory, compresses, and writes over the link."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal, ValueLike
from amaranth.lib import wiring
from amaranth.utils import exact_log2

from hdl.common.modules import shared
from hdl.config.engine import EngineConfig
from hdl.engine.axi.signature import axi_read, axi_write
from hdl.engine.lanes.offload import OffloadLane
from hdl.engine.link.aggregator import Aggregator
from hdl.engine.link.crc32c import Crc32c
from hdl.engine.link.writer import LinkWriter
from hdl.engine.paths.data_path import DataPath
from hdl.engine.paths.faults import first_fault, timeouts
from hdl.engine.paths.supervisor import Supervisor
from hdl.engine.transfer.interleave import BlockWalker, lane_bits
from hdl.engine.transfer.records import BLOCK_BITS, Status

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

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    As :class:`hdl.engine.paths.data_path.DataPath`: the lanes read, the link writes.
    """

    def __init__(self, config: EngineConfig):
        super().__init__(config, lane=axi_read(config.address_bits, config.beat_bytes),
                         link=axi_write(config.address_bits, config.link_beat_bytes))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        supervisor = self._supervised(m, "source")
        transfer = supervisor.transfer
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
            m.d.comb += [
                walker.element.eq(transfer.element),
                walker.fallback.eq(transfer.fallback),
                walker.leave_raw.eq(transfer.leave_raw),
                walker.tail_bytes.eq(supervisor.tail_bytes),
                lane.narrow.eq(transfer.narrow),
                lane.stop.eq(supervisor.unit_stop[number]),
            ]
        m.submodules.aggregator = clear(aggregator)
        m.submodules.writer = ResetInserter(unit_clear[config.lanes])(writer)
        wiring.connect(m, aggregator.o, writer.i)
        wiring.connect(m, writer.axi, wiring.flipped(self.link))

        self._begin(m, supervisor, walkers)
        m.d.comb += [
            aggregator.start.valid.eq(supervisor.begin),
            aggregator.start.payload.first_lane.eq(supervisor.first_lane),
            aggregator.start.payload.blocks.eq(supervisor.last_block + 1),
            aggregator.start.payload.capacity.eq(transfer.capacity),
            writer.start.valid.eq(supervisor.begin),
            writer.start.payload.address.eq(transfer.destination),
            writer.stop.eq(supervisor.unit_stop[config.lanes]),
        ]
        faults: list[dict[str, ValueLike]] = timeouts(self.silent, Status.LANE_READ_TIMEOUT, Status.LINK_WRITE_TIMEOUT)
        faults += [{"valid": lane.fault.valid, "status": Status.LANE_READ_ERROR, "lane": number,
                   "resp": lane.fault.resp, "place": lane.fault.address} for number, lane in enumerate(lanes)]
        faults += [
            {"valid": writer.fault.valid, "status": Status.LINK_WRITE_ERROR, "resp": writer.fault.resp,
             "place": writer.fault.address},
            {"valid": aggregator.overflow.valid, "status": Status.DESTINATION_TOO_SMALL,
             "place": aggregator.overflow.block},
        ]
        done = Signal()
        crc_done = Signal(init=not config.crc)
        if config.crc:
            crc = Crc32c(config.link_beat_bytes)
            m.submodules.crc = clear(crc)
            m.d.comb += [
                crc.i.valid.eq(aggregator.o.valid & aggregator.o.ready),
                crc.i.payload.eq(aggregator.o.payload),
                crc_done.eq(crc.done),
                supervisor.totals.crc.eq(crc.value),
            ]
        m.d.sync += done.eq(aggregator.done & writer.done & crc_done & ~supervisor.begin)
        m.d.comb += [
            supervisor.fault.eq(first_fault(m, config, faults, "fault")),
            supervisor.finished.eq(done),
            supervisor.totals.bytes.eq(aggregator.bytes),
            supervisor.totals.nonzero.eq(aggregator.nonzero),
            supervisor.totals.raw_blocks.eq(aggregator.raw_blocks),
        ]
        m.d.comb += supervisor.unit_idle.eq(Cat(*(lane.idle for lane in lanes), writer.idle))
        self._count(m, self.link.wvalid & self.link.wready, [lane.waits for lane in lanes])
        return m

    def _begin(self, m: Module, supervisor: Supervisor, walkers: list[BlockWalker]) -> None:
        """Gives each lane its first block, one lane per cycle, beginning with the transfer's first lane."""
        config = self._config
        lane = Signal(lane_bits(config), reset_less=True)
        page = Signal.like(walkers[0].page, reset_less=True)
        behind = Signal(BLOCK_BITS + 1, reset_less=True)
        sequence = Signal(8, reset_less=True)
        left = Signal(range(config.lanes + 1))
        with m.If(supervisor.begin):
            m.d.sync += [
                lane.eq(supervisor.first_lane),
                page.eq(supervisor.transfer.source[exact_log2(config.block_bytes):]),
                behind.eq(supervisor.last_block),
                sequence.eq(0),
                left.eq(config.lanes),
            ]
        with m.Elif(left != 0):
            m.d.sync += [
                lane.eq(Mux(lane == config.lanes - 1, 0, lane + 1)),
                page.eq(page + 1),
                behind.eq(behind - 1),
                sequence.eq(sequence + 1),
                left.eq(left - 1),
            ]
        with m.If(supervisor.stop):
            m.d.sync += left.eq(0)
        for number, walker in enumerate(walkers):
            m.d.comb += [
                walker.load.eq((left != 0) & (lane == number)),
                walker.page.eq(page),
                walker.behind.eq(behind),
                walker.sequence.eq(sequence),
            ]
