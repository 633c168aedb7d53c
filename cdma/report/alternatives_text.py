"""What ``cdma alternatives`` prints in plain text, and the points of its picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cdma.console.output import fixed
from cdma.report.plots.bars import Bar, Panel, bars
from cdma.report.table import Table

if TYPE_CHECKING:
    from cdma.measure.alternatives import AlternativesOutcome
    from cdma.workload.alternatives.study import Alternative

__all__ = ["alternatives_text", "label", "picture_of", "sensitivity_text", "verdict"]
_SWAPPED = {False: "as many tensors are swapped as it needs to fit", True: "all tensors are swapped"}


def verdict(outcome: AlternativesOutcome) -> str:
    """The answer in a sentence or two: the fastest row that fits without loss, and one with loss if that is faster."""
    lossless, any_row = outcome.fastest_lossless, outcome.fastest
    if any_row is None:
        return f"Nothing fits {outcome.memory_gb:g} GB: a smaller batch is needed, or several devices."
    if lossless is None:
        first = f"Without loss nothing fits {outcome.memory_gb:g} GB."
    elif lossless == outcome.enough:
        return f"All of it fits {outcome.memory_gb:g} GB: nothing has to be done."
    else:
        first = (f"Fastest without loss within {outcome.memory_gb:g} GB: {label(lossless)}, {lossless.slowdown:.3f} "
                 f"times the step with memory enough ({outcome.enough.memory_gb:.1f} GB).")
    if any_row == lossless:
        return first
    return f"{first}\nFaster with loss: {label(any_row)}, {any_row.slowdown:.3f} times."


def label(row: Alternative) -> str:
    """The name of a row, with its schedule where both are there."""
    return f"{row.name} ({'sync' if row.schedule == 'layer' else 'async'})" if row.schedule else row.name


def alternatives_text(outcome: AlternativesOutcome) -> str:
    """The answer, then all rows."""
    rows = [[label(row), fixed(row.step_ms, 1), fixed(row.slowdown, 3), fixed(row.memory_gb, 2),
             "yes" if row.fits else "no", fixed(row.link_gb, 2) if row.schedule else "", fixed(row.extra_ms, 1),
             row.accuracy, row.hardware] for row in outcome.rows]
    return (f"{outcome.network} ({outcome.about}), batch {outcome.batch}, {outcome.dtype}, on {outcome.gpu_name} with "
            f"{outcome.memory_gb:g} GB;\n{outcome.times};\ndensities: {outcome.densities};\n"
            f"link {outcome.link_gb_per_s:g} GB/s; look-ahead {outcome.ahead}; software codec "
            f"{outcome.codec_gb_per_s:g} GB/s;\n{_SWAPPED[outcome.everything]}:\n\n{verdict(outcome)}\n\n"
            + Table(["way", "step ms", "x", "device GB", "fits", "link GB", "added ms", "accuracy lost", "hardware"],
                    rows, left=(0, 7, 8)).text()
            + "\n\nx: times the step with memory enough. Added: computing again, rounding and coding by the GPU. sync: "
            "a wait at each layer; async: a queue of transfers.")


def sensitivity_text(outcome: AlternativesOutcome) -> str:
    """The gain of the engine over plain swapping with other inputs."""
    rows = [[line.change, line.schedule, fixed(line.offload_x, 3), *(fixed(x, 3) for x in line.engine_x.values()),
             *(f"{gain:.0f} %" for gain in line.gain_percent.values())] for line in outcome.sensitivity]
    names = list(outcome.sensitivity[0].engine_x)
    return Table(["change", "schedule", "offload x", *(f"{name} x" for name in names),
                  *(f"{name} gains" for name in names)], rows, left=(0, 1)).text()


def picture_of(outcome: AlternativesOutcome) -> str:
    """The rows as an SVG file: the step's time, and the memory on the device."""
    rows = [Bar(label(row), (row.slowdown, row.memory_gb), _group(row), f"{label(row)}: {row.about}; "
                f"{row.step_ms:.1f} ms; accuracy lost: {row.accuracy}; hardware: {row.hardware}", not row.fits)
            for row in outcome.rows]
    return bars(rows, (Panel("step, times that with memory enough", 3),
                       Panel("memory on the device, GB", 1, outcome.memory_gb, f"{outcome.memory_gb:g} GB")),
                f"{outcome.network}, batch {outcome.batch}, {outcome.gpu_name}, link {outcome.link_gb_per_s:g} GB/s",
                "does not fit")


def _group(row: Alternative) -> str:
    if not row.lossless:
        return "with loss"
    if row.name == "buy memory":
        return "memory enough"
    return "with the engine" if row.hardware == "the engine" else "without the engine"
