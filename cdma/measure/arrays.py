"""The arrays of dumps that commands simulate or plan, narrowed where asked."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cdma.console.options import check_raw_options, one_array
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.smallest import SIZED, of_elements, smallest
from cdma.hdl.codec.coding import LINE_BYTES
from cdma.workload.data import shipped
from cdma.workload.dumps import check_once, is_floating, load, own_element_bytes, type_name, values
from cdma.workload.dumps.narrow import narrow

if TYPE_CHECKING:
    from cdma.verif.core.simulate import CodedArray

__all__ = ["MOST_LINES", "arrays_by_element", "arrays_with_codings", "dump_lines", "named_arrays"]

MOST_LINES = 1024
"""Lines of a dump that :func:`dump_lines` takes at most."""

_ARRAY = "fire4/concat"


def arrays_by_element(paths: list[Path], names: list[str] | None, element: int | None,
                      form: str | None, dtype: str | None = None) -> dict[int, dict[str, np.ndarray]]:
    """The arrays to send, narrowed where asked, by element size in bytes; of the shipped dump when no path is given."""
    groups: dict[int, dict[str, np.ndarray]] = {}
    for title, array in named_arrays(paths, names, element, dtype).items():
        element_bytes = element // 8 if element else own_element_bytes(array)
        groups.setdefault(element_bytes, {})[title] = _elements(title, array, element_bytes, form)
    return groups


def arrays_with_codings(paths: list[Path], names: list[str] | None, element: int | None, form: str | None,
                        dtype: str | None = None, coding: str = "auto",
                        built: Collection[int] = SIZED) -> list[CodedArray]:
    """The arrays to send to the block cores or an engine, narrowed where asked, each with the coding of its blocks.

    Parameters
    ----------
    paths, names, element, form, dtype
        As for :func:`arrays_by_element`.
    coding
        Name of the coding of all arrays, or ``auto``: of each array the one that makes it smallest, with elements of
        the size ``element`` where that is given. What is narrowed for the coding ``bfloat16`` becomes bfloat16.
    built
        Coding numbers that an engine builds, from which ``auto`` chooses.

    Raises
    ------
    ValueError
        If an array cannot be read or is empty, or the coding has elements of another size than ``element``.
    """
    # It needs a simulator, and what only plans does not.
    from cdma.verif.core.simulate import CodedArray

    found = []
    named = None if coding == "auto" else Coding[coding.upper()]
    if named is not None and element and element != 8 * named.element_bytes:
        raise ValueError(f"--coding {coding} has elements of {8 * named.element_bytes} bits, not {element}: leave "
                         "--element out")
    for title, array in named_arrays(paths, names, element, dtype).items():
        element_bytes = element // 8 if element else own_element_bytes(array)
        own = "bfloat16" if named is Coding.BFLOAT16 and form is None and _narrows(array, element_bytes) else form
        sent = _elements(title, array, element_bytes, own)
        among = [each for each in of_elements(element_bytes if element else None, built)
                 if sent.nbytes % each.element_bytes == 0]
        # What an engine does not build is refused by name, when its arrays are checked.
        suiting = named or (smallest(sent, among) if among else Coding(0x10 | element_bytes))
        found.append(CodedArray(title, sent, suiting))
    return found


def named_arrays(paths: list[Path], names: list[str] | None, element: int | None,
                 dtype: str | None = None) -> dict[str, np.ndarray]:
    """The arrays of dumps by name, behind the file's where there are several; of the shipped dump without paths.

    Raises
    ------
    ValueError
        If one cannot be read or is given twice, two would have the same name, or a type is given for dumps that say
        which types they hold.
    """
    check_once(paths)
    check_raw_options(paths, dtype)
    found: dict[str, np.ndarray] = {}
    for path in paths or [shipped()]:
        for name, array in load(path, names, dtype, element and element // 8).items():
            title = name if len(paths) < 2 else f"{path.stem}:{name}"
            if title in found:
                raise ValueError(f"two arrays would be called {title}: take {path} alone")
            found[title] = array
    return found


def _elements(title: str, array: np.ndarray, element_bytes: int, form: str | None) -> np.ndarray:
    if array.size == 0:
        raise ValueError(f"{title} is empty: there is nothing to simulate")
    if _narrows(array, element_bytes) and form != "none":
        return narrow(values(array), element_bytes, form)
    if form not in (None, "none"):
        raise ValueError(f"{title} holds {type_name(array.dtype)}, which {8 * element_bytes}-bit elements do not "
                         "narrow: leave --narrow out, or give --element")
    if array.nbytes % element_bytes:
        raise ValueError(f"{title} has {array.nbytes} bytes, not a multiple of the {element_bytes} bytes of an element")
    return array


def _narrows(array: np.ndarray, element_bytes: int) -> bool:
    return is_floating(array.dtype) and array.dtype.itemsize > element_bytes and element_bytes < 4


def dump_lines(path: str | None, array: str | None, size: int) -> bytes:
    """Lines of a dump, evenly spread over an array; ``size`` bytes, or all if there are fewer.

    Raises
    ------
    ValueError
        If the dump cannot be read, the array is shorter than a line, or the size is not allowed.
    """
    number, rest = divmod(size, LINE_BYTES)
    if rest or not 1 <= number <= MOST_LINES:
        raise ValueError(f"--bytes must be 1 to {MOST_LINES} lines of {LINE_BYTES} bytes, not {size} bytes")
    name = array if path or array else _ARRAY
    data = np.ascontiguousarray(one_array(path or str(shipped()), name, None)).view(np.uint8).reshape(-1)
    if data.size < LINE_BYTES:
        raise ValueError(f"{path} has {data.size} bytes, less than a line of {LINE_BYTES}: choose a larger array")
    lines = data[:data.size // LINE_BYTES * LINE_BYTES].reshape(-1, LINE_BYTES)
    chosen = np.linspace(0, len(lines) - 1, min(number, len(lines))).astype(int)
    return lines[chosen].tobytes()
