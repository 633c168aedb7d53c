"""Proofs find faults: each harness is run on its component with a fault, as a small change of an output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from amaranth.hdl import Module, Mux, Signal

from cdma.hdl.engine.link import crc32c
from cdma.verif.formal import solver
from cdma.verif.formal.proof import Proof
from cdma.verif.formal.proofs import (
    bus,
    coalescing,
    crc,
    crossing,
    framing,
    groups,
    masters,
    merging,
    packed,
    page_lists,
    progress,
    raw_blocks,
    resets,
    routing,
    shifting,
    slicing,
    streams,
)
from cdma.verif.formal.run import choose, run
from tests.extended import extended, usually


@dataclass(frozen=True)
class Fault:
    """A fault: what it changes of the component of a class, in the file of a proof, and who may find it."""

    proof: str
    file: ModuleType
    component: str
    change: Callable[[Module, Any], Any]
    found_by: tuple[str, ...]


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


FAULTS = {
    "the coalescer reports a cycle early after a flush": Fault(
        "coalescer", coalescing, "Coalescer", lambda m, dut: dut.report.eq(dut.flush),
        ("reported_by_number_time_or_flush", "reported_in_time")),
    "the reader withdraws an address": Fault(
        "reader", masters, "AxiReader", lambda m, dut: dut.axi.arvalid.eq(m.submodules.splitter.o.valid & ~dut.stop),
        ("read.AXI4_AR_VALID_STABLE", "open_are_those_taken_and_the_one_shown")),
    "the reader asks for a beat more": Fault(
        "reader", masters, "AxiReader", lambda m, dut: dut.axi.arlen.eq(m.submodules.splitter.o.payload.len + 1),
        ("read.AXI4_AR_BOUNDARY", "length_of_0", "shown_is_0")),
    "the reader has a burst too many open": Fault(
        "reader", masters, "AxiReader", lambda m, dut: m.submodules.splitter.begin.eq(1),
        ("read.AXI4_AR_OUTSTANDING", "first_shown_has_room")),
    "the writer marks no last beat": Fault(
        "writer", masters, "AxiWriter", lambda m, dut: dut.axi.wlast.eq(0),
        ("write.AXI4_W_LAST", "begun_by_data", "beats_have_a_burst")),
    "the writer changes strobes of a beat that waits": Fault(
        "writer", masters, "AxiWriter", lambda m, dut: dut.axi.wstrb.eq(Mux(dut.stop, 0, -1)),
        ("write.AXI4_W_PAYLOAD_STABLE", "beat_waits_as_it_was")),
    "the writer's beats are wider than the port": Fault(
        "writer", masters, "AxiWriter", lambda m, dut: dut.axi.awsize.eq(5), ("write.AXI4_AW_SIZE",)),
    "the register bus says EXOKAY": Fault(
        "axi_lite", bus, "AxiLite", lambda m, dut: dut.bus.bresp[0].eq(dut.bus.bvalid),
        ("lite.AXI4L_B_EXOKAY", "responses_are_okay_or_error", "write_is_answered")),
    "the compressor's last beat has a gap": Fault(
        "compressor_stream", streams, "AxiStreamCore", lambda m, dut: dut.m_axis_tkeep[1].eq(~dut.m_axis_tlast),
        ("output.AXIS_CONTIGUOUS",)),
    "the decompressor changes a byte that waits": Fault(
        "decompressor_stream", streams, "AxiStreamCore", lambda m, dut: dut.m_axis_tdata[:8].eq(dut.m_axis_tready),
        ("output.AXIS_PAYLOAD_STABLE",)),
    "the CRC leaves out a bit of a beat": Fault(
        "crc_matrices_16", crc, "Crc32c", lambda m, dut: m.submodules.sum.i[77].eq(0),
        ("column_of_sum", "column_of_finish", "column_of_step")),
    "the CRC's value has a bit that is not inverted": Fault(
        "crc_messages_16", crc, "Crc32c", lambda m, dut: dut.value[31].eq(m.submodules.finish.i[31]), ("value",)),
    "a response has what a register powered up with": Fault(
        "reset_axi_lite", resets, "AxiLite", lambda m, dut: dut.bus.bresp[1].eq(_leak(m)), ("same_bus_bresp",)),
    "a reader that was reset is idle or not": Fault(
        "reset_reader", resets, "AxiReader", lambda m, dut: dut.idle.eq(_leak(m)), ("same_idle",)),
    "the aggregator's rows begin with what was left before the reset": Fault(
        "reset_aggregator", resets, "Aggregator", lambda m, dut: m.submodules.shifter.parts[0].place[0].eq(1),
        ("same_o_payload_data", "loaded_shifter_row")),
    "the reader waits for a beat before it takes one": Fault(
        "progress_reader", masters, "AxiReader",
        lambda m, dut: dut.axi.rready.eq(m.submodules.open.o.valid & dut.o.valid & dut.o.ready),
        ("something_in_time",)),
    "the framer is not ready for the last beat": Fault(
        "progress_framer", progress, "Framer", lambda m, dut: dut.i.ready.eq(dut.o.ready & ~dut.i.payload.last),
        ("offered_in_time",)),
    "a row of the aggregator lacks a bit of a word": Fault(
        "barrel_shifter_4_1", shifting, "BarrelShifter", lambda m, dut: dut.row[35].eq(0), ("row_1",)),
    "the framer leaves out the length field's first byte": Fault(
        "framer_16_16", framing, "Framer", lambda m, dut: dut.o.payload.data[32:40].eq(0), ("byte",)),
    "the framer's last row is never the last": Fault(
        "framer_16_16", framing, "Framer", lambda m, dut: dut.o.payload.last.eq(0), ("last_row",)),
    "the merger takes a row of data with every beat": Fault(
        "merger_16", merging, "Merger", lambda m, dut: dut.rows.ready.eq(dut.o.valid & dut.o.ready),
        ("rows_go_with_their_beat",)),
    "the slicer does not tell of ones behind the last beat": Fault(
        "tag_slicer_16_lane", slicing, "TagSlicer", lambda m, dut: dut.slice.beyond.eq(0), ("beyond",)),
    "the realigner says that a word is carried which is not": Fault(
        "realigner_4", routing, "Realigner", lambda m, dut: dut.carried.eq(-1),
        tuple(f"carried_{word}_of_{place}" for place in range(4) for word in range(4))),
    "the fetcher reads from where a register powered up": Fault(
        "reset_fetcher", resets, "Fetcher", lambda m, dut: dut.axi.araddr[6].eq(_leak(m)),
        ("same_axi_araddr",)),
    "the distributor waits for a second lane": Fault(
        "progress_distributor", progress, "Distributor", lambda m, dut: m.submodules.parser.go.eq(0),
        ("something_in_time",)),
    "the compressor's last beat is turned by an element": Fault(
        "compressor_lines16_2", packed, "Compressor", lambda m, dut: dut.o.payload.data.eq(Mux(
            dut.o.payload.last, m.submodules.packer.o.payload.data.rotate_left(16),
            m.submodules.packer.o.payload.data)),
        ("watched_element", "tag_0_0", "tag_0_1", "tag_0_2", "tag_0_3")),
    "the decompressor shows an element where a zero was": Fault(
        "decompressor_lines16_2", packed, "Decompressor", lambda m, dut: dut.o.payload.data[16:32].eq(
            Mux(m.submodules.skid.o.payload.data[16:32] == 0, m.submodules.skid.o.payload.data[:16],
                m.submodules.skid.o.payload.data[16:32])),
        ("watched_element",)),
    "the FIFO between clocks takes a transfer when it is full": Fault(
        "dual_clock_fifo_4", crossing, "DualClockFifo", lambda m, dut: dut.i.ready.eq(1),
        ("counts_in_order", "level_fits", "level_is_of_counts", "watched_payload")),
    "the FIFO between clocks passes on a count that is not Gray code": Fault(
        "dual_clock_fifo_4", crossing, "DualClockFifo",
        lambda m, dut: m.submodules.to_read.i.eq(m.submodules.written.count), ("counts_in_order", "none_from_nothing")),
    "an error of a page list is that of the next one": Fault(
        "page_list", page_lists, "PageList", _any_error, ("error_is_its_own",)),
    "an entry of a page list that cannot be read is good": Fault(
        "page_list", page_lists, "PageList", lambda m, dut: dut.entries.payload.state.eq(0), ("state_of_the_entry",)),
    "a switch of a network is stuck": Fault(
        "gather_16_2", routing, "Gather", lambda m, dut: dut.o[48:64].eq(dut.i[48:64]),
        tuple(f"unit_{unit}" for unit in range(8))),
    "the count of the mask bits is even": Fault(
        "scatter_16_2", routing, "Ranks", lambda m, dut: dut.count[0].eq(0), ("count",)),
    "a network turns as if the start were another": Fault(
        "gather_16_4", routing, "Steer", lambda m, dut: dut.swap["d4"][0].eq(dut.start[0]),
        ("unit_1_behind_1", "unit_1_behind_2", "unit_1")),
    "the decoder of groups loses a sign": Fault(
        "group_bfloat16", groups, "GroupDecoder", lambda m, dut: dut.o[255].eq(0), ("element_15",)),
}


FAULTS_OF_BLOCKS = {
    "the block compressor's last beat is turned by an element": Fault(
        "compressor_zvc32_2", packed, "BlockCompressor", lambda m, dut: dut.o.payload.data.eq(Mux(
            dut.o.payload.last, m.submodules.merger.o.payload.data.rotate_left(32),
            m.submodules.merger.o.payload.data)),
        ("watched_element", "tag_0_0")),
    "the block decompressor shows an element where a zero was": Fault(
        "decompressor_zvc32_2", packed, "BlockDecompressor", lambda m, dut: dut.o.payload.data[32:64].eq(
            Mux(m.submodules.unpacker.o.payload.data[32:64] == 0, m.submodules.unpacker.o.payload.data[:32],
                m.submodules.unpacker.o.payload.data[32:64])),
        ("watched_element",)),
    "a raw block loses a byte": Fault(
        "compressor_raw32", raw_blocks, "BlockCompressor", lambda m, dut: dut.o.payload.data[24:32].eq(0),
        ("byte_3",)),
}
"""Faults of block cores; here the SMT solver is not asked for waves, which takes it long."""


def _with(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> Proof:
    """The proof of a component that has the fault."""
    right = getattr(fault.file, fault.component)

    class Faulty(right):    # type: ignore[misc, valid-type]
        def elaborate(self, platform: object) -> Module:
            m: Module = super().elaborate(platform)
            m.d.comb += fault.change(m, self)
            return m

    monkeypatch.setattr(fault.file, fault.component, Faulty)
    proof, = (proof for proof in choose([fault.proof]) if proof.name == fault.proof)
    return proof


@pytest.mark.parametrize("name", usually(
    "the coalescer reports a cycle early after a flush", "the reader withdraws an address",
    "the writer marks no last beat", "the register bus says EXOKAY",
    "the compressor's last beat has a gap", "the CRC leaves out a bit of a beat",
    "a response has what a register powered up with", "the framer is not ready for the last beat",
    "a row of the aggregator lacks a bit of a word", "the merger takes a row of data with every beat",
    "the distributor waits for a second lane", "the FIFO between clocks takes a transfer when it is full",
    "a switch of a network is stuck", of=FAULTS))
def test_a_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fault = FAULTS[name]
    result = run(_with(fault, monkeypatch), tmp_path)
    assert result.outcome == "failed"
    assert {said.split(" (")[0] for said in result.violated} <= set(fault.found_by), result.message


@extended
@pytest.mark.parametrize("name", FAULTS_OF_BLOCKS)
def test_a_fault_of_a_block_core_is_found(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fault = FAULTS_OF_BLOCKS[name]
    proof = _with(fault, monkeypatch)
    solver.circuit(tmp_path, proof.build().rtlil(outputs=True), combinational=False)
    found = solver.explore(tmp_path, proof.depth + 1, 600)
    assert not found.timeout
    assert found.violated and set(found.violated) <= set(fault.found_by), found.violated


def test_a_wrong_tap_of_the_crc_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(crc32c, "_POLYNOMIAL", crc32c._POLYNOMIAL ^ 1 << 8)
    proof, = choose(["crc_matrices_16"])
    result = run(proof, tmp_path)
    assert result.outcome == "failed"
    assert {said.split(" (")[0] for said in result.violated} <= {
        "column_of_sum", "column_of_step", "column_of_finish"}, result.message


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
