"""The prefetch path: reads over the link, expands, and writes to device memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, ResetInserter, Signal, Value, ValueLike
from amaranth.lib import data, wiring
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import WORD_BYTES
from cdma.hdl.codec.narrowing.rounding import Narrowing
from cdma.hdl.common.beat import beat_layout
from cdma.hdl.common.modules import shared
from cdma.hdl.common.record_fifo import RecordFifo
from cdma.hdl.common.skid import Spare
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.reader import AxiReader
from cdma.hdl.engine.axi.signature import axi_read, axi_write
from cdma.hdl.engine.lanes.prefetch import PrefetchLane
from cdma.hdl.engine.link.crc32c import Crc32c
from cdma.hdl.engine.link.distributor import Distributor
from cdma.hdl.engine.link.verdict import Verdict
from cdma.hdl.engine.paths.answers import Answers, burst_bytes, bursts_of_block, marks_layout
from cdma.hdl.engine.paths.data_path import DataPath
from cdma.hdl.engine.paths.supervisor import Supervisor, totals_layout
from cdma.hdl.engine.transfer.records import LENGTH_BITS, Status

__all__ = ["PrefetchPath"]


class PrefetchPath(DataPath):
    """Reads block streams over the link and writes their tensors through the lanes.

    ::

                                                             +------+
                +--------+     +-------+   +-------------+ /-| lane |--> lanes[0]
        link -->| reader |--+->| spare |-->| distributor |---| lane |--> lanes[1]
                +--------+  |  +-------+   +-------------+ \\-| lane |     ...
                            +--> CRC                         +------+
        request --> supervisor --> result                        | faults, responses
                        ^-------- verdict, answers <-------------+

    Parameters
    ----------
    config : EngineConfig
        What to build.

    Members
    -------
    As :class:`cdma.hdl.engine.paths.data_path.DataPath`: the lanes write, the link reads.
    """

    def __init__(self, config: EngineConfig):
        super().__init__(config, lane=axi_write(config.address_bits, config.beat_bytes),
                         link=axi_read(config.address_bits, config.link_beat_bytes))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        supervisor = self._supervised(m, "destination")
        clear = ResetInserter(supervisor.clear)
        unit_clear = self._unit_clears(m, supervisor)
        reader = AxiReader(config.address_bits, config.link_beat_bytes, LENGTH_BITS, config.link_reads,
                           config.burst_beats, paged=config.page_lists, pipeline=config.pipeline)
        m.submodules.verdict = verdict = clear(Verdict(config))
        lanes = [PrefetchLane(config) for _ in range(config.lanes)]
        m.submodules.reader = ResetInserter(unit_clear[config.lanes])(reader)
        wiring.connect(m, reader.axi, wiring.flipped(self.link))
        for number, lane in enumerate(lanes):
            m.submodules[f"lane{number}"] = shared(platform, "prefetch.lane", lane, unit_clear[number])
            wiring.connect(m, lane.axi, wiring.flipped(self.lanes[number]))
            m.d.comb += [
                lane.stop.eq(supervisor.unit_stop[number]),
                verdict.lanes[number].eq(lane.fault),
            ]
        launch, transfer = supervisor.launch, supervisor.launch.payload.transfer
        launched: Value = Const(1)
        address: Value = transfer.source
        idle = reader.idle
        list_faults: list[dict[str, ValueLike]] = []
        if config.page_lists:
            lists, launched, list_faults = self._page_list(m, supervisor, reader.pages, transfer.source)
            # The bytes of a stream in pages count from 0.
            address, idle = Mux(transfer.listed, 0, address), idle & lists.idle
            m.d.comb += [reader.pages.paging.listed.eq(transfer.listed), reader.pages.paging.final.eq(1),
                         reader.pages.paging.size.eq(transfer.page_size)]
        # Others read through the link's port as well: descriptors, and the page lists of offloads.
        m.d.comb += supervisor.silent[-1].eq(self.silent[-1] & ~idle)
        m.d.comb += [
            launch.ready.eq(reader.i.ready & launched),
            reader.i.valid.eq(launch.valid & launched),
            reader.i.payload.address.eq(address),
            reader.i.payload.bytes.eq(transfer.packed_bytes),
            reader.stop.eq(supervisor.unit_stop[config.lanes]),
        ]
        comes = self._streams(m, supervisor, reader, lanes, verdict)
        faults = self._timeouts(supervisor.silent, Status.LANE_WRITE_TIMEOUT, Status.LINK_READ_TIMEOUT)
        faults += self._protect(m, lanes)
        faults += [{"valid": reader.fault.valid, "status": Status.LINK_READ_ERROR, "resp": reader.fault.resp,
                    "place": reader.fault.address}]
        faults += [{"valid": lane.axi_fault.valid, "status": Status.LANE_WRITE_ERROR, "lane": number,
                    "resp": lane.axi_fault.resp, "place": lane.axi_fault.address}
                   for number, lane in enumerate(lanes)]
        faults += list_faults
        faults += [{"valid": verdict.fault.valid, "status": verdict.fault.status, "place": verdict.fault.block}]
        self._report(m, supervisor, faults)
        m.d.comb += supervisor.unit_idle.eq(Cat(*(lane.idle for lane in lanes), idle))
        self._count(m, self.link.rvalid & self.link.rready, [lane.waits.memory for lane in lanes],
                    [lane.waits.buffer & comes for lane in lanes])
        return m

    def _streams(self, m: Module, supervisor: Supervisor, reader: AxiReader, lanes: list[PrefetchLane],
                 verdict: Verdict) -> Value:
        """Gives the streams to the distributor, one after the other; returns whether rows of one are still to come.

        The distributor is made for one stream, so it is reset between two; the next stream waits at the reader:

        =====  ==========================================================================
        cycle  when stream A ends
        =====  ==========================================================================
        0      its last row has been taken: ``distributor.done``
        1      the distributor is reset
        2      ``distributor.start`` of stream B, if ``follow`` shows it; it is taken, and the next one may be shown
        3      the first beat of B may pass the reader
        5      the distributor takes it
        =====  ==========================================================================
        """
        config = self._config
        most = config.transfers_in_flight
        follow, totals = supervisor.follow, supervisor.totals
        transfer = follow.payload.transfer
        # A stream `starts` in the distributor and `runs` there. `finish`: its last row is taken; it is `over` from then
        # on. `leaves`: the next stream may come, and the distributor is reset in the cycle after (`renews`). Beats of a
        # stream that `flows` leave the reader (`passes`), but not while the last beat `holds`. `ends`: the oldest
        # transfer is complete.
        runs, flows, over, starts, finish, leaves, renews, holds, passes, ends = (Signal(name=name) for name in (
            "runs", "flows", "over", "starts", "finish", "leaves", "renews", "holds", "passes", "ends"))
        clear = ResetInserter(supervisor.clear)
        spare = Spare(beat_layout(config.link_beat_bytes))
        distributor = Distributor(config)
        m.submodules.spare = clear(spare)
        m.submodules.distributor = ResetInserter(supervisor.clear | renews)(distributor)
        wiring.connect(m, spare.o, distributor.i)
        m.d.comb += [
            spare.i.payload.eq(reader.o.payload),
            spare.i.valid.eq(reader.o.valid & flows & ~holds),
            reader.o.ready.eq(spare.i.ready & flows & ~holds),
            passes.eq(reader.o.valid & reader.o.ready),
            distributor.start.valid.eq(follow.valid & ~runs & ~renews),
            distributor.start.payload.first_lane.eq(follow.payload.first_lane),
            distributor.start.payload.address.eq(transfer.destination),
            distributor.start.payload.raw_bytes.eq(transfer.raw_bytes),
            *(distributor.start.payload[name].eq(transfer[name]) for name in ("element", "exponents", "narrow")),
            distributor.stop.eq(verdict.stop | supervisor.stop),
            verdict.distributor.eq(distributor.fault),
            starts.eq(distributor.start.valid & distributor.start.ready),
            finish.eq(distributor.done & runs & ~over),
            ends.eq(totals.valid & totals.ready),
            # A single transfer stays until it has ended, because nothing of it is stored.
            leaves.eq(finish if most > 1 else ends),
            follow.ready.eq(starts if most > 1 else ends),
        ]
        m.d.sync += [
            runs.eq((runs | starts) & ~leaves), flows.eq((flows | starts) & ~(passes & reader.o.payload.last)),
            renews.eq(leaves), over.eq((over | finish) & ~leaves),
        ]
        with m.If(supervisor.clear):
            m.d.sync += [each.eq(0) for each in (runs, flows, renews, over)]

        current = self._current(m, transfer, starts)
        answers = Answers(config)
        m.submodules.answers = clear(answers)
        self._totals(m, supervisor, distributor, reader, answers, current, finish, passes, holds)
        m.d.comb += answers.take.eq(ends)
        for number, lane in enumerate(lanes):
            row, port = distributor.lanes[number], self.lanes[number]
            wiring.connect(m, row, lane.i)
            m.d.comb += [
                # A row that waits for its lane may belong to a block in front of a fault.
                verdict.settled[number].eq(lane.settled & ~row.valid),
                answers.enters[number].eq(
                    Mux(row.valid & row.ready & row.payload.first, self._bursts(row.payload.block), 0)),
                answers.answered[number].eq(port.bvalid & port.bready & ~port.bresp[1]),
            ]
        # A fault is seen here before the last response to the transfer that it belongs to.
        suspect = Signal()
        found = [each.valid for lane in lanes for each in (lane.fault, lane.axi_fault)]
        if config.buffer_parity:
            found += [lane.spoiled for lane in lanes]
        m.d.sync += suspect.eq(distributor.fault.valid | Cat(found).any())
        m.d.comb += totals.valid.eq(answers.done & ~suspect)
        return runs & ~over

    def _current(self, m: Module, transfer: data.View, starts: Value) -> data.View | dict[str, Value]:
        """What is needed of the transfer whose stream the distributor has, until that stream ends."""
        if self._config.transfers_in_flight == 1:
            return transfer
        names = ("raw_bytes", *(("packed_bytes", "check_crc", "crc") if self._config.crc else ()))
        current: dict[str, Value] = {name: Signal(transfer.shape()[name].shape, name=f"current_{name}", reset_less=True)
                                     for name in names}
        with m.If(starts):
            m.d.sync += [register.eq(transfer[name]) for name, register in current.items()]
        return current

    def _totals(self, m: Module, supervisor: Supervisor, distributor: Distributor, reader: AxiReader, answers: Answers,
                current: data.View | dict[str, Value], finish: Value, passes: Value, holds: Signal) -> None:
        """Keeps the totals of each transfer, and its marks, until all its bursts are answered.

        A last beat is held until the totals of the stream before are kept, for streams of a few beats.
        """
        config = self._config
        names = ("bytes", "raw_blocks", *(("crc", "mismatch") if config.crc else ()))
        layout = data.StructLayout({"marks": marks_layout(config)}
                                   | {name: totals_layout()[name].shape for name in names})
        m.submodules.kept = kept = ResetInserter(supervisor.clear)(RecordFifo(layout, config.transfers_in_flight))
        counted = Signal(layout, reset_less=True)       # of the stream that ended
        ended, closed, complete = (Signal(name=name) for name in ("ended", "closed", "complete"))
        m.d.comb += [
            complete.eq(ended & closed if config.crc else ended),
            kept.i.valid.eq(complete), kept.i.payload.eq(counted), kept.keep.eq(supervisor.keeps),
            *(supervisor.totals.payload[name].eq(kept.o.payload[name]) for name in names),
            kept.o.ready.eq(supervisor.totals.valid & supervisor.totals.ready),
            answers.valid.eq(kept.o.valid), answers.mark.eq(kept.o.payload.marks),
        ]
        with m.If(finish):
            m.d.sync += [ended.eq(1), counted.bytes.eq(current["raw_bytes"]),
                         counted.raw_blocks.eq(distributor.raw_blocks), counted.marks.eq(answers.marks)]
        last = reader.o.payload.last
        if config.crc:
            m.submodules.crc = crc = ResetInserter(supervisor.clear)(Crc32c(config.link_beat_bytes))
            # Words of the last beat, from the packed length, because its keep bits settle too late in the cycle.
            tail = current["packed_bytes"][2:exact_log2(config.link_beat_bytes)]
            checks, expected = Signal(reset_less=True), Signal(32, reset_less=True)
            m.d.comb += [
                crc.i.valid.eq(passes),
                crc.i.payload.data.eq(reader.o.payload.data & Cat(
                    bit.replicate(8 * WORD_BYTES) for bit in reader.o.payload.keep[::WORD_BYTES])),
                crc.i.payload.words.eq(Mux(tail == 0, config.link_words, tail)),
                crc.i.payload.last.eq(last),
                holds.eq(last & (crc.busy | crc.done | closed)),
            ]
            with m.If(passes & last):
                m.d.sync += [checks.eq(current["check_crc"]), expected.eq(current["crc"])]
            with m.If(crc.done):
                m.d.sync += [closed.eq(1), counted.crc.eq(crc.value),
                             counted.mismatch.eq(checks & (crc.value != expected))]
        else:
            m.d.comb += holds.eq(last & ended)
        with m.If((complete & kept.i.ready) | supervisor.clear):
            m.d.sync += [ended.eq(0), closed.eq(0)]

    def _bursts(self, block: data.View) -> ValueLike:
        """Bursts to write a block."""
        config = self._config
        if bursts_of_block(config) == 1:
            return 1
        wide = Mux(block.narrow == Narrowing.NONE, block.raw_bytes, block.raw_bytes << 1)
        return (wide + (burst_bytes(config) - 1)) >> exact_log2(burst_bytes(config))
