"""Compares the oracle, vDNN, and cDMA with each algorithm, for one network on one GPU under one policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdma.workload.networks.tensors import Tensors
from cdma.workload.timeline.compute import Compute
from cdma.workload.timeline.densities import ALGORITHMS, Filling
from cdma.workload.timeline.gpus import Gpu
from cdma.workload.timeline.queued import Ahead, queued
from cdma.workload.timeline.schedule import Engine, Timeline, plain_dma, run

__all__ = ["SCHEDULES", "Study", "study"]

SCHEDULES = ("layer", "queue")
"""``layer``: a wait at each layer, :mod:`cdma.workload.timeline.schedule`. ``queue``: asynchronous swapping with
look-ahead, :mod:`cdma.workload.timeline.queued`."""


@dataclass(frozen=True)
class Study:
    """The timelines of one network, by row: ``oracle``, ``vdnn``, and one for each algorithm; bytes of the device, and
    the look-ahead of a queue."""

    plan: Tensors
    chosen: frozenset[str]
    fillings: Mapping[str, Filling]
    rows: Mapping[str, Timeline]
    memory: float
    ahead: Ahead

    def ratio(self, row: str) -> float:
        """Raw bytes of all swapped tensors divided by their bytes on the link; 1 where nothing is coded."""
        sizes = {name: self.plan.tensors[name].size for name in sorted(self.chosen)}
        if row not in ALGORITHMS or not sizes:
            return 1.0
        return sum(sizes.values()) / sum(size / self.fillings[name].ratios[row] for name, size in sizes.items())

    def highest_ratio(self, row: str) -> float:
        """The highest ratio of a swapped tensor."""
        return max((self.fillings[name].ratios[row] for name in self.chosen), default=1.0) if row in ALGORITHMS else 1.0

    def speedup(self, row: str) -> float:
        """Step time of plain swapping divided by the row's."""
        return self.rows["vdnn"].seconds / self.rows[row].seconds

    def slowdown(self, row: str) -> float:
        """Step time of the row divided by that without swapping."""
        return self.rows[row].seconds / self.rows["oracle"].seconds

    def density(self) -> float:
        """Density of all swapped tensors together; 1 if nothing is swapped."""
        values = {name: self.plan.tensors[name].elements for name in sorted(self.chosen)}
        filled = sum(self.fillings[name].density * count for name, count in values.items())
        return filled / sum(values.values()) if values else 1.0

    def summary(self) -> dict[str, Any]:
        """Rows and layers as JSON has them: a row's step, and whether the device has the memory; a layer's times
        without swapping, the tensors that are moved beside it, and its stalls by row and direction."""
        return {"swapped_density": self.density(), "swapped_tensors": len(self.chosen),
                "rows": [self._row(*row) for row in self.rows.items()], "layers": list(self._layers())}

    def _row(self, name: str, line: Timeline) -> dict[str, Any]:
        return {"row": name, "step_ms": line.seconds * 1e3, "forward_ms": _pass(line, "forward"),
                "backward_ms": _pass(line, "backward"), "stall_ms": line.stall * 1e3, "speedup": self.speedup(name),
                "ratio": self.ratio(name), "highest_ratio": self.highest_ratio(name), "moved_bytes": line.moved,
                "transfer_ms": line.transfer * 1e3, "memory_bytes": line.memory, "fits": line.memory <= self.memory}

    def _layers(self) -> Iterator[dict[str, Any]]:
        for step in self.plan.steps:
            slots = {name: {slot.direction: slot for slot in line.slots if slot.step == step.name}
                     for name, line in self.rows.items()}
            forward, backward = slots["vdnn"]["forward"], slots["vdnn"]["backward"]
            yield {"layer": step.name, "forward_ms": forward.alone * 1e3, "backward_ms": backward.alone * 1e3,
                   "offloads": forward.tensors, "prefetches": backward.tensors, "offload_bytes": forward.moved,
                   "prefetch_bytes": backward.moved,
                   "fillings": {name: self.fillings[name] for name in forward.tensors},
                   "stall_ms": {name: {direction: slot.stall * 1e3 for direction, slot in pair.items()}
                                for name, pair in slots.items()}}


def study(plan: Tensors, compute: Sequence[Compute], gpu: Gpu, chosen: frozenset[str],
          fillings: Mapping[str, Filling], engine: Engine, link: float,
          progress: Callable[[str, int, int], None] | None = None, schedule: str = SCHEDULES[0],
          ahead: Ahead | None = None, memory: float | None = None) -> Study:
    """Run all rows.

    Parameters
    ----------
    plan, compute, gpu
        The network, the times of its steps, and the GPU with its memory bandwidth.
    chosen
        Tensors that are swapped, see :func:`cdma.workload.timeline.swapping.swapped`.
    fillings
        Density and ratios of every tensor.
    engine, link
        The engine's lanes, and the link's bytes per second.
    progress
        Called with a name, the rows done, and all rows.
    schedule, ahead
        One of :data:`SCHEDULES`, and the look-ahead of a queue; None is as far as the device's
        memory allows.
    memory
        Bytes of the device; None takes the GPU's.

    Raises
    ------
    ValueError
        If there is no such schedule.
    """
    if schedule not in SCHEDULES:
        raise ValueError(f"there is no schedule {schedule!r}: give {' or '.join(SCHEDULES)}")
    bandwidth = gpu.bandwidth * 1e9
    room = gpu.memory * 1e9 if memory is None else memory
    look = Ahead(memory=room) if ahead is None else ahead
    rows: dict[str, Timeline] = {}
    for name in ("oracle", "vdnn", *ALGORITHMS):
        if progress is not None:
            progress("timelines", len(rows), 2 + len(ALGORITHMS))
        transfer = engine.transfer(link, _ratios(fillings, name)) if name in ALGORITHMS else plain_dma(link)
        moved = frozenset[str]() if name == "oracle" else chosen
        rows[name] = run(plan, compute, moved, transfer, bandwidth) if schedule == "layer" else \
            queued(plan, compute, moved, transfer, bandwidth, look)
    return Study(plan, chosen, fillings, rows, room, look)


def _ratios(fillings: Mapping[str, Filling], algorithm: str) -> Callable[[str], float]:
    return lambda tensor: fillings[tensor].ratios[algorithm]


def _pass(line: Timeline, direction: str) -> float:
    return sum(slot.end - slot.start for slot in line.slots if slot.direction == direction) * 1e3
