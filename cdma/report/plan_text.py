"""What ``cdma plan`` prints in plain text for the outcomes that its ``--json`` has."""

from __future__ import annotations

from typing import Any

from cdma.console.output import count, fixed
from cdma.report.tables import table

__all__ = ["plan_text"]

_RULES = {"plan": "the plan", "always": "always ZVC", "never": "always raw"}


def plan_text(outcome: dict[str, Any]) -> str:
    """A row per tensor, then the totals beside always and never compressing."""
    lossy = bool(outcome["lossy"])
    unit, scale = ("ms", 1e-3) if outcome["totals"]["always"]["transfer_us"] > 1e4 else ("us", 1.0)

    def time(row: dict[str, Any], name: str) -> str:
        return fixed(row[f"{name}_us"] * scale, 2)

    head = ["tensor", "bytes", "density", "choice", "packed", "ratio", f"offload {unit}", f"prefetch {unit}",
            f"exposed {unit}", *(["max error"] if lossy else [])]
    rows = [[row["name"], count(row["raw_bytes"]), fixed(row["density"], 3), row["treatment"],
             count(row["packed_bytes"]), fixed(row["ratio"], 3), time(row, "offload"), time(row, "prefetch"),
             time(row, "exposed"), *([_error(row)] if lossy else [])] for row in outcome["tensors"]]
    totals = [[_RULES[rule], count(row["packed_bytes"]), fixed(row["ratio"], 3), time(row, "transfer"),
               time(row, "exposed")] for rule, row in outcome["totals"].items()]
    engine = outcome["engine"]
    about = (f"{outcome['source']} on {engine['name']}: {engine['lanes']} lanes of {engine['beat_bytes']} bytes at "
             f"{outcome['clock_mhz']:g} MHz, a link of {outcome['link_gb_per_s']:g} GB/s")
    if outcome["latency"]:
        about += f", memories answer after {outcome['latency']} cycles"
    steps = max(len(row["arrays"]) for row in outcome["tensors"])
    if steps > 1:
        about += f"; per layer, the mean of {steps} steps of training"
    parts = [f"{about}:", table(head, rows, left=(0, 3)),
             table(["all tensors", "link bytes", "ratio", f"transfers {unit}", f"exposed {unit}"], totals)]
    if lossy:
        parts.append(_roundings(outcome["tensors"]))
    return "\n\n".join(part for part in parts if part)


def _error(row: dict[str, Any]) -> str:
    """Of a rounded tensor the largest error by the largest magnitude."""
    return f"{row['error']:.2e}" if row["lossy"] else ""


def _roundings(rows: list[dict[str, Any]]) -> str:
    """What rounding changes in the tensors that are rounded and at hand."""
    head = ["rounded", "max error", "by largest", "mean relative", "to zero", "NaNs kept", "infinities kept"]
    found = [[row["name"], f"{each['max_abs']:.2e}", _error(row), f"{each['mean_relative']:.2e}",
              count(each["underflows"]), count(each["nans"]), count(each["infinities"])]
             for row in rows if (each := row["rounding"]) is not None]
    return table(head, found) if found else ""
