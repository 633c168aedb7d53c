"""The worked examples: dumps of their activations at five points of the training, and the effect of rounding on
accuracy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from cdma.workload.capturing import capture, digits, sums
from cdma.workload.capturing.training import Training, train

__all__ = ["NETWORKS", "PERCENT", "accuracies", "example", "points"]

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
        See :func:`cdma.workload.capturing.training.train`; only the network ``cnn`` is narrowed.
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

    begun = digits.begin(seed) if network == "cnn" else sums.begin(seed, network=network)
    return train(begun, narrow, watch, progress)


def accuracies(formats: Sequence[str | None], seeds: int,
               progress: Callable[[str, int, int], None] | None = None) -> list[dict[str, Any]]:
    """Train the convolutional network with every format and with the seeds from 0 on.

    Returns
    -------
    list[dict[str, Any]]
        Of each format, where None stands for activations without rounding, the mean share of the test images that were
        classified correctly, its standard deviation over the seeds (None for one seed), the mean training loss of the
        last epoch, and the runs.

    Raises
    ------
    ValueError
        If there is no such format.
    """
    done, found = 0, []

    def told(stage: str, epoch: int, epochs: int) -> None:
        if progress is not None:
            progress(stage, done * epochs + epoch, len(formats) * seeds * epochs)

    for name in formats:
        runs = []
        for seed in range(seeds):
            runs.append(train(digits.begin(seed), name, progress=told))
            done += 1
        right = [run.accuracy for run in runs]
        found.append({"narrow": name, "accuracy": mean(right), "spread": stdev(right) if seeds > 1 else None,
                      "loss": mean(run.losses[-1] for run in runs), "runs": runs})
    return found
