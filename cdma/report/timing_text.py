"""What ``cdma timing`` prints: the clock of cores and units in cells, of designs on an FPGA, and of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cdma.console.output import count, fixed
from cdma.report.table import Table

if TYPE_CHECKING:
    from cdma.measure.figures import PlacedEngine, PlacedPreset, UnitOnFpga
    from cdma.synth.pnr.engines import PlacedUnit, PlacedUnits
    from cdma.synth.pnr.place import PnrReport, Resources
    from cdma.synth.timing.cores import TimingReport
    from cdma.synth.timing.engines import EngineTiming, UnitClock
    from cdma.synth.timing.sweep import Sweep, SweepPoint

__all__ = ["CELLS_HEAD", "PNR_HEAD", "SWEEP_HEAD", "cells_text", "core_row", "pnr_row", "pnr_text", "pnr_units_rows",
           "pnr_units_text", "sweep_rows", "sweep_text", "unit_rows"]

CELLS_HEAD = ("MHz", "ps", "gates", "from", "to")
"""The columns of :func:`core_row` and :func:`unit_rows` after the first."""

PNR_HEAD = ("MHz", "median", "LUTs", "flip-flops", "block RAM", "DSP", "ns", "wires", "levels", "from", "to")
"""The columns of :func:`pnr_row` after the first."""

SWEEP_HEAD = ("lanes", "beat", "pipeline", "kGE", "MHz", "GB/s", "front")
"""The columns of :func:`sweep_rows` after the first."""


def core_row(report: TimingReport) -> list[str]:
    """A core's name, clock and slowest path from register to register."""
    path = report.worst
    if path is None:
        return [report.name, *[""] * len(CELLS_HEAD)]
    return [report.name, fixed(path.mhz, 0), fixed(path.ps, 0), str(path.gates), path.start, path.end]


def unit_rows(clocks: Sequence[UnitClock]) -> list[list[str]]:
    """A row for each unit of an engine."""
    return [[unit.unit, fixed(unit.mhz, 0), fixed(unit.ps, 0), str(unit.gates), unit.start, unit.end]
            for unit in clocks]


def cells_text(reports: Sequence[TimingReport | EngineTiming]) -> str:
    """What is printed for cores and engines in the cells of a library: a table of the cores, and one of each engine."""
    from cdma.synth.timing.engines import EngineTiming

    cores = [report for report in reports if not isinstance(report, EngineTiming)]
    parts = [_engine_cells_text(report) for report in reports if isinstance(report, EngineTiming)]
    if cores:
        rows = [core_row(report) for report in cores]
        parts.insert(0, f"{_cells_head(cores[0])}\n\n{Table(['core', *CELLS_HEAD], rows, left=(0, 4, 5)).text()}")
    return "\n\n".join(parts)


def _engine_cells_text(report: EngineTiming) -> str:
    macros = report.macros
    return (f"{report.name} in {_cells_head(report)}\n\n"
            f"{Table(['unit', *CELLS_HEAD], unit_rows(report.clocks), left=(0, 4, 5)).text()}\n\n"
            f"Paths start and end at memory macros too: {macros.setup_ps:g} ps of set-up, and {macros.output_ps:g} ps "
            "from the clock to the data that is read.")


def _cells_head(report: TimingReport | EngineTiming) -> str:
    return (f"{report.library} (recipe {report.recipe}), timed with {report.tool}: an ideal clock, wires without "
            "length. Slowest path from register to register:")


def pnr_row(report: PnrReport | PlacedUnit | PlacedPreset | UnitOnFpga) -> list[str]:
    """A design's name, clock, resources and slowest path on an FPGA."""
    best, taken = report.best, _resources(report.used)
    if best is None:
        return [report.name, "too large", "", *taken, *[""] * 5]
    path = best.path
    return [report.name, fixed(best.mhz, 1), fixed(report.median_mhz, 1), *taken, fixed(path.ns, 2),
            fixed(path.routing_ns, 2), str(path.levels), path.start, path.end]


def _resources(used: Resources) -> list[str]:
    return [count(used.luts), count(used.flip_flops), count(used.block_ram), count(used.dsp)]


def pnr_text(reports: Sequence[PnrReport]) -> str:
    """What is printed for designs that were placed and routed on one part."""
    runs = max(len(report.runs) for report in reports)
    return (f"{_pnr_head(reports[0], runs)} Slowest path from register to register:\n\n"
            f"{Table(['design', *PNR_HEAD], [pnr_row(report) for report in reports], left=(0, 10, 11)).text()}")


def pnr_units_rows(report: PlacedUnits | PlacedEngine) -> list[list[str]]:
    """A row for each unit of an engine that was placed by itself, and one for the resources of all."""
    return [*map(pnr_row, report.units), ["total", "", "", *_resources(report.total), *[""] * 5]]


def pnr_units_text(report: PlacedUnits) -> str:
    """What is printed for an engine whose units were placed and routed one by one."""
    runs = max(len(unit.runs) for unit in report.units)
    return (f"{report.name}, each unit by itself on {_pnr_head(report, runs)} The resources of a unit are those of all "
            "its instances. Its path is the slowest from register to register; registers that stand for neighbouring "
            "units count too and have the names of ports:\n\n"
            f"{Table(['unit', *PNR_HEAD], pnr_units_rows(report), left=(0, 10, 11)).text()}")


def _pnr_head(report: PnrReport | PlacedUnits, runs: int) -> str:
    has = report.available
    return (f"{report.device}, speed grade {report.speed}, placed and routed by {report.nextpnr}, "
            f"{'one seed' if runs <= 1 else f'best and median of {runs} seeds'}. The part has {count(has.luts)} "
            f"LUTs, {count(has.block_ram)} block RAMs of 18 kbit and {count(has.dsp)} multipliers.")


def sweep_rows(points: Sequence[SweepPoint]) -> list[list[str]]:
    """A row for each point of a sweep."""
    return [[point.design, str(point.lanes), str(point.beat_bytes), point.pipeline, fixed(point.kge, 1),
             fixed(point.mhz, 0), fixed(point.gb_per_s, 1), "yes" if point.front else ""] for point in points]


def sweep_text(sweep: Sweep) -> str:
    """What is printed for a sweep."""
    return (f"{sweep.library} (recipe {sweep.recipe}), timed with {sweep.tool}. GB/s of raw data, a beat per cycle and "
            f"lane. Points on the front: no other point of the design has less area and as many GB/s:\n\n"
            f"{Table(['design', *SWEEP_HEAD], sweep_rows(sweep.points), left=(0, 3, 7)).text()}")
