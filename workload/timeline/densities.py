"""The density of a network's tensors, and so the ratio of each algorithm on them.

With a dump, ratios are measured on its arrays. Densities of other tensors are published, counted in a shipped dump, or
an average; :mod:`cdma.workload.timeline.ratios` has the ratios that belong to them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from cdma.workload.dumps import entries, load
from cdma.workload.dumps.reading import some
from cdma.workload.dumps.steps import training_step
from cdma.workload.json_file import read_json
from cdma.workload.networks.tensors import Tensor, Tensors
from cdma.workload.timeline.ratios import ALGORITHMS, Filling, by_role, measured, together, uniform

__all__ = ["ALGORITHMS", "PAPER_AVERAGE", "Filling", "default_fillings", "fillings_from_file", "measured",
           "published_networks", "sources", "uniform"]

PAPER_AVERAGE = 0.38
"""Rhu et al.: 62 % of the activations are zero, on average over six networks and the whole of training."""
_TABLE = Path(__file__).parents[1] / "networks/densities.json"


@cache
def _table() -> dict[str, Any]:
    return read_json(_TABLE)


def published_networks() -> tuple[str, ...]:
    """The networks whose densities are known layer by layer."""
    return tuple(_table()["networks"])


def sources(plan: Tensors) -> str:
    """Where the densities of a network's tensors come from if none are given, in words."""
    parts, example = _table()["networks"].get(plan.network.name), _table()["examples"].get(plan.network.name)
    if not any(tensor.sparse for tensor in plan.tensors.values()):
        return "no tensor has a ReLU's zeros: ratios by role and type, measured on the shipped dump of a transformer"
    if parts is None and example is not None:
        return f"the table's: {example['density']:g} behind every ReLU, counted in a small network with the same one"
    if parts is None:
        return f"the table's: {_table()['other']:g} behind every ReLU, an average that is published"
    return "the table's: " + ", the others ".join(_WORDS[part["kind"]] for part in parts)


_WORDS = {"published": "published, layer by layer, of inference with a trained network",
          "measured": "counted in the shipped dump"}


def default_fillings(plan: Tensors, density: float | None = None, factor: float = 1.0) -> dict[str, Filling]:
    """The filling of every tensor if nothing was measured.

    Parameters
    ----------
    plan
        Steps and tensors of the network.
    density
        Density of all tensors with zeros from a ReLU. None takes those of the table: by tensor, else one for the
        network, else the paper's average. All other tensors have what was measured for their role and type, see
        :func:`cdma.workload.timeline.ratios.by_role`.
    factor
        Densities are multiplied by it, up to 1: how they change while a network trains.
    """
    parts = _table()["networks"].get(plan.network.name, ()) if density is None else ()
    own: dict[str, float] = {name: value for part in parts for name, value in part["tensors"].items()}
    example = _table()["examples"].get(plan.network.name, {"density": _table()["other"]})
    other: float = example["density"] if density is None else density

    def one(tensor: Tensor) -> Filling:
        if not tensor.sparse:
            return by_role(tensor.role, tensor.dtype)
        return uniform(min(1.0, factor * own.get(tensor.name, other)), tensor.dtype)

    return {name: one(tensor) for name, tensor in plan.tensors.items()}


def fillings_from_file(path: str | Path, plan: Tensors, density: float | None = None) -> dict[str, Filling]:
    """The filling of every tensor, from a dump's arrays or a JSON file's numbers by name.

    Parameters
    ----------
    path
        A .json file, ``{"conv1": 0.5, ...}``; anything else is a dump, whose arrays are measured. Arrays of a
        tensor at several steps of training are counted together.
    plan, density
        As for :func:`default_fillings`, for tensors that are not in the file.

    Raises
    ------
    ValueError
        If the file cannot be read, or none of the network's tensors is in it.
    """
    if str(path).endswith(".json"):
        found = _from_json(Path(path), plan)
        known = {name: filling for name, filling in found.items() if name in plan.tensors}
    else:
        found = dict.fromkeys(training_step(name)[0] for _, name in entries(path))
        known = _from_dump(path, plan)
    if not known:
        raise ValueError(f"{path} has none of {plan.network.name}'s tensors: it has {some(found) or 'no names'}; "
                         f"the network has {some(plan.tensors)}")
    return default_fillings(plan, density) | known


def _from_dump(path: str | Path, plan: Tensors) -> dict[str, Filling]:
    """The fillings of those tensors of the network that are in a dump; reads one array at a time."""
    parts: dict[str, list[tuple[int, Filling]]] = {}
    for file, name in entries(path):
        tensor = training_step(name)[0]
        if tensor in plan.tensors:
            array = load(file, name)[name]
            if array.size:
                parts.setdefault(tensor, []).append((array.nbytes, measured(array)))
    return {tensor: together(of) for tensor, of in parts.items()}


def _from_json(path: Path, plan: Tensors) -> dict[str, Filling]:
    content = read_json(path)
    if not isinstance(content, dict):
        raise ValueError(f"{path} must have an object with the density of each tensor, by name")
    try:
        return {name: uniform(density, plan.tensors[name].dtype if name in plan.tensors else plan.network.dtype)
                for name, density in content.items()}
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
