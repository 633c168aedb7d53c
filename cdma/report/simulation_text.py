"""What ``cdma simulate`` prints of outcomes: of cores, of an engine, and of a plan on an engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdma.console.output import arrays_text, fixed, lanes_text
from cdma.report.table import Column, Table

__all__ = ["simulation_text"]

Row = Mapping[str, Any]

_BEATS = [Column("comp in", "compress_in_beats_per_cycle", ".3f"), Column("out", "compress_out_beats_per_cycle", ".3f"),
          Column("decomp in", "decompress_in_beats_per_cycle", ".3f"),
          Column("out", "decompress_out_beats_per_cycle", ".3f"), Column("limit", "limit", ".3f")]
_SIZES = [Column("raw bytes", "raw_bytes", ","), Column("density", "density", ".3f"), Column("ratio", "ratio", ".3f")]
_RESULT = Column("result", lambda row: "pass" if row["passed"] else f"FAIL: {row['difference']}")
_RAW_BLOCKS = Column("raw blocks", "raw_blocks", ",")

_CORES = [Column("array", "name"), Column("bits", "element_bits"), *_SIZES, *_BEATS, _RESULT]
_BLOCKS = [Column("array", "name"), Column("coding", "coding"), *_SIZES, _RAW_BLOCKS, *_BEATS, _RESULT]
_CODINGS = [Column("coding", "coding"), Column("arrays", "arrays", ","), Column("raw bytes", "raw_bytes", ","),
            Column("packed bytes", "packed_bytes", ","), Column("ratio", "ratio", ".3f"),
            Column("compressed per cycle", "compress_beats_per_cycle", ".3f"),
            Column("expanded per cycle", "decompress_beats_per_cycle", ".3f"), Column("limit", "limit", ".3f")]
_ENGINE = [Column("array", "name"), Column("coding", "coding"), *_SIZES, _RAW_BLOCKS,
           Column("offload", "offload_bytes_per_cycle", ".1f"), Column("prefetch", "prefetch_bytes_per_cycle", ".1f"),
           Column("plain", "plain_bytes_per_cycle", ".1f"), Column("gain", "gain", ".2f"), _RESULT]
_PLAN = [Column("array", "name"), Column("treatment", "treatment"), Column("raw bytes", "raw_bytes", ","),
         Column("planned", "predicted.packed_bytes", ","), Column("packed", "packed_bytes", ","),
         *(column for way in ("offload", "prefetch") for column in (
             Column(f"{way}: planned", f"predicted.{way}_cycles", ","), Column("cycles", f"{way}_cycles", ","),
             Column("error", lambda row, way=way: row["error"][way] and 100 * row["error"][way], "+.1f", " %"))),
         Column("result", lambda row: _RESULT.cell(row) if "passed" in row else "")]


def simulation_text(outcome: Row) -> str:
    """What is printed of an outcome, as JSON has it: a row per array, and the sums."""
    if "plan" in outcome:
        return _plan(outcome)
    if "engine" in outcome:
        return _engine(outcome)
    per_cycle, end = "and the raw side's limit:\n\n", f"ratio {fixed(outcome['ratio'], 3)}; every byte compared in both"
    if "block_bytes" not in outcome:
        return (f"Beats of {outcome['beat_bytes']} bytes per cycle, into and out of both cores, {per_cycle}"
                f"{Table(_CORES, outcome['arrays']).text()}\n\n"
                f"{_sizes(outcome)} bytes, {end} directions: {_passed(outcome)}")
    return (f"Blocks of {outcome['block_bytes']:,} bytes in beats of {outcome['beat_bytes']}; beats per cycle into and "
            f"out of both block cores, {per_cycle}{Table(_BLOCKS, outcome['arrays']).text()}\n\n"
            f"{Table(_CODINGS, outcome['codings']).text()}\n\n"
            f"{_sizes(outcome)} bytes with headers, {end} directions: {_passed(outcome)}")


def _engine(outcome: Row) -> str:
    toggles = outcome["toggles"]
    return (
        f"{outcome['engine']}: {lanes_text(outcome['lanes'], outcome['beat_bytes'])}, a link of "
        f"{outcome['link_beat_bytes']}; memories answer after {_memories(outcome)}.\n"
        f"Raw bytes per cycle, from descriptor to completion, beside a plain DMA of the same width at its best:\n\n"
        f"{Table(_ENGINE, outcome['arrays']).text()}\n\n"
        f"{_sizes(outcome)} bytes, ratio {outcome['ratio']:.3f}; offloaded in order, prefetched in reverse"
        f"{', one directly after the other' if outcome['row'] else ''}:\n{outcome['offload_bytes_per_cycle']:.1f} and "
        f"{outcome['prefetch_bytes_per_cycle']:.1f} raw bytes per cycle, {outcome['gain']:.2f} times a plain DMA; "
        f"every byte compared: {_passed(outcome)}\n"
        f"Toggles of the link's data wires per raw byte: {toggles['packed_per_raw_byte']:.3f}, plain "
        f"{toggles['raw_per_raw_byte']:.3f}; per packed byte {toggles['packed_per_packed_byte']:.3f}")


def _plan(outcome: Row) -> str:
    rows = outcome["arrays"]
    packed = sum(row["predicted"]["packed_bytes"] for row in rows)
    whole = {"name": "all", "treatment": "", **{key: sum(row[key] for row in rows) for key in (
        "raw_bytes", "packed_bytes", "offload_cycles", "prefetch_cycles")},
        "predicted": outcome["predicted"] | {"packed_bytes": packed}, "error": outcome["error"]}
    return (f"{outcome['plan']} on {outcome['engine']}: {lanes_text(outcome['lanes'], outcome['beat_bytes'])} at "
            f"{outcome['clock_mhz']:g} MHz, a link of {outcome['link_gb_per_s']:g} GB/s; memories answer after "
            f"{_memories(outcome)}.\nCycles from descriptor to completion:\n\n{Table(_PLAN, [*rows, whole]).text()}\n\n"
            f"{arrays_text(len(rows))}; every byte compared: {_passed(outcome)}")


def _sizes(outcome: Row) -> str:
    return f"{arrays_text(len(outcome['arrays']))}, {outcome['raw_bytes']:,} -> {outcome['packed_bytes']:,}"


def _passed(outcome: Row) -> str:
    passed = sum(row["passed"] for row in outcome["arrays"])
    return f"{passed} passed, {len(outcome['arrays']) - passed} failed"


def _memories(outcome: Row) -> str:
    return f"{outcome['latency']} cycles" + (f", stalls in {outcome['stalls']:.0%}" if outcome["stalls"] else "")
