"""What ``cdma alternatives`` prints in plain text, and the points of its picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cdma.report.plots.alternatives import alternatives_plot
from cdma.report.table import Column, Table

if TYPE_CHECKING:
    from cdma.workload.alternatives.study import Alternative

__all__ = ["alternatives_text", "label", "picture_of", "sensitivity_text", "verdict"]
_SWAPPED = {False: "as many tensors are swapped as it needs to fit", True: "all tensors are swapped"}


def verdict(outcome: Mapping[str, Any]) -> str:
    """The answer in a sentence or two: the fastest row that fits without loss, and one with loss if that is faster."""
    lossless, any_row, memory = outcome["fastest_lossless"], outcome["fastest"], f"{outcome['memory_gb']:g} GB"
    if any_row is None:
        return f"Nothing fits {memory}: a smaller batch is needed, or several devices."
    if lossless is None:
        first = f"Without loss nothing fits {memory}."
    elif lossless == outcome["enough"]:
        return f"All of it fits {memory}: nothing has to be done."
    else:
        first = (f"Fastest without loss within {memory}: {label(lossless)}, {lossless.slowdown:.3f} times the step "
                 f"with memory enough ({outcome['enough'].memory_gb:.1f} GB).")
    if any_row == lossless:
        return first
    return f"{first}\nFaster with loss: {label(any_row)}, {any_row.slowdown:.3f} times."


def label(row: Alternative) -> str:
    """The name of a row, with its schedule where both are there."""
    return f"{row.name} ({'sync' if row.schedule == 'layer' else 'async'})" if row.schedule else row.name


def alternatives_text(outcome: Mapping[str, Any]) -> str:
    """The answer, then all rows."""
    rows = Table([Column("way", label), Column("step ms", "step_ms", ".1f"), Column("x", "slowdown", ".3f"),
                  Column("device GB", "memory_gb", ".2f"), Column("fits", lambda row: "yes" if row.fits else "no"),
                  Column("link GB", lambda row: row.link_gb if row.schedule else None, ".2f"),
                  Column("added ms", "extra_ms", ".1f"), Column("accuracy lost", "accuracy"),
                  Column("hardware", "hardware")], outcome["rows"])
    return ("{network} ({about}), batch {batch}, {dtype}, on {gpu_name} with {memory_gb:g} GB;\n{times};\ndensities: "
            "{densities};\nlink {link_gb_per_s:g} GB/s; look-ahead {ahead}; software codec {codec_gb_per_s:g} GB/s;\n"
            "{swapped}:\n\n{verdict}\n\n{table}\n\nx: times the step with memory enough. Added: computing again, "
            "rounding and coding by the GPU. sync: a wait at each layer; async: a queue of transfers.".format(
                swapped=_SWAPPED[outcome["everything"]], verdict=verdict(outcome), table=rows.text(), **outcome))


def sensitivity_text(outcome: Mapping[str, Any]) -> str:
    """The gain of the engine over plain swapping with other inputs."""
    names = list(outcome["sensitivity"][0]["engine_x"])
    return Table([Column("change", "change"), Column("schedule", "schedule"), Column("offload x", "offload_x", ".3f"),
                  *(Column(f"{name} x", f"engine_x.{name}", ".3f") for name in names),
                  *(Column(f"{name} gains", f"gain_percent.{name}", ".0f", " %") for name in names)],
                 outcome["sensitivity"]).text()


def picture_of(outcome: Mapping[str, Any]) -> str:
    """The rows as an SVG file: the step's time, and the memory on the device."""
    rows = [{"name": label(row), "values": (row.slowdown, row.memory_gb), "group": _group(row), "fits": row.fits,
             "tip": f"{label(row)}: {row.about}; {row.step_ms:.1f} ms; accuracy lost: {row.accuracy}; "
             f"hardware: {row.hardware}"} for row in outcome["rows"]]
    return alternatives_plot(rows, outcome["memory_gb"],
                             "{network}, batch {batch}, {gpu_name}, link {link_gb_per_s:g} GB/s".format(**outcome))


def _group(row: Alternative) -> str:
    if not row.lossless:
        return "with loss"
    if row.name == "buy memory":
        return "memory enough"
    return "with the engine" if row.hardware == "the engine" else "without the engine"
