"""Rounding of float32 to 16 bits by definition: the value as a fraction, and the nearer of its two neighbours."""

from __future__ import annotations

import random
import struct
from fractions import Fraction

FORMATS = {1: (8, 7), 2: (5, 10)}
"""Exponent and fraction bits of bfloat16 and float16, by the value of the field ``narrow``."""


def fields(bits: int, exponent_bits: int, fraction_bits: int) -> tuple[int, int, int]:
    """Sign, exponent and fraction of a value's bits."""
    return (bits >> exponent_bits + fraction_bits, bits >> fraction_bits & (1 << exponent_bits) - 1,
            bits & (1 << fraction_bits) - 1)


def magnitude(exponent: int, fraction: int, exponent_bits: int, fraction_bits: int) -> Fraction:
    """The magnitude of a finite value."""
    steps = fraction + (1 << fraction_bits) * (exponent > 0)
    return Fraction(steps) * Fraction(2) ** (max(exponent, 1) - (1 << exponent_bits - 1) + 1 - fraction_bits)


def edges() -> list[int]:
    """float32 values next to every rounding boundary of every exponent, with both signs, in no particular order."""
    rng = random.Random(1)
    found = []
    for exponent in range(256):
        for lost in (13, 16):
            edge = 1 << lost - 1
            for fraction in (0, 1, edge - 1, edge, edge + 1, 3 * edge - 1, 3 * edge, 3 * edge + 1, (1 << 23) - edge - 1,
                             (1 << 23) - edge, (1 << 23) - 1, 1 << 22, 1 << rng.randrange(23), rng.getrandbits(23)):
                found += [sign << 31 | exponent << 23 | fraction for sign in (0, 1)]
    rng.shuffle(found)
    return found


def narrowed(bits: int, form: int) -> int:
    """The 16 bits that the 32 bits of a float32 are rounded to."""
    exponent_bits, fraction_bits = FORMATS[form]
    sign, exponent, fraction = fields(bits, 8, 23)
    sign <<= 15
    top = ((1 << exponent_bits) - 1) << fraction_bits
    if exponent == 255:
        return sign | top | (1 << fraction_bits - 1) * (fraction != 0)
    value = magnitude(exponent, fraction, 8, 23)
    # Codes rise with their values, so the largest code that is not above the value is found by bisection. The code
    # after it may be infinity, which counts as the value that the next finite code would have.
    low, high = 0, top
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _at(middle, form) <= value else (low, middle)
    below, above = value - _at(low, form), _at(high, form) - value
    return sign | (low if below < above or (below == above and low % 2 == 0) else high)


def _at(code: int, form: int) -> Fraction:
    _, exponent, fraction = fields(code, *FORMATS[form])
    return magnitude(exponent, fraction, *FORMATS[form])


def widened(code: int, form: int) -> int:
    """The 32 bits of the float32 that 16 bits represent."""
    exponent_bits, fraction_bits = FORMATS[form]
    sign, exponent, fraction = fields(code, exponent_bits, fraction_bits)
    if exponent == (1 << exponent_bits) - 1:
        return sign << 31 | 255 << 23 | fraction << 23 - fraction_bits
    value = magnitude(exponent, fraction, exponent_bits, fraction_bits)
    return sign << 31 | struct.unpack("<I", struct.pack("<f", float(value)))[0]
