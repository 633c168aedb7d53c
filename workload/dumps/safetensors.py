"""The .safetensors format: the library checks a file and lists its arrays, and NumPy maps them.

The library's own arrays are not used: it has no 8-bit floats in NumPy, and it copies the data. A mapped array needs no
memory until it is read, and its pages can be dropped again, so a dump may be larger than memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from cdma.workload.dumps.reading import Strange, reading
from cdma.workload.dumps.types import element_type

__all__ = ["read_safetensors", "safetensors_names"]

_TYPES = {"BOOL": "bool", "U8": "uint8", "I8": "int8", "F8_E4M3": "float8_e4m3", "F8_E5M2": "float8_e5m2",
          "U16": "<u2", "I16": "<i2", "F16": "<f2", "BF16": "bfloat16", "U32": "<u4", "I32": "<i4", "F32": "<f4",
          "U64": "<u8", "I64": "<i8", "F64": "<f8", "C64": "<c8"}
_LENGTH_BYTES = 8


def safetensors_names(path: Path) -> dict[str, Strange | None]:
    """The names of a file's arrays, in the order in which they lie, and what is strange about them.

    Raises
    ------
    ValueError
        If the file cannot be read, or its header is malformed.
    """
    with _reading(path), safe_open(path, "numpy") as file:
        types = {name: file.get_slice(name).get_dtype() for name in file.offset_keys()}
    return {name: None if dtype in _TYPES else Strange(dtype) for name, dtype in types.items()}


def read_safetensors(path: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Arrays of a file, mapped copy-on-write: writes to them do not change the file. Those of types that are not known
    here are their bytes.

    Raises
    ------
    ValueError
        As for :func:`safetensors_names`.
    """
    found = {}
    with _reading(path), safe_open(path, "numpy") as file:
        content = np.memmap(path, np.uint8, "c")
        start = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES].tobytes(), "little")
        header = json.loads(content[_LENGTH_BYTES:start].tobytes())
        for name in names:
            place = file.get_slice(name)
            begin, end = header[name]["data_offsets"]
            array = content[start + begin:start + end]
            if place.get_dtype() in _TYPES:
                array = array.view(element_type(_TYPES[place.get_dtype()])).reshape(place.get_shape())
            found[name] = np.require(array, requirements="A")
    return found


def _reading(path: Path) -> AbstractContextManager[None]:
    return reading(path, ".safetensors", (SafetensorError,))
