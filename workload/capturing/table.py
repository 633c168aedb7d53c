"""The table of a captured network: what ``network.json`` in the folder of a dump says."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from cdma.workload.capturing.operations import Operations, Visit
from cdma.workload.capturing.settings import Names
from cdma.workload.capturing.step import Met, Step
from cdma.workload.networks.captured import FORMAT, VERSION, CapturedStep, CapturedTensor, Part, Table
from cdma.workload.networks.layers import COMPUTE, INPUT

__all__ = ["table", "timed"]


def table(model: Any, layers: Collection[str], step: Step, number: int, device: tuple[str, str | None],
          sizes: Mapping[Any, int]) -> Table:
    """The table of a captured call.

    Parameters
    ----------
    model
        That was called.
    layers
        Modules that are layers, see :func:`cdma.workload.capturing.profiling.layer_names`.
    step, number
        The call with its operations, and its number.
    device
        Type and name of the device.
    sizes
        Learned parameters by the key of their memory.
    """
    operations = step.operations
    assert operations is not None
    visits = _layers(operations.visits, layers)
    found = _Tensors(operations, step, visits)
    names, counted, steps = Names(), set(), []
    for visit in visits:
        fresh = [key for key in visit.weights if key in sizes and key not in counted]
        counted |= set(fresh)
        parts = tuple(Part(kind, count, moved) for kind, (count, moved) in visit.parts.items())
        steps.append(CapturedStep(names.next(visit.name), found.of(visit.reads), found.of(visit.writes),
                                  tuple(dict.fromkeys(met.name for met in visit.keeps)),
                                  sum(sizes[key] for key in fresh), parts))
    known = {dtype: count for dtype, count in operations.computed.items() if dtype in COMPUTE}
    compute = max(known, key=lambda dtype: known[dtype], default=COMPUTE[0])
    return Table(FORMAT, VERSION, type(model).__name__, number, step.batch, compute, *device, found.tensors,
                 tuple(steps))


def timed(before: Table, times: Mapping[str, Mapping[str, float]]) -> Table:
    """A table with the times of layers; the calls of a layer share its time by the bytes that they move."""
    moved: dict[str, float] = {}

    def weight(step: CapturedStep) -> float:
        return 1.0 + sum(part.moved_bytes for part in step.parts)

    for step in before.steps:
        moved[_layer(step)] = moved.get(_layer(step), 0.0) + weight(step)

    def one(step: CapturedStep) -> CapturedStep:
        own, share = times.get(_layer(step), {}), weight(step) / moved[_layer(step)]
        return replace(step, forward_ms=own.get("forward_ms", 0.0) * share,
                       backward_ms=own.get("backward_ms", 0.0) * share)

    return replace(before, steps=tuple(map(one, before.steps)))


def _layer(step: CapturedStep) -> str:
    return step.name.partition("#")[0]


def _layers(visits: list[Visit], layers: Collection[str]) -> list[Visit]:
    """The visits of layers only: those of other modules count to the layer before, or to the first one."""
    merged: list[Visit] = []
    name = next((visit.name for visit in visits if visit.name in layers), visits[0].name if visits else "")
    for visit in visits:
        name = visit.name if visit.name in layers else name
        if not merged or merged[-1].name != name:
            merged.append(Visit(name))
        into = merged[-1]
        for kind, (count, moved) in visit.parts.items():
            part = into.parts.setdefault(kind, [0, 0])
            part[0] += count
            part[1] += moved
        into.reads |= {key: None for key in visit.reads if key not in into.writes}
        into.writes |= visit.writes
        into.weights |= visit.weights
        into.keeps += visit.keeps
    return merged


class _Tensors:
    """The tensors of a table by the keys of their memory: all that backward keeps, and what else steps hand on."""

    def __init__(self, operations: Operations, step: Step, visits: list[Visit]) -> None:
        self.tensors: dict[str, CapturedTensor] = {}
        self._names: dict[Any, list[str]] = {}
        self._operations = operations
        inputs = set(step.inputs)
        for met in step.saved:
            self._add(met, "input" if met.memory in inputs else operations.roles.get(met.memory, "sum"))
        names = Names()
        for visit in visits:
            for key in visit.writes:
                if key not in self._names and any(key in other.reads for other in visits):
                    self._unsaved(key, names.next(f"{visit.name}/unsaved"), operations.roles.get(key, "sum"))
        for number, key in enumerate(key for key in step.inputs if key not in self._names):
            if any(key in visit.reads for visit in visits):
                self._unsaved(key, f"{INPUT}/unsaved{f'#{number + 1}' * bool(number)}", "input")

    def of(self, keys: Collection[Any]) -> tuple[str, ...]:
        """The names of the tensors in some memory."""
        return tuple(name for key in keys for name in self._names.get(key, ()))

    def _add(self, met: Met, role: str) -> None:
        self.tensors[met.name] = CapturedTensor(met.shape, met.dtype, role)
        self._names.setdefault(met.memory, []).append(met.name)

    def _unsaved(self, key: Any, name: str, role: str) -> None:
        shape, dtype = self._operations.shapes[key]
        self.tensors[name] = CapturedTensor(shape, dtype, role)
        self._names[key] = [name]
