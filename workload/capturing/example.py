"""Dumps of the worked examples: their activations at five points of the training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cdma.workload.capturing import capture, digits, sums
from cdma.workload.capturing.training import Training

__all__ = ["NETWORKS", "PERCENT", "example", "points"]

PERCENT = (0, 2, 20, 60, 100)
"""Captured points of the training, in per cent."""

NETWORKS = {"cnn": "test images classified", **dict.fromkeys(sums.PERCEPTRONS, "bytes of new sums predicted")}
"""The examples by their networks: :mod:`cdma.workload.capturing.digits` and :mod:`cdma.workload.capturing.sums`; and
what their accuracy is a share of."""


def points(network: str = "cnn") -> dict[int, int]:
    """The step of each point, by percent; the last step is that of 100."""
    last = (digits if network == "cnn" else sums).steps() - 1
    return {percent: last * percent // 100 for percent in PERCENT}


def example(folder: str | Path, network: str = "cnn", narrow: str | None = None, seed: int = 0,
            progress: Callable[[str, int, int], None] | None = None, **limits: Any) -> Training:
    """Train an example and write its dump.

    Parameters
    ----------
    folder
        Folder of the dump.
    network
        One of :data:`NETWORKS`.
    narrow, seed, progress
        See :func:`cdma.workload.capturing.digits.train`; only the network ``cnn`` is narrowed.
    limits
        Further choices of :func:`cdma.workload.capturing.capture`.

    Raises
    ------
    ValueError
        If a choice is not allowed, or the folder has a dump already.
    """
    if network not in NETWORKS:
        raise ValueError(f"there is no example {network!r}: there are {', '.join(NETWORKS)}")
    if network != "cnn" and narrow is not None:
        raise ValueError(f"the example {network} is not narrowed: autocast keeps its activations in bfloat16")
    chosen = list(points(network).values())

    def watch(model: Any) -> Any:
        return capture(model, folder, steps=chosen, **limits)

    if network == "cnn":
        return digits.train(narrow, seed, watch, progress)
    return sums.train(seed, watch, progress, network)
