"""The density of a network's tensors, and the ratio of each algorithm on them.

With a dump, ratios are measured on its arrays. With only a density, they are measured on a sample of normally
distributed float32 values at random places. Zero-value coding does not depend on the places; run-length coding and zlib
reach higher ratios on real activations, where zeros lie together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from golden.codec import blocks
from golden.codec.coding import Coding
from golden.results import INLINED
from workload.characterise import deflate, rle
from workload.dumps import entries, load, own_element_bytes
from workload.dumps.steps import training_step
from workload.json_file import read_json
from workload.networks.tensors import Tensors

__all__ = ["ALGORITHMS", "PAPER_AVERAGE", "Filling", "default_fillings", "fillings_from_file", "measured", "uniform"]

PAPER_AVERAGE = 0.38
"""Rhu et al.: 62 % of the activations are zero, on average over six networks and the whole of training."""
_TABLE = Path(__file__).parents[1] / "networks/densities.json"
_SAMPLE = 16 * 4096 // 4  # float32 values of a sample: 16 of the windows that zlib and blocks have

ALGORITHMS: dict[str, Callable[[np.ndarray, int], int]] = {
    "zvc": lambda array, element: blocks.compress(array, Coding(0x10 | element)).size,
    "rle": rle.packed_bytes,
    "zlib": lambda array, element: deflate.packed_bytes(array),
}
"""Packed bytes of an array with elements of a size: the block stream that the engine writes, and two baselines."""


@dataclass(frozen=True)
class Filling:
    """A tensor's density and its ratio under each algorithm."""

    density: float
    ratios: Mapping[str, float] = field(metadata=INLINED)


def uniform(density: float) -> Filling:
    """The filling of a tensor of which only the density is known; see the head of this module.

    Raises
    ------
    ValueError
        If the density is not a number from 0 to 1.
    """
    if isinstance(density, bool) or not isinstance(density, (int, float)) or not 0 <= density <= 1:
        raise ValueError(f"a density must be a number from 0 to 1, not {density!r}")
    return _sampled(float(density))


@cache
def _sampled(density: float) -> Filling:
    places = np.random.default_rng(1)
    values = places.standard_normal(_SAMPLE).astype(np.float32)
    # An exact zero of the generator is replaced by the smallest normal number.
    values[values == 0] = np.finfo(np.float32).tiny
    values[places.permutation(_SAMPLE)[round(density * _SAMPLE):]] = 0
    return Filling(density, _ratios(values))


def measured(array: np.ndarray) -> Filling:
    """The filling of an array, coded in elements of its own size. Zero means that all bits are zero."""
    element = own_element_bytes(array)
    bits = np.ascontiguousarray(array).reshape(-1).view(f"u{element}")
    return Filling(float(np.count_nonzero(bits)) / bits.size, _ratios(bits))


def _ratios(array: np.ndarray) -> dict[str, float]:
    return {name: array.nbytes / packed(array, array.itemsize) for name, packed in ALGORITHMS.items()}


def default_fillings(plan: Tensors, density: float | None = None) -> dict[str, Filling]:
    """The filling of every tensor if nothing was measured.

    Parameters
    ----------
    plan
        Steps and tensors of the network.
    density
        Density of all tensors with zeros from a ReLU. None takes that of the shipped dump for SqueezeNet, and the
        paper's average for other networks. All other tensors have the density 1.
    """
    if density is None:
        table = json.loads(_TABLE.read_text(encoding="utf-8"))
        own = table["networks"].get(plan.network.name, {"tensors": {}, "other": table["other"]})
    else:
        own = {"tensors": {}, "other": density}
    return {name: uniform(own["tensors"].get(name, own["other"]) if tensor.sparse else 1.0)
            for name, tensor in plan.tensors.items()}


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
        found = _from_json(Path(path))
        known = {name: filling for name, filling in found.items() if name in plan.tensors}
    else:
        found = dict.fromkeys(training_step(name)[0] for _, name in entries(path))
        known = _from_dump(path, plan)
    if not known:
        raise ValueError(f"{path} has none of {plan.network.name}'s tensors: it has {_some(found) or 'no names'}; "
                         f"the network has {_some(plan.tensors)}")
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
    return {tensor: _together(of) for tensor, of in parts.items()}


def _together(parts: list[tuple[int, Filling]]) -> Filling:
    """The filling of several arrays of one type as if they were one array; each comes with its bytes."""
    raw = sum(size for size, _ in parts)
    return Filling(sum(size * filling.density for size, filling in parts) / raw,
                   {name: raw / sum(size / filling.ratios[name] for size, filling in parts) for name in ALGORITHMS})


def _from_json(path: Path) -> dict[str, Filling]:
    content = read_json(path)
    if not isinstance(content, dict):
        raise ValueError(f"{path} must have an object with the density of each tensor, by name")
    try:
        return {name: uniform(density) for name, density in content.items()}
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _some(names: Mapping[str, Any]) -> str:
    shown = list(names)[:8]
    return ", ".join(shown) + (" and others" if len(names) > len(shown) else "")
