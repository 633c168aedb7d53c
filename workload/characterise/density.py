"""Statistics of the zeros of an array: density, lengths of zero runs, clustering. Zero means that all bits are zero.

Every statistic is a sum, so that arrays can be measured one at a time, in any process, and added.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cdma.golden.codec.buffers import as_bytes, check_element_bytes, check_raw_bytes
from cdma.golden.results import HIDDEN, INLINED, derived
from cdma.workload.dumps import own_element_bytes

__all__ = ["BLOCK_BYTES", "Density", "Spread", "ZeroRuns", "elements", "measure", "runs", "strewn"]

BLOCK_BYTES = 4096
"""Raw bytes of the blocks whose densities are compared, the paper's window."""


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
class ZeroRuns:
    """How many runs of zeros there are of each length: ``counts[k]`` runs of ``lengths[k]`` zeros, rising."""

    lengths: tuple[int, ...] = field(default=(), metadata=HIDDEN)
    counts: tuple[int, ...] = field(default=(), metadata=HIDDEN)

    @derived
    def zero_runs(self) -> int:
        """Runs in all."""
        return sum(self.counts)

    @derived
    def zero_run_mean(self) -> float | None:
        """Mean length, None without a run."""
        zeros = sum(length * count for length, count in zip(self.lengths, self.counts, strict=True))
        return zeros / self.zero_runs if self.zero_runs else None

    @derived
    def zero_run_longest(self) -> int:
        """Longest run, 0 without one."""
        return self.lengths[-1] if self.lengths else 0

    @derived
    def zero_run_p50(self) -> int | None:
        """The length that half of the runs do not exceed."""
        return self.percentile(50)

    @derived
    def zero_run_p90(self) -> int | None:
        """The length that nine in ten do not exceed."""
        return self.percentile(90)

    @derived
    def zero_run_p99(self) -> int | None:
        """The length that 99 in a hundred do not exceed."""
        return self.percentile(99)

    def percentile(self, percent: float) -> int | None:
        """The shortest length that at least so many percent of the runs do not exceed; None without a run.

        Raises
        ------
        ValueError
            If ``percent`` is not from 0 to 100.
        """
        if not 0 <= percent <= 100:
            raise ValueError(f"percent must be from 0 to 100, not {percent}")
        if not self.lengths:
            return None
        reached = np.cumsum(self.counts)
        # Products are compared, because a quotient that is rounded up would skip the correct length.
        return self.lengths[int(np.argmax(reached * 100 >= percent * self.zero_runs))]

    @derived
    def zero_runs_by_length(self) -> list[dict[str, int]]:
        """The runs in classes of lengths: 1, 2 to 3, 4 to 7 and so on, up to that of the longest.

        Returns
        -------
        list[dict[str, int]]
            Of each class its shortest and longest length, ``from`` and ``to``, its ``runs``, and the ``zeros`` in them.
        """
        found = [{"from": 1 << power, "to": (2 << power) - 1, "runs": 0, "zeros": 0}
                 for power in range(self.zero_run_longest.bit_length())]
        for length, count in zip(self.lengths, self.counts, strict=True):
            entry = found[length.bit_length() - 1]
            entry["runs"] += count
            entry["zeros"] += length * count
        return found

    def __add__(self, other: ZeroRuns) -> ZeroRuns:
        both = dict(zip(self.lengths, self.counts, strict=True))
        for length, count in zip(other.lengths, other.counts, strict=True):
            both[length] = both.get(length, 0) + count
        ordered = sorted(both)
        return ZeroRuns(tuple(ordered), tuple(both[length] for length in ordered))


@dataclass(frozen=True)
class Spread:
    """How the density varies across the whole blocks of an array; of several arrays, each around its own mean.

    ``comparisons`` are the blocks less one for each array, ``deviations`` the sum of the squared distances from the
    mean density of the array's blocks, and ``independent`` what that sum would be on average if every element of the
    array were drawn on its own: d (1 - d) / elements of a block, for each comparison.
    """

    comparisons: int = field(default=0, metadata=HIDDEN)
    deviations: float = field(default=0.0, metadata=HIDDEN)
    independent: float = field(default=0.0, metadata=HIDDEN)

    @derived
    def block_density_variance(self) -> float | None:
        """Variance of the density across blocks; None where no array has two."""
        return self.deviations / self.comparisons if self.comparisons else None

    @derived
    def clustering(self) -> float | None:
        """The variance divided by that of independent zeros: about 1 for zeros at random places, more for clusters.

        None where no array has two blocks, or nothing or everything is zero.
        """
        return self.deviations / self.independent if self.independent else None

    def __add__(self, other: Spread) -> Spread:
        return Spread(self.comparisons + other.comparisons, self.deviations + other.deviations,
                      self.independent + other.independent)


@dataclass(frozen=True)
class Density:
    """The number of non-zero elements, the runs of zeros, and the variation of density from block to block."""

    elements: int = 0
    nonzero: int = 0
    runs: ZeroRuns = field(default=ZeroRuns(), metadata=INLINED)
    spread: Spread = field(default=Spread(), metadata=INLINED)

    @derived
    def density(self) -> float | None:
        """Share of elements that are not zero; None without elements."""
        return self.nonzero / self.elements if self.elements else None

    def __add__(self, other: Density) -> Density:
        return Density(self.elements + other.elements, self.nonzero + other.nonzero, self.runs + other.runs,
                       self.spread + other.spread)


def measure(array: Any, element_bytes: int | None = None, block_bytes: int = BLOCK_BYTES) -> Density:
    """Measure an array.

    Parameters
    ----------
    array
        Array of any shape and type, or a buffer; its elements in C order.
    element_bytes
        1, 2 or 4; that of the array's values when None.
    block_bytes
        Raw bytes of a block; a block that the end cuts is left out of the spread.

    Raises
    ------
    TypeError, ValueError
        If there is no such element size, the array is no whole number of elements, or blocks are none of elements.
    """
    values = elements(array, element_bytes)
    size = values.itemsize
    if block_bytes < size or block_bytes % size:
        raise ValueError(f"block_bytes must be a multiple of the {size} bytes of an element, not {block_bytes}")
    there = values != 0
    nonzero = int(np.count_nonzero(there))
    literal, lengths = runs(there)
    found, counts = np.unique(lengths[~literal], return_counts=True)
    zeros = ZeroRuns(tuple(found.tolist()), tuple(counts.tolist()))
    return Density(values.size, nonzero, zeros, _spread(there, block_bytes // size, nonzero))


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


def _spread(there: np.ndarray, block: int, nonzero: int) -> Spread:
    blocks = there.size // block
    if blocks < 2:
        return Spread()
    densities = there[:blocks * block].reshape(blocks, block).mean(axis=1)
    mean = nonzero / there.size
    return Spread(blocks - 1, float(((densities - densities.mean()) ** 2).sum()),
                  (blocks - 1) * mean * (1 - mean) / block)
