"""The effect of rounded activations on accuracy: trains the worked example with each format and several seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from cdma.workload.capturing.digits import EPOCHS, train
from cdma.workload.capturing.training import Training

__all__ = ["Accuracy", "accuracies"]


@dataclass(frozen=True)
class Accuracy:
    """The runs with a format; None stands for activations without rounding."""

    narrow: str | None
    runs: tuple[Training, ...]

    @property
    def mean(self) -> float:
        """Mean share of the test images that were classified correctly."""
        return mean(run.accuracy for run in self.runs)

    @property
    def spread(self) -> float | None:
        """Standard deviation of that share over the seeds; None for one seed."""
        return stdev(run.accuracy for run in self.runs) if len(self.runs) > 1 else None

    @property
    def loss(self) -> float:
        """Mean training loss of the last epoch."""
        return mean(run.losses[-1] for run in self.runs)


def accuracies(formats: Sequence[str | None], seeds: int,
               progress: Callable[[str, int, int], None] | None = None) -> list[Accuracy]:
    """Train with every format and with the seeds from 0 on.

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
        found.append(Accuracy(name, tuple(runs)))
    return found
