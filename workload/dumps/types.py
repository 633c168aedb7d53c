"""Types of elements. Those that NumPy does not have, bfloat16 and the 8-bit floats, come from ml_dtypes."""

from __future__ import annotations

import ml_dtypes
import numpy as np

__all__ = ["ALLOWED", "FORMATS", "element_type", "is_floating", "is_number", "own_element_bytes", "type_name",
           "values"]

FORMATS = {"float16": np.dtype("<f2"), "bfloat16": np.dtype(ml_dtypes.bfloat16),
           "float8_e4m3": np.dtype(ml_dtypes.float8_e4m3fn), "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2)}
"""Short floating-point types by name. float8_e4m3 is the OCP 8-bit E4M3 type, which has no infinities; ml_dtypes and
PyTorch call it float8_e4m3fn."""

_ALIASES = {"float8_e4m3fn": "float8_e4m3"}
_NAMES = {dtype: name for name, dtype in FORMATS.items() if name != "float16"}

ALLOWED = f"float32, float16, {', '.join(_NAMES.values())}, int8, uint8 and alike"
"""The types that error messages list."""


def element_type(name: str) -> np.dtype:
    """The type of a name.

    Parameters
    ----------
    name
        A name in :data:`FORMATS`, or one that NumPy knows; ``float8_e4m3fn`` is accepted for ``float8_e4m3``.

    Raises
    ------
    ValueError
        If there is no such type, or its values are not numbers.
    """
    short = FORMATS.get(_ALIASES.get(name, name))
    if short is not None:
        return short
    try:
        found = np.dtype(name)
    except (TypeError, ValueError, SyntaxError) as error:
        raise ValueError(f"there is no type {name!r} of elements: {ALLOWED} are") from error
    if found.isbuiltin == 2:  # another of ml_dtypes' types
        raise ValueError(f"there is no type {name!r} of elements: {ALLOWED} are")
    if not is_number(found) or not found.itemsize:
        raise ValueError(f"elements cannot be of type {name!r}: {ALLOWED} are")
    return found


def type_name(dtype: np.dtype) -> str:
    """The name of a type: ``bfloat16``, ``float32``."""
    return _NAMES.get(dtype, dtype.name)


def is_number(dtype: np.dtype) -> bool:
    """Whether elements of a type are numbers, or plain bits of a fixed size."""
    return not (dtype.hasobject or dtype.names or dtype.kind in "USMm" or dtype.subdtype)


def is_floating(dtype: np.dtype) -> bool:
    """Whether elements of a type are floating-point numbers that :func:`values` can convert."""
    return dtype in _NAMES or (dtype.kind == "f" and dtype.itemsize <= 8)


def values(array: np.ndarray) -> np.ndarray:
    """The values of an array: bfloat16 and 8-bit floats as float32, which is exact; other arrays unchanged."""
    if array.dtype not in _NAMES:
        return array
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        return array.astype(np.float32)


def own_element_bytes(array: np.ndarray) -> int:
    """The element size in bytes that an array is coded with by default.

    The size of its values if that is 1 or 2; 4 for all others, float64 among them.
    """
    return array.dtype.itemsize if array.dtype.itemsize in (1, 2) else 4
