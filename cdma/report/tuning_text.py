"""What ``cdma plan --tune`` prints in plain text for the outcomes that its ``--json`` has."""

from __future__ import annotations

from typing import Any

from cdma.console.output import count, fixed
from cdma.report.tables import table

__all__ = ["tuning_text"]

_SHOWN = 4      # treatments of a tensor that are written out; then their number


def tuning_text(outcome: dict[str, Any]) -> str:
    """A row per rule, then what the controller did with each tensor."""
    best = outcome["rows"][-1]["exposed_us"]
    rows = [[row["rule"], fixed(row["exposed_us"], 1),
             f"{100 * (row['exposed_us'] / best - 1):+.1f} %" if best else "", count(row["link_bytes"]),
             f"{100 * row['lossy']:.0f} %", count(row["switches"] or None), count(row["trials"] or None),
             fixed(row["trial_cost_us"], 1) if row["trials"] else ""] for row in outcome["rows"]]
    tensors = [[tensor["name"], count(tensor["raw_bytes"]), fixed(tensor["first_density"], 3),
                fixed(tensor["last_density"], 3), _runs(tensor["runs"])] for tensor in outcome["tensors"]]
    engine = outcome["engine"]
    return (
        f"{outcome['source']} on {engine['name']} at {outcome['clock_mhz']:g} MHz, a link of "
        f"{outcome['link_gb_per_s']:g} GB/s; {outcome['iterations']} iterations:\n\n"
        + table(["rule", "exposed us", "over best", "link bytes", "rounded", "switches", "trials", "trials us"], rows)
        + "\n\n" + table(["tensor", "bytes", "density: first", "last", "treatments from iteration, without trials"],
                         tensors, left=(0, 4)))


def _runs(runs: list[dict[str, Any]]) -> str:
    """The treatments that were at work, without those that were tried for one iteration."""
    kept: list[dict[str, Any]] = []
    for run in runs:
        if run["first"] == run["last"] and len(runs) > 1:
            continue
        if not kept or kept[-1]["treatment"] != run["treatment"]:
            kept.append(run)
    shown = ", ".join(f"{run['first']}: {run['treatment']}" for run in kept[:_SHOWN])
    return shown + (f" and {len(kept) - _SHOWN} more" if len(kept) > _SHOWN else "")
