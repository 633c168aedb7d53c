"""What ``cdma train`` prints in plain text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from cdma.console.output import count, fixed, lanes_text
from cdma.report.table import Table

if TYPE_CHECKING:
    from cdma.measure.training import TrainingOutcome, TypeRow

__all__ = ["training_text"]


def training_text(outcome: TrainingOutcome) -> str:
    """A row for each type of values, their times, what stayed, and whether both trainings came out the same."""
    by = "the golden model of " if outcome.by == "model" else "the Verilog of "
    streams = "one piece each" if outcome.page_bytes is None else f"pages of {count(outcome.page_bytes)} bytes"
    about = _filled(
        f"{outcome.example}: {_steps(outcome.steps)} of {outcome.network} with a batch of {outcome.batch}, through "
        f"{by}{outcome.engine}, {lanes_text(outcome.lanes, outcome.beat_bytes)} and a link of "
        f"{outcome.link_beat_bytes}; memories answer after {outcome.latency} cycles, streams are in {streams}. Cycles:")
    measured = outcome.by == "verilog"
    head = ["type", "coding", "tensors", "bytes", "packed", "ratio", *(["offload", "prefetch"] if measured else []),
            "predicted", *(["deviation"] if measured else []), "plain", "gain"]
    rows = [_row(row, measured) for row in (*outcome.rows, outcome.total)]
    return "\n\n".join([about, Table(head, rows, left=(0, 1)).text(), _times(outcome), _kept(outcome),
                        _verdict(outcome)])


def _row(row: TypeRow, measured: bool) -> list[str]:
    cycles = [count(row.offload_cycles), count(row.prefetch_cycles)] if measured else []
    deviation = [_percent(row.deviation)] if measured else []
    return [row.dtype, row.coding, count(row.tensors), count(row.bytes), count(row.packed_bytes), fixed(row.ratio, 3),
            *cycles, count(round(row.predicted_cycles)), *deviation, count(round(row.plain_cycles)), fixed(row.gain, 2)]


def _times(outcome: TrainingOutcome) -> str:
    """Cycles as times at the clock."""
    total, clock = outcome.total, outcome.clock_mhz
    what = "Predicted" if total.offload_cycles is None else "Measured"
    said = (f"{what}: {count(round(total.cycles))} cycles for both ways, {fixed(total.cycles / clock, 1)} us at "
            f"{clock:g} MHz, one tensor at a time; a plain DMA of the same width needs at least "
            f"{fixed(total.plain_cycles / clock, 1)} us")
    if total.deviation is not None:
        said += f"; a plan predicts {fixed(total.predicted_cycles / clock, 1)} us, {_percent(total.deviation)}"
    return _filled(said)


def _kept(outcome: TrainingOutcome) -> str:
    counts = outcome.counts
    said = (f"Of {count(counts.saved)} saved tensors {count(counts.moved)} went to the engine, and "
            f"{count(counts.again)} were there already; on the device stayed {count(counts.small)} of fewer than "
            f"{count(outcome.least)} bytes ({count(counts.small_bytes)} bytes in all), and {count(counts.weights)} "
            "parameters and buffers")
    return _filled(f"{said}, and {counts.other} without plain memory" if counts.other else said)


def _verdict(outcome: TrainingOutcome) -> str:
    losses = " ".join(f"{loss:.6f}" for loss in outcome.losses)
    compared = f"{outcome.gradients} gradients and {outcome.weights} weights"
    if outcome.identical:
        return (f"Losses: {losses}\nThe loss of every step, {compared} are those of plain training, bit for bit: "
                "passed")
    return (f"Losses: {losses}\nOf the losses, {compared}, {len(outcome.differences)} are not those of plain training: "
            "failed")


def _filled(text: str) -> str:
    return textwrap.fill(text, 110, break_on_hyphens=False)


def _steps(steps: int) -> str:
    return "1 step" if steps == 1 else f"{steps} steps"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:+.2f} %"
