"""The prefetch path: reads over the link, expands, and writes to device memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal, ValueLike
from amaranth.lib import wiring
from amaranth.utils import exact_log2

from hdl.codec.narrowing.rounding import Narrowing
from hdl.common.beat import beat_layout
from hdl.common.modules import shared
from hdl.common.skid import Spare
from hdl.config.engine import EngineConfig
from hdl.engine.axi.reader import AxiReader
from hdl.engine.axi.signature import axi_read, axi_write
from hdl.engine.lanes.prefetch import PrefetchLane
from hdl.engine.link.crc32c import Crc32c
from hdl.engine.link.distributor import Distributor
from hdl.engine.link.verdict import Verdict
from hdl.engine.paths.data_path import DataPath
from hdl.engine.paths.faults import first_fault, timeouts
from hdl.engine.transfer.records import LENGTH_BITS, Status

__all__ = ["PrefetchPath"]


class PrefetchPath(DataPath):
    """Reads block streams over the link and writes their tensors through the lanes.

    ::

                                                             +------+
                +--------+     +-------+   +-------------+ /-| lane |--> lanes[0]
        link -->| reader |--+->| spare |-->| distributor |---| lane |--> lanes[1]
                +--------+  |  +-------+   +-------------+ \\-| lane |     ...
                            +--> CRC                         +------+
        request --> supervisor --> result                        | faults
                        ^-------- verdict <----------------------+

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    As :class:`hdl.engine.paths.data_path.DataPath`: the lanes write, the link reads.
    """

    def __init__(self, config: EngineConfig):
        super().__init__(config, lane=axi_write(config.address_bits, config.beat_bytes),
                         link=axi_read(config.address_bits, config.link_beat_bytes))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        supervisor = self._supervised(m, "destination")
        transfer = supervisor.transfer
        clear = ResetInserter(supervisor.clear)
        unit_clear = self._unit_clears(m, supervisor)
        reader = AxiReader(config.address_bits, config.link_beat_bytes, LENGTH_BITS, config.outstanding_reads)
        spare = Spare(beat_layout(config.link_beat_bytes))
        distributor = Distributor(config)
        m.submodules.verdict = verdict = clear(Verdict(config))
        lanes = [PrefetchLane(config) for _ in range(config.lanes)]
        m.submodules.reader = ResetInserter(unit_clear[config.lanes])(reader)
        m.submodules.spare = clear(spare)
        m.submodules.distributor = clear(distributor)
        wiring.connect(m, reader.axi, wiring.flipped(self.link))
        wiring.connect(m, reader.o, spare.i)
        wiring.connect(m, spare.o, distributor.i)
        for number, lane in enumerate(lanes):
            m.submodules[f"lane{number}"] = shared(platform, "prefetch.lane", lane, unit_clear[number])
            wiring.connect(m, distributor.lanes[number], lane.i)
            wiring.connect(m, lane.axi, wiring.flipped(self.lanes[number]))
            m.d.comb += [
                lane.element.eq(transfer.element),
                lane.narrow.eq(transfer.narrow),
                lane.stop.eq(supervisor.unit_stop[number]),
                verdict.lanes[number].eq(lane.fault),
                verdict.settled[number].eq(lane.settled),
            ]
        m.d.comb += [
            reader.i.valid.eq(supervisor.begin),
            reader.i.payload.address.eq(transfer.source),
            reader.i.payload.bytes.eq(transfer.packed_bytes),
            reader.stop.eq(supervisor.unit_stop[config.lanes]),
            distributor.start.valid.eq(supervisor.begin),
            distributor.start.payload.first_lane.eq(supervisor.first_lane),
            distributor.start.payload.address.eq(transfer.destination),
            distributor.start.payload.raw_bytes.eq(transfer.raw_bytes),
            distributor.start.payload.element.eq(transfer.element),
            distributor.start.payload.halved.eq(transfer.narrow != Narrowing.NONE),
            distributor.stop.eq(verdict.stop | supervisor.stop),
            verdict.distributor.eq(distributor.fault),
        ]

        mismatch = Signal()
        crc_done = Signal(init=not config.crc)
        if config.crc:
            m.submodules.crc = crc = clear(Crc32c(config.link_beat_bytes))
            # Words of the last beat, from the packed length, because its keep bits settle too late in the cycle.
            tail = transfer.packed_bytes[2:exact_log2(config.link_beat_bytes)]
            m.d.comb += [
                crc.i.valid.eq(reader.o.valid & reader.o.ready),
                crc.i.payload.data.eq(reader.o.payload.data),
                crc.i.payload.words.eq(Mux(tail == 0, config.link_words, tail)),
                crc.i.payload.last.eq(reader.o.payload.last),
                crc_done.eq(crc.done),
                supervisor.totals.crc.eq(crc.value),
            ]
            m.d.sync += mismatch.eq(transfer.check_crc & (crc.value != transfer.crc))
        done = Signal()
        settled = Signal()
        m.d.sync += [
            done.eq(distributor.done & crc_done & Cat(lane.idle for lane in lanes).all() & ~supervisor.begin),
            # One cycle later, because `mismatch` is registered.
            settled.eq(done),
        ]
        faults: list[dict[str, ValueLike]] = timeouts(self.silent, Status.LANE_WRITE_TIMEOUT, Status.LINK_READ_TIMEOUT)
        faults += [{"valid": reader.fault.valid, "status": Status.LINK_READ_ERROR, "resp": reader.fault.resp,
                    "place": reader.fault.address}]
        faults += [{"valid": lane.axi_fault.valid, "status": Status.LANE_WRITE_ERROR, "lane": number,
                    "resp": lane.axi_fault.resp, "place": lane.axi_fault.address}
                   for number, lane in enumerate(lanes)]
        faults += [
            {"valid": verdict.fault.valid, "status": verdict.fault.status, "place": verdict.fault.block},
            {"valid": settled & mismatch, "status": Status.CRC_MISMATCH},
        ]
        m.d.comb += [
            supervisor.fault.eq(first_fault(m, config, faults, "fault")),
            supervisor.finished.eq(settled & ~mismatch),
            supervisor.totals.bytes.eq(transfer.raw_bytes),
            supervisor.totals.raw_blocks.eq(distributor.raw_blocks),
        ]
        m.d.comb += supervisor.unit_idle.eq(Cat(*(lane.idle for lane in lanes), reader.idle))
        self._count(m, self.link.rvalid & self.link.rready, [lane.waits for lane in lanes])
        return m
