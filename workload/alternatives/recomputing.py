"""Tensors that are removed in forward and computed again in backward, instead of being kept or swapped.

Two policies. **Cheap layers**: what is not a convolution, a matrix product or attention is computed again from its
input, if that is kept anyway; a chain of such layers is computed again from its beginning. **Checkpoints** (Chen et al.
2016, *Training Deep Nets with Sublinear Memory Cost*): the network is cut into segments; only tensors that cross a cut
are kept, and the forward pass of a segment runs again before its backward pass. The last segment does not run again,
because backward begins with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from cdma.workload.networks.layers import PRODUCTS
from cdma.workload.networks.tensors import Tensors
from cdma.workload.timeline.compute import Compute
from cdma.workload.timeline.swapping import high_water

__all__ = ["Recomputed", "best_checkpoints", "cheap_layers", "checkpoints", "cuts"]


@dataclass(frozen=True)
class Recomputed:
    """A training step in which tensors are made again.

    Parameters
    ----------
    plan
        The network; tensors from which others are made again are kept until then.
    compute
        Times of the steps, with those of computing again.
    again
        The tensors that are made again, with the number of the step in whose backward they are.
    seconds
        Seconds of computing again.
    """

    plan: Tensors
    compute: tuple[Compute, ...]
    again: Mapping[str, int]
    seconds: float


def cheap_layers(plan: Tensors, compute: Sequence[Compute]) -> Recomputed:
    """Make the outputs of cheap layers again.

    A tensor is made again in the backward of the first step there that needs it, by the steps that write it.
    """
    sources: dict[str, tuple[str, ...]] = {}  # what each is made from, all of it kept or made again
    for name, tensor in plan.tensors.items():
        makers = [plan.steps[number] for number in tensor.written]
        reads = tuple(dict.fromkeys(read for step in makers for read in step.reads))
        cheap = bool(makers) and not any(layer.kind in PRODUCTS for step in makers for layer in step.layers)
        if tensor.saved and cheap and name not in reads and all(plan.tensors[read].saved for read in reads):
            sources[name] = reads
    again = {name: max(plan.tensors[name].kept) for name in sources}
    # Whatever is needed to make a tensor must be there as early, or be made as early.
    for name in reversed(sources):
        for read in sources[name]:
            if read in again:
                again[read] = max(again[read], again[name])
    kept: dict[str, set[int]] = {}
    for name, reads in sources.items():
        for read in reads:
            kept.setdefault(read, set()).add(again[name])
    changed = list(compute)
    for name, number in again.items():
        for maker in plan.tensors[name].written:
            changed[number] = _more(changed[number], compute[maker])
    return _recomputed(plan, compute, changed, again, kept)


def cuts(plan: Tensors) -> list[int]:
    """Numbers of the steps before which one tensor only is alive: natural places to cut the network."""
    spans = [(min(uses), max(uses)) for tensor in plan.tensors.values() if (uses := tensor.written + tensor.read)]
    return [number for number in range(1, len(plan.steps))
            if sum(first < number <= last for first, last in spans) == 1]


def checkpoints(plan: Tensors, compute: Sequence[Compute], at: Sequence[int]) -> Recomputed:
    """Keep only the tensors that cross cuts.

    Parameters
    ----------
    plan, compute
        The network, and the times of its steps.
    at
        Numbers of the steps before which the network is cut, in rising order.

    Raises
    ------
    ValueError
        If these are not numbers of steps after the first, in rising order.
    """
    steps = len(plan.steps)
    if any(not 0 < number < steps for number in at) or any(one >= other for one, other in pairwise(at)):
        raise ValueError(f"cuts must be numbers of steps from 1 to {steps - 1} in rising order, not {list(at)}")
    ends = [*(number - 1 for number in at), steps - 1]
    segment = [sum(end < number for end in ends) for number in range(steps)]
    again: dict[str, int] = {}
    kept: dict[str, set[int]] = {}
    for name, tensor in plan.tensors.items():
        homes = {segment[number] for number in tensor.written + tensor.read}
        inside = len(homes) == 1 and tensor.written
        if inside and tensor.saved and homes != {len(ends) - 1}:
            again[name] = ends[homes.pop()]
        elif not inside:
            kept[name] = {ends[segment[number]] for number in tensor.read if segment[number] < len(ends) - 1}
    changed = list(compute)
    for number in range(steps):
        if segment[number] < len(ends) - 1:
            end = ends[segment[number]]
            changed[end] = _more(changed[end], compute[number])
    return _recomputed(plan, compute, changed, again, kept)


def best_checkpoints(plan: Tensors, compute: Sequence[Compute], memory: float) -> tuple[Recomputed, int]:
    """The checkpoints that fit a device and compute least again, and how many segments are computed again.

    The network is cut at natural places into segments with about equal bytes of saved tensors; all of them are computed
    again, or only the first ones. If none fits, those that need least memory are taken: for a chain of alike layers
    that is about the square root of their number.

    Parameters
    ----------
    plan, compute
        The network, and the times of its steps.
    memory
        Bytes of the device.

    Raises
    ------
    ValueError
        If the network can be cut nowhere.
    """
    found = []
    for at in _choices(plan):
        made = checkpoints(plan, compute, at)
        size = high_water(made.plan, (), made.again)
        # Those that fit come first, by time; the others by memory.
        found.append(((0, made.seconds) if size <= memory else (1, size), len(at), made))
    if not found:
        raise ValueError(f"{plan.network.name} can be cut nowhere: at each of its layers several tensors are alive")
    _, again, made = min(found, key=lambda entry: entry[:2])
    return made, again


def _choices(plan: Tensors) -> Iterator[tuple[int, ...]]:
    """Cuts into segments of about equal bytes, and the first ones of these cuts."""
    natural = cuts(plan)
    before = [sum(tensor.size for tensor in plan.tensors.values() if tensor.saved and max(tensor.written, default=-1)
                  < number) for number in natural]
    whole = sum(tensor.size for tensor in plan.tensors.values() if tensor.saved)
    seen: set[tuple[int, ...]] = set()
    for segments in _growing(2, len(natural) + 1):
        at = tuple(sorted({min(zip(before, natural, strict=True),
                               key=lambda entry, part=part, of=segments: abs(entry[0] - whole * part / of))[1]
                           for part in range(1, segments)}))
        for first in _growing(1, len(at)):
            if at[:first] not in seen:
                seen.add(at[:first])
                yield at[:first]


def _growing(first: int, last: int) -> Iterator[int]:
    """Whole numbers from first to last, ever farther apart: deep networks have too many cuts to try all."""
    number = first
    while number < last:
        yield number
        number += max(1, number // 2)
    if first <= last:
        yield last


def _more(one: Compute, other: Compute) -> Compute:
    """A step whose backward has the forward of another as well."""
    return replace(one, backward=one.backward + other.forward,
                   backward_traffic=one.backward_traffic + other.forward_traffic)


def _recomputed(plan: Tensors, before: Sequence[Compute], after: Sequence[Compute], again: Mapping[str, int],
                kept: Mapping[str, set[int]]) -> Recomputed:
    longer = {name: replace(plan.tensors[name], kept=tuple(sorted({*plan.tensors[name].kept, *steps})))
              for name, steps in kept.items()}
    return Recomputed(replace(plan, tensors=plan.tensors | longer), tuple(after), again,
                      sum(new.backward - old.backward for new, old in zip(after, before, strict=True)))
