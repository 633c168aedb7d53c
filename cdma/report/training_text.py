"""What ``cdma train`` prints in plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from cdma.console.output import count, lanes_text
from cdma.report.table import Column, Table

__all__ = ["training_text"]


def training_text(outcome: Mapping[str, Any]) -> str:
    """A row for each type of values, their times, what stayed, and whether both trainings came out the same."""
    pages, by = outcome["page_bytes"], "golden model" if outcome["by"] == "model" else "Verilog"
    about = ("{example}: {steps} {word} of {network} with a batch of {batch}, through the {who} of {engine}, {lanes_} "
             "and a link of {link_beat_bytes}; memories answer after {latency} cycles, streams are in {streams}. "
             "Cycles:"
             ).format(word="step" if outcome["steps"] == 1 else "steps", who=by,
                      lanes_=lanes_text(outcome["lanes"], outcome["beat_bytes"]),
                      streams="one piece each" if pages is None else f"pages of {count(pages)} bytes", **outcome)
    rows = Table([
        Column("type", "dtype"), Column("coding", "coding"), Column("tensors", "tensors", ","),
        Column("bytes", "bytes", ","), Column("packed", "packed_bytes", ","), Column("ratio", "ratio", ".3f"),
        Column("offload", "offload_cycles", ",", optional=True),
        Column("prefetch", "prefetch_cycles", ",", optional=True), Column("predicted", "predicted_cycles", ",.0f"),
        Column("deviation", "deviation", "+.2%", optional=True), Column("plain", "plain_cycles", ",.0f"),
        Column("gain", "gain", ".2f")], [*outcome["rows"], outcome["total"]])
    return "\n\n".join([_filled(about), rows.text(), _filled(_times(outcome)), _filled(_stayed(outcome)),
                        _verdict(outcome)])


def _times(outcome: Mapping[str, Any]) -> str:
    """Cycles as times at the clock."""
    total, clock = outcome["total"], outcome["clock_mhz"]
    what = "Predicted" if total["offload_cycles"] is None else "Measured"
    said = (f"{what}: {total['cycles']:,.0f} cycles for both ways, {total['cycles'] / clock:.1f} us at {clock:g} MHz, "
            "one tensor at a time; a plain DMA of the same width needs at least "
            f"{total['plain_cycles'] / clock:.1f} us")
    if total["deviation"] is not None:
        said += f"; a plan predicts {total['predicted_cycles'] / clock:.1f} us, {total['deviation']:+.2%}"
    return said


def _stayed(outcome: Mapping[str, Any]) -> str:
    counts = outcome["counts"]
    said = (f"Of {count(counts.saved)} saved tensors {count(counts.moved)} went to the engine, and "
            f"{count(counts.again)} were there already; on the device stayed {count(counts.small)} of fewer than "
            f"{count(outcome['least'])} bytes ({count(counts.small_bytes)} bytes in all), and {count(counts.weights)} "
            "parameters and buffers")
    return f"{said}, and {counts.other} without plain memory" if counts.other else said


def _verdict(outcome: Mapping[str, Any]) -> str:
    losses = " ".join(f"{loss:.6f}" for loss in outcome["losses"])
    compared = f"{outcome['gradients']} gradients and {outcome['weights']} weights"
    if outcome["identical"]:
        return (f"Losses: {losses}\nThe loss of every step, {compared} are those of plain training, bit for bit: "
                "passed")
    return (f"Losses: {losses}\nOf the losses, {compared}, {len(outcome['differences'])} are not those of plain "
            "training: failed")


def _filled(text: str) -> str:
    return textwrap.fill(text, 110, break_on_hyphens=False)
