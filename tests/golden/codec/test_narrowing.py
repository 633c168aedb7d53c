"""Narrowing: every 16-bit value there and back, all kinds of float32 against exact fractions, and the refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.golden.codec.narrowing import Narrowing, narrow, widen
from cdma.golden.reference.narrowing import edges, narrowed, widened
from cdma.workload.dumps.narrow import narrow as rounded

_FORMS = [Narrowing.BFLOAT16, Narrowing.FLOAT16]
_NAMES = {Narrowing.BFLOAT16: "bfloat16", Narrowing.FLOAT16: "float16"}


@pytest.mark.parametrize("form", _FORMS)
def test_rounding_at_every_edge(form: Narrowing) -> None:
    bits = edges()
    # Around the values half of the smallest subnormal, and between the largest value and infinity.
    bits += [base + step for base in (0x3300_0000, 0x3380_0000, 0x3880_0000, 0x477F_F000, 0x477F_E000, 0x7F7F_8000,
                                      0x7F7F_0000, 0x0000_8000) for step in range(-3, 4)]
    codes = narrow(np.array(bits, "<u4").view("<f4"), form)
    assert codes.dtype == np.dtype("<u2")
    assert codes.tolist() == [narrowed(value, form) for value in bits]


@pytest.mark.parametrize("form", _FORMS)
@given(bits=st.integers(0, (1 << 32) - 1))
def test_rounding_anywhere(form: Narrowing, bits: int) -> None:
    assert narrow(bits.to_bytes(4, "little"), form).tolist() == [narrowed(bits, form)]


@pytest.mark.parametrize("form", _FORMS)
def test_every_narrowed_value_comes_back(form: Narrowing) -> None:
    codes = np.arange(1 << 16, dtype="<u2")
    wide = widen(codes, form)
    assert wide.view("<u4").tolist() == [widened(code, form) for code in range(1 << 16)]
    again = narrow(wide, form)
    nans = np.isnan(wide.view("<f4"))
    assert np.array_equal(again[~nans], codes[~nans])
    quiet = {Narrowing.BFLOAT16: 0x7FC0, Narrowing.FLOAT16: 0x7E00}[form]
    assert np.array_equal(again[nans], codes[nans] & 0x8000 | quiet)


@pytest.mark.parametrize("form", _FORMS)
def test_the_rounding_of_workloads_is_the_same(form: Narrowing) -> None:
    """Predictions are made with one and the hardware does the other."""
    rng = np.random.default_rng(2)
    values = rng.standard_normal(20000, np.float32) * np.float32(2.0) ** rng.integers(-40, 20, 20000)
    values = np.append(values, np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)).astype(np.float32)
    assert np.array_equal(narrow(values, form), rounded(values, 2, _NAMES[form]))


@pytest.mark.parametrize(("function", "given_", "said"), [
    (narrow, (b"123", 1), "whole float32 values of 4 bytes, not 3"),
    (narrow, (b"1234", 0), r"1 \(bfloat16\) or 2 \(float16\), not 0"),
    (narrow, (b"1234", 3), "not 3"),
    (widen, (b"123", 1), "2 bytes each, which 3 bytes do"),
    (widen, (b"12", 4), "not 4"),
])
def test_refusals(function: Any, given_: tuple[bytes, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        function(*given_)
