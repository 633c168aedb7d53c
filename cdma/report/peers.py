"""The tables of docs/peers.md: measured figures of this project beside measured and published figures of others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cdma.console.output import fixed
from cdma.hdl.config.block_core import load_block
from cdma.measure.figures import PEER_CORES, Figures
from cdma.report.parts import Table
from cdma.synth.timing.cores import TimingReport

__all__ = ["MEASURED", "Peer", "blocks_table", "codecs_table", "exponents_table", "paper_table"]

_DENSITY = 0.4
"""Density at which bytes per cycle are compared: that of the peers' simulations."""

_EXPONENT_CORES = ("exponent_block_compressor", "exponent_block_decompressor")

_CODECS = (("exponent coding, blocks of 4 KiB", "C library", "bfloat16"),
           ("zero-value coding, blocks of 4 KiB", "C library", "zvc16"),
           *((f"{title}{', byte planes' if planes else ''}", codec, planes) for title, codec in
             (("LZ4", "lz4 1"), ("Deflate", "zlib 1"), ("Zstandard", "zstd 1")) for planes in ("", "byte planes")))
"""Rows of the table of codecs: title, and codec and coding as in the benchmark of the golden model."""


@dataclass(frozen=True)
class Peer:
    """A block of others, rebuilt from its public Verilog and mapped to the same cells with the recipe ``plain``.

    Parameters
    ----------
    block
        What it is.
    bytes_per_cycle
        Raw bytes that it takes or gives.
    kge
        Thousands of NAND gates, memories apart.
    mhz
        Clock of the slowest path.
    note
        What goes with these figures.
    """

    block: str
    bytes_per_cycle: float
    kge: float
    mhz: float
    note: str = ""


@dataclass(frozen=True)
class _Mapped:
    """A core in cells: thousands of NAND gates, and the clock of the slowest path; 0 where it was not measured."""

    kge: float = 0.0
    mhz: float = 0.0

    def cells(self, bytes_per_cycle: float) -> list[str]:
        """kGE, MHz and bytes per cycle per kGE."""
        return [fixed(self.kge or None, 1), fixed(self.mhz or None, 0),
                fixed(bytes_per_cycle / self.kge, 2) if self.kge else ""]


MEASURED = (
    Peer("EBPC encoder, 8 bit", 0.97, 3.7, 736, "codes values too"),
    Peer("EBPC decoder, 8 bit", 0.97, 4.0, 879, "codes values too"),
    Peer("EBPC encoder, 16 bit", 1.99, 9.5, 511, "codes values too"),
    Peer("EBPC decoder, 16 bit", 1.99, 9.6, 730, "codes values too"),
    Peer("EBPC encoder, 32 bit", 4.0, 29.6, 272, "codes values too"),
    Peer("EBPC decoder, 32 bit", 4.0, 27.9, 662, "codes values too"),
    Peer("byte packer for AXI4-Stream, 32 B", 31.95, 20.2, 404, "packs alone: finds no zeros, writes no tags"),
    Peer("NVDLA weight decoder, 64 x 8 bit", 64.0, 44.9, 355, "expands by a mask; cannot be stalled"),
    Peer("open zero-value compaction, 128 x 8 bit", 128.0, 66.2, 548,
         "writes no mask, packs no lines together, cannot be stalled"),
    Peer("verilog-axi `axi_cdma`, 256 bit", 31.5, 7.3, 529, "copies; 15.3 bytes at a latency of 200 cycles"),
    Peer("the same, unaligned", 31.5, 15.4, 537, "copies; 15.3 bytes at a latency of 200 cycles"),
    Peer("iDMA, 256 bit, 3 outstanding", 31.6, 30.6, 438, "copies; at a latency of 200 cycles"),
    Peer("iDMA, 256 bit, 16 outstanding", 31.6, 53.3, 349, "copies; at a latency of 200 cycles"),
)
"""Measured with Yosys 0.70 and OpenSTA in the Nangate cells at 45 nm, typical corner, inputs at t = 0; EBPC at density
0.4, from stream-ebpc by its authors."""


def blocks_table(figures: Figures) -> Table:
    """Bytes per cycle, kGE and clock of the cores and of peers in the same cells.

    The first columns are by the recipe of the peers, ``plain``, for cores and peers; the last ones are of the cores as
    this project builds them, by the recipe ``fast`` with clock gates.

    Parameters
    ----------
    figures
        What ``cdma bench`` measured. Without a cell library, gates of the generic table and no clock.
    """
    rows = [*_cores(figures), *(_row(peer.block, "measured", peer.bytes_per_cycle, _Mapped(peer.kge, peer.mhz),
                                     _Mapped(), peer.note) for peer in MEASURED)]
    return Table(["block", "figures", "bytes per cycle", "kGE", "MHz", "GB/s", "bytes per cycle per kGE",
                     "`fast`: kGE", "`fast`: MHz", "`fast`: bytes per cycle per kGE", ""], rows, left=(0, 1, 10))


def paper_table(figures: Figures) -> Table:
    """The engine of the paper's size beside what the paper, and EBPC's, publish."""
    paper = next(report for report in figures.engine_area if report.name == "cdma_paper_engine")
    mm2, published = paper.mm2_28, paper.paper_mm2
    first = {row.name: row.first_cycles for row in figures.latency
             if row.name in ("cdma_paper_compressor", "cdma_paper_decompressor")}
    lanes = paper.lanes
    return Table(["", "this project", "the paper, published"], [
        [f"compressors and decompressors of {lanes} lanes, 28 nm", f"{fixed(mm2.cores, 3)} mm2",
         f"{published['cores']} mm2"],
        [f"whole engine of {lanes} lanes with its buffers, 28 nm", f"{fixed(mm2.engine, 2)} mm2",
         f"{published['engine']} mm2"],
        ["cores of lines: first packed beat after a line's last raw beat",
         f"{first['cdma_paper_compressor']} cycles", "6 cycles"],
        ["cores of lines: first raw beat after its tag and data",
         f"{first['cdma_paper_decompressor']} cycles", "2 cycles"]],
        left=(0,))


def exponents_table(figures: Figures) -> Table:
    """The block cores that code exponents, in cells, on dense values.

    Parameters
    ----------
    figures
        What ``cdma bench`` measured. Without a cell library the table has no rows.
    """
    clocks = {timing.preset: _mhz(timing.report) for timing in figures.block_timing}
    areas = {area.preset: area.report for area in figures.block_area if area.report.target == "liberty"}
    rows = []
    for preset in _EXPONENT_CORES:
        beat_bytes = load_block(preset).beat_bytes
        dense = [row for row in figures.block_throughput if row.beat_bytes == beat_bytes and row.density == 1.0
                 and row.coding in ("bfloat16", "float32")]
        if preset not in areas or preset not in clocks or not dense:
            continue
        beats = min((row.compress_beats_per_cycle if preset == _EXPONENT_CORES[0] else row.decompress_beats_per_cycle)
                    or 0.0 for row in dense)
        rows.append([f"`{preset}`", fixed(beats * beat_bytes, 1), fixed(areas[preset].total.kge, 1),
                     str(areas[preset].memory_bits), fixed(clocks[preset], 0),
                     fixed(beats * beat_bytes * clocks[preset] / 1000, 1)])
    return Table(["block core", "bytes per cycle", "kGE", "memory bits", "MHz", "GB/s"], rows, left=(0,))


def codecs_table(figures: Figures) -> Table:
    """Ratios of this project's codings and of general codecs on the same bfloat16 values.

    Parameters
    ----------
    figures
        What ``cdma bench`` measured. Without the golden model's benchmark, cells are empty.
    """
    ratios = {(speed.codec, speed.coding, speed.activation, speed.density): speed.ratio
              for speed in figures.golden.rows if speed.values == "bfloat16"} if figures.golden else {}
    return Table(["coding", f"ReLU, density {_DENSITY}", "GELU, dense"],
                 [[title, *(fixed(ratios.get((codec, coding, activation, density)), 2)
                            for activation, density in (("ReLU", _DENSITY), ("GELU", 1.0)))]
                  for title, codec, coding in _CODECS], left=(0,))


def _row(block: str, source: str, bytes_per_cycle: float, plain: _Mapped, built: _Mapped, note: str) -> list[str]:
    kge, mhz, per_kge = plain.cells(bytes_per_cycle)
    gb_per_s = bytes_per_cycle * plain.mhz / 1000
    return [block, source, f"{bytes_per_cycle:g}", kge, mhz, fixed(gb_per_s or None, 1), per_kge,
            *built.cells(bytes_per_cycle), note]


def _cores(figures: Figures) -> Iterator[list[str]]:
    """The cores; of the element sizes the one that takes the most cycles."""
    liberty = any(area.report.target == "liberty" for area in figures.area)
    clocks = {timing.preset: _mhz(timing.report) for timing in figures.timing} if liberty else {}
    plain = {timing.preset: _Mapped(timing.report.kge, _mhz(timing.report)) for timing in figures.timing_plain}
    areas = {area.preset: area.report for area in figures.area
             if area.report.target == ("liberty" if liberty else "generic")}
    for preset in PEER_CORES:
        report = areas.get(preset)
        rows = [row for row in figures.throughput if report and row.name == report.name and row.density == _DENSITY]
        if report and rows:
            slowest = min(row.beats_per_cycle * row.beat_bytes for row in rows)
            bits = ", ".join(str(row.element_bits) for row in rows)
            yield _row(f"`{preset}`, {rows[0].beat_bytes} B", "this project", round(slowest, 2),
                       plain.get(preset, _Mapped()), _Mapped(report.total.kge or 0.0, clocks.get(preset, 0.0)),
                       f"elements of {bits} bits")


def _mhz(report: TimingReport) -> float:
    """The clock of the slowest path, from and to ports too."""
    return min(path.mhz for path in report.paths)
