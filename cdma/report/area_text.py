"""What ``cdma area`` prints of cores and engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cdma.console.output import count, fixed
from cdma.report.table import Table

if TYPE_CHECKING:
    from cdma.measure.figures import EngineOnFpga
    from cdma.synth.area.cores import AreaReport
    from cdma.synth.area.engines import EngineArea
    from cdma.synth.area.rows import AreaRow

__all__ = ["area_text", "core_timing_text", "engine_area_text", "engine_fpga_text"]


def area_text(report: AreaReport) -> str:
    """What ``cdma area`` prints of a core; columns that no row fills are left out."""
    columns: dict[str, Callable[[AreaRow], str]] = {
        "cells": lambda row: count(row.cells), "flip-flops": lambda row: count(row.flip_flops),
        "clock gates": lambda row: count(row.clock_gates or None), "kGE": lambda row: fixed(row.kge, 2),
        "um2": lambda row: fixed(row.um2, 0), "LUTs": lambda row: count(row.luts)}
    rows = report.rows
    filled = {head: cell for head, cell in columns.items() if any(cell(row) for row in rows)}
    mapped = f"{report.target} gates" if report.target == "generic" else report.library or report.target
    body = Table(["module", *filled], [[row.module, *(cell(row) for cell in filled.values())] for row in rows]).text()
    memories = (f"\n\n{count(report.memory_bits)} bits of memory are not counted here: they are macros."
                if report.memory_bits else "")
    return f"{report.name}, mapped to {mapped}:\n\n{body}{memories}"


def engine_area_text(report: EngineArea) -> str:
    """What ``cdma area --engine`` prints."""
    total, scaled, paper = report.total, report.mm2_28, report.paper_mm2
    head = ["unit", "instances", "cells", "flip-flops", "kGE", "um2", "memory bits"]
    rows = [[unit.unit, str(unit.instances), count(unit.cells), count(unit.flip_flops),
             fixed(unit.kge, 2), fixed(unit.um2, 0), count(unit.memory_bits or None)]
            for unit in report.units]
    rows.append(["total", "", count(total.cells), count(total.flip_flops), fixed(total.kge, 2),
                 fixed(total.um2, 0), count(total.memory_bits)])
    if report.library is None:
        head, rows = [*head[:5], head[6]], [[*row[:5], row[6]] for row in rows]
    logic = "the cells" if report.library else f"{report.nand2_um2} um2 a gate"
    cores = sum(unit.logic_um2 for unit in report.units if unit.unit in ("compressor", "decompressor"))
    macros = ", ".join(f"{number} of {size}" for size, number in report.macros.items())
    return (
        f"{report.name}, {report.lanes} lanes, mapped to {report.library or 'generic gates'} "
        f"(recipe {report.recipe}):\n\n"
        f"{Table(head, rows).text()}\n\n"
        f"Memories (words x bits): {macros}.\n"
        f"At 45 nm: logic in {logic}, memories {report.bit_um2} um2 a bit. At 28 nm: times (28/45)^2 = "
        f"{fixed(report.scale_28, 3)}.\n\n" + Table(
            ["at 28 nm, mm2", "this engine", "paper, 6 lanes"],
            [["compressors and decompressors", f"{cores / 1e6:.3f} x {report.scale_28:.3f} = {scaled.cores:.3f}",
              fixed(paper["cores"], 2)],
             ["all logic", fixed(scaled.logic, 3), ""],
             ["memories", fixed(scaled.memory, 3), ""],
             ["the whole engine", fixed(scaled.engine, 3), fixed(paper["engine"], 1)]]).text())


def engine_fpga_text(engine: EngineOnFpga) -> str:
    """What ``cdma area --engine --target FPGA`` prints."""
    report = engine.area
    rams = report.block_rams | report.distributed_rams
    large = [memory for memory in report.memories if memory.words * memory.width >= report.least_bits]
    rows = [[memory.name, count(memory.words), str(memory.width), memory.built,
             ", ".join(f"{number} {ram}" for ram, number in memory.rams.items())] for memory in large]
    missed = [f"{memory.name} ({memory.built})" for memory in large if memory.name in report.no_block_ram]
    return (
        f"{report.name}, {engine.lanes} lanes, mapped to {report.target}:\n\n"
        + Table(["LUTs", "flip-flops", *rams],
                [[count(report.luts), count(report.flip_flops), *map(count, rams.values())]], left=()).text()
        + f"\n\nBuffers of {report.least_bits} bits or more:\n\n"
        + Table(["buffer", "words", "bits", "built as", "of"], rows, left=(0, 3, 4)).text() + "\n\n"
        + (f"warning: not in block RAM: {', '.join(missed)}" if missed else
           f"Every one is block RAM, or has {report.lut_words} words at most."))


def core_timing_text(report: AreaReport) -> str:
    """The clock that the slowest path of each kind allows; for a library without OpenSTA, that it is needed; else
    nothing."""
    if report.library and report.memory_bits:
        return "cdma timing calculates the clock, with the timing of these macros."
    if report.library and report.timed_with is None:
        return "No clock: OpenSTA calculates it, and its program sta is not on PATH (Debian: apt install opensta)."
    if not report.paths:
        return ""
    rows = [[path.kind, fixed(path.ps, 0), fixed(path.mhz, 0), path.start, path.end]
            for path in report.paths]
    return (f"Slowest paths, timed with {report.timed_with} (recipe {report.recipe}, an ideal clock, wires "
            f"without length):\n\n{Table(['path', 'ps', 'MHz', 'from', 'to'], rows, left=(0, 3, 4)).text()}")
