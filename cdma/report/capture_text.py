"""What ``cdma capture`` prints in plain text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from cdma.report.table import Column, Table

__all__ = ["accuracy_text", "capture_text", "profile_times_text"]


def capture_text(folder: str, manifest: Mapping[str, Any], example: Mapping[str, Any] | None = None) -> str:
    """The steps of a dump that was written, and of the worked example how well it learned."""
    files, arrays = manifest["files"], manifest["arrays"].values()
    rows = Table([Column("file", "file"), Column("epoch", "epoch", ","),
                  Column("arrays", lambda step: sum(each["file"] == step["file"] for each in arrays), ","),
                  Column("bytes", "bytes", ","), Column("bytes for backward", "saved_bytes", ","),
                  Column("density", lambda step: _density([each for each in arrays if each["file"] == step["file"]]),
                         ".3f")], files)
    steps = "1 step" if len(files) == 1 else f"{len(files)} steps"
    parts = [f"{manifest['model']}, {steps} captured; bytes for backward are those of the whole batch:", rows.text(),
             *manifest["notes"]]
    if example is not None:
        parts.append(f"{100 * example['accuracy']:.1f} % of the {example['tested']} correctly")
    return "\n\n".join([*parts, f"dump: {folder} (cdma characterise {folder} measures it)"])


def _density(arrays: Sequence[Mapping[str, Any]]) -> float | None:
    """Density of all arrays of a step; None if it has none."""
    sizes = [math.prod(array["full_shape"]) for array in arrays]
    return sum(array["density"] * size for array, size in zip(arrays, sizes, strict=True)) / sum(sizes) if sizes \
        else None


def profile_times_text(layers: Mapping[str, Mapping[str, float]]) -> str:
    """A row for each layer."""
    return Table([Column("layer", "layer"), Column("forward ms", "forward_ms", ".3f"),
                  Column("backward ms", "backward_ms", ".3f")],
                 [{"layer": name, **times} for name, times in layers.items()]).text()


def accuracy_text(formats: Sequence[Mapping[str, Any]]) -> str:
    """A row for each format."""
    def percent(value: float | None) -> float | None:
        return None if value is None else 100 * value

    rows = Table([Column("format", lambda row: row["narrow"] or "none"), Column("runs", lambda row: len(row["runs"])),
                  Column("mean", lambda row: percent(row["accuracy"]), ".2f"),
                  Column("spread", lambda row: percent(row["spread"]), ".2f"),
                  Column("least", lambda row: percent(min(run.accuracy for run in row["runs"])), ".2f"),
                  Column("most", lambda row: percent(max(run.accuracy for run in row["runs"])), ".2f"),
                  Column("loss", "loss", ".4f")], formats)
    return ("Test images that the worked example classifies correctly, in %, with the activations kept for backward "
            f"rounded:\n\n{rows.text()}")
