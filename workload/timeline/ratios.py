"""The ratio of each algorithm: on an array, on a sample of a density, and by what made a tensor's values.

A sample has the values of the shipped dumps of ReLU networks, block by block as they follow each other there, with
zeros at random places between. Zero-value coding does not depend on values or places. Exponent coding depends on the
values, so these must be real; with zeros at random places it reaches a ratio that is a few per cent lower than on the
arrays themselves, where zeros lie together. That holds for run-length coding and zlib, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.smallest import smallest
from cdma.workload.characterise.baselines import rle_bytes, zlib_bytes
from cdma.workload.data import DIGITS, shipped
from cdma.workload.dumps import entries, load, own_element_bytes
from cdma.workload.dumps.types import element_type
from cdma.workload.json_file import read_json

__all__ = ["ALGORITHMS", "TABLE", "Filling", "by_role", "measured", "together", "uniform"]

TABLE = Path(__file__).parents[1] / "networks/ratios.json"
"""Ratios by role and type; tools/measure_ratios.py writes it."""
_TRAINED = "p100/"  # arrays of the end of training

ALGORITHMS: dict[str, Callable[[np.ndarray], int]] = {
    "zvc": lambda array: blocks.compress(array, Coding(0x10 | own_element_bytes(array))).size,
    "exponents": lambda array: blocks.compress(array, smallest(array)).size,
    "rle": lambda array: rle_bytes(array, own_element_bytes(array)),
    "zlib": zlib_bytes,
}
"""Packed bytes of an array: the block streams that the engine writes, and two baselines. ``exponents`` is the
coding of the engine that makes the array smallest."""


@dataclass(frozen=True)
class Filling:
    """A tensor's density and its ratio under each algorithm."""

    density: float
    ratios: Mapping[str, float]

    def as_json(self) -> dict[str, float]:
        """The density, and the ratios beside it."""
        return {"density": self.density, **self.ratios}


def measured(array: np.ndarray) -> Filling:
    """The filling of an array, coded in elements of its own size. Zero means that all bits are zero."""
    plain = np.ascontiguousarray(array).reshape(-1)
    bits = plain.view(f"u{own_element_bytes(plain)}")
    return Filling(float(np.count_nonzero(bits)) / bits.size,
                   {name: plain.nbytes / packed(plain) for name, packed in ALGORITHMS.items()})


def together(parts: Sequence[tuple[int, Filling]]) -> Filling:
    """The filling of several arrays of one type as if they were one array; each comes with its bytes."""
    raw = sum(size for size, _ in parts)
    return Filling(sum(size * filling.density for size, filling in parts) / raw,
                   {name: raw / sum(size / filling.ratios[name] for size, filling in parts) for name in ALGORITHMS})


def by_role(role: str, dtype: str) -> Filling:
    """The filling of a tensor of which only its role and type are known.

    Where no array of that role and type was measured, as for a network's input, softmax and statistics, values are
    taken as bits at random, which no coding makes shorter.
    """
    return _roles().get((role, dtype)) or _random_bits(dtype)


@cache
def _roles() -> dict[tuple[str, str], Filling]:
    rows = read_json(TABLE)["roles"]
    return {(row["role"], row["dtype"]): Filling(row["density"], row["ratios"]) for row in rows}


def uniform(density: float, dtype: str = "float32") -> Filling:
    """The filling of a tensor after a ReLU of which only the density is known; see the head of this module.

    Parameters
    ----------
    density
        Share of the values that are not zero.
    dtype
        Type of the values, see :func:`cdma.workload.dumps.types.element_type`.

    Raises
    ------
    ValueError
        If the density is not a number from 0 to 1, or there is no such type.
    """
    if isinstance(density, bool) or not isinstance(density, (int, float)) or not 0 <= density <= 1:
        raise ValueError(f"a density must be a number from 0 to 1, not {density!r}")
    return _sampled(float(density), dtype)


@cache
def _sampled(density: float, dtype: str) -> Filling:
    places = np.random.default_rng(1)
    sample = _values(dtype).copy()
    size = sample.shape[1]
    for number, block in enumerate(sample):
        full = np.zeros(size, bool)
        # Rounded over all blocks, so that a density of few values in a block is met, too.
        values = round((number + 1) * density * size) - round(number * density * size)
        full[places.permutation(size)[:values]] = True
        # The first values of the block, in their order, between the zeros.
        kept = block[:np.count_nonzero(full)].copy()
        block[:] = 0
        block[full] = kept
    return Filling(density, measured(sample).ratios)


@cache
def _values(dtype: str) -> np.ndarray:
    """Values without zeros: a block from the middle of each array of the dumps that has as many."""
    kind = element_type(dtype)
    size = blocks.BLOCK_BYTES // kind.itemsize
    found = []
    for array in _sparse_arrays():
        with np.errstate(over="ignore", invalid="ignore"):
            values = array.astype(kind)
        values = values[values != 0]
        if values.size >= size:
            first = (values.size - size) // 2
            found.append(values[first:first + size])
    return np.stack(found)


def _sparse_arrays() -> Iterator[np.ndarray]:
    """The arrays of the shipped dumps that have a ReLU's zeros, those of training at its end."""
    for dump in (shipped(), DIGITS):
        for file, name in entries(dump):
            if dump != DIGITS or name.startswith(_TRAINED):
                yield load(file, name)[name].reshape(-1)


@cache
def _random_bits(dtype: str) -> Filling:
    kind = element_type(dtype)
    bits = np.random.default_rng(1).integers(0, 256, 16 * blocks.BLOCK_BYTES, np.uint8)
    return Filling(1.0, measured(bits.view(kind)).ratios)
