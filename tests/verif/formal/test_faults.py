"""Proofs find faults: each harness is run on its component with a fault, as a small change of an output."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.codec.packets import ErrorCode
from cdma.hdl.codec.payload.unpacking import PayloadError
from cdma.hdl.common.counters import part_carries
from cdma.hdl.engine.control import control
from cdma.hdl.engine.link import crc32c
from cdma.verif.formal import solver
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.run import choose, run
from tests.extended import usually


def _leak(m: Module) -> Signal:
    """A register without a reset that keeps what it powered up with."""
    leak = Signal(name="leak", reset_less=True)
    m.d.sync += leak.eq(leak)
    return leak


def _any_error(m: Module, dut: Any) -> Any:
    """An error of any list is that of the oldest one."""
    reader, failed = m.submodules.reader, Signal(name="any_list_failed")
    m.d.sync += failed.eq(failed | (reader.o.valid & reader.fault.valid))
    return dut.fault.valid.eq(failed)


def _targets(statements: Any) -> Iterator[Signal]:
    """Signals that are assigned, not those of state machines."""
    for statement in statements:
        if hasattr(statement, "lhs"):
            yield from statement.lhs._lhs_signals()
        for _, inner, _ in getattr(statement, "cases", ()):
            yield from _targets(inner)


def _inside(m: Module, name: str) -> Signal:
    """A signal that a component assigns, by its name; a register, if there is one of the name."""
    m.d.comb += []      # ends the last condition
    return next(signal for domain in ("sync", "comb") for signal in _targets(m._statements[domain])
                if signal.name == name)


def _again(m: Module, statement: Any) -> list[Any]:
    """Registers assigned in another way."""
    m.d.sync += statement
    return []


def _phase_kept(m: Module, dut: Any) -> list[Any]:
    """The entry after a failure has the phase of the one that was to follow."""
    phase = _inside(m, "next_phase")
    with m.If(dut.back):
        m.d.sync += phase.eq(phase)
    return []


def _first_4_kib(m: Module, dut: Any) -> list[Any]:
    """The limit of a window is compared with the beginning of a page."""
    page = data.View(dut.entries.payload.shape(), _inside(m, "checked")).page
    return _again(m, _inside(m, "behind").eq(part_carries(dut.window.limit, ~page)))


FAULTS: dict[str, Any] = {
    "the skid buffer takes a transfer when it is full": (
        "skid", "Skid", lambda m, dut: dut.i.ready.eq(1), ("level_fits", "level_is_flags", "watched_is_stored")),
    "the coalescer reports a cycle early after a flush": (
        "coalescer", "Coalescer", lambda m, dut: dut.report.eq(dut.flush),
        ("reported_by_number_time_or_flush", "reported_in_time")),
    "the interrupt falls while an error waits": (
        "interrupt", "Interrupt", lambda m, dut: dut.irq.eq(0), ("high_while_one_is_enabled",)),
    "a pulse follows on another one": (
        "interrupt", "Interrupt", lambda m, dut: dut.pulse.eq(dut.irq),
        ("one_cycle_long", "pulse_is_there_or_due", "due_is_held")),
    "an entry that could not be read is not told": (
        "interrupt", "Interrupt", lambda m, dut: dut.status.offload_ring_error.eq(0),
        ("offload_ring_error_stays_until_cleared", "high_while_one_is_enabled")),
    "a record in the cycle of a report has no time of its own": (
        "coalescer", "Coalescer", lambda m, dut: _inside(m, "begins").eq(~_inside(m, "waits")),
        ("reported_in_time", "reported_by_number_time_or_flush", "age_is_held", "time_is_held", "flags_are_held",
         "carries_are_held")),
    "a write of the time limit makes a tick": (
        "metronome", "Metronome",
        lambda m, dut: _again(m, dut.tick.eq(_inside(m, "before") & ~_inside(m, "chosen"))),
        ("tick_0_at_the_end", "tick_1_at_the_end")),
    "a change of the time limit does not restart": (
        "metronome", "Metronome", lambda m, dut: _again(m, dut.restart.eq(0)), ("restarts_after_a_change",)),
    "the decompressor takes a torn tag for an end": (
        "malformed_lines32", "Decompressor", lambda m, dut: dut.error.code.eq(
            Mux(m.submodules.skid.o.payload.code == ErrorCode.TRUNCATED_TAG, ErrorCode.OK,
                m.submodules.skid.o.payload.code)),
        ("verdict_is_that_of_the_format",)),
    "the decompressor reports the first line": (
        "malformed_lines32", "Decompressor", lambda m, dut: dut.error.line.eq(0), ("line_of_the_fault",)),
    "the block decompressor takes a missing element for one that is there": (
        "malformed_bfloat16_1", "BlockDecompressor", lambda m, dut: dut.error.code.eq(Mux(
            m.submodules.downsizer.o.payload.error.code == PayloadError.BAD_TAG, PayloadError.OK,
            m.submodules.downsizer.o.payload.error.code)),
        ("verdict_is_that_of_the_format",)),
    "a failed record's entry keeps the phase of the next pass": (
        "write_back_ring", "Ring", _phase_kept, ("phase_of_the_next",)),
    "the port of records counts as silent in the cycle of an answer": (
        "record_writer", "WriteBack", lambda m, dut: _inside(m, "no_answer").eq(dut.silent),
        ("open_records_of_0", "open_records_of_1", "records_at_the_port")),
    "only the first 4 KiB of a page are compared": (
        "page_window", "PageList", _first_4_kib, ("page_ends_inside", "comparisons_are_held")),
    "the reader withdraws an address": (
        "reader", "AxiReader", lambda m, dut: dut.axi.arvalid.eq(m.submodules.splitter.o.valid & ~dut.stop),
        ("read.AXI4_AR_VALID_STABLE", "open_are_those_taken_and_the_one_shown")),
    "the reader asks for a beat more": (
        "reader", "AxiReader", lambda m, dut: dut.axi.arlen.eq(m.submodules.splitter.o.payload.len + 1),
        ("read.AXI4_AR_BOUNDARY", "length_of_0", "shown_is_0")),
    "the reader has a burst too many open": (
        "reader", "AxiReader", lambda m, dut: m.submodules.splitter.begin.eq(1),
        ("read.AXI4_AR_OUTSTANDING", "first_shown_has_room")),
    "the writer marks no last beat": (
        "writer", "AxiWriter", lambda m, dut: dut.axi.wlast.eq(0),
        ("write.AXI4_W_LAST", "begun_by_data", "beats_have_a_burst", "last_beat_is_marked")),
    "the writer's tail has the strobes of a whole beat": (
        "writer", "AxiWriter", lambda m, dut: dut.axi.wstrb.eq(-1),
        ("strobes_are_those_of_the_bytes", "an_abandoned_beat_has_none")),
    "the writer changes strobes of a beat that waits": (
        "writer", "AxiWriter", lambda m, dut: dut.axi.wstrb.eq(Mux(dut.stop, 0, -1)),
        ("write.AXI4_W_PAYLOAD_STABLE", "beat_waits_as_it_was", "strobes_are_those_of_the_bytes",
         "an_abandoned_beat_has_none")),
    "the writer's beats are wider than the port": (
        "writer", "AxiWriter", lambda m, dut: dut.axi.awsize.eq(5), ("write.AXI4_AW_SIZE",)),
    "the register bus says EXOKAY": (
        "axi_lite", "AxiLite", lambda m, dut: dut.bus.bresp[0].eq(dut.bus.bvalid),
        ("lite.AXI4L_B_EXOKAY", "responses_are_okay_or_error", "write_is_answered")),
    "the compressor's last beat has a gap": (
        "compressor_stream", "AxiStreamCore", lambda m, dut: dut.m_axis_tkeep[1].eq(~dut.m_axis_tlast),
        ("output.AXIS_CONTIGUOUS",)),
    "the decompressor changes a byte that waits": (
        "decompressor_stream", "AxiStreamCore", lambda m, dut: dut.m_axis_tdata[:8].eq(dut.m_axis_tready),
        ("output.AXIS_PAYLOAD_STABLE",)),
    "the CRC leaves out a bit of a beat": (
        "crc_matrices_16", "Crc32c", lambda m, dut: m.submodules.sum.i[77].eq(0),
        ("column_of_sum", "column_of_finish", "column_of_step")),
    "the CRC's value has a bit that is not inverted": (
        "crc_messages_16", "Crc32c", lambda m, dut: dut.value[31].eq(m.submodules.finish.i[31]), ("value",)),
    "a response has what a register powered up with": (
        "reset_axi_lite", "AxiLite", lambda m, dut: dut.bus.bresp[1].eq(_leak(m)), ("same_bus_bresp",)),
    "a reader that was reset is idle or not": (
        "reset_reader", "AxiReader", lambda m, dut: dut.idle.eq(_leak(m)), ("same_idle",)),
    "the aggregator's rows begin with what was left before the reset": (
        "reset_aggregator", "Aggregator", lambda m, dut: m.submodules.shifter.parts[0].place[0].eq(1),
        ("same_o_payload_data", "loaded_shifter_row")),
    "the reader waits for a beat before it takes one": (
        "progress_reader", "AxiReader",
        lambda m, dut: dut.axi.rready.eq(m.submodules.open.o.valid & dut.o.valid & dut.o.ready),
        ("something_in_time",)),
    "the framer is not ready for the last beat": (
        "progress_framer", "Framer", lambda m, dut: dut.i.ready.eq(dut.o.ready & ~dut.i.payload.last),
        ("offered_in_time",)),
    "a row of the aggregator lacks a bit of a word": (
        "barrel_shifter_4_1", "BarrelShifter", lambda m, dut: dut.row[35].eq(0), ("row_1",)),
    "the framer leaves out the length field's first byte": (
        "framer_16_16", "Framer", lambda m, dut: dut.o.payload.data[32:40].eq(0), ("byte",)),
    "the framer's last row is never the last": (
        "framer_16_16", "Framer", lambda m, dut: dut.o.payload.last.eq(0), ("last_row",)),
    "the merger takes a row of data with every beat": (
        "merger_16", "Merger", lambda m, dut: dut.rows.ready.eq(dut.o.valid & dut.o.ready),
        ("rows_go_with_their_beat",)),
    "the slicer does not tell of ones behind the last beat": (
        "tag_slicer_16_lane", "TagSlicer", lambda m, dut: dut.slice.beyond.eq(0), ("beyond",)),
    "the realigner says that a word is carried which is not": (
        "realigner_4", "Realigner", lambda m, dut: dut.carried.eq(-1),
        tuple(f"carried_{word}_of_{place}" for place in range(4) for word in range(4))),
    "the fetcher reads from where a register powered up": (
        "reset_fetcher", "Fetcher", lambda m, dut: dut.axi.araddr[6].eq(_leak(m)),
        ("same_axi_araddr",)),
    "the fetcher gives all entries to offload": (
        "fetcher", "Fetcher", lambda m, dut: dut.direction.eq(0), ("for_its_direction", "owners", "base_is_held")),
    "the fetcher does not tell what a silent link leaves open": (
        "progress_fetcher_ahead_of_a_silent_link", "Fetcher",
        lambda m, dut: dut.fill.valid.eq(dut.failed & ~dut.isolated), ("something_in_time",)),
    "the distributor waits for a second lane": (
        "progress_distributor", "Distributor", lambda m, dut: m.submodules.parser.go.eq(0),
        ("something_in_time",)),
    "the distributor gives a lane the rows of another one": (
        "distributor_order_3", "Distributor", lambda m, dut: dut.lanes[2].valid.eq(dut.lanes[0].valid),
        ("rows_are_of_their_lanes", "none_in_front_of_a_last_row", "lane_2_stays")),
    "the distributor takes rows back when it is stopped": (
        "distributor_order_1", "Distributor", lambda m, dut: dut.lanes[0].valid.eq(
            _inside(m, "live").any() & ~dut.stop), ("lane_0_stays",)),
    "the distributor's last row is not marked": (
        "distributor_order_1", "Distributor", lambda m, dut: dut.lanes[0].payload.last.eq(0),
        ("first_rows_are_marked", "blocks_are_accounted_for", "without_a_row")),
    "the parser goes on while a row waits": (
        "distributor_order_6", "Distributor", lambda m, dut: m.submodules.parser.go.eq(1),
        ("open_is_held", "header_is_held", "a_side_has_lanes_in_turn")),
    "an odd block of the distributor has the address of the one before": (
        "distributor_places", "Distributor", lambda m, dut: dut.lanes[0].payload.block.address[10].eq(0),
        ("address_of_the_block",)),
    "the distributor does not know the last block": (
        "distributor_places", "Distributor", lambda m, dut: m.submodules.parser.final.eq(0),
        ("none_behind_the_last_block", "final_is_held", "headers_are_of_the_transfer")),
    "a lane asks for half of a widened block": (
        "lane_requests", "PrefetchLane",
        lambda m, dut: m.submodules.requests.i.payload.bytes.eq(dut.i.payload.block.raw_bytes),
        ("watched_payload", "watched_is_stored")),
    "a lane writes to an even page": (
        "lane_requests", "PrefetchLane", lambda m, dut: m.submodules.requests.i.payload.address[12].eq(0),
        ("watched_payload", "watched_is_stored")),
    "a lane asks for a block that it discards": (
        "lane_requests", "PrefetchLane",
        lambda m, dut: m.submodules.requests.i.valid.eq(dut.i.valid & dut.i.ready & dut.i.payload.first),
        ("only_what_entered", "level_is_told")),
    "the compressor's last beat is turned by an element": (
        "compressor_lines16_2", "Compressor", lambda m, dut: dut.o.payload.data.eq(Mux(
            dut.o.payload.last, m.submodules.packer.o.payload.data.rotate_left(16),
            m.submodules.packer.o.payload.data)),
        ("watched_element", "tag_0_0", "tag_0_1", "tag_0_2", "tag_0_3")),
    "the decompressor shows an element where a zero was": (
        "decompressor_lines16_2", "Decompressor", lambda m, dut: dut.o.payload.data[16:32].eq(
            Mux(m.submodules.skid.o.payload.data[16:32] == 0, m.submodules.skid.o.payload.data[:16],
                m.submodules.skid.o.payload.data[16:32])),
        ("watched_element",)),
    "the FIFO between clocks takes a transfer when it is full": (
        "dual_clock_fifo_4", "DualClockFifo", lambda m, dut: dut.i.ready.eq(1),
        ("counts_in_order", "level_fits", "level_is_of_counts", "watched_payload")),
    "the FIFO between clocks passes on a count that is not Gray code": (
        "dual_clock_fifo_4", "DualClockFifo",
        lambda m, dut: m.submodules.to_read.i.eq(m.submodules.written.count), ("counts_in_order", "none_from_nothing")),
    "an error of a page list is that of the next one": (
        "page_list", "PageList", _any_error, ("error_is_its_own",)),
    "an entry of a page list that cannot be read is good": (
        "page_list", "PageList", lambda m, dut: dut.entries.payload.state.eq(0), ("state_of_the_entry",)),
    "an odd page of 4 KiB is taken for the one before": (
        "page_translator", "PageTranslator", lambda m, dut: dut.o.payload.address[12].eq(0),
        ("address_is_that_of_its_page",)),
    "a page outside of the window is stored as a good one": (
        "page_window", "PageList", lambda m, dut: m.submodules.memory.write_ports[0].data.state.eq(0),
        ("page_begins_inside", "page_ends_inside", "page_is_aligned")),
    "a window changes while it is used": (
        "windows", "Windows", lambda m, dut: dut.refuse.eq(dut.locked), ("a_write_that_changes_nothing_is_refused",)),
    "the last block of a tensor is whole": (
        "block_walker_3", "BlockWalker", lambda m, dut: dut.o.payload.bytes.eq(512), ("only_the_last_is_short",)),
    "a transfer goes to another address than its descriptor says": (
        "verdict_tiny", "Checker", lambda m, dut: dut.request.destination[31].eq(0),
        ("transfer_has_its_destination",)),
    "a block fits behind one that did not": (
        "ledger_small", "Ledger", lambda m, dut: dut.fits.eq(1), ("fits_by_words",)),
    "a beat goes to a port that is closed": (
        "isolation", "AxiIsolation", lambda m, dut: dut.o.wvalid.eq(dut.i.wvalid),
        ("nothing_goes_to_a_closed_port",)),
    "a switch of a network is stuck": (
        "gather_16_2", "Gather", lambda m, dut: dut.o[48:64].eq(dut.i[48:64]),
        tuple(f"unit_{unit}" for unit in range(8))),
    "the count of the mask bits is even": (
        "scatter_16_2", "Ranks", lambda m, dut: dut.count[0].eq(0), ("count",)),
    "a network turns as if the start were another": (
        "gather_16_4", "Steer", lambda m, dut: dut.swap["d4"][0].eq(dut.start[0]),
        ("unit_1_behind_1", "unit_1_behind_2", "unit_1")),
    "the decoder of groups loses a sign": (
        "group_bfloat16", "GroupDecoder", lambda m, dut: dut.o[255].eq(0), ("element_15",)),
    "the block compressor's last beat is turned by an element": (
        "compressor_zvc32_2", "BlockCompressor", lambda m, dut: dut.o.payload.data.eq(Mux(
            dut.o.payload.last, m.submodules.merger.o.payload.data.rotate_left(32),
            m.submodules.merger.o.payload.data)),
        ("watched_element", "tag_0_0")),
    "the block decompressor shows an element where a zero was": (
        "decompressor_zvc32_2", "BlockDecompressor", lambda m, dut: dut.o.payload.data[32:64].eq(
            Mux(m.submodules.unpacker.o.payload.data[32:64] == 0, m.submodules.unpacker.o.payload.data[:32],
                m.submodules.unpacker.o.payload.data[32:64])),
        ("watched_element",)),
    "a raw block loses a byte": (
        "compressor_raw32", "BlockCompressor", lambda m, dut: dut.o.payload.data[24:32].eq(0),
        ("byte_3",)),
}
"""By what is wrong: the proof, the class of the component, what the fault changes, and which assertions may find it."""


def _with(monkeypatch: pytest.MonkeyPatch, proof: str, component: str, change: Any) -> Proof:
    """A proof whose component of a class has a fault."""
    there = [file for name, file in sys.modules.items() if name.startswith("cdma.verif.formal.proofs.")
             and hasattr(file, component)]
    right: Any = getattr(there[0], component)

    class Faulty(right):
        def elaborate(self, platform: object) -> Module:
            m: Module = super().elaborate(platform)
            m.d.comb += change(m, self)
            return m

    for file in there:
        monkeypatch.setattr(file, component, Faulty)
    found, = (each for each in choose([proof]) if each.name == proof)
    return found


def _names(violated: tuple[str, ...]) -> list[str]:
    return [said.split(" (")[0] for said in violated]


@pytest.mark.parametrize("name", usually(
    "the skid buffer takes a transfer when it is full", "the coalescer reports a cycle early after a flush",
    "a pulse follows on another one", "a record in the cycle of a report has no time of its own",
    "a write of the time limit makes a tick", "a failed record's entry keeps the phase of the next pass",
    "only the first 4 KiB of a page are compared", "the reader withdraws an address",
    "the writer marks no last beat", "the writer's tail has the strobes of a whole beat",
    "an odd page of 4 KiB is taken for the one before", "a page outside of the window is stored as a good one",
    "a window changes while it is used", "a transfer goes to another address than its descriptor says",
    "the last block of a tensor is whole", "a block fits behind one that did not",
    "a beat goes to a port that is closed", "the register bus says EXOKAY",
    "the compressor's last beat has a gap", "the CRC leaves out a bit of a beat",
    "a response has what a register powered up with", "the framer is not ready for the last beat",
    "a row of the aggregator lacks a bit of a word", "the merger takes a row of data with every beat",
    "the distributor waits for a second lane", "the distributor gives a lane the rows of another one",
    "an odd block of the distributor has the address of the one before",
    "a lane asks for half of a widened block", "the FIFO between clocks takes a transfer when it is full",
    "a switch of a network is stuck", of=FAULTS))
def test_a_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    *fault, found_by = FAULTS[name]
    proof = _with(monkeypatch, *fault)
    if proof.solver == "sat":   # here the SMT solver is not asked for waves, which takes it long
        solver.circuit(tmp_path, proof.build().rtlil(outputs=True), combinational=proof.depth == 0)
        violated = solver.explore(tmp_path, proof.cycles, time.monotonic() + 600).violated
    else:
        violated = _names(run(proof, tmp_path).violated)
    assert violated and set(violated) <= set(found_by), violated


def test_a_pulse_that_is_lost_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def pulses(m: Module, happened: Any, status: Any, enable: Any, touched: Any, pulse: Any) -> Any:
        asks, due = Signal(name="asks_pulse"), Signal(name="pulse_due")
        written = Signal(name="interrupt_written")
        m.d.sync += [written.eq(touched), due.eq(0)]
        m.d.comb += asks.eq((happened & enable).any() | (written & (status & enable).any()) | due)
        return asks & ~pulse

    monkeypatch.setattr(control, "pulses", pulses)
    proof, = choose(["interrupt"])
    violated = _names(run(proof, tmp_path).violated)
    assert violated and set(violated) <= {"pulse_in_time", "pulse_is_there_or_due", "due_is_held"}, violated


def test_a_wrong_tap_of_the_crc_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(crc32c, "_POLYNOMIAL", crc32c._POLYNOMIAL ^ 1 << 8)
    proof, = choose(["crc_matrices_16"])
    result = run(proof, tmp_path)
    assert result.outcome == "failed"
    assert set(_names(result.violated)) <= {"column_of_sum", "column_of_step", "column_of_finish"}, result.message


def test_a_network_of_other_gates_than_exclusive_ors_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    right: Any = crc32c.LinearMap

    class Other(right):
        def elaborate(self, platform: object) -> Module:
            m: Module = super().elaborate(platform)
            m.d.comb += self.o[0].eq(self.i[0] & self.i[1])
            return m

    monkeypatch.setattr(crc32c, "LinearMap", Other)
    proof, = choose(["crc_matrices_16"])
    with pytest.raises(ValueError, match="a linear network must add bits alone"):
        proof.build()
