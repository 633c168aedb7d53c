"""Statistics of floating-point values as a coding of exponents sees them: how much their exponents tell, how far they
lie apart within lines, and the zeros that are none to zero-value coding.

Every statistic is a sum, as in :mod:`cdma.workload.characterise.density`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cdma.golden.codec.layout import LINE_BYTES
from cdma.golden.kernels.exponents_numpy import ZEROS, by_place, found_facts
from cdma.golden.results import HIDDEN, derived
from cdma.workload.dumps import is_floating, type_name

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
    fields
        How many elements have each value of the exponent field, from 0 on.
    distances
        How many elements are in groups whose distances have 0 to 8 bits, see docs/formats.md; empty for types without a
        coding of exponents.
    lines, zero_lines, escape_lines
        Lines of the coding, those of zeros, and those with an escape for exponent 0.
    """

    bits: int
    element_bits: int
    elements: int = 0
    nonzero: int = 0
    negative_zeros: int = 0
    bfloat16_values: int = 0
    fields: tuple[int, ...] = field(default=(), metadata=HIDDEN)
    distances: tuple[int, ...] = ()
    lines: int = 0
    zero_lines: int = 0
    escape_lines: int = 0

    @derived
    def entropy(self) -> float | None:
        """Bits that an exponent tells if only the frequencies of the exponents are known; None without elements."""
        if not self.nonzero:
            return None
        shares = [number / self.nonzero for number in self.fields if number]
        return abs(sum(share * math.log2(share) for share in shares))

    @derived
    def distance_bits(self) -> float | None:
        """Mean bits of a distance, over the elements; None for types without a coding of exponents."""
        known = sum(self.distances)
        return sum(bits * number for bits, number in enumerate(self.distances)) / known if known else None

    @derived
    def exponents_by_value(self) -> Mapping[int, int]:
        """Elements by the value of their exponent field, without values that none has."""
        return {value: number for value, number in enumerate(self.fields) if number}

    def __add__(self, other: Exponents) -> Exponents:
        if (self.bits, self.element_bits) != (other.bits, other.element_bits):
            raise ValueError("exponents of values of different types cannot be added")
        return Exponents(self.bits, self.element_bits, self.elements + other.elements, self.nonzero + other.nonzero,
                         self.negative_zeros + other.negative_zeros, self.bfloat16_values + other.bfloat16_values,
                         _sum(self.fields, other.fields), _sum(self.distances, other.distances),
                         self.lines + other.lines, self.zero_lines + other.zero_lines,
                         self.escape_lines + other.escape_lines)


def measure_exponents(array: np.ndarray) -> Exponents | None:
    """Measure an array; None for values without exponents.

    Parameters
    ----------
    array
        Of any shape, in C order.
    """
    kind = type_name(array.dtype)
    if not is_floating(array.dtype) or kind not in _FIELDS:
        return None
    shift, bits = _FIELDS[kind]
    size = array.dtype.itemsize
    words = np.ascontiguousarray(array).reshape(-1).view(f"<u{size}")
    fields = np.zeros(1 << bits, np.int64)
    nonzero = negative = exact = 0
    mask, sign = words.dtype.type((1 << bits) - 1), words.dtype.type(1 << (8 * size - 1))
    for start in range(0, words.size, _CHUNK):
        some = words[start:start + _CHUNK]
        exponents = (some >> words.dtype.type(shift)) & mask
        # Zeros have the field 0 too, and are subtracted below: counting all is faster than choosing.
        fields += np.bincount(exponents.astype(np.uint16), minlength=fields.size)
        nonzero += int(np.count_nonzero(some))
        negative += int(np.count_nonzero(some == sign))
        if kind == "float32":
            exact += some.size - int(np.count_nonzero(some.astype(np.uint16)))
    fields[0] -= words.size - nonzero
    about = Exponents(bits, 8 * size, words.size, nonzero, negative, exact, tuple(fields.tolist()))
    return about + _lines(words, bits) if kind in CODED else about


def _lines(words: np.ndarray, bits: int) -> Exponents:
    """What the facts of lines say, without all other figures."""
    size = words.itemsize
    per_line = LINE_BYTES // size
    distances = np.zeros(_WIDEST + 1, np.int64)
    lines = zeros = escapes = 0
    for start in range(0, words.size, _LINES_CHUNK):
        some = words[start:start + _LINES_CHUNK]
        if some.size % per_line:
            some = np.concatenate((some, np.zeros(-some.size % per_line, words.dtype)))
        placed = by_place(some, 1)
        found = found_facts(placed)
        ones = np.count_nonzero(placed, axis=0)
        distances += np.bincount(found["width"].reshape(-1), ones.reshape(-1), _WIDEST + 1).astype(np.int64)
        lines += found["headers"].size
        zeros += int(np.count_nonzero(found["headers"] == ZEROS))
        escapes += int(np.count_nonzero(found["escape"]))
    return Exponents(bits, 8 * size, distances=tuple(distances.tolist()), lines=lines, zero_lines=zeros,
                     escape_lines=escapes)


def _sum(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Sums of two histograms, of which either may be missing."""
    return tuple(map(sum, zip(one, other, strict=True))) if one and other else one or other
