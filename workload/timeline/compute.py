"""Times of a network's steps without swapping: from a GPU's roofline, or from the user's own profile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cdma.workload.dumps.types import element_type
from cdma.workload.networks.layers import INPUT, Layer
from cdma.workload.networks.tensors import Step, Tensors
from cdma.workload.timeline.efficiency import Efficiency, efficiency
from cdma.workload.timeline.gpus import Gpu

__all__ = ["Compute", "profiled", "roofline"]

_PRODUCTS = {"conv": "convolution", "fc": "product", "matmul": "product", "attention": "attention"}
_OWN_RATE = 1.0  # share of the float32 peak that other layers reach; memory limits them on all these GPUs


@dataclass(frozen=True)
class Compute:
    """One step: seconds of forward and backward, and the bytes of device memory that each moves."""

    forward: float
    backward: float
    forward_traffic: float
    backward_traffic: float


def roofline(plan: Tensors, gpu: Gpu, shares: Efficiency | float | None = None) -> list[Compute]:
    """Times of a network's steps on a GPU.

    Forward reads a layer's inputs and weights and writes its output. Backward moves twice as many bytes: values and
    gradients of inputs and output. It has ``gradients`` times the operations of forward. The layers of a step run one
    after the other. Convolutions and products run at the peak of the network's ``compute``; attention does, too, but
    in bfloat16 where that is float8. All other layers compute in float32.

    Parameters
    ----------
    plan, gpu
        Steps and tensors of the network, and the GPU.
    shares
        Shares of the peaks that are reached; a number is that of convolutions and products.

    Raises
    ------
    ValueError
        If an efficiency is not above 0 and at most 1.
    """
    reached = shares if isinstance(shares, Efficiency) else efficiency([] if shares is None else [(None, shares)])
    network = plan.network
    traffic = _traffic(plan)

    def one(step: Step) -> Compute:
        forward = backward = forward_traffic = backward_traffic = 0.0
        for layer in step.layers:
            moved = traffic(layer)
            work = layer.flops * network.batch
            share, compute = _OWN_RATE, "float32"
            if layer.kind in _PRODUCTS:
                share, compute = getattr(reached, _PRODUCTS[layer.kind]), network.compute
            if layer.kind == "attention" and compute == "float8":
                compute = "bfloat16"
            forward += gpu.seconds(work, moved, share, compute, reached.memory)
            backward += gpu.seconds(work * layer.gradients, 2 * moved, share, compute, reached.memory)
            forward_traffic += moved
            backward_traffic += 2 * moved
        return Compute(forward, backward, forward_traffic, backward_traffic)

    return [one(step) for step in plan.steps]


def profiled(plan: Tensors, profile: Mapping[str, tuple[float, float]]) -> list[Compute]:
    """Times of a network's steps from the user's own profile; see :class:`cdma.workload.timeline.profiles.Profile`.

    Raises
    ------
    ValueError
        If a layer that is not in place has no time, or the profile has layers that are not in the network.
    """
    names = {layer.name for layer in plan.network.layers}
    unknown = sorted(set(profile) - names)
    if unknown:
        raise ValueError(f"the profile has {', '.join(unknown)}, which are not layers of {plan.network.name}")
    missing = [step.name for step in plan.steps if step.name not in profile]
    if missing:
        raise ValueError(f"the profile has no times of {', '.join(missing)}: every layer of {plan.network.name} needs "
                         f"forward_ms and backward_ms, but for those in place")
    traffic = _traffic(plan)

    def one(step: Step) -> Compute:
        times = [profile.get(layer.name, (0.0, 0.0)) for layer in step.layers]
        moved = sum(map(traffic, step.layers))
        return Compute(sum(forward for forward, _ in times), sum(backward for _, backward in times), moved, 2 * moved)

    return [one(step) for step in plan.steps]


def _traffic(plan: Tensors) -> Callable[[Layer], int]:
    """Gives the bytes that forward of a layer moves: inputs, weights, output, statistics.

    Weights are read in the network's type, in which autocast keeps a copy of them for the step.
    """
    if plan.traffic is not None:
        counted = plan.traffic
        return lambda layer: counted[layer.name]
    network = plan.network
    data = plan.tensors[INPUT]
    own = element_type(network.dtype).itemsize
    # An in-place layer has the type of what it overwrites, unless it has its own.
    types = {INPUT: data.dtype}
    sizes = {INPUT: data.size}
    for layer in network.layers:
        types[layer.name] = layer.dtype or (types[layer.inputs[0]] if layer.in_place else network.dtype)
        sizes[layer.name] = layer.elements * network.batch * element_type(types[layer.name]).itemsize

    def moved(layer: Layer) -> int:
        values = sum(sizes[source] for source in layer.inputs) + sizes[layer.name]
        if layer.kind == "embedding":
            return values + sizes[layer.name]  # the rows that it looks up, not the table
        return values + (layer.params + layer.shared) * own + 4 * layer.statistics * network.batch

    return moved
