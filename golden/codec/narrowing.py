"""Narrowing: float32 values rounded to 16 bits before they are coded, and restored on the way back."""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.golden.codec.buffers import Bytes, as_bytes
from cdma.golden.codec.coding import Coding

__all__ = ["NARROWED_BYTES", "NARROWED_CODINGS", "WIDE_BYTES", "Narrowing", "narrow", "widen"]

WIDE_BYTES = 4
"""Bytes of a value in device memory."""

NARROWED_BYTES = 2
"""Bytes of a value in the stream."""

_QUIET = {1: 0x7FC0, 2: 0x7E00}


class Narrowing(IntEnum):
    """Values of the field ``narrow`` of a descriptor."""

    NONE = 0
    BFLOAT16 = 1
    FLOAT16 = 2


NARROWED_CODINGS: dict[int, tuple[Coding, ...]] = {
    Narrowing.BFLOAT16: (Coding.ZVC16, Coding.BFLOAT16), Narrowing.FLOAT16: (Coding.ZVC16,)}
"""Codings that the 16-bit values of a format can have."""


def narrow(values: Any, form: Narrowing | int) -> NDArray[np.uint16]:
    """The bits of float32 values, rounded to nearest, ties to even.

    Zero keeps its sign. A value that is too large becomes infinity, one too small for a subnormal becomes zero; both
    keep the sign. A NaN becomes the quiet NaN of its sign without payload: 0x7FC0 or 0x7E00.

    Parameters
    ----------
    values
        float32 array, or the bytes of one; its values in C order.
    form
        :attr:`Narrowing.BFLOAT16` or :attr:`Narrowing.FLOAT16`.

    Returns
    -------
    numpy.ndarray
        Little-endian uint16, one dimension.

    Raises
    ------
    ValueError
        If the bytes are not a multiple of 4, or there is no such form.
    """
    data = as_bytes(values)
    if data.size % WIDE_BYTES:
        raise ValueError(f"values to narrow must be whole float32 values of {WIDE_BYTES} bytes, not {data.size} bytes")
    form = _rounding(form)
    bits = data.view("<u4")
    sign = (bits >> 16 & 0x8000).astype("<u2")
    nan = bits & 0x7FFF_FFFF > 0x7F80_0000
    if form is Narrowing.BFLOAT16:
        # A carry out of the fraction increments the exponent, up to that of infinity.
        rounded = (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype("<u2")
    else:
        with np.errstate(all="ignore"):
            rounded = data.view("<f4").astype("<f2").view("<u2")
    return np.where(nan, sign | np.uint16(_QUIET[form]), rounded)


def widen(codes: Any, form: Narrowing | int) -> Bytes:
    """The bytes of the float32 values that narrowed values represent: exact; NaNs keep sign and fraction.

    Parameters
    ----------
    codes
        Array or bytes of 16-bit values, in C order.
    form
        The format that they were narrowed to.

    Raises
    ------
    ValueError
        If the bytes are not a multiple of 2, or there is no such form.
    """
    data = as_bytes(codes)
    if data.size % NARROWED_BYTES:
        raise ValueError(f"narrowed values have {NARROWED_BYTES} bytes each, which {data.size} bytes do not make up")
    bits = data.view("<u2")
    if _rounding(form) is Narrowing.BFLOAT16:
        return (bits.astype("<u4") << 16).view(np.uint8)
    return _float16_values()[bits].view(np.uint8)


def _rounding(form: Narrowing | int) -> Narrowing:
    if form not in (Narrowing.BFLOAT16, Narrowing.FLOAT16):
        raise ValueError(f"values can be narrowed to {Narrowing.BFLOAT16} (bfloat16) or {Narrowing.FLOAT16} (float16), "
                         f"not {form}")
    return Narrowing(form)


@cache
def _float16_values() -> NDArray[np.uint32]:
    """float32 bits of every float16. NaNs are assembled bit by bit, because a conversion may change them."""
    codes = np.arange(1 << 16, dtype="<u2")
    values = codes.view("<f2").astype("<f4").view("<u4")
    wide = codes.astype("<u4")
    kept = (wide & 0x8000) << 16 | 0x7F80_0000 | (wide & 0x3FF) << 13
    return np.where(wide & 0x7FFF > 0x7C00, kept, values)
