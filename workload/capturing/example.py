"""Dump of the worked example: its activations at five points of the training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from workload.capturing import capture
from workload.capturing.digits import Training, steps, train

__all__ = ["PERCENT", "example", "points"]

PERCENT = (0, 2, 20, 60, 100)
"""Captured points of the training, in per cent."""


def points() -> dict[int, int]:
    """The step of each point, by percent; the last step is that of 100."""
    last = steps() - 1
    return {percent: last * percent // 100 for percent in PERCENT}


def example(folder: str | Path, narrow: str | None = None, seed: int = 0,
            progress: Callable[[str, int, int], None] | None = None, **limits: Any) -> Training:
    """Train the example and write its dump.

    Parameters
    ----------
    folder
        Folder of the dump.
    narrow, seed, progress
        See :func:`workload.capturing.digits.train`.
    limits
        Further choices of :func:`workload.capturing.capture`.

    Raises
    ------
    ValueError
        If a choice is not allowed, or the folder has a dump already.
    """
    chosen = list(points().values())
    return train(narrow, seed, lambda model: capture(model, folder, steps=chosen, **limits), progress)
