"""What commands print: tables in plain text, JSON, sizes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from golden.results import to_json

__all__ = ["area_text", "count", "fixed", "markdown", "print_json", "simulation_text", "table"]


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Rows under a head in aligned columns; those whose number is in ``left`` are set flush left."""
    columns = range(len(head))
    widths = [max(len(row[column]) for row in [head, *rows]) for column in columns]

    def line(row: Sequence[str]) -> str:
        cells = (row[c].ljust(widths[c]) if c in left else row[c].rjust(widths[c]) for c in columns)
        return "  ".join(cells).rstrip()

    return "\n".join([line(head), "  ".join("-" * width for width in widths), *map(line, rows)])


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """A Markdown table; the columns whose number is in ``left`` are set flush left."""
    lines = [head, ["---" if column in left else "---:" for column in range(len(head))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def print_json(value: Any) -> None:
    """Print a value, results in it too, as indented JSON on standard output."""
    print(json.dumps(to_json(value), indent=2))


def count(number: int | None) -> str:
    """A whole number with thousands set apart, empty for None."""
    return "" if number is None else f"{number:,}"


def fixed(number: float | None, digits: int) -> str:
    """A number with a fixed count of digits after the point, empty for None."""
    return "" if number is None else f"{number:.{digits}f}"


def simulation_text(outcome: dict[str, Any]) -> str:
    """What ``cdma simulate`` prints for the outcome that its ``--json`` has: a row per array, then the sum."""
    head = ["array", "bits", "raw bytes", "density", "ratio", "comp in", "out", "decomp in", "out", "limit", "result"]
    rows = [[
        row["name"], str(row["element_bits"]), count(row["raw_bytes"]), fixed(row["density"], 3),
        fixed(row["ratio"], 3), fixed(row["compress_in_beats_per_cycle"], 3),
        fixed(row["compress_out_beats_per_cycle"], 3), fixed(row["decompress_in_beats_per_cycle"], 3),
        fixed(row["decompress_out_beats_per_cycle"], 3), fixed(row["limit"], 3),
        "pass" if row["passed"] else f"FAIL: {row['difference']}"] for row in outcome["arrays"]]
    passed = sum(row["passed"] for row in outcome["arrays"])
    return (
        f"Beats of {outcome['beat_bytes']} bytes per cycle, into and out of both cores, and the raw side's limit:\n\n"
        f"{table(head, rows, left=(0, 10))}\n\n"
        f"{len(rows)} arrays, {count(outcome['raw_bytes'])} -> {count(outcome['packed_bytes'])} bytes, ratio "
        f"{fixed(outcome['ratio'], 3)}; every byte compared in both directions: {passed} passed, "
        f"{len(rows) - passed} failed")


def area_text(report: dict[str, Any]) -> str:
    """What ``cdma area`` prints for a report that its ``--json`` has; columns that no row fills are left out."""
    columns = {"cells": lambda row: count(row["cells"]), "flip-flops": lambda row: count(row["flip_flops"]),
               "clock gates": lambda row: count(row["clock_gates"] or None), "kGE": lambda row: fixed(row["kge"], 2),
               "um2": lambda row: fixed(row["um2"], 0), "LUTs": lambda row: count(row["luts"])}
    rows = report["rows"]
    filled = {head: cell for head, cell in columns.items() if any(cell(row) for row in rows)}
    mapped = f"{report['target']} gates" if report["target"] == "generic" else report["library"] or report["target"]
    body = table(["module", *filled], [[row["module"], *(cell(row) for cell in filled.values())] for row in rows])
    return f"{report['name']}, mapped to {mapped}:\n\n{body}"
