"""Narrowing against NumPy's own float16, the upper half of float32, and a table of every 8-bit value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workload.dumps.formats import FORMATS
from workload.dumps.narrow import narrow, widen

E4M3 = {0x00: 0.0, 0x01: 2.0 ** -9, 0x07: 7 * 2.0 ** -9, 0x08: 2.0 ** -6, 0x38: 1.0, 0x3C: 1.5, 0x7E: 448.0}


def random_floats(count: int, seed: int) -> np.ndarray:
    """Floats of all exponents, zeros and infinities among them, without NaN."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 1 << 32, count, dtype=np.uint64).astype(np.uint32)
    near = (rng.standard_normal(count) * np.exp2(rng.integers(-30, 20, count))).astype(np.float32)
    corners = np.array([0, -0.0, np.inf, -np.inf, 65504, 65520, 1e-45], np.float32)
    values = np.concatenate([bits.view(np.float32), near, corners])
    return values[~np.isnan(values)]


def test_float16_is_numpys() -> None:
    values = random_floats(500_000, 1)
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16).view(np.uint16)
    assert np.array_equal(narrow(values, 2), expected)


def test_bfloat16_is_the_rounded_upper_half() -> None:
    values = random_floats(500_000, 2)
    bits = values.view(np.uint32).astype(np.uint64)
    expected = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    assert np.array_equal(narrow(values, 2, "bfloat16"), expected)


@pytest.mark.parametrize("code", E4M3)
def test_float8_known_codes(code: int) -> None:
    value = np.array([E4M3[code], -E4M3[code]], np.float32)
    assert narrow(value, 1).tolist() == [code, code | 0x80]
    assert widen(np.array([code, code | 0x80], np.uint8), 1).tolist() == value.tolist()


def test_float8_is_the_nearest_value_ties_to_even() -> None:
    codes = np.arange(0x7F, dtype=np.uint8)
    known = widen(codes, 1).astype(np.float64)
    middles = (known[1:] + known[:-1]) / 2
    values = np.concatenate([known, middles, np.nextafter(middles, np.inf), np.nextafter(middles, 0), [1e6, 1e9]])
    distance = np.abs(values[:, None] - known)
    least = distance.min(axis=1, keepdims=True)
    # Of two codes equally near the even one is taken: offer odd codes at a disadvantage.
    expected = np.argmin(np.where(distance == least, codes % 2, 2), axis=1)
    assert np.array_equal(narrow(values, 1), expected)
    assert narrow(np.array([np.inf, -np.inf]), 1).tolist() == [0x7E, 0xFE]


@pytest.mark.parametrize("name", FORMATS)
def test_every_code_comes_back(name: str) -> None:
    size = FORMATS[name].element_bytes
    codes = np.arange(1 << 8 * size, dtype=f"<u{size}")
    values = widen(codes, size, name)
    numbers = ~np.isnan(values)
    assert np.array_equal(narrow(values, size, name)[numbers], codes[numbers])
    assert np.isnan(widen(narrow(np.array([np.nan, -np.nan], np.float32), size, name), size, name)).all()


@given(st.floats(width=32, allow_nan=False), st.sampled_from(sorted(FORMATS)))
def test_sign_and_order_stay(value: float, name: str) -> None:
    size = FORMATS[name].element_bytes
    near, far = widen(narrow(np.array([value, 2 * value]), size, name), size, name)
    assert np.signbit(near) == np.signbit(np.float32(value))
    assert abs(far) >= abs(near)


def test_shape_stays() -> None:
    assert narrow(np.zeros((2, 3, 4), np.float32), 1).shape == (2, 3, 4)
    assert not narrow(np.zeros(5, np.float32), 2).any()


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: narrow(np.zeros(3, np.int32), 1), TypeError, "int32"),
    (lambda: narrow(np.zeros(3, np.float32), 4), ValueError, "1 or 2 bytes, not 4"),
    (lambda: narrow(np.zeros(3, np.float32), 1, "bfloat16"), ValueError, "float8_e4m3"),
    (lambda: widen(np.zeros(3, np.uint8), 1, "float9"), ValueError, "float9"),
])
def test_what_cannot_be_narrowed_is_named(call, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
