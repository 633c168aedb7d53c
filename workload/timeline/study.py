"""One network on one GPU under one policy: the oracle, vDNN, and cDMA with each algorithm, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workload.networks.tensors import Tensors
from workload.timeline.compute import Compute
from workload.timeline.densities import ALGORITHMS, Filling
from workload.timeline.gpus import Gpu
from workload.timeline.schedule import Engine, Timeline, plain_dma, run

__all__ = ["Study", "study"]


@dataclass(frozen=True)
class Study:
    """The timelines of one network, by row: ``oracle``, ``vdnn``, and an algorithm's each."""

    plan: Tensors
    chosen: frozenset[str]
    fillings: Mapping[str, Filling]
    rows: Mapping[str, Timeline]

    def ratio(self, row: str) -> float:
        """Raw bytes of all swapped tensors by what they have on the link, 1 where nothing is coded."""
        sizes = {name: self.plan.tensors[name].size for name in self.chosen}
        if row not in ALGORITHMS or not sizes:
            return 1.0
        return sum(sizes.values()) / sum(size / self.fillings[name].ratios[row] for name, size in sizes.items())

    def highest_ratio(self, row: str) -> float:
        """The highest of any swapped tensor."""
        return max((self.fillings[name].ratios[row] for name in self.chosen), default=1.0) if row in ALGORITHMS else 1.0

    def speedup(self, row: str) -> float:
        """Step time of plain swapping by the row's."""
        return self.rows["vdnn"].seconds / self.rows[row].seconds

    def slowdown(self, row: str) -> float:
        """Step time of the row by that without swapping."""
        return self.rows[row].seconds / self.rows["oracle"].seconds

    def density(self) -> float:
        """Share of the values of all swapped tensors that is not zero; 1 where nothing is swapped."""
        values = {name: self.plan.tensors[name].elements for name in self.chosen}
        filled = sum(self.fillings[name].density * count for name, count in values.items())
        return filled / sum(values.values()) if values else 1.0

    def as_dict(self) -> dict[str, Any]:
        """Rows and layers as plain values, times in milliseconds."""
        return {"swapped_density": self.density(), "swapped_tensors": len(self.chosen), "rows": [{
            "row": name, "step_ms": line.seconds * 1e3, "forward_ms": _pass(line, "forward"),
            "backward_ms": _pass(line, "backward"), "stall_ms": line.stall * 1e3, "speedup": self.speedup(name),
            "ratio": self.ratio(name), "highest_ratio": self.highest_ratio(name), "moved_bytes": line.moved,
            "transfer_ms": line.transfer * 1e3, "memory_bytes": line.memory,
        } for name, line in self.rows.items()], "layers": self._layers()}

    def _layers(self) -> list[dict[str, Any]]:
        found = []
        for step in self.plan.steps:
            slots = {name: {slot.direction: slot for slot in line.slots if slot.step == step.name}
                     for name, line in self.rows.items()}
            base = slots["vdnn"]
            sent, fetched = base["forward"].tensors, base["backward"].tensors
            found.append({
                "layer": step.name, "forward_ms": base["forward"].alone * 1e3,
                "backward_ms": base["backward"].alone * 1e3, "offloads": list(sent), "prefetches": list(fetched),
                "offload_bytes": base["forward"].moved, "prefetch_bytes": base["backward"].moved,
                "fillings": {name: {"density": self.fillings[name].density, **self.fillings[name].ratios}
                             for name in sent},
                "stall_ms": {name: {direction: slot.stall * 1e3 for direction, slot in pair.items()}
                             for name, pair in slots.items()}})
        return found


def study(plan: Tensors, compute: Sequence[Compute], gpu: Gpu, chosen: frozenset[str],
          fillings: Mapping[str, Filling], engine: Engine, link: float,
          progress: Callable[[str, int, int], None] | None = None) -> Study:
    """Run all rows.

    Parameters
    ----------
    plan, compute, gpu
        The network, what its steps take, and the memory's bandwidth.
    chosen
        Tensors that are swapped, see :func:`workload.timeline.swapping.swapped`.
    fillings
        Density and ratios of every tensor.
    engine, link
        The engine's lanes, and the link's bytes per second.
    progress
        Called with a name, the rows done, and all rows.
    """
    bandwidth = gpu.bandwidth * 1e9
    rows: dict[str, Timeline] = {}
    for name in ("oracle", "vdnn", *ALGORITHMS):
        if progress is not None:
            progress("timelines", len(rows), 2 + len(ALGORITHMS))
        transfer = engine.transfer(link, _ratios(fillings, name)) if name in ALGORITHMS else plain_dma(link)
        rows[name] = run(plan, compute, () if name == "oracle" else chosen, transfer, bandwidth)
    return Study(plan, chosen, fillings, rows)


def _ratios(fillings: Mapping[str, Filling], algorithm: str) -> Callable[[str], float]:
    return lambda tensor: fillings[tensor].ratios[algorithm]


def _pass(line: Timeline, direction: str) -> float:
    return sum(slot.end - slot.start for slot in line.slots if slot.direction == direction) * 1e3
