"""What ``cdma plan`` prints in plain text, also with ``--tune``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cdma.console.output import lanes_text
from cdma.report.table import Column, Table

__all__ = ["plan_text", "tuning_text"]

_RULES = {"plan": "the plan", "always": "always ZVC", "never": "always raw"}
_SHOWN = 4
"""Treatments of a tensor that are written out; of more, only the number is."""


def plan_text(outcome: Mapping[str, Any]) -> str:
    """A row per tensor, then the totals beside always and never compressing, and what rounding changes."""
    tensors, totals = outcome["tensors"], outcome["totals"]
    unit, scale = ("ms", 1e-3) if totals["always"]["transfer_us"] > 1e4 else ("us", 1.0)

    def time(what: str) -> Column:
        return Column(f"{what} {unit}", lambda row: row[f"{what.removesuffix('s')}_us"] * scale, ".2f")

    error = Column("max error", lambda row: row["error"] if row["lossy"] else None, ".2e", optional=True)
    rows = Table([Column("tensor", "name"), Column("bytes", "raw_bytes", ","), Column("density", "density", ".3f"),
                  Column("choice", "treatment"), Column("packed", "packed_bytes", ","), Column("ratio", "ratio", ".3f"),
                  time("offload"), time("prefetch"), time("exposed"), error], tensors)
    rules = Table([Column("all tensors", "rule"), Column("link bytes", "packed_bytes", ","),
                   Column("ratio", "ratio", ".3f"), time("transfers"), time("exposed")],
                  [{"rule": _RULES[rule], **total} for rule, total in totals.items()])
    engine, steps = outcome["engine"], max(len(row["arrays"]) for row in tensors)
    about = (f"{outcome['source']} on {engine.name}: {lanes_text(engine.lanes, engine.beat_bytes)} at "
             f"{outcome['clock_mhz']:g} MHz, a link of {outcome['link_gb_per_s']:g} GB/s")
    if outcome["latency"]:
        about += f", memories answer after {outcome['latency']} cycles"
    if steps > 1:
        about += f"; per layer, the mean of {steps} steps of training"
    parts = [f"{about}:", rows.text(), rules.text()]
    rounded = [row for row in tensors if row["rounding"] is not None]
    if rounded:
        parts.append(Table([
            Column("rounded", "name"), Column("max error", "rounding.max_abs", ".2e"),
            Column("by largest", "error", ".2e"), Column("mean relative", "rounding.mean_relative", ".2e"),
            Column("to zero", "rounding.underflows", ","), Column("NaNs kept", "rounding.nans", ","),
            Column("infinities kept", "rounding.infinities", ",")], rounded).text())
    return "\n\n".join(parts)


def tuning_text(outcome: Mapping[str, Any]) -> str:
    """A row per rule, then what the controller did with each tensor."""
    best = outcome["rows"][-1]["exposed_us"]
    rules = Table([
        Column("rule", "rule"), Column("exposed us", "exposed_us", ".1f"),
        Column("over best", lambda row: row["exposed_us"] / best - 1 if best else None, "+.1%"),
        Column("link bytes", "link_bytes", ","), Column("rounded", "lossy", ".0%"),
        Column("switches", lambda row: row["switches"] or None, ","),
        Column("trials", lambda row: row["trials"] or None, ","),
        Column("trials us", lambda row: row["trial_cost_us"] if row["trials"] else None, ".1f")], outcome["rows"])
    tensors = Table([
        Column("tensor", "name"), Column("bytes", "raw_bytes", ","),
        Column("density: first", "first_density", ".3f"), Column("last", "last_density", ".3f"),
        Column("treatments from iteration, without trials", lambda row: _runs(row["runs"]), left=True)],
        outcome["tensors"])
    return (f"{outcome['source']} on {outcome['engine'].name} at {outcome['clock_mhz']:g} MHz, a link of "
            f"{outcome['link_gb_per_s']:g} GB/s; {outcome['iterations']} iterations:\n\n{rules.text()}\n\n"
            f"{tensors.text()}")


def _runs(runs: Sequence[Mapping[str, Any]]) -> str:
    """The treatments that were used, without those that were tried for one iteration."""
    kept: list[Mapping[str, Any]] = []
    for run in runs:
        if run["first"] == run["last"] and len(runs) > 1:
            continue
        if not kept or kept[-1]["treatment"] != run["treatment"]:
            kept.append(run)
    shown = ", ".join(f"{run['first']}: {run['treatment']}" for run in kept[:_SHOWN])
    return shown + (f" and {len(kept) - _SHOWN} more" if len(kept) > _SHOWN else "")
