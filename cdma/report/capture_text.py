"""What ``cdma capture`` prints in plain text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cdma.console.output import count, fixed
from cdma.report.table import Table

if TYPE_CHECKING:
    from cdma.measure.captures import AccuracyOutcome, ProfileOutcome, TrainedExample
    from cdma.workload.capturing.manifest import Content, StoredStep

__all__ = ["accuracy_text", "capture_text", "profile_times_text"]


def capture_text(folder: str, manifest: Content, example: TrainedExample | None = None) -> str:
    """The steps of a dump that was written, and of the worked example how well it learned."""
    rows = [[step.file, count(step.epoch), count(_arrays(manifest, step)), count(step.bytes), count(step.saved_bytes),
             fixed(_density(manifest, step), 3)] for step in manifest.files]
    steps = "1 step" if len(rows) == 1 else f"{len(rows)} steps"
    parts = [f"{manifest.model}, {steps} captured; bytes for backward are those of the whole batch:",
             Table(["file", "epoch", "arrays", "bytes", "bytes for backward", "density"], rows).text(), *manifest.notes]
    if example is not None:
        parts.append(f"{100 * example.accuracy:.1f} % of the {example.tested} correctly")
    return "\n\n".join([*parts, f"dump: {folder} (cdma characterise {folder} measures it)"])


def _arrays(manifest: Content, step: StoredStep) -> int:
    return sum(array.file == step.file for array in manifest.arrays.values())


def _density(manifest: Content, step: StoredStep) -> float | None:
    """Density of all arrays of a step; None if it has none."""
    own = [array.entry for array in manifest.arrays.values() if array.file == step.file]
    sizes = [math.prod(array.full_shape) for array in own]
    return sum(array.density * size for array, size in zip(own, sizes, strict=True)) / sum(sizes) if own else None


def profile_times_text(outcome: ProfileOutcome) -> str:
    """A row for each layer."""
    return Table(["layer", "forward ms", "backward ms"], [
        [name, fixed(times["forward_ms"], 3), fixed(times["backward_ms"], 3)]
        for name, times in outcome.layers.items()]).text()


def accuracy_text(outcome: AccuracyOutcome) -> str:
    """A row for each format."""
    rows = [[entry.narrow or "none", str(len(entry.runs)), fixed(100 * entry.accuracy, 2),
             fixed(None if entry.spread is None else 100 * entry.spread, 2),
             fixed(100 * min(run.accuracy for run in entry.runs), 2),
             fixed(100 * max(run.accuracy for run in entry.runs), 2), fixed(entry.loss, 4)]
            for entry in outcome.formats]
    return ("Test images that the worked example classifies correctly, in %, with the activations kept for backward "
            "rounded:\n\n" + Table(["format", "runs", "mean", "spread", "least", "most", "loss"], rows).text())
