"""Turns the arguments of callers into the flat bytes and checked numbers that the formats work on."""

from __future__ import annotations

import operator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["ELEMENT_BYTES", "Bytes", "as_bytes", "check_element_bytes", "check_raw_bytes", "whole_number"]

Bytes: TypeAlias = NDArray[np.uint8]
"""Flat array of bytes."""

ELEMENT_BYTES = (1, 2, 4)
"""Element sizes that zero-value coding supports, in bytes."""

_ALIGNMENT = 8


def as_bytes(data: Any, name: str = "raw") -> Bytes:
    """The bytes of an array or buffer, flat, in C order; no copy where none is needed.

    Parameters
    ----------
    data
        Array of any shape and type without Python objects, or anything with the buffer protocol.
    name
        The caller's name for it, used in messages.

    Raises
    ------
    TypeError
        If it is neither, or an array of Python objects.
    """
    if isinstance(data, np.ndarray):
        if data.dtype.hasobject:
            raise TypeError(f"{name} must be an array of numbers, not of Python objects ({data.dtype})")
        flat = np.ascontiguousarray(data).reshape(-1)
        found = flat.view(np.uint8) if flat.size else np.zeros(0, np.uint8)
    else:
        try:
            view = memoryview(data)
        except TypeError:
            raise TypeError(f"{name} must be an array or a buffer of bytes, not {type(data).__name__}") from None
        if view.format == "O":
            raise TypeError(f"{name} must be a buffer of bytes, not of Python objects")
        # A strided buffer is copied; an empty one must not be cast.
        content = view if view.c_contiguous else view.tobytes()
        found = np.frombuffer(content, np.uint8) if view.nbytes else np.zeros(0, np.uint8)
    return found.copy() if found.__array_interface__["data"][0] % _ALIGNMENT else found


def whole_number(value: Any, name: str) -> int:
    """An integer of any integer type, zero or more.

    Raises
    ------
    TypeError
        If it is no integer.
    ValueError
        If it is negative.
    """
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {value!r}") from None
    if number < 0:
        raise ValueError(f"{name} must be 0 or more, not {number}")
    return number


def check_element_bytes(element_bytes: Any) -> int:
    """The element size, if zero-value coding supports it; TypeError or ValueError otherwise."""
    number = whole_number(element_bytes, "element_bytes")
    if number not in ELEMENT_BYTES:
        raise ValueError(f"element_bytes must be 1, 2 or 4, not {number}")
    return number


def check_raw_bytes(raw_bytes: Any, element_bytes: int, name: str = "raw_bytes") -> int:
    """A raw length, if it is a multiple of the element size; TypeError or ValueError otherwise."""
    number = whole_number(raw_bytes, name)
    if number % element_bytes:
        raise ValueError(f"{name} must be a multiple of the {element_bytes} bytes of an element, not {number}")
    return number
