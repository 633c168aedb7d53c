"""Types of elements, those among them that NumPy does not have.

bfloat16 and the 8-bit floats are kept as their bits, in a NumPy type with one field that has the format's name:
``np.dtype([("bfloat16", "<u2")])``. Such an array has the size and the bits that its values have in memory, keeps its
type through reshaping, reordering and .npz files, and is nowhere taken for a number by mistake.
"""

from __future__ import annotations

import numpy as np

from workload.dumps.formats import FORMATS
from workload.dumps.narrow import widen

__all__ = ["ALLOWED", "element_type", "is_floating", "is_number", "own_element_bytes", "type_name", "values"]

_ALIASES = {"float8_e4m3fn": "float8_e4m3"}
_SHORT = {name: np.dtype([(name, f"<u{form.element_bytes}")]) for name, form in FORMATS.items() if name != "float16"}

ALLOWED = f"float32, float16, {', '.join(_SHORT)}, int8, uint8 and alike"
"""What a message says of the types that there are."""


def element_type(name: str) -> np.dtype:
    """The type of a name.

    Parameters
    ----------
    name
        As NumPy calls it, or that of a format in :data:`workload.dumps.formats.FORMATS`; ``float8_e4m3fn``, as PyTorch
        calls ``float8_e4m3``, is understood as well.

    Raises
    ------
    ValueError
        If there is no such type, or its values are no numbers.
    """
    short = _SHORT.get(_ALIASES.get(name, name))
    if short is not None:
        return short
    try:
        found = np.dtype(name)
    except (TypeError, ValueError, SyntaxError) as error:
        raise ValueError(f"there is no type {name!r} of elements: {ALLOWED} are") from error
    if not is_number(found) or not found.itemsize:
        raise ValueError(f"elements cannot be of type {name!r}: {ALLOWED} are")
    return found


def type_name(dtype: np.dtype) -> str:
    """What a type is called: ``bfloat16``, ``float32``."""
    return dtype.names[0] if dtype.names and dtype in _SHORT.values() else dtype.name


def is_number(dtype: np.dtype) -> bool:
    """Whether elements of a type are numbers, or at least plain bits."""
    return dtype in _SHORT.values() or not (dtype.hasobject or dtype.names or dtype.kind in "USMm" or dtype.subdtype)


def is_floating(dtype: np.dtype) -> bool:
    """Whether elements of a type are floating-point numbers that :func:`values` can tell."""
    return dtype in _SHORT.values() or (dtype.kind == "f" and dtype.itemsize <= 8)


def values(array: np.ndarray) -> np.ndarray:
    """The values of an array: those of bfloat16 and 8-bit floats as float32, exact; other arrays as they are."""
    if array.dtype not in _SHORT.values():
        return array
    name = type_name(array.dtype)
    return widen(array[name], array.dtype.itemsize, name)


def own_element_bytes(array: np.ndarray) -> int:
    """The element size in bytes that an array is coded with when none is asked for.

    That of its values; 4 where they are longer, as float64 is.
    """
    return array.dtype.itemsize if array.dtype.itemsize in (1, 2) else 4
