"""What ``cdma plan`` prints in plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cdma.console.output import count, fixed, lanes_text
from cdma.report.table import Table

if TYPE_CHECKING:
    from cdma.measure.plans import PlanOutcome
    from cdma.workload.plan.summary import TensorSummary

__all__ = ["plan_text"]

_RULES = {"plan": "the plan", "always": "always ZVC", "never": "always raw"}


def plan_text(outcome: PlanOutcome) -> str:
    """A row per tensor, then the totals beside always and never compressing."""
    inputs, tensors, totals = outcome.inputs, outcome.summary.tensors, outcome.summary.totals
    lossy = bool(inputs.lossy)
    unit, scale = ("ms", 1e-3) if totals["always"].transfer_us > 1e4 else ("us", 1.0)

    def time(us: float) -> str:
        return fixed(us * scale, 2)

    head = ["tensor", "bytes", "density", "choice", "packed", "ratio", f"offload {unit}", f"prefetch {unit}",
            f"exposed {unit}", *(["max error"] if lossy else [])]
    rows = [[row.name, count(row.raw_bytes), fixed(row.density, 3), row.chosen.treatment,
             count(row.chosen.packed_bytes), fixed(row.chosen.ratio, 3), time(row.chosen.offload_us),
             time(row.chosen.prefetch_us), time(row.exposed_us), *([_error(row)] if lossy else [])] for row in tensors]
    rules = [[_RULES[rule], count(row.packed_bytes), fixed(row.ratio, 3), time(row.transfer_us), time(row.exposed_us)]
             for rule, row in totals.items()]
    engine = inputs.engine
    about = (f"{inputs.source} on {engine.name}: {lanes_text(engine.lanes, engine.beat_bytes)} at "
             f"{inputs.clock_mhz:g} MHz, a link of {inputs.link_gb_per_s:g} GB/s")
    if inputs.latency:
        about += f", memories answer after {inputs.latency} cycles"
    steps = max(len(row.arrays) for row in tensors)
    if steps > 1:
        about += f"; per layer, the mean of {steps} steps of training"
    parts = [f"{about}:", Table(head, rows, left=(0, 3)).text(),
             Table(["all tensors", "link bytes", "ratio", f"transfers {unit}", f"exposed {unit}"], rules).text()]
    if lossy:
        parts.append(_roundings(tensors))
    return "\n\n".join(part for part in parts if part)


def _error(row: TensorSummary) -> str:
    """Of a rounded tensor the largest error, as a share of its largest magnitude."""
    return f"{row.chosen.error:.2e}" if row.chosen.lossy else ""


def _roundings(rows: Sequence[TensorSummary]) -> str:
    """What rounding changes in the tensors that are rounded and whose values are known."""
    head = ["rounded", "max error", "by largest", "mean relative", "to zero", "NaNs kept", "infinities kept"]
    found = [[row.name, f"{each.max_abs:.2e}", _error(row), f"{each.mean_relative:.2e}",
              count(each.underflows), count(each.nans), count(each.infinities)]
             for row in rows if (each := row.chosen.rounding) is not None]
    return Table(head, found).text() if found else ""
