"""What ``cdma capture`` gives: a dump, times of layers, or accuracies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cdma.workload.capturing.manifest import StoredStep

if TYPE_CHECKING:
    from cdma.workload.capturing.accuracy import Accuracy
    from cdma.workload.capturing.training import Training

__all__ = ["AccuracyOutcome", "CaptureOutcome", "ExampleOutcome", "FormatAccuracy", "ProfileOutcome", "TrainedExample"]


@dataclass(frozen=True)
class CaptureOutcome:
    """A dump that was written: its folder, the class of the model, its steps, what was left out, and the number of
    arrays."""

    folder: str
    model: str
    files: Sequence[StoredStep]
    notes: Sequence[str]
    arrays: int


@dataclass(frozen=True)
class TrainedExample:
    """The training of the worked example: the format of its activations, how well it learned, and what the accuracy is
    a share of."""

    narrow: str | None
    accuracy: float
    losses: tuple[float, ...]
    tested: str


@dataclass(frozen=True)
class ExampleOutcome(CaptureOutcome):
    """The dump of the worked example."""

    example: TrainedExample


@dataclass(frozen=True)
class ProfileOutcome:
    """Times of the layers of a model in ms, by direction, and the file they are in; None if it could not be written."""

    file: str | None
    model: str
    layers: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class FormatAccuracy:
    """The runs of the worked example with one format: see :class:`cdma.workload.capturing.accuracy.Accuracy`."""

    narrow: str | None
    accuracy: float
    spread: float | None
    loss: float
    runs: tuple[Training, ...]

    @classmethod
    def of(cls, found: Accuracy) -> FormatAccuracy:
        """The runs and their means."""
        return cls(found.narrow, found.mean, found.spread, found.loss, found.runs)


@dataclass(frozen=True)
class AccuracyOutcome:
    """The worked example with all formats."""

    formats: tuple[FormatAccuracy, ...]
