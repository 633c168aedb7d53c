"""Narrowing: floating-point arrays rounded to shorter types before they are coded."""

from __future__ import annotations

import numpy as np

from cdma.workload.dumps.types import FORMATS

__all__ = ["DEFAULT_FORMAT", "narrow"]

DEFAULT_FORMAT = {2: "float16", 1: "float8_e4m3"}
"""The default type for an element size in bytes."""


def narrow(array: np.ndarray, element_bytes: int, name: str | None = None) -> np.ndarray:
    """Round a floating-point array to a shorter type, to nearest with ties to even.

    Parameters
    ----------
    array
        Any shape; float16, float32 or float64.
    element_bytes
        Bytes of a narrowed value, 1 or 2.
    name
        One of :data:`cdma.workload.dumps.types.FORMATS` of that size; :data:`DEFAULT_FORMAT` when None.

    Returns
    -------
    np.ndarray
        The bits of the narrowed values, uint8 or uint16, in the shape of ``array``. The sign of zero is kept. A NaN
        becomes the quiet NaN of its sign. A value that is too large becomes infinity, or the largest value where the
        type has no infinity. A value that is too small becomes zero, so narrowing can add zeros.

    Raises
    ------
    TypeError
        If the array is not floating-point.
    ValueError
        If there is no such type, or it has another size.
    """
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise TypeError(f"only float16, float32 and float64 arrays can be narrowed, not {array.dtype}")
    dtype = _format(element_bytes, name)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if dtype == np.float16:
            # NumPy keeps the fraction of a NaN.
            array = np.where(np.isnan(array), np.copysign(array.dtype.type(np.nan), array), array)
        else:
            if array.dtype.itemsize == 8:
                array = _sticky_float32(array)
            if dtype == FORMATS["float8_e4m3"]:
                # ml_dtypes turns a value beyond the largest one into a NaN.
                array = np.clip(array, -448, 448)
        return array.astype(dtype).view(f"<u{element_bytes}")


def _sticky_float32(array: np.ndarray) -> np.ndarray:
    """float64 values as float32 for rounding once more: cut towards zero, the lowest bit set where bits were lost.

    ml_dtypes converts float64 through float32. Rounding to nearest twice would move values that lie close to the
    middle between two codes; with the lost bits kept in the lowest bit the second rounding gives the correct result.
    """
    nearest = array.astype(np.float32)
    cut = np.where(np.abs(nearest) > np.abs(array), np.nextafter(nearest, np.float32(0)), nearest)
    lost = (cut != array) & ~np.isnan(array)
    return (cut.view(np.uint32) | lost).view(np.float32)


def _format(element_bytes: int, name: str | None) -> np.dtype:
    if element_bytes not in DEFAULT_FORMAT:
        raise ValueError(f"values can be narrowed to 1 or 2 bytes, not {element_bytes}")
    dtype = FORMATS.get(name or DEFAULT_FORMAT[element_bytes])
    if dtype is None or dtype.itemsize != element_bytes:
        fitting = ", ".join(entry for entry, found in FORMATS.items() if found.itemsize == element_bytes)
        raise ValueError(f"the formats of {8 * element_bytes} bits are {fitting}, not {name!r}")
    return dtype
