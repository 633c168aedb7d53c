"""What the trainings of the worked examples have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

__all__ = ["Begun", "Training", "step", "watched"]


@dataclass(frozen=True)
class Training:
    """A run: its seed, the format that activations were rounded to, the share of the test data that is right, and the
    mean loss of every epoch."""

    seed: int
    narrow: str | None
    accuracy: float
    losses: tuple[float, ...]


@dataclass(frozen=True)
class Begun:
    """A training before its first step.

    Parameters
    ----------
    model, optimizer
        What is trained, and by what.
    epoch
        Gives the batches of the next epoch, each as a function that computes the model's loss on it.
    """

    model: Any
    optimizer: Any
    epoch: Callable[[], Iterator[Callable[[], Any]]]


def step(begun: Begun, loss_of: Callable[[], Any]) -> float:
    """Train with a batch, and return its loss."""
    loss = loss_of()
    begun.optimizer.zero_grad()
    loss.backward()
    begun.optimizer.step()
    return loss.item()


@contextmanager
def watched(model: Any, epochs: int, watch: Callable[[Any], AbstractContextManager[Any]] | None,
            progress: Callable[[str, int, int], None] | None) -> Iterator[Iterator[int]]:
    """Gives the epochs of a training, each once it begins.

    Parameters
    ----------
    model, epochs
        What is trained, and how long.
    watch
        Called with the model; training runs in the context manager that it returns, for example
        :class:`cdma.workload.capturing.recorder.Recorder`, which is told each epoch.
    progress
        Called with a stage, the epochs done and all of them.
    """
    with watch(model) if watch else nullcontext() as watcher:

        def each() -> Iterator[int]:
            for epoch in range(epochs):
                if progress is not None:
                    progress("training", epoch, epochs)
                if watcher is not None:
                    watcher.epoch = epoch
                yield epoch

        yield each()
