"""Statistics of the zeros of an array: density, lengths of zero runs, clustering. Zero means that all bits are zero.

Every statistic is a sum, so that arrays can be measured one at a time, in any process, and added.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from cdma.golden.codec.buffers import as_bytes, check_element_bytes, check_raw_bytes
from cdma.workload.dumps import own_element_bytes

__all__ = ["Density", "elements", "measure", "runs", "strewn"]

_BLOCK_BYTES = 4096  # raw bytes of the blocks whose densities are compared, the paper's window


def elements(array: Any, element_bytes: int | None = None) -> np.ndarray:
    """The bits of an array in C order as unsigned elements, one-dimensional.

    Parameters
    ----------
    array
        Array of any shape and type, or a buffer.
    element_bytes
        1, 2 or 4; that of the array's values when None, see :func:`cdma.workload.dumps.own_element_bytes`.

    Raises
    ------
    TypeError, ValueError
        If there is no such element size, or the array is no whole number of elements.
    """
    own = own_element_bytes(array) if isinstance(array, np.ndarray) else 1
    size = check_element_bytes(own if element_bytes is None else element_bytes)
    data = as_bytes(array)
    check_raw_bytes(data.size, size, "the length of the array")
    return data.view(f"<u{size}")


def runs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The maximal runs of zero and of non-zero elements, in order.

    Parameters
    ----------
    values
        Elements, one-dimensional.

    Returns
    -------
    tuple[np.ndarray, np.ndarray]
        For every run, whether its elements are not zero, and their number.
    """
    if not values.size:
        return np.zeros(0, bool), np.zeros(0, np.int64)
    there = values != 0
    starts = np.concatenate(([0], np.flatnonzero(there[1:] != there[:-1]) + 1))
    return there[starts], np.diff(starts, append=values.size)


@dataclass(frozen=True)
class Density:
    """The zeros of one or more arrays: how many, in what runs, and how evenly they lie.

    Parameters
    ----------
    elements, nonzero
        Elements in all, and those that are not zero.
    runs
        How many runs of zeros there are of each length.
    comparisons, deviations, independent
        How the density varies across the whole blocks of each array, around the array's own mean: the blocks less one,
        the sum of the squared distances from the mean density of the blocks, and what that sum would be on average if
        every element were drawn on its own, d (1 - d) / elements of a block for each comparison.
    """

    elements: int = 0
    nonzero: int = 0
    runs: Counter[int] = field(default_factory=Counter)
    comparisons: int = 0
    deviations: float = 0.0
    independent: float = 0.0

    @property
    def density(self) -> float | None:
        """Share of elements that are not zero; None without elements."""
        return self.nonzero / self.elements if self.elements else None

    @property
    def zero_runs(self) -> int:
        """Runs of zeros in all."""
        return self.runs.total()

    @property
    def zero_run_mean(self) -> float | None:
        """Mean length of a run, None without one."""
        return (self.elements - self.nonzero) / self.zero_runs if self.zero_runs else None

    @property
    def clustering(self) -> float | None:
        """The variance of the density across blocks divided by that of independent zeros: about 1 for zeros at random
        places, more for clusters.

        None where no array has two blocks, or nothing or everything is zero.
        """
        return self.deviations / self.independent if self.independent else None

    def zero_run_percentile(self, percent: int) -> int | None:
        """The shortest length that at least so many percent of the runs do not exceed; None without a run."""
        if not self.runs:
            return None
        lengths = sorted(self.runs)
        reached = np.cumsum([self.runs[length] for length in lengths])
        # Products are compared, because a quotient that is rounded up would skip the correct length.
        return lengths[int(np.argmax(reached * 100 >= percent * self.zero_runs))]

    def zero_runs_by_length(self) -> list[dict[str, int]]:
        """The runs in classes of lengths: 1, 2 to 3, 4 to 7 and so on, up to that of the longest.

        Returns
        -------
        list[dict[str, int]]
            Of each class its shortest and longest length, ``from`` and ``to``, its ``runs``, and the ``zeros`` in them.
        """
        found = [{"from": 1 << power, "to": (2 << power) - 1, "runs": 0, "zeros": 0}
                 for power in range(max(self.runs, default=0).bit_length())]
        for length, count in self.runs.items():
            entry = found[length.bit_length() - 1]
            entry["runs"] += count
            entry["zeros"] += length * count
        return found

    def as_json(self) -> dict[str, Any]:
        """All figures."""
        return {"elements": self.elements, "nonzero": self.nonzero, "zero_runs": self.zero_runs,
                "zero_run_mean": self.zero_run_mean, "zero_run_longest": max(self.runs, default=0),
                **{f"zero_run_p{percent}": self.zero_run_percentile(percent) for percent in (50, 90, 99)},
                "zero_runs_by_length": self.zero_runs_by_length(),
                "block_density_variance": self.deviations / self.comparisons if self.comparisons else None,
                "clustering": self.clustering, "density": self.density}

    def __add__(self, other: Density) -> Density:
        return Density(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


def measure(array: Any, element_bytes: int | None = None, block_bytes: int = _BLOCK_BYTES) -> Density:
    """Measure an array.

    Parameters
    ----------
    array
        Array of any shape and type, or a buffer; its elements in C order.
    element_bytes
        1, 2 or 4; that of the array's values when None.
    block_bytes
        Raw bytes of a block, whole elements; a block that the end cuts is left out.

    Raises
    ------
    TypeError, ValueError
        If there is no such element size, or the array is no whole number of elements.
    """
    values = elements(array, element_bytes)
    there = values != 0
    nonzero = int(np.count_nonzero(there))
    literal, lengths = runs(there)
    found = zip(*map(np.ndarray.tolist, np.unique(lengths[~literal], return_counts=True)), strict=True)
    size = block_bytes // values.itemsize
    blocks = there.size // size
    if blocks < 2:
        return Density(values.size, nonzero, Counter(dict(found)))
    densities, mean = there[:blocks * size].reshape(blocks, size).mean(axis=1), nonzero / there.size
    return Density(values.size, nonzero, Counter(dict(found)), blocks - 1,
                   float(((densities - densities.mean()) ** 2).sum()), (blocks - 1) * mean * (1 - mean) / size)


def strewn(density: float, shortest: int) -> float:
    """The share of zeros that lie in runs of a length or longer, if every element were drawn on its own.

    A run that a zero lies in is then n long with probability n d**2 (1 - d)**(n - 1); the sum over all n from
    ``shortest`` on is (1 - d)**(shortest - 1) (1 + (shortest - 1) d). Ends of arrays are not counted as ends of runs.

    Parameters
    ----------
    density
        Share of elements that are not zero.
    shortest
        1 or more.
    """
    return (1 - density) ** (shortest - 1) * (1 + (shortest - 1) * density)
