"""Which activations are swapped out, by the policies of vDNN, of IBM's Large Model Support and of torchtitan, and how
much memory a step takes: of weights with their gradients and what the optimizer keeps, and of activations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate, chain

from cdma.workload.networks.tensors import Tensor, Tensors

__all__ = ["POLICIES", "copies", "high_water", "most_bytes", "swapped", "use_by_step"]

POLICIES = ("all", "conv", "dynamic", "lms", "budget")
"""``all``: every tensor that backward needs. ``conv``: those that a convolution reads. ``dynamic``: the first of none,
conv and all that fits the device. ``lms``: tensors of a minimum size, once a share of the device is in use. ``budget``:
the largest tensors that fit a budget of bytes on the host, as in torchtitan (``cpu_offload_budget_gb``)."""


def copies(dtype: str) -> int:
    """Copies of the weights that training a network of a type needs: values, gradients, and what the optimizer keeps,
    momentum in float32, as the networks of the paper were trained, and Adam's two moments in shorter types."""
    return 3 if dtype == "float32" else 4


def swapped(plan: Tensors, policy: str, memory: float, least_bytes: int = 0, use: float = 0.5,
            budget: float | None = None) -> frozenset[str]:
    """Names of the tensors that are offloaded in forward and prefetched in backward.

    A tensor is offloaded beside the last step that reads it. Tensors that the last step of forward reads or writes are
    never swapped, because backward begins with that step. Statistics stay on the device, too: they are small.

    Parameters
    ----------
    plan
        Steps and tensors of the network.
    policy
        One of :data:`POLICIES`.
    memory
        Bytes of the device, for ``dynamic`` and ``lms``.
    least_bytes, use
        For ``lms``: tensors of this size or more, once more than this share of the device is in use.
    budget
        For ``budget``: most bytes that are swapped. The largest tensors are taken first, of equal ones the first of
        the network; one that no longer fits is left out.

    Raises
    ------
    ValueError
        If there is no such policy, or no budget for it.
    """
    if policy not in POLICIES:
        raise ValueError(f"there is no policy {policy!r}: give {', '.join(POLICIES)}")
    every = [tensor for tensor in plan.tensors.values() if tensor.saved
             and tensor.role != "statistics" and tensor.last_use < len(plan.steps) - 1]
    everything = frozenset(tensor.name for tensor in every)
    convs = frozenset(tensor.name for tensor in every if tensor.feeds_conv)
    if policy == "all":
        return everything
    if policy == "conv":
        return convs
    if policy == "lms":
        return _by_size(plan, every, memory, least_bytes, use)
    if policy == "budget":
        return _within(every, budget)
    for choice in (frozenset[str](), convs):
        if high_water(plan, choice) <= memory:
            return choice
    return everything


def _by_size(plan: Tensors, every: Iterable[Tensor], memory: float, least_bytes: int, use: float) -> frozenset[str]:
    if not 0 <= use <= 1:
        raise ValueError(f"the share of the device must be 0 to 1, not {use:g}")
    chosen: dict[str, int] = {}
    candidates = sorted(every, key=lambda tensor: tensor.last_use)
    for tensor in candidates:
        # Tensors chosen before are off the device by now; offload this one if use is still above the limit.
        if tensor.size >= least_bytes and _forward_use(plan, chosen)[tensor.last_use] > use * memory:
            chosen[tensor.name] = tensor.last_use
    return frozenset(chosen)


def _within(every: Iterable[Tensor], budget: float | None) -> frozenset[str]:
    if budget is None or budget < 0:
        raise ValueError("the policy budget needs a budget of 0 bytes or more")
    chosen: set[str] = set()
    for tensor in sorted(every, key=lambda tensor: -tensor.size):
        if tensor.size <= budget:
            chosen.add(tensor.name)
            budget -= tensor.size
    return frozenset(chosen)


def high_water(plan: Tensors, names: Iterable[str], again: Mapping[str, int] | None = None) -> int:
    """Most bytes that the device holds at any step, with these tensors swapped: :func:`copies` of the weights,
    activations, and gradients of activations, without the workspace of convolutions.

    Parameters
    ----------
    plan, names
        Steps and tensors of the network, and the tensors that are swapped.
    again
        Tensors that are removed after their last use in forward and made again in backward, with the number of the
        step that makes them.
    """
    return max(map(max, use_by_step(plan, names, again)))


def use_by_step(plan: Tensors, names: Iterable[str], again: Mapping[str, int] | None = None
                ) -> tuple[list[int], list[int]]:
    """Bytes that the device holds in each step of forward, and of backward by the number of the step; parameters as of
    :func:`high_water`."""
    last = len(plan.steps) - 1
    chosen = {name: plan.tensors[name] for name in names}
    # A prefetch needs its memory from the step before on, which has the higher number in backward.
    made = again or {}
    leaves = {name: plan.tensors[name].last_use for name in (*chosen, *made)}
    comes = {name: min(max(tensor.kept) + 1, last) for name, tensor in chosen.items()}
    return _forward_use(plan, leaves), _backward_use(plan, comes | dict(made))


def most_bytes(plan: Tensors, leaves: Mapping[str, int], comes: Mapping[str, int]) -> int:
    """Most bytes that the device holds at any step, as :func:`high_water` counts them.

    Parameters
    ----------
    plan
        Steps and tensors of the network.
    leaves, comes
        For each swapped tensor, the last step of forward and the first of backward during which it is on the device.
        The first step of backward has the highest number.
    """
    return max(*_forward_use(plan, leaves), *_backward_use(plan, comes))


def _forward_use(plan: Tensors, leaves: Mapping[str, int]) -> list[int]:
    """Bytes on the device in each step of forward."""
    end = len(plan.steps) - 1
    return _held(plan, ((min(tensor.written, default=0),
                         leaves.get(tensor.name, end if tensor.saved else tensor.last_use), tensor.size)
                        for tensor in plan.tensors.values()))


def _backward_use(plan: Tensors, comes: Mapping[str, int]) -> list[int]:
    """Bytes on the device in the backward of each step, by the number of the step."""
    end = len(plan.steps) - 1
    values = ((min(tensor.kept), comes.get(tensor.name, end), tensor.size)
              for tensor in plan.tensors.values() if tensor.saved)
    # A gradient exists from the backward of the last reader to that of the first writer.
    gradients = ((min(tensor.written), tensor.last_use, tensor.size)
                 for tensor in plan.tensors.values() if tensor.written)
    return _held(plan, chain(values, gradients))


def _held(plan: Tensors, spans: Iterable[tuple[int, int, int]]) -> list[int]:
    """Bytes on the device at each step, from the first and last step of each tensor and its bytes, beside weights."""
    changes = [0] * (len(plan.steps) + 1)
    changes[0] = copies(plan.network.dtype) * plan.weight_bytes
    for first, last, size in spans:
        if last >= first:
            changes[first] += size
            changes[last + 1] -= size
    return list(accumulate(changes[:-1]))
