"""Statistics of floating-point values as a coding of exponents sees them: how much their exponents tell, how far they
lie apart within lines, and the zeros that are none to zero-value coding.

Every statistic is a sum, as in :mod:`cdma.workload.characterise.density`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from cdma.golden.codec.layout import LINE_BYTES
from cdma.golden.kernels.exponents_numpy import ZEROS, by_place, line_metadata
from cdma.workload.dumps import type_name

__all__ = ["CODED", "Exponents", "measure_exponents"]

CODED = ("bfloat16", "float32")
"""Types that have a coding of exponents."""

_FIELDS = {"float8_e4m3": (3, 4), "float8_e5m2": (2, 5), "float16": (10, 5), "bfloat16": (7, 8), "float32": (23, 8),
           "float64": (52, 11)}  # bits of the mantissa and of the exponent

_CHUNK = 1 << 20
_LINES_CHUNK = 1 << 16
_WIDEST = 8  # bits of a distance where whole exponents are stored


@dataclass(frozen=True)
class Exponents:
    """The exponents of the elements that are not zero.

    Parameters
    ----------
    bits, element_bits
        Bits of the exponent field, and of an element.
    elements, nonzero
        Elements in all, and those whose bits are not all zero.
    negative_zeros
        Elements that are -0.0: zeros, but not to zero-value coding.
    bfloat16_values
        Elements of float32 whose lower 16 bits are zero, so that rounding to bfloat16 does not change them.
    by_value
        How many elements have each value of the exponent field.
    by_distance
        How many elements are in groups whose distances have so many bits, 0 to 8, see docs/formats.md.
    lines, zero_lines, escape_lines
        Lines of the coding, those of zeros, and those with an escape for exponent 0.
    """

    bits: int
    element_bits: int
    elements: int
    nonzero: int
    negative_zeros: int
    bfloat16_values: int
    by_value: Counter[int]
    by_distance: Counter[int]
    lines: int
    zero_lines: int
    escape_lines: int

    @property
    def distances(self) -> list[int]:
        """How many elements are in groups with distances of 0 to 8 bits; empty for types without such a coding."""
        return [self.by_distance[bits] for bits in range(_WIDEST + 1)] if self.bits == _FIELDS["float32"][1] else []

    @property
    def entropy(self) -> float | None:
        """Bits that an exponent tells if only the frequencies of the exponents are known; None without elements."""
        if not self.nonzero:
            return None
        shares = [self.by_value[value] / self.nonzero for value in sorted(self.by_value)]
        return abs(sum(share * math.log2(share) for share in shares))

    @property
    def distance_bits(self) -> float | None:
        """Mean bits of a distance, over the elements; None for types without a coding of exponents."""
        known = self.by_distance.total()
        return sum(bits * number for bits, number in self.by_distance.items()) / known if known else None

    def as_json(self) -> dict[str, Any]:
        """All figures; elements by the value of their exponent field, without values that none has."""
        return {name: getattr(self, name) for name in (
            "bits", "element_bits", "elements", "nonzero", "negative_zeros", "bfloat16_values", "distances", "lines",
            "zero_lines", "escape_lines", "entropy", "distance_bits")} | {
            "exponents_by_value": dict(sorted(self.by_value.items()))}

    def __add__(self, other: Exponents) -> Exponents:
        """The sum of two arrays of the same type."""
        return Exponents(self.bits, self.element_bits, *(
            getattr(self, each.name) + getattr(other, each.name) for each in fields(self)[2:]))


def measure_exponents(array: np.ndarray) -> Exponents | None:
    """Measure an array; None for values without exponents.

    Parameters
    ----------
    array
        Of any shape, in C order.
    """
    kind = type_name(array.dtype)
    if kind not in _FIELDS:
        return None
    shift, bits = _FIELDS[kind]
    size = array.dtype.itemsize
    words = np.ascontiguousarray(array).reshape(-1).view(f"<u{size}")
    counts = np.zeros(1 << bits, np.int64)
    nonzero = negative = exact = 0
    mask, sign = words.dtype.type((1 << bits) - 1), words.dtype.type(1 << (8 * size - 1))
    for start in range(0, words.size, _CHUNK):
        some = words[start:start + _CHUNK]
        exponents = (some >> words.dtype.type(shift)) & mask
        # Zeros have the field 0 too, and are subtracted below: counting all is faster than choosing.
        counts += np.bincount(exponents.astype(np.uint16), minlength=counts.size)
        nonzero += int(np.count_nonzero(some))
        negative += int(np.count_nonzero(some == sign))
        if kind == "float32":
            exact += some.size - int(np.count_nonzero(some.astype(np.uint16)))
    counts[0] -= words.size - nonzero
    return Exponents(bits, 8 * size, words.size, nonzero, negative, exact, _counted(counts),
                     *_lines(words if kind in CODED else words[:0]))


def _lines(words: np.ndarray) -> tuple[Counter[int], int, int, int]:
    """Elements by the bits of their distance, lines, lines of zeros, and lines with an escape."""
    per_line = LINE_BYTES // words.itemsize
    distances = np.zeros(_WIDEST + 1, np.int64)
    lines = zeros = escapes = 0
    for start in range(0, words.size, _LINES_CHUNK):
        some = words[start:start + _LINES_CHUNK]
        if some.size % per_line:
            some = np.concatenate((some, np.zeros(-some.size % per_line, words.dtype)))
        placed = by_place(some, 1)
        found = line_metadata(placed)
        ones = np.count_nonzero(placed, axis=0)
        distances += np.bincount(found["width"].reshape(-1), ones.reshape(-1), _WIDEST + 1).astype(np.int64)
        lines += found["headers"].size
        zeros += int(np.count_nonzero(found["headers"] == ZEROS))
        escapes += int(np.count_nonzero(found["escape"]))
    return _counted(distances), lines, zeros, escapes


def _counted(numbers: np.ndarray) -> Counter[int]:
    return Counter({place: number for place, number in enumerate(numbers.tolist()) if number})
