"""The effect of rounded activations on accuracy: trains the worked example with each format and several seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean, stdev
from typing import Any

from cdma.workload.capturing.digits import EPOCHS, train

__all__ = ["accuracies"]


def accuracies(formats: Sequence[str | None], seeds: int,
               progress: Callable[[str, int, int], None] | None = None) -> list[dict[str, Any]]:
    """Train with every format and with the seeds from 0 on.

    Returns
    -------
    list[dict[str, Any]]
        Of each format, where None stands for activations without rounding, the mean share of the test images that were
        classified correctly, its standard deviation over the seeds (None for one seed), the mean training loss of the
        last epoch, and the runs.

    Raises
    ------
    ValueError
        If there is no such format, or no seed.
    """
    if seeds < 1:
        raise ValueError(f"seeds must be 1 or more, not {seeds}")
    total, done, found = len(formats) * seeds * EPOCHS, 0, []
    for name in formats:
        runs = []
        for seed in range(seeds):
            before = done

            def step(stage: str, epoch: int, epochs: int, before: int = before) -> None:
                if progress is not None:
                    progress(stage, before + epoch, total)

            runs.append(train(name, seed, progress=step))
            done += EPOCHS
        right = [run.accuracy for run in runs]
        found.append({"narrow": name, "accuracy": mean(right), "spread": stdev(right) if seeds > 1 else None,
                      "loss": mean(run.losses[-1] for run in runs), "runs": runs})
    return found
