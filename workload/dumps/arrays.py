"""NumPy's own files, .npy and .npz, and raw elements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Lock

import numpy as np

from cdma.workload.dumps.reading import Strange, reading
from cdma.workload.dumps.types import element_type

__all__ = ["npz_names", "raw_array", "read_npy", "read_npz", "read_raw"]

# NumPy parses headers as Python, and parsers of two threads disturb each other in CPython 3.11 (its issue 106905).
_PARSER = Lock()


def read_npy(path: Path) -> np.ndarray:
    """The array of a .npy file.

    Raises
    ------
    ValueError
        If it cannot be read, or holds Python objects.
    """
    with reading(path, ".npy"), path.open("rb") as file:
        start = file.read(6)
        if start != b"\x93NUMPY":
            raise ValueError("it does not begin as such a file does" if start else "it is empty")
        file.seek(0)
        with _PARSER:
            return np.lib.format.read_array(file, allow_pickle=False)


def npz_names(path: Path) -> dict[str, Strange | None]:
    """The names of a .npz file's arrays, in its order; nothing is strange about them.

    Raises
    ------
    ValueError
        If it cannot be read.
    """
    with reading(path, ".npz"), _archive(path) as dump:
        return dict.fromkeys(dump.files)


def read_npz(path: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Arrays of a .npz file; errors as for :func:`npz_names`."""
    with reading(path, ".npz"), _archive(path) as dump, _PARSER:
        return {name: dump[name] for name in names}


def _archive(path: Path) -> np.lib.npyio.NpzFile:
    with path.open("rb") as file:
        start = file.read(6)
    if start[:2] != b"PK" and start != b"\x93NUMPY":
        # NumPy would take it for pickled objects.
        raise ValueError("it is no archive of arrays" if start else "it is empty")
    loaded = np.load(path, allow_pickle=False)
    if not isinstance(loaded, np.lib.npyio.NpzFile):
        raise ValueError("it is a single array; name it .npy")
    return loaded


def read_raw(path: Path, dtype: str | None = None, element_bytes: int | None = None,
             shape: Sequence[int] | None = None) -> np.ndarray:
    """The elements of a file without a header; parameters and errors as for :func:`raw_array`.

    Raises
    ------
    ValueError
        Also if the file cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from error
    return raw_array(content, str(path), dtype, element_bytes, shape)


def raw_array(content: bytes, where: str, dtype: str | None = None, element_bytes: int | None = None,
              shape: Sequence[int] | None = None) -> np.ndarray:
    """Raw elements as an array.

    Parameters
    ----------
    content
        The elements, little-endian.
    where
        Where they come from, for messages.
    dtype, element_bytes
        Type, or size in bytes, of the elements; one of them is needed.
    shape
        Shape of the array; None gives one dimension.

    Raises
    ------
    ValueError
        If the content is not a whole number of elements, or does not fit the type or the shape.
    """
    if dtype is None and element_bytes is None:
        raise ValueError(f"{where} is read as raw elements: say how large they are (--element 8, 16 or 32) or of which "
                         "type (--dtype float32, bfloat16, ...)")
    kind = element_type(dtype if dtype is not None else f"<u{element_bytes}")
    if len(content) % kind.itemsize:
        raise ValueError(f"{where} has {len(content)} bytes, not a multiple of the {kind.itemsize} bytes of an element")
    found = np.frombuffer(content, kind)
    if shape is None:
        return found
    if any(length < 0 for length in shape) or math.prod(shape) != found.size:
        raise ValueError(f"{where} has {found.size} elements, not the {math.prod(shape)} of the shape "
                         f"{'x'.join(map(str, shape))}")
    return found.reshape(shape)
