"""Rounding to short floats, against their definition: sign, exponent and fraction, worked out code by code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cdma.workload.dumps.narrow import narrow
from cdma.workload.dumps.types import FORMATS
from cdma.workload.dumps.types import values as values_of

# Bits of exponent and fraction, and the code of the largest finite value.
FIELDS = {"float16": (5, 10, 0x7BFF), "bfloat16": (8, 7, 0x7F7F), "float8_e4m3": (4, 3, 0x7E),
          "float8_e5m2": (5, 2, 0x7B)}
# What overflow gives, and the quiet NaN.
OVERFLOW = {"float16": 0x7C00, "bfloat16": 0x7F80, "float8_e4m3": 0x7E, "float8_e5m2": 0x7C}
QUIET = {"float16": 0x7E00, "bfloat16": 0x7FC0, "float8_e4m3": 0x7F, "float8_e5m2": 0x7E}
WIDE = (np.float16, np.float32, np.float64)


def finite(name: str) -> np.ndarray:
    """The values of all finite codes without sign, in rising order: code k has the k-th value."""
    exponent_bits, fraction_bits, largest = FIELDS[name]
    bias = (1 << (exponent_bits - 1)) - 1
    found = []
    for code in range(largest + 1):
        exponent, fraction = code >> fraction_bits, code & ((1 << fraction_bits) - 1)
        steps = fraction + (1 << fraction_bits) if exponent else fraction
        found.append(steps * 2.0 ** (max(exponent, 1) - bias - fraction_bits))
    return np.array(found)


def size(name: str) -> int:
    return FORMATS[name].itemsize


@pytest.mark.parametrize("name", FORMATS)
def test_every_code_has_the_value_of_its_fields(name: str) -> None:
    codes = np.arange(1 << 8 * size(name), dtype=f"<u{size(name)}")
    with np.errstate(invalid="ignore"):
        values = values_of(codes.view(FORMATS[name])).astype(np.float64)
    known = finite(name)
    half = codes.size // 2
    assert np.array_equal(values[:known.size], known)
    assert np.array_equal(values[half:half + known.size], -known)
    assert np.array_equal(np.signbit(values[half:half + known.size]), np.ones(known.size, bool))
    rest = values[known.size:half]
    if name == "float8_e4m3":
        assert np.isnan(rest).all() and rest.size == 1
    else:
        assert rest[0] == np.inf and np.isnan(rest[1:]).all()


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("name", FORMATS)
def test_every_value_and_both_sides_of_every_middle(name: str, wide: Any) -> None:
    """Each code's value rounds to the code, the middle of two to the even one, its neighbours to the nearer one."""
    known = finite(name)
    codes = np.arange(known.size)
    above = np.append(codes[1:], OVERFLOW[name])
    middles = np.append((known[1:] + known[:-1]) / 2, known[-1] + (known[-1] - known[-2]) / 2)
    with np.errstate(over="ignore"):
        values, between = known.astype(wide), middles.astype(wide)
    # float16 does not have all values of the other types, and no middle of its own.
    there, split = values == known, between == middles
    assert there.all() or wide is np.float16
    assert split.all() or wide is np.float16
    cases = [(values[there], codes[there]), (between[split], np.where(codes % 2, above, codes)[split]),
             (np.nextafter(between[split], wide(np.inf)), above[split]),
             (np.nextafter(between[split], wide(0)), codes[split])]
    sign = 1 << (8 * size(name) - 1)
    for wide_values, expected in cases:
        assert np.array_equal(narrow(wide_values, size(name), name), expected)
        assert np.array_equal(narrow(-wide_values, size(name), name), expected | sign)


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("name", FORMATS)
def test_what_is_too_large_and_nans(name: str, wide: Any) -> None:
    sign = 1 << (8 * size(name) - 1)
    largest = np.array([np.finfo(wide).max, np.inf, -np.inf], wide)
    over = OVERFLOW[name] if float(largest[0]) > finite(name)[-1] else int(narrow(largest[:1], size(name), name)[0])
    assert narrow(largest, size(name), name).tolist() == [over, OVERFLOW[name], OVERFLOW[name] | sign]
    # Every NaN, with any fraction and quiet or not, becomes the quiet one of its sign.
    bits = {2: 0x7C01, 4: 0x7F80_0001, 8: 0x7FF0_0000_0000_0001}[np.dtype(wide).itemsize]
    unsigned = np.dtype(f"<u{np.dtype(wide).itemsize}")
    nans = np.array([bits, bits | bits >> 5, bits | bits >> 1], unsigned).view(wide)
    assert np.isnan(nans).all()
    assert narrow(nans, size(name), name).tolist() == [QUIET[name]] * 3
    assert narrow(np.copysign(nans, wide(-1)), size(name), name).tolist() == [QUIET[name] | sign] * 3
    assert narrow(np.array([0.0, -0.0], wide), size(name), name).tolist() == [0, sign]


def test_float64_is_rounded_once() -> None:
    """Just above the middle of 1 and the next bfloat16; as float32 it is the middle, and would round to 1."""
    assert narrow(np.array([1 + 2.0 ** -8 + 2.0 ** -40, 1 + 2.0 ** -8]), 2, "bfloat16").tolist() == [0x3F81, 0x3F80]
    assert narrow(np.array([2.0 ** -17 + 2.0 ** -60]), 1, "float8_e5m2").tolist() == [1]
    assert narrow(np.array([5e-324, -5e-324, 1e300]), 2, "bfloat16").tolist() == [0, 0x8000, 0x7F80]


def test_shape_stays() -> None:
    assert narrow(np.zeros((2, 3, 4), np.float32), 1).shape == (2, 3, 4)
    assert narrow(np.zeros((), np.float32), 1).shape == ()
    assert not narrow(np.zeros(5, np.float32), 2).any()


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: narrow(np.zeros(3, np.int32), 1), TypeError, "int32"),
    (lambda: narrow(np.zeros(3, np.float32), 4), ValueError, "1 or 2 bytes, not 4"),
    (lambda: narrow(np.zeros(3, np.float32), 1, "bfloat16"), ValueError, "float8_e4m3"),
])
def test_what_cannot_be_narrowed_is_named(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
