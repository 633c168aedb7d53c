"""Loading of dumps: .npy, .npz, and anything else as raw elements."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

__all__ = ["load", "own_element_bytes"]


def load(path: str | Path, array: str | Iterable[str] | None = None, dtype: str | None = None,
         element_bytes: int | None = None) -> dict[str, np.ndarray]:
    """Read the arrays of a dump.

    Parameters
    ----------
    path
        A .npy file (one array, named after the file), a .npz file (its arrays by name), or any other file: raw
        little-endian elements.
    array
        Name or names of the arrays of a .npz file to read; all of them when None.
    dtype
        NumPy type of a raw file's elements.
    element_bytes
        Size of a raw file's elements when no ``dtype`` is given: 1, 2 or 4.

    Returns
    -------
    dict[str, np.ndarray]
        Little-endian, C-contiguous arrays by name, in the order of the file.

    Raises
    ------
    ValueError
        With one sentence, if the file cannot be read, has no such array, or holds what has no raw bits.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give a .npy, .npz or raw file")
    if path.suffix == ".npz":
        arrays = _npz(path, [array] if isinstance(array, str) else array)
    elif array is not None:
        raise ValueError(f"{path} is no .npz file, so that no array can be chosen in it")
    elif path.suffix == ".npy":
        arrays = {path.stem: _npy(path)}
    else:
        arrays = {path.name: _raw(path, dtype, element_bytes)}
    return {name: _plain(f"{path}: {name}", values) for name, values in arrays.items()}


def own_element_bytes(array: np.ndarray) -> int:
    """The element size in bytes that an array is coded with when none is asked for.

    That of its values; 4 where they are longer, as float64 is.
    """
    return array.dtype.itemsize if array.dtype.itemsize in (1, 2) else 4


def _npy(path: Path) -> np.ndarray:
    try:
        with path.open("rb") as file:
            return np.lib.format.read_array(file, allow_pickle=False)
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, EOFError) as error:
        raise ValueError(f"cannot read {path} as .npy: {_first_line(error)}") from error


def _npz(path: Path, names: Iterable[str] | None) -> dict[str, np.ndarray]:
    try:
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise ValueError("it is a single array; name it .npy")
        with loaded as dump:
            if not dump.files:
                raise ValueError("it holds no arrays")
            wanted = dump.files if names is None else list(names)
            for name in wanted:
                if name not in dump.files:
                    raise ValueError(f"it has no array {name!r}: there are {', '.join(dump.files)}")
            return {name: dump[name] for name in wanted}
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"cannot read {path} as .npz: {_first_line(error)}") from error


def _raw(path: Path, dtype: str | None, element_bytes: int | None) -> np.ndarray:
    if dtype is None and element_bytes is None:
        raise ValueError(f"{path} is neither .npy nor .npz: say how large its raw elements are (--element 8, 16 or 32)")
    try:
        kind = np.dtype(dtype if dtype is not None else f"<u{element_bytes}")
    except TypeError as error:
        raise ValueError(f"no NumPy type {dtype or element_bytes!r}: float32, float16, uint8 and alike are") from error
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from error
    if kind.itemsize == 0 or len(content) % kind.itemsize:
        raise ValueError(f"{path} has {len(content)} bytes, no multiple of the {kind.itemsize} bytes of an element")
    return np.frombuffer(content, kind)


def _plain(where: str, array: np.ndarray) -> np.ndarray:
    """The array with its bits in the order in which they are stored in device memory."""
    if array.dtype.hasobject or array.dtype.names or array.dtype.kind in "USMm":
        raise ValueError(f"{where} holds {array.dtype}: only numbers can be coded")
    if array.dtype.byteorder == ">" or (array.dtype.byteorder == "=" and not np.little_endian):
        array = array.astype(array.dtype.newbyteorder("<"))
    return np.ascontiguousarray(array) if array.ndim else array


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
