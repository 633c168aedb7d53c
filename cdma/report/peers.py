"""The tables of docs/peers.md: measured figures of this project beside measured and published figures of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cdma.hdl.config.block_core import load_block
from cdma.measure.options import PEER_CORES
from cdma.report.table import Column, Table

__all__ = ["MEASURED", "blocks_table", "codecs_table", "exponents_table", "fpga_table", "paper_table"]

PUBLISHED: tuple[tuple[str, str, int | None, int | None, str, float], ...] = (
    ("AMD XDMA, one channel, VC1902", "published", 13_193, 14_452, "16 block RAMs", 250),
    ("Vitis, Snappy, 8 engines of 1.8 GB/s in all", "published", 48_000, None, "", 299),
    ("Vitis, Zstandard decompressor", "published", 22_000, None, "", 234),
    ("corundum, LitePCIe: clock of PCI Express", "published", None, None, "", 250),
)
"""Designs for AMD's FPGAs: what each is, LUTs, flip-flops, RAMs and MHz by their authors."""

Figures = Mapping[str, Any]
"""What ``cdma bench --output`` writes, as JSON has it."""

_DENSITY = 0.4
"""Density at which bytes per cycle are compared: that of the peers' simulations."""

_EXPONENT_CORES = {"exponent_block_compressor": "compress_beats_per_cycle",
                   "exponent_block_decompressor": "decompress_beats_per_cycle"}

_CODECS = (("exponent coding, blocks of 4 KiB", "C library", "bfloat16"),
           ("zero-value coding, blocks of 4 KiB", "C library", "zvc16"),
           *((f"{title}{', byte planes' if planes else ''}", codec, planes) for title, codec in
             (("LZ4", "lz4 1"), ("Deflate", "zlib 1"), ("Zstandard", "zstd 1")) for planes in ("", "byte planes")))
"""Rows of the table of codecs: title, and codec and coding as in the benchmark of the golden model."""


MEASURED = (
    ("EBPC encoder, 8 bit", 0.97, 3.7, 736, "codes values too"),
    ("EBPC decoder, 8 bit", 0.97, 4.0, 879, "codes values too"),
    ("EBPC encoder, 16 bit", 1.99, 9.5, 511, "codes values too"),
    ("EBPC decoder, 16 bit", 1.99, 9.6, 730, "codes values too"),
    ("EBPC encoder, 32 bit", 4.0, 29.6, 272, "codes values too"),
    ("EBPC decoder, 32 bit", 4.0, 27.9, 662, "codes values too"),
    ("byte packer for AXI4-Stream, 32 B", 31.95, 20.2, 404, "packs alone: finds no zeros, writes no tags"),
    ("NVDLA weight decoder, 64 x 8 bit", 64.0, 44.9, 355, "expands by a mask; cannot be stalled"),
    ("open zero-value compaction, 128 x 8 bit", 128.0, 66.2, 548,
     "writes no mask, packs no lines together, cannot be stalled"),
    ("verilog-axi `axi_cdma`, 256 bit", 31.5, 7.3, 529, "copies; 15.3 bytes at a latency of 200 cycles"),
    ("the same, unaligned", 31.5, 15.4, 537, "copies; 15.3 bytes at a latency of 200 cycles"),
    ("iDMA, 256 bit, 3 outstanding", 31.6, 30.6, 438, "copies; at a latency of 200 cycles"),
    ("iDMA, 256 bit, 16 outstanding", 31.6, 53.3, 349, "copies; at a latency of 200 cycles"),
)
"""Blocks of others, rebuilt from their public Verilog and mapped to the same cells with the recipe ``plain``: what each
is, raw bytes per cycle that it takes or gives, thousands of NAND gates without memories, the clock of its slowest path
in MHz, and what goes with these figures. Measured with Yosys 0.70 and OpenSTA in the Nangate cells at 45 nm, typical
corner, inputs at t = 0; EBPC at density 0.4, from stream-ebpc by its authors."""


def _per_kge(key: str) -> Callable[[Mapping[str, Any]], float | None]:
    return lambda row: row[key] and row["bytes_per_cycle"] / row[key]


_BLOCKS = [Column("block", "block"), Column("figures", "figures"), Column("bytes per cycle", "bytes_per_cycle", "g"),
           Column("kGE", "kge", ".1f"), Column("MHz", "mhz", ".0f"),
           Column("GB/s", lambda row: row["mhz"] and row["bytes_per_cycle"] * row["mhz"] / 1000, ".1f"),
           Column("bytes per cycle per kGE", _per_kge("kge"), ".2f"), Column("`fast`: kGE", "built_kge", ".1f"),
           Column("`fast`: MHz", "built_mhz", ".0f"),
           Column("`fast`: bytes per cycle per kGE", _per_kge("built_kge"), ".2f"), Column("", "note", left=True)]


def blocks_table(figures: Figures) -> Table:
    """Bytes per cycle, kGE and clock of the cores and of peers in the same cells.

    The first columns are by the recipe of the peers, ``plain``, for cores and peers; the last ones are of the cores as
    this project builds them, by the recipe ``fast`` with clock gates.

    Parameters
    ----------
    figures
        What ``cdma bench`` measured. Without a cell library, gates of the generic table and no clock.
    """
    peers = [{"block": block, "figures": "measured", "bytes_per_cycle": rate, "kge": kge, "mhz": mhz,
              "built_kge": None, "built_mhz": None, "note": note} for block, rate, kge, mhz, note in MEASURED]
    return Table(_BLOCKS, [*_cores(figures), *peers])


def paper_table(figures: Figures) -> Table:
    """The engine of the paper's size beside what the paper, and EBPC's, publish."""
    paper = next(report for report in figures["engine_area"] if report["name"] == "cdma_paper_engine")
    mm2, published, lanes = paper["mm2_28"], paper["paper_mm2"], paper["lanes"]
    first = {row["name"]: row["first_cycles"] for row in figures["latency"]}
    return Table(["", "this project", "the paper, published"], [
        [f"compressors and decompressors of {lanes} lanes, 28 nm", f"{mm2['cores']:.3f} mm2",
         f"{published['cores']} mm2"],
        [f"whole engine of {lanes} lanes with its buffers, 28 nm", f"{mm2['engine']:.2f} mm2",
         f"{published['engine']} mm2"],
        ["cores of lines: first packed beat after a line's last raw beat",
         f"{first['cdma_paper_compressor']} cycles", "6 cycles"],
        ["cores of lines: first raw beat after its tag and data",
         f"{first['cdma_paper_decompressor']} cycles", "2 cycles"]])


def exponents_table(figures: Figures) -> Table:
    """The block cores that code exponents, in cells, on dense values.

    Parameters
    ----------
    figures
        What ``cdma bench`` measured. Without a cell library the table has no rows.
    """
    clocks = {row["preset"]: _mhz(row) for row in figures.get("block_timing", ())}
    areas = {row["preset"]: row for row in figures.get("block_area", ()) if row["target"] == "liberty"}
    rows = []
    for preset, way in _EXPONENT_CORES.items():
        beat_bytes = load_block(preset).beat_bytes
        dense = [row[way] or 0.0 for row in figures.get("block_throughput", ()) if row["beat_bytes"] == beat_bytes
                 and row["density"] == 1.0 and row["coding"] in ("bfloat16", "float32")]
        if preset in areas and preset in clocks and dense:
            rows.append({"preset": f"`{preset}`", "rate": min(dense) * beat_bytes, "mhz": clocks[preset],
                         "area": areas[preset]})
    return Table([Column("block core", "preset"), Column("bytes per cycle", "rate", ".1f"),
                  Column("kGE", "area.total.kge", ".1f"), Column("memory bits", "area.memory_bits"),
                  Column("MHz", "mhz", ".0f"), Column("GB/s", lambda row: row["rate"] * row["mhz"] / 1000, ".1f")],
                 rows)


def codecs_table(figures: Figures) -> Table:
    """Ratios of this project's codings and of general codecs on the same bfloat16 values.

    Parameters
    ----------
    figures
        What ``cdma bench`` measured. Without the golden model's benchmark, cells are empty.
    """
    ratios = {(row["codec"], row["coding"], row["activation"], row["density"]): row["ratio"]
              for row in figures.get("golden", {"rows": ()})["rows"] if row["values"] == "bfloat16"}
    return Table([Column("coding", lambda row: row[0]), *(
        Column(heading, lambda row, data=data: ratios.get((*row[1:], *data)), ".2f")
        for heading, data in ((f"ReLU, density {_DENSITY}", ("ReLU", _DENSITY)), ("GELU, dense", ("GELU", 1.0))))],
        _CODECS)


def fpga_table(figures: Figures) -> Table:
    """LUTs, registers, RAMs, levels and estimated clock of the engines on UltraScale+, beside published designs.

    Parameters
    ----------
    figures
        What ``cdma bench`` measured.
    """
    rows = [{**row, "design": f"`{row['preset']}`, `pipeline=fast`", "figures": "estimated",
             "rams": ", ".join(f"{number:,} {ram}" for ram, number in row["rams"].items()),
             "paths": f"{row['over']:,} of {row['ends']:,}"} for row in figures["engine_estimates"]]
    peers = [{"levels": None, "paths": None,
              **dict(zip(("design", "figures", "luts", "flip_flops", "rams", "mhz"), peer, strict=True))}
             for peer in PUBLISHED]
    return Table([Column("design", "design"), Column("figures", "figures"), Column("LUTs", "luts", ","),
                  Column("flip-flops", "flip_flops", ","), Column("RAMs", "rams", left=True),
                  Column("levels", "levels"), Column("MHz", "mhz", ".0f"),
                  Column("paths over 4 ns", "paths", left=False)], [*rows, *peers])


def _cores(figures: Figures) -> Iterator[dict[str, Any]]:
    """The cores; of the element sizes the one that takes the most cycles."""
    liberty = any(row["target"] == "liberty" for row in figures["area"])
    clocks = {row["preset"]: _mhz(row) for row in figures.get("timing", ())} if liberty else {}
    plain = {row["preset"]: row for row in figures.get("timing_plain", ())}
    areas = {row["preset"]: row for row in figures["area"] if row["target"] == ("liberty" if liberty else "generic")}
    for preset in PEER_CORES:
        report = areas.get(preset)
        rows = [row for row in figures["throughput"] if report and row["name"] == report["name"]
                and row["density"] == _DENSITY]
        if report and rows:
            slowest = min(row["beats_per_cycle"] * row["beat_bytes"] for row in rows)
            bits = ", ".join(str(row["element_bits"]) for row in rows)
            yield {"block": f"`{preset}`, {rows[0]['beat_bytes']} B", "figures": "this project",
                   "bytes_per_cycle": round(slowest, 2), "kge": plain.get(preset, {}).get("kge"),
                   "mhz": _mhz(plain[preset]) if preset in plain else None, "built_kge": report["total"]["kge"],
                   "built_mhz": clocks.get(preset), "note": f"elements of {bits} bits"}


def _mhz(row: Mapping[str, Any]) -> float:
    """The clock of the slowest path, from and to ports too."""
    return min(path["mhz"] for path in row["paths"])
