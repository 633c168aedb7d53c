"""The worked examples for a few steps, plain or with what they save in an engine; whether both came out the same."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain, count, islice
from typing import Any

from cdma.workload.capturing import digits, sums
from cdma.workload.capturing.storage import bits
from cdma.workload.capturing.training import Begun, step
from cdma.workload.extra import package

__all__ = ["EXAMPLES", "Trained", "begin", "differences", "train"]

torch = package("torch", "torch")

_MOST_BATCH = 1024

EXAMPLES: dict[str, tuple[Callable[[int, int], Begun], int]] = {
    "digits": (digits.begin, 64), "sums": (sums.begin, 8), "llama": (partial(sums.begin, network="llama"), 8)}
"""The examples, each with the samples of a batch: a convolutional network in float32, and a GPT and a Llama in bfloat16
autocast. A step of each saves 2 MB or more, and what the engine makes of it fits into a simulated memory."""


def begin(example: str, seed: int = 0, batch: int | None = None) -> Begun:
    """An example before its first step, with batches of its own size when none is given.

    Raises
    ------
    ValueError
        If there is no such example, or it has no such batches.
    """
    if example not in EXAMPLES:
        raise ValueError(f"there is no example {example!r}: there are {', '.join(EXAMPLES)}")
    start, own = EXAMPLES[example]
    if batch is not None and not 1 <= batch <= _MOST_BATCH:
        raise ValueError(f"a batch must have 1 to {_MOST_BATCH} samples, not {batch}")
    return start(seed, batch or own)


@dataclass(frozen=True)
class Trained:
    """A training after some steps: the loss of each, the gradients of the last, and the weights."""

    model: str
    losses: tuple[float, ...]
    gradients: dict[str, Any]
    weights: dict[str, Any]


def train(begun: Begun, steps: int, watch: Callable[[Any], AbstractContextManager[Any]] | None = None,
          told: Callable[[int], None] | None = None) -> Trained:
    """Train for some steps, on one thread, so that sums have the same order each time.

    Parameters
    ----------
    begun
        What is trained; it is used up.
    watch
        Called with the model; training runs in the context manager that it returns.
    told
        Called with the number of each step before it begins.
    """
    threads, losses = torch.get_num_threads(), []
    torch.set_num_threads(1)
    try:
        with watch(begun.model) if watch else nullcontext():
            batches = chain.from_iterable(begun.epoch() for _ in count())
            for number, loss_of in enumerate(islice(batches, steps)):
                if told is not None:
                    told(number)
                losses.append(step(begun, loss_of))
    finally:
        torch.set_num_threads(threads)
    named = dict(begun.model.named_parameters())
    return Trained(type(begun.model).__name__, tuple(losses),
                   {name: weight.grad.clone() for name, weight in named.items() if weight.grad is not None},
                   {name: value.detach().clone() for name, value in begun.model.state_dict().items()})


def differences(plain: Trained, other: Trained) -> list[str]:
    """A sentence for each loss, gradient and weight that is not the same, bit for bit."""
    found = [f"the loss of step {number} is {theirs!r}, not {own!r}"
             for number, (own, theirs) in enumerate(zip(plain.losses, other.losses, strict=True), 1)
             if repr(own) != repr(theirs)]
    for what, mine, yours in (("gradient", plain.gradients, other.gradients), ("weight", plain.weights, other.weights)):
        for name in mine.keys() | yours.keys():
            if name not in mine or name not in yours:
                found.append(f"the {what} of {name} is in one run only")
            elif count := int(torch.count_nonzero(bits(mine[name]) ^ bits(yours[name]))):
                found.append(f"the {what} of {name} differs in {count} of {mine[name].numel()} values")
    return sorted(found)
