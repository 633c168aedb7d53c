"""What ``cdma timing`` prints: the clock of cores and units in cells, of designs on an FPGA, and of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cdma.console.output import count, fixed
from cdma.report.tables import table

__all__ = ["CELLS_HEAD", "PNR_HEAD", "SWEEP_HEAD", "cells_text", "core_row", "pnr_row", "pnr_text", "pnr_units_rows",
           "pnr_units_text", "sweep_rows", "sweep_text", "unit_facts", "unit_rows", "worst"]

CELLS_HEAD = ("MHz", "ps", "gates", "from", "to")
"""The columns of :func:`core_row` and :func:`unit_rows` after the first."""

PNR_HEAD = ("MHz", "median", "LUTs", "flip-flops", "block RAM", "DSP", "ns", "wires", "levels", "from", "to")
"""The columns of :func:`pnr_row` after the first."""

SWEEP_HEAD = ("lanes", "beat", "pipeline", "kGE", "MHz", "GB/s", "front")
"""The columns of :func:`sweep_rows` after the first."""


def worst(paths: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The slowest path from register to register of a report; None if there is none."""
    return next((path for path in paths if path["kind"] == "register to register"), None)


def _gates(path: dict[str, Any]) -> int:
    # The first step leaves the register the path starts from, the last is the set-up time of the one it ends at.
    return len(path["stages"]) - 2


def core_row(report: dict[str, Any]) -> list[str]:
    """A core's name, clock and worst path."""
    path = worst(report["paths"])
    if path is None:
        return [report["name"], *[""] * len(CELLS_HEAD)]
    return [report["name"], fixed(path["mhz"], 0), fixed(path["ps"], 0), str(_gates(path)), path["start"], path["end"]]


def unit_facts(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Of each unit of an engine's report the clock and the ends of its worst path, named below the top module."""
    facts = []
    for part in report["units"]:
        path = worst(part["paths"])
        if path:
            below = f"{part['part']}." if part["part"] else ""
            facts.append({"unit": part["unit"], "instances": part["instances"], "mhz": path["mhz"], "ps": path["ps"],
                          "gates": _gates(path), "start": f"{below}{path['start']}", "end": f"{below}{path['end']}"})
    return facts


def unit_rows(facts: Sequence[dict[str, Any]]) -> list[list[str]]:
    """A row for each of :func:`unit_facts`."""
    return [[unit["unit"], fixed(unit["mhz"], 0), fixed(unit["ps"], 0), str(unit["gates"]), unit["start"], unit["end"]]
            for unit in facts]


def cells_text(reports: Sequence[dict[str, Any]]) -> str:
    """What is printed for cores, or for one engine, in the cells of a library."""
    first = reports[0]
    engine = "units" in first
    rows = unit_rows(unit_facts(first)) if engine else [core_row(report) for report in reports]
    body = table(["unit" if engine else "core", *CELLS_HEAD], rows, left=(0, 4, 5))
    head = (f"{first['name'] + ' in ' if engine else ''}{first['library']} (recipe {first['recipe']}), timed with "
            f"{first['tool']}: an ideal clock, wires without length. Slowest path from register to register:")
    if not engine:
        return f"{head}\n\n{body}"
    macros = first["macros"]
    return (f"{head}\n\n{body}\n\nMemory macros end and start paths: {macros['setup_ps']:g} ps of set-up, and "
            f"{macros['output_ps']:g} ps from the clock to what was read.")


def pnr_row(report: dict[str, Any]) -> list[str]:
    """A design's name, clock, resources and worst path on an FPGA."""
    best, used = report["best"], report["used"]
    taken = [count(used[name]) for name in ("luts", "flip_flops", "block_ram", "dsp")]
    if best is None:
        return [report["name"], "too large", "", *taken, *[""] * 5]
    path = best["path"]
    return [report["name"], fixed(best["mhz"], 1), fixed(report["median_mhz"], 1), *taken, fixed(path["ns"], 2),
            fixed(path["routing_ns"], 2), str(path["levels"]), path["start"], path["end"]]


def pnr_text(reports: Sequence[dict[str, Any]]) -> str:
    """What is printed for designs that were placed and routed on one part."""
    runs = max(len(report["runs"]) for report in reports)
    return (f"{_pnr_head(reports[0], runs)} Slowest path from register to register:\n\n"
            f"{table(['design', *PNR_HEAD], [pnr_row(report) for report in reports], left=(0, 10, 11))}")


def pnr_units_rows(report: dict[str, Any]) -> list[list[str]]:
    """A row for each unit of an engine that was placed by itself, and one for what all take."""
    total = [count(report["total"][name]) for name in ("luts", "flip_flops", "block_ram", "dsp")]
    return [*map(pnr_row, report["units"]), ["total", "", "", *total, *[""] * 5]]


def pnr_units_text(report: dict[str, Any]) -> str:
    """What is printed for an engine whose units were placed and routed one by one."""
    runs = max(len(unit["runs"]) for unit in report["units"])
    return (f"{report['name']}, each unit by itself on {_pnr_head(report, runs)} What a unit takes is that of all of "
            "its instances; its path is the slowest from register to register, those that stand for its neighbours "
            "and have the names of ports included:\n\n"
            f"{table(['unit', *PNR_HEAD], pnr_units_rows(report), left=(0, 10, 11))}")


def _pnr_head(report: dict[str, Any], runs: int) -> str:
    has = report["available"]
    return (f"{report['device']}, speed grade {report['speed']}, placed and routed by {report['nextpnr']}, "
            f"{'one seed' if runs <= 1 else f'best and median of {runs} seeds'}. The part has {count(has['luts'])} "
            f"LUTs, {count(has['block_ram'])} block RAMs of 18 kbit and {count(has['dsp'])} multipliers.")


def sweep_rows(points: Sequence[dict[str, Any]]) -> list[list[str]]:
    """A row for each point of a sweep."""
    return [[point["design"], str(point["lanes"]), str(point["beat_bytes"]), point["pipeline"], fixed(point["kge"], 1),
             fixed(point["mhz"], 0), fixed(point["gb_per_s"], 1), "yes" if point["front"] else ""] for point in points]


def sweep_text(sweep: dict[str, Any]) -> str:
    """What ``cdma timing --sweep`` prints for a sweep that its ``--json`` has."""
    return (f"{sweep['library']} (recipe {sweep['recipe']}), timed with {sweep['tool']}. GB/s of raw data, a beat per "
            f"cycle and lane; on the front are those that no other of the same design beats in area and GB/s:\n\n"
            f"{table(['design', *SWEEP_HEAD], sweep_rows(sweep['points']), left=(0, 3, 7))}")
