"""The timeline of a training step with activations swapped over a link, as Rhu et al. model it on top of vDNN.

Forward runs step by step. The tensors that a step is the last to read are offloaded while it computes, and the next
step begins when both are done. Backward runs the steps in reverse; while one computes, the tensors that the next one
needs and the device has not are prefetched, and the next begins when both are done. What a step takes beyond its
computing alone is its stall.

A transfer takes the device's memory bandwidth from the computing: at rate ``r`` it leaves ``B - r`` while it lasts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from workload.networks.tensors import Tensors
from workload.timeline.compute import Compute
from workload.timeline.engine_share import Reach
from workload.timeline.swapping import high_water

__all__ = ["Engine", "Slot", "Timeline", "Transfer", "plain_dma", "run", "slowed"]

Transfer = Callable[[str, str, int], float]
"""Seconds that a tensor takes: its name, its direction (``offload`` or ``prefetch``), its raw bytes."""


@dataclass(frozen=True)
class Engine:
    """The engine beside the memory controllers.

    Parameters
    ----------
    lanes, beat_bytes, clock_mhz
        Their product is COMP_BW, what the lanes take in at most.
    link_beat_bytes
        Bytes of a beat on its port to the link, which carries them at the same clock.
    reach
        What it reaches of its limit, see :mod:`workload.timeline.engine_share`.
    """

    lanes: int
    beat_bytes: int
    link_beat_bytes: int
    clock_mhz: float
    reach: Reach

    @property
    def lane_bandwidth(self) -> float:
        """COMP_BW in bytes per second."""
        return self.lanes * self.beat_bytes * self.clock_mhz * 1e6

    @property
    def link_port_bandwidth(self) -> float:
        """What its port to the link carries in bytes per second."""
        return self.link_beat_bytes * self.clock_mhz * 1e6

    def transfer(self, link: float, ratios: Callable[[str], float]) -> Transfer:
        """Its transfers over a link of ``link`` bytes per second.

        ``start + raw bytes / (share x min(COMP_BW, ratio x link))``, with each tensor's ratio. A link that is faster
        than the engine's port to it has the port's bandwidth.
        """
        carried = min(link, self.link_port_bandwidth)

        def seconds(name: str, direction: str, size: int) -> float:
            through = ratios(name) * carried
            reached = self.reach(direction, self.lane_bandwidth / through)
            return (reached.start_cycles / (self.clock_mhz * 1e6)
                    + size / (reached.share * min(self.lane_bandwidth, through)))

        return seconds


def plain_dma(link: float) -> Transfer:
    """The copy engine of vDNN: the link's bandwidth for every tensor."""
    return lambda name, direction, size: size / link


@dataclass(frozen=True)
class Slot:
    """A step of one pass.

    Parameters
    ----------
    step, direction
        Its name; ``forward`` or ``backward``.
    start, end
        Seconds since the training step began.
    compute
        Seconds that it computes, slowed by the transfer's share of the memory.
    alone
        Seconds that it would compute without swapping.
    transfer, moved
        Seconds and raw bytes of what is offloaded or prefetched meanwhile.
    tensors
        Which.
    """

    step: str
    direction: str
    start: float
    end: float
    compute: float
    alone: float
    transfer: float
    moved: int
    tensors: tuple[str, ...]

    @property
    def stall(self) -> float:
        """Seconds beyond the computing alone."""
        return max(self.compute, self.transfer) - self.alone


@dataclass(frozen=True)
class Timeline:
    """A training step: its slots in order, and the most bytes that the device holds."""

    slots: tuple[Slot, ...]
    memory: int

    @property
    def seconds(self) -> float:
        """The whole step."""
        return self.slots[-1].end

    @property
    def stall(self) -> float:
        """Stalls of all slots."""
        return sum(slot.stall for slot in self.slots)

    @property
    def moved(self) -> int:
        """Raw bytes in both directions."""
        return sum(slot.moved for slot in self.slots)

    @property
    def transfer(self) -> float:
        """Seconds of transfers in both directions, hidden or not."""
        return sum(slot.transfer for slot in self.slots)


def run(plan: Tensors, compute: Sequence[Compute], chosen: Iterable[str], transfer: Transfer,
        bandwidth: float) -> Timeline:
    """The timeline of one training step.

    Parameters
    ----------
    plan
        Steps and tensors of the network.
    compute
        What each step takes without swapping.
    chosen
        Tensors that are swapped; none for the oracle.
    transfer
        How long each takes.
    bandwidth
        Bytes per second of the device's memory.
    """
    names = set(chosen)
    leaving: list[list[str]] = [[] for _ in plan.steps]
    coming: list[list[str]] = [[] for _ in plan.steps]
    for tensor in plan.tensors.values():
        if tensor.name in names:
            leaving[tensor.last_use].append(tensor.name)
            coming[max(tensor.kept)].append(tensor.name)
    slots: list[Slot] = []
    clock = 0.0

    def add(step: str, direction: str, alone: float, traffic: float, tensors: Sequence[str]) -> None:
        nonlocal clock
        way = "offload" if direction == "forward" else "prefetch"
        moved = sum(plan.tensors[name].size for name in tensors)
        moving = sum(transfer(name, way, plan.tensors[name].size) for name in tensors)
        busy = slowed(alone, traffic, moved, moving, bandwidth)
        end = clock + max(busy, moving)
        slots.append(Slot(step, direction, clock, end, busy, alone, moving, moved, tuple(tensors)))
        clock = end

    for number, step in enumerate(plan.steps):
        add(step.name, "forward", compute[number].forward, compute[number].forward_traffic, leaving[number])
    for number in reversed(range(len(plan.steps))):
        wanted = coming[number - 1] if number else []
        if number == len(plan.steps) - 1 and coming[number]:
            # What the first backward step itself needs is fetched before it begins.
            add("", "backward", 0.0, 0.0, coming[number])
        add(plan.steps[number].name, "backward", compute[number].backward, compute[number].backward_traffic, wanted)
    return Timeline(tuple(slots), high_water(plan, names))


def slowed(alone: float, traffic: float, moved: float, transfer: float, bandwidth: float) -> float:
    """Seconds of a step's computing while ``moved`` bytes are transferred in ``transfer`` seconds.

    Its own ``traffic`` has what the transfer leaves of the bandwidth: all is moved in ``(traffic + moved) / bandwidth``
    where the transfer ends first, in ``traffic / (bandwidth - rate)`` where it does not. Bandwidth that the computing
    leaves idle is taken first.
    """
    if not transfer:
        return alone
    within = (traffic + moved) / bandwidth
    rate = moved / transfer
    beyond = traffic / (bandwidth - rate) if rate < bandwidth else within
    return max(alone, min(within, beyond))
