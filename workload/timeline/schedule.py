"""The timeline of a training step with activations swapped over a link, as Rhu et al. model it on top of vDNN.

:mod:`cdma.workload.timeline.queued` has another schedule, with a queue of transfers instead of a wait at each layer.

Forward runs step by step. While a step computes, the tensors that no later step reads are offloaded; the next step
begins when computing and transfers are complete. Backward runs the steps in reverse. While a step computes, the tensors
that the next one needs and that are not on the device are prefetched; the next step begins when computing and transfers
are complete. The stall of a step is its time minus the time of its computing without swapping.

A transfer uses memory bandwidth of the device: at rate ``r`` it leaves ``B - r`` for computing until it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cdma.workload.networks.tensors import Tensors
from cdma.workload.timeline.compute import Compute
from cdma.workload.timeline.engine_share import Reach
from cdma.workload.timeline.swapping import high_water

__all__ = ["Engine", "Move", "Slot", "Timeline", "Transfer", "plain_dma", "run", "slowed"]

Transfer = Callable[[str, str, int], float]
"""Seconds of a transfer, from the tensor's name, the direction (``offload`` or ``prefetch``) and the raw bytes."""


@dataclass(frozen=True)
class Engine:
    """The engine beside the memory controllers.

    Parameters
    ----------
    lanes, beat_bytes, clock_mhz
        Their product is COMP_BW, the largest input bandwidth of the lanes.
    link_beat_bytes
        Bytes of a beat on its port to the link, which has the same clock.
    reach
        The share of its limit that it reaches, see :mod:`cdma.workload.timeline.engine_share`.
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
        """Bandwidth of its port to the link in bytes per second."""
        return self.link_beat_bytes * self.clock_mhz * 1e6

    def transfer(self, link: float, ratios: Callable[[str], float]) -> Transfer:
        """The time of its transfers over a link of ``link`` bytes per second.

        ``start + raw bytes / (share x min(COMP_BW, ratio x link))``, with each tensor's ratio. The
        bandwidth of the link is limited to that of the engine's port.
        """
        carried = min(link, self.link_port_bandwidth)

        def seconds(name: str, direction: str, size: int) -> float:
            through = ratios(name) * carried
            reached = self.reach(direction, self.lane_bandwidth / through)
            return (reached.start_cycles / (self.clock_mhz * 1e6)
                    + size / (reached.share * min(self.lane_bandwidth, through)))

        return seconds


def plain_dma(link: float) -> Transfer:
    """The copy engine of vDNN: every tensor moves at the bandwidth of the link."""
    return lambda name, direction, size: size / link


@dataclass(frozen=True)
class Move:
    """Transfers in a direction, one directly after the other: ``offload`` or ``prefetch``, the names of the tensors,
    seconds since the training step began, and raw bytes."""

    direction: str
    tensors: tuple[str, ...]
    start: float
    end: float
    bytes: int


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
        Seconds of computing, slowed by the transfers' share of memory bandwidth.
    alone
        Seconds of computing without swapping.
    transfer, moved
        Seconds and raw bytes of the transfers beside it; with a queue, of those of its tensors.
    tensors
        Names of the tensors that are transferred beside it. With a queue: in forward, those that it is the last to
        read; in backward, those that it needs back.
    wait
        With a queue, seconds that it waits for transfers before it computes. None without one: it computes at once,
        and then waits until the transfers beside it are complete.
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
    wait: float | None = None

    @property
    def stall(self) -> float:
        """Seconds beyond those of computing without swapping."""
        if self.wait is None:
            return max(self.compute, self.transfer) - self.alone
        return self.wait + max(self.compute - self.alone, 0.0)  # computing is a difference of times, and inexact


@dataclass(frozen=True)
class Timeline:
    """A training step: its slots in order, the most bytes that the device holds, and the transfers."""

    slots: tuple[Slot, ...]
    memory: int
    moves: tuple[Move, ...] = ()

    @property
    def seconds(self) -> float:
        """Seconds of the whole step."""
        return self.slots[-1].end

    @property
    def stall(self) -> float:
        """Seconds of stalls in all slots."""
        return sum(slot.stall for slot in self.slots)

    @property
    def moved(self) -> int:
        """Raw bytes in both directions."""
        return sum(slot.moved for slot in self.slots)

    @property
    def transfer(self) -> float:
        """Seconds of transfers in both directions, hidden and exposed."""
        return sum(slot.transfer for slot in self.slots)


def run(plan: Tensors, compute: Sequence[Compute], chosen: Iterable[str], transfer: Transfer,
        bandwidth: float, again: Mapping[str, int] | None = None) -> Timeline:
    """The timeline of one training step.

    Parameters
    ----------
    plan
        Steps and tensors of the network.
    compute
        Time and traffic of each step without swapping.
    chosen
        Tensors that are swapped; empty for the oracle.
    transfer
        Gives the seconds of each transfer.
    bandwidth
        Bytes per second of the device's memory.
    again
        Tensors that are made again, see :func:`cdma.workload.timeline.swapping.high_water`; ``compute`` includes their
        time.
    """
    names = set(chosen)
    leaving: list[list[str]] = [[] for _ in plan.steps]
    coming: list[list[str]] = [[] for _ in plan.steps]
    for tensor in plan.tensors.values():
        if tensor.name in names:
            leaving[tensor.last_use].append(tensor.name)
            coming[max(tensor.kept)].append(tensor.name)
    slots: list[Slot] = []
    moves: list[Move] = []
    clock = 0.0

    def add(step: str, direction: str, alone: float, traffic: float, tensors: Sequence[str]) -> None:
        nonlocal clock
        way = "offload" if direction == "forward" else "prefetch"
        moved = sum(plan.tensors[name].size for name in tensors)
        moving = sum(transfer(name, way, plan.tensors[name].size) for name in tensors)
        busy = slowed(alone, traffic, moved, moving, bandwidth)
        end = clock + max(busy, moving)
        slots.append(Slot(step, direction, clock, end, busy, alone, moving, moved, tuple(tensors)))
        if tensors:
            moves.append(Move(way, tuple(tensors), clock, clock + moving, moved))
        clock = end

    for number, step in enumerate(plan.steps):
        add(step.name, "forward", compute[number].forward, compute[number].forward_traffic, leaving[number])
    for number in reversed(range(len(plan.steps))):
        wanted = coming[number - 1] if number else []
        if number == len(plan.steps) - 1 and coming[number]:
            # Tensors for the first step of backward are prefetched before it begins.
            add("", "backward", 0.0, 0.0, coming[number])
        add(plan.steps[number].name, "backward", compute[number].backward, compute[number].backward_traffic, wanted)
    return Timeline(tuple(slots), high_water(plan, names, again), tuple(moves))


def slowed(alone: float, traffic: float, moved: float, transfer: float, bandwidth: float) -> float:
    """Seconds of a step's computing while ``moved`` bytes are transferred in ``transfer`` seconds.

    The step's own ``traffic`` gets the bandwidth that the transfer leaves. Memory traffic then takes
    ``(traffic + moved) / bandwidth`` if the transfer ends first, and ``traffic / (bandwidth - rate)`` otherwise. The
    step is slowed only where this is longer than ``alone``, because transfers first use bandwidth that is idle.
    """
    if not transfer:
        return alone
    within = (traffic + moved) / bandwidth
    rate = moved / transfer
    beyond = traffic / (bandwidth - rate) if rate < bandwidth else within
    return max(alone, min(within, beyond))
