"""Plans for a network that swaps its activations, based on the timeline of its training step.

The transfers beside a step share its computing time, so treatments are chosen together. Each tensor begins with its
fastest treatment. Then, from the largest tensor to the smallest, each gets the treatment that changes it least without
making the training step longer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cdma.golden.codec.narrowing import WIDE_BYTES
from cdma.workload.dumps.types import element_type
from cdma.workload.networks.tensors import Tensors
from cdma.workload.plan.choice import EQUAL, Choice, Plan, Totals, always, least, network_tensor, never
from cdma.workload.plan.cycles import Timing
from cdma.workload.plan.options import Option
from cdma.workload.timeline.compute import Compute
from cdma.workload.timeline.schedule import Timeline, run

__all__ = ["plan_network"]


def plan_network(plan: Tensors, compute: Sequence[Compute], chosen: frozenset[str], densities: Mapping[str, float],
                 timing: Timing, clock_mhz: float, bandwidth: float, *, lossy: Sequence[str] = (),
                 max_error: float | None = None, codings: Sequence[str] = ("zvc",),
                 progress: Callable[[str, int, int], None] | None = None) -> Plan:
    """Choose treatments for all swapped tensors of a network.

    Parameters
    ----------
    plan, compute
        The network, and the times of its steps without swapping.
    chosen
        Tensors that are swapped, see :func:`cdma.workload.timeline.swapping.swapped`.
    densities
        Of the tensors by name.
    timing, clock_mhz
        The engine, and its clock.
    bandwidth
        Bytes per second of the device's memory.
    lossy, max_error, codings
        As for :func:`cdma.workload.plan.choice.dump_tensor`; exponents cannot be predicted from densities.
    progress
        Called with a stage, the tensors done, and all of them.

    Raises
    ------
    ValueError
        If nothing is swapped, or the engine can neither move nor round a tensor.
    """
    names = [name for name in plan.tensors if name in chosen]
    if not names:
        raise ValueError(f"nothing of {plan.network.name} is swapped under this policy: there is nothing to plan")
    tensors = []
    for name in names:
        if progress is not None:
            progress("predicting", len(tensors), len(names))
        swapped = plan.tensors[name]
        # The engine codes longer elements as several of 4 bytes.
        own = min(element_type(swapped.dtype).itemsize, WIDE_BYTES)
        tensors.append(network_tensor(name, swapped.size, own, densities[name], timing, lossy, max_error, codings))
    second = clock_mhz * 1e6

    def line(picked: Mapping[str, Option]) -> Timeline:
        def transfer(name: str, direction: str, size: int) -> float:
            option = picked[name]
            return (option.offload_cycles if direction == "offload" else option.prefetch_cycles) / second

        return run(plan, compute, chosen, transfer, bandwidth)

    def totals(several: Sequence[Option]) -> Totals:
        timeline = line({tensor.name: option for tensor, option in zip(tensors, several, strict=True)})
        return Totals(sum(option.packed_bytes for option in several), timeline.transfer, timeline.stall)

    picked = {tensor.name: least(tensor.options, lambda option: option.cycles) for tensor in tensors}
    shortest = line(picked).seconds
    for done, tensor in enumerate(sorted(tensors, key=lambda tensor: -tensor.raw_bytes)):
        if progress is not None:
            progress("choosing", done, len(tensors))
        # The treatment that changes the tensor least without making the training step longer.
        picked[tensor.name] = next(option for option in tensor.options if option == picked[tensor.name] or line(
            {**picked, tensor.name: option}).seconds <= shortest * (1 + EQUAL))
    timeline = line(picked)
    exposed = _shares(timeline, picked, second)
    return Plan(tuple(Choice(tensor, picked[tensor.name], exposed[tensor.name]) for tensor in tensors),
                totals([picked[tensor.name] for tensor in tensors]),
                totals([always(tensor.options) for tensor in tensors]),
                totals([never(tensor.options) for tensor in tensors]))


def _shares(timeline: Timeline, picked: Mapping[str, Option], second: float) -> dict[str, float]:
    """Stalls by tensor: each stall is divided among the tensors that move in it, in proportion to their times."""
    exposed = dict.fromkeys(picked, 0.0)
    for slot in timeline.slots:
        for name in slot.tensors:
            option = picked[name]
            cycles = option.offload_cycles if slot.direction == "forward" else option.prefetch_cycles
            exposed[name] += slot.stall * cycles / second / slot.transfer
    return exposed
