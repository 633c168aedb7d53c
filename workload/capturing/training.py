"""What the trainings of the worked examples have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

from cdma.workload.capturing.rounding import rounded
from cdma.workload.extra import package

__all__ = ["Begun", "Training", "step", "train"]

torch = package("torch", "torch")
_Mode = package("torch.utils._python_dispatch", "torch").TorchDispatchMode
_PRODUCTS = (torch.ops.aten.mm.default, torch.ops.aten.addmm.default)


class _Wide(_Mode):
    """Products of bfloat16 values are computed in float32 and rounded once, as hardware for them does."""

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs an operation."""
        if operation in _PRODUCTS and args[0].dtype == torch.bfloat16:
            return operation(*(each.float() for each in args), **(kwargs or {})).bfloat16()
        return operation(*args, **(kwargs or {}))


@cache
def _slow_products() -> bool:
    """Whether PyTorch multiplies bfloat16 matrices by its plain loops, which take ten times as long as float32's: where
    oneDNN has no code for the processor, on x86 below AVX-512."""
    return not (torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported())


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
    seed
        Of weights and batches.
    epochs, epoch
        How long; and what gives the batches of the next epoch, each as a function that computes the model's loss on it.
    score
        Gives the share of the test data that the model has right.
    """

    model: Any
    optimizer: Any
    seed: int
    epochs: int
    epoch: Callable[[], Iterator[Callable[[], Any]]]
    score: Callable[[], Any]


def step(begun: Begun, loss_of: Callable[[], Any]) -> float:
    """Train with a batch, and return its loss."""
    with _Wide() if _slow_products() else nullcontext():
        loss = loss_of()
        begun.optimizer.zero_grad()
        loss.backward()
    begun.optimizer.step()
    return loss.item()


def train(begun: Begun, narrow: str | None = None, watch: Callable[[Any], AbstractContextManager[Any]] | None = None,
          progress: Callable[[str, int, int], None] | None = None) -> Training:
    """Train a network and test it.

    Parameters
    ----------
    begun
        What is trained; it is used up.
    narrow
        Format of :data:`cdma.workload.dumps.types.FORMATS` that the float32 activations kept for backward are rounded
        to; None does not round.
    watch
        Called with the model; training runs in the context manager that it returns, for example
        :class:`cdma.workload.capturing.recorder.Recorder`, which is told each epoch.
    progress
        Called with a stage, the epochs done and all of them.

    Raises
    ------
    ValueError
        If there is no such format.
    """
    losses = []
    with watch(begun.model) if watch else nullcontext() as watcher, rounded(begun.model, narrow):
        for epoch in range(begun.epochs):
            if progress is not None:
                progress("training", epoch, begun.epochs)
            if watcher is not None:
                watcher.epoch = epoch
            found = [step(begun, loss_of) for loss_of in begun.epoch()]
            losses.append(sum(found) / len(found))
    begun.model.eval()
    with torch.no_grad():
        return Training(begun.seed, narrow, begun.score().item(), tuple(losses))
