"""The .safetensors format: a header in JSON, then the arrays back to back. Read here with NumPy alone.

    byte 0..7   length of the header, little-endian
    header      {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ..., "__metadata__": {...}}
    data        offsets are from its beginning; every byte belongs to one array
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from workload.dumps.reading import reading
from workload.dumps.types import element_type

__all__ = ["read_safetensors", "safetensors_names"]

_LONGEST_HEADER = 100_000_000  # bytes, as in the format's own library

_TYPES = {"BOOL": "bool", "U8": "uint8", "I8": "int8", "F8_E4M3": "float8_e4m3", "F8_E5M2": "float8_e5m2",
          "U16": "<u2", "I16": "<i2", "F16": "<f2", "BF16": "bfloat16", "U32": "<u4", "I32": "<i4", "F32": "<f4",
          "U64": "<u8", "I64": "<i8", "F64": "<f8", "C64": "<c8"}


@dataclass(frozen=True)
class _Place:
    """Where an array is in the file, and what it is."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def safetensors_names(path: Path) -> list[str]:
    """The names of a file's arrays, in the order in which they lie.

    Raises
    ------
    ValueError
        If the file cannot be read, or its header is malformed.
    """
    with reading(path, ".safetensors"), path.open("rb") as file:
        return list(_places(file))


def read_safetensors(path: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Arrays of a file, of which no others are read.

    Raises
    ------
    ValueError
        As for :func:`safetensors_names`, or if an array is of a type that is not known here.
    """
    found = {}
    with reading(path, ".safetensors"), path.open("rb") as file:
        places = _places(file)
        for name in names:
            place = places[name]
            if place.dtype not in _TYPES:
                raise ValueError(f"{name} is of type {place.dtype}, and only {', '.join(_TYPES)} are known")
            file.seek(place.begin)
            content = np.fromfile(file, np.uint8, place.end - place.begin)
            found[name] = content.view(element_type(_TYPES[place.dtype])).reshape(place.shape)
    return found


def _places(file: BinaryIO) -> dict[str, _Place]:
    """The arrays of a file, in the order in which they lie; all that the header says is checked against the file."""
    size = file.seek(0, 2)
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, _LONGEST_HEADER):
        raise ValueError(f"a header of {length} bytes does not fit into the {size} of the file" if size >= 8 else
                         f"it has {size} bytes, too few for the length of a header")
    try:
        header = json.loads(file.read(length), object_pairs_hook=_once)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError("its header is no JSON") from error
    if not isinstance(header, dict):
        raise ValueError("its header is no JSON object")
    header.pop("__metadata__", None)
    places = sorted((_place(name, entry, 8 + length) for name, entry in header.items()),
                    key=lambda found: (found[1].begin, found[1].end))
    at = 8 + length
    for name, place in places:
        if place.begin != at:
            raise ValueError(f"{name} does not lie where the array before it ends")
        at = place.end
    if at != size:
        raise ValueError(f"its arrays end at byte {at}, and the file at {size}")
    return dict(places)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("its header has a name twice")
    return found


def _place(name: str, entry: Any, start: int) -> tuple[str, _Place]:
    """What the header says of an array, checked in itself; ``start`` is where the arrays begin in the file."""
    fields: dict[str, Any] = entry if isinstance(entry, dict) else {}
    dtype, shape, offsets = fields.get("dtype"), fields.get("shape"), fields.get("data_offsets")
    if not (isinstance(dtype, str) and isinstance(shape, list) and isinstance(offsets, list) and len(offsets) == 2
            and all(type(length) is int and length >= 0 for length in (*shape, *offsets)) and offsets[0] <= offsets[1]):
        raise ValueError(f"its header must have a dtype, a shape and two rising data_offsets for {name}")
    begin, end = offsets
    if dtype in _TYPES and end - begin != math.prod(shape) * element_type(_TYPES[dtype]).itemsize:
        raise ValueError(f"{name} has {end - begin} bytes, which are not the {'x'.join(map(str, shape)) or 'one'} "
                         f"values of type {dtype} that the header says")
    return name, _Place(dtype, tuple(shape), start + begin, start + end)
