"""Narrowing: floating-point arrays rounded to shorter formats before they are coded."""

from __future__ import annotations

import numpy as np

from workload.dumps.formats import FORMATS, FloatFormat

__all__ = ["DEFAULT_FORMAT", "narrow", "widen"]

DEFAULT_FORMAT = {2: "float16", 1: "float8_e4m3"}
"""The format that an element size in bytes stands for when none is named."""

_CODES = {1: np.dtype("<u1"), 2: np.dtype("<u2")}


def narrow(array: np.ndarray, element_bytes: int, name: str | None = None) -> np.ndarray:
    """Round a floating-point array to a shorter format, to nearest with ties to even.

    Parameters
    ----------
    array
        Any shape; float16, float32 or float64.
    element_bytes
        Bytes of a narrowed value, 1 or 2.
    name
        Format, one of :data:`workload.dumps.formats.FORMATS` of that size; :data:`DEFAULT_FORMAT` when None.

    Returns
    -------
    np.ndarray
        The bits of the narrowed values, uint8 or uint16, in the shape of ``array``. The sign of zero stays; a NaN
        becomes the quiet NaN of its sign; what is too large becomes infinity, or the largest value where the
        format has no infinity; what is too small becomes zero, so narrowing can add zeros.

    Raises
    ------
    TypeError
        If the array is not floating-point.
    ValueError
        If there is no such format, or not of that size.
    """
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise TypeError(f"only float16, float32 and float64 arrays can be narrowed, not {array.dtype}")
    return _encode(np.asarray(array, np.float64), _format(element_bytes, name))


def widen(codes: np.ndarray, element_bytes: int, name: str | None = None) -> np.ndarray:
    """The values of narrowed codes as float32: exact, in the shape of ``codes``.

    Raises
    ------
    ValueError
        If there is no such format, or not of that size.
    """
    form = _format(element_bytes, name)
    table = _decode(np.arange(1 << 8 * element_bytes, dtype=np.int64), form)
    return table[np.asarray(codes)]


def _format(element_bytes: int, name: str | None) -> FloatFormat:
    if element_bytes not in DEFAULT_FORMAT:
        raise ValueError(f"values can be narrowed to 1 or 2 bytes, not {element_bytes}")
    form = FORMATS.get(name or DEFAULT_FORMAT[element_bytes])
    if form is None or form.element_bytes != element_bytes:
        fitting = ", ".join(entry.name for entry in FORMATS.values() if entry.element_bytes == element_bytes)
        raise ValueError(f"the formats of {8 * element_bytes} bits are {fitting}, not {name!r}")
    return form


def _encode(values: np.ndarray, form: FloatFormat) -> np.ndarray:
    """Codes of float64 values. Scaling by powers of two is exact in float64, so that each value is rounded once."""
    magnitude = np.abs(values)
    finite = np.isfinite(values)
    bounded = np.where(finite, magnitude, 0)
    lowest = 1 - form.bias
    exponent = np.where(bounded > 0, np.maximum(np.frexp(bounded)[1] - 1, lowest), lowest)
    steps = np.rint(np.ldexp(bounded, form.fraction_bits - exponent)).astype(np.int64)
    # The leading one of a normal value is in steps, and a carry out of the fraction raises the exponent by itself.
    codes = ((exponent + form.bias - 1).astype(np.int64) << form.fraction_bits) + steps
    codes = np.where(finite, np.minimum(codes, form.infinity), form.infinity)
    codes = np.where(np.isnan(values), form.nan, codes)
    sign = np.signbit(values).astype(np.int64) << (form.exponent_bits + form.fraction_bits)
    return (codes | sign).astype(_CODES[form.element_bytes])


def _decode(codes: np.ndarray, form: FloatFormat) -> np.ndarray:
    exponent = codes >> form.fraction_bits & ((1 << form.exponent_bits) - 1)
    fraction = codes & ((1 << form.fraction_bits) - 1)
    steps = np.where(exponent > 0, fraction + (1 << form.fraction_bits), fraction)
    values = np.ldexp(steps.astype(np.float64), np.maximum(exponent, 1) - form.bias - form.fraction_bits)
    magnitude = codes & ((1 << (form.exponent_bits + form.fraction_bits)) - 1)
    if form.infinities:
        values = np.where(magnitude == form.infinity, np.inf, values)
    values = np.where(magnitude > form.infinity, np.nan, values)
    negative = codes >> (form.exponent_bits + form.fraction_bits) & 1
    return np.where(negative, -values, values).astype(np.float32)
