"""Dumps of any kind: lists and reads their arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from cdma.hdl.config.files import refuse_pipe
from cdma.workload.dumps.arrays import npz_names, read_npy, read_npz, read_raw
from cdma.workload.dumps.folder import parts
from cdma.workload.dumps.pickled import pickled_names, read_pickled
from cdma.workload.dumps.reading import DumpWarning, Strange, reading, some
from cdma.workload.dumps.safetensors import read_safetensors, safetensors_names
from cdma.workload.dumps.types import is_number, type_name

__all__ = ["check_once", "entries", "has_types", "load"]

_Names = Callable[[Path], dict[str, Strange | None]]
_Read = Callable[[Path, Iterable[str]], dict[str, np.ndarray]]
# Files that have arrays by name.
_NAMED: dict[str, tuple[_Names, _Read]] = {
    ".npz": (npz_names, read_npz), ".safetensors": (safetensors_names, read_safetensors),
    ".pt": (pickled_names, read_pickled), ".pth": (pickled_names, read_pickled)}


def entries(path: str | Path, array: str | Iterable[str] | None = None) -> list[tuple[Path, str]]:
    """The arrays of a dump, without reading them.

    Parameters
    ----------
    path
        As for :func:`load`.
    array
        Name or names of the arrays; all of them when None.

    Returns
    -------
    list[tuple[Path, str]]
        File and name of every array: in the order of the dump, or that of ``array``.

    Raises
    ------
    ValueError
        If the dump cannot be read, has no arrays, or not those that are named.
    """
    path = Path(path)
    there: dict[str, Path] = {}
    odd: dict[str, Strange] = {}
    for file in _files(path):
        for name, strange in _names(file).items():
            if name in there:
                raise ValueError(f"{path} has an array {name!r} in {there[name].name} and in {file.name}")
            there[name] = file
            if strange is not None:
                odd[name] = strange
    if not there:
        raise ValueError(f"{path} holds no arrays")
    if array is None:
        there = _without(path, there, odd)
    wanted = there if array is None else [array] if isinstance(array, str) else array
    for name in wanted:
        if name not in there:
            raise ValueError(f"{path} has no array {name!r}: there {'are' if len(there) > 1 else 'is'} {some(there)}")
    return [(there[name], name) for name in wanted]


def load(path: str | Path, array: str | Iterable[str] | None = None, dtype: str | None = None,
         element_bytes: int | None = None, shape: Sequence[int] | None = None) -> dict[str, np.ndarray]:
    """Read the arrays of a dump.

    Parameters
    ----------
    path
        A .npz, .safetensors, .pt or .pth file (its arrays by name), a folder of such with a manifest, a .npy file (one
        array, named after the file), or any other file: raw little-endian elements.
    array
        Name or names of the arrays to read; all of them when None.
    dtype
        Type of a raw file's elements, see :func:`cdma.workload.dumps.types.element_type`.
    element_bytes
        Size of a raw file's elements when no ``dtype`` is given: 1, 2 or 4.
    shape
        Shape of a raw file's array; one dimension when None.

    Returns
    -------
    dict[str, np.ndarray]
        Little-endian, C-contiguous arrays by name, in the order of the dump. Types that NumPy does not have are those
        of :mod:`cdma.workload.dumps.types`.

    Raises
    ------
    ValueError
        If the dump cannot be read, has no such array, or has values that are not numbers.
    """
    found = {}
    for file, group in groupby(entries(path, array), key=lambda entry: entry[0]):
        names = [name for _, name in group]
        if file.suffix in _NAMED:
            read = _NAMED[file.suffix][1](file, names)
        else:
            read = {names[0]: read_npy(file) if file.suffix == ".npy" else read_raw(file, dtype, element_bytes, shape)}
        found |= {name: _plain(f"{file}: {name}", values) for name, values in read.items()}
    return found


def has_types(path: str | Path) -> bool:
    """Whether the files of a dump say which types their values have, as all but raw files do."""
    path = Path(path)
    return path.is_dir() or path.suffix in _NAMED or path.suffix == ".npy"


def check_once(paths: Iterable[str | Path]) -> None:
    """Check that no file is given twice, also not by different paths.

    Raises
    ------
    ValueError
        If a file is given twice.
    """
    met: dict[Path, Path] = {}
    for path in map(Path, paths):
        for file in _files(path):
            key = file.resolve()
            if key in met:
                raise ValueError(f"{path} is given twice: each of its arrays would count twice" if met[key] == path else
                                 f"{path} is given twice, as {met[key]} as well: each of its arrays would count twice")
            met[key] = path


def _files(path: Path) -> list[Path]:
    return parts(path) if path.is_dir() else [path]


def _names(file: Path) -> dict[str, Strange | None]:
    refuse_pipe(file)
    if file.suffix in _NAMED:
        return _NAMED[file.suffix][0](file)
    with reading(file, "raw elements"):
        file.open("rb").close()
    return {file.stem if file.suffix == ".npy" else file.name: None}


def _without(path: Path, there: dict[str, Path], odd: dict[str, Strange]) -> dict[str, Path]:
    """The arrays that can be read; warns of those that cannot, or only as bytes."""
    kept = {name: file for name, file in there.items() if name not in odd or odd[name].readable}
    if not kept:
        raise ValueError(f"{path} holds no arrays with plain values: {some(there)} "
                         f"({', '.join(dict.fromkeys(each.dtype for each in odd.values()))})")
    for readable, what in ((True, "read as plain bytes"), (False, "left out")):
        some_odd = [name for name, strange in odd.items() if strange.readable is readable]
        if some_odd:
            types = ", ".join(dict.fromkeys(odd[name].dtype for name in some_odd))
            warnings.warn(f"{path}: arrays of types that are not known here ({types}) are {what}: {some(some_odd)}",
                          DumpWarning, stacklevel=3)
    return kept


def _plain(where: str, array: np.ndarray) -> np.ndarray:
    """The array with its bits in the order in which they are stored in device memory."""
    if not is_number(array.dtype):
        raise ValueError(f"{where} holds {type_name(array.dtype)}: only numbers can be coded")
    if array.dtype.byteorder == ">" or (array.dtype.byteorder == "=" and not np.little_endian):
        array = array.astype(array.dtype.newbyteorder("<"))
    return np.ascontiguousarray(array) if array.ndim else array
