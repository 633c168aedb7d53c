"""What ``cdma plan --tune`` prints in plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cdma.console.output import count, fixed
from cdma.report.table import Table

if TYPE_CHECKING:
    from cdma.measure.plans import TuningOutcome
    from cdma.workload.plan.tuning_replay import Run

__all__ = ["tuning_text"]

_SHOWN = 4
"""Treatments of a tensor that are written out; of more, only the number is."""


def tuning_text(outcome: TuningOutcome) -> str:
    """A row per rule, then what the controller did with each tensor."""
    inputs, summary = outcome.inputs, outcome.summary
    best = summary.rows[-1].exposed_us
    rows = [[row.rule, fixed(row.exposed_us, 1), f"{100 * (row.exposed_us / best - 1):+.1f} %" if best else "",
             count(row.link_bytes), f"{100 * row.lossy:.0f} %", count(row.switches or None), count(row.trials or None),
             fixed(row.trial_cost_us, 1) if row.trials else ""] for row in summary.rows]
    tensors = [[tensor.name, count(tensor.raw_bytes), fixed(tensor.first_density, 3), fixed(tensor.last_density, 3),
                _runs(tensor.runs)] for tensor in summary.tensors]
    return (
        f"{inputs.source} on {inputs.engine.name} at {inputs.clock_mhz:g} MHz, a link of "
        f"{inputs.link_gb_per_s:g} GB/s; {summary.iterations} iterations:\n\n"
        + Table(["rule", "exposed us", "over best", "link bytes", "rounded", "switches", "trials", "trials us"],
                rows).text()
        + "\n\n" + Table(["tensor", "bytes", "density: first", "last", "treatments from iteration, without trials"],
                         tensors, left=(0, 4)).text())


def _runs(runs: Sequence[Run]) -> str:
    """The treatments that were used, without those that were tried for one iteration."""
    kept: list[Run] = []
    for run in runs:
        if run.first == run.last and len(runs) > 1:
            continue
        if not kept or kept[-1].treatment != run.treatment:
            kept.append(run)
    shown = ", ".join(f"{run.first}: {run.treatment}" for run in kept[:_SHOWN])
    return shown + (f" and {len(kept) - _SHOWN} more" if len(kept) > _SHOWN else "")
