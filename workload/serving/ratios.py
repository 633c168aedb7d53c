"""The ratio of keys and values, measured on a dump."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.smallest import smallest
from cdma.workload.data import SUMS
from cdma.workload.dumps import entries, load, own_element_bytes
from cdma.workload.dumps.reading import some
from cdma.workload.dumps.types import type_name

__all__ = ["SHIPPED_ARRAYS", "kv_ratio"]

SHIPPED_ARRAYS = "*qkv#[23]"
"""Keys and values in the shipped dump of a transformer: attention saves queries, keys and values in this order."""


def kv_ratio(dump: str | Path = SUMS, pattern: str = SHIPPED_ARRAYS) -> dict[str, Any]:
    """The ratio of all arrays of a dump whose names match a pattern, with ``*``, ``?`` and ``[...]``.

    Returns
    -------
    dict[str, Any]
        ``ratio``: raw bytes divided by those of the block streams, by ``coding``: ``exponents``, or ``zvc`` where that
        is better; ``dump``, ``arrays``, ``raw_bytes``: the file's name, names of the arrays, and their bytes;
        ``dtype``: type of their values.

    Raises
    ------
    ValueError
        If the dump cannot be read, no array matches, or arrays of different types do.
    """
    named = entries(dump)
    found = [(file, name) for file, name in named if fnmatchcase(name, pattern)]
    if not found:
        raise ValueError(f"{dump} has no array that matches {pattern!r}: it has {some(name for _, name in named)}")
    raw, packed, types = 0, dict.fromkeys(("zvc", "exponents"), 0), set()
    for file, name in found:
        array = load(file, name)[name]
        element, kind = own_element_bytes(array), type_name(array.dtype)
        bits = np.ascontiguousarray(array).reshape(-1).view(f"u{element}")
        types.add(kind)
        raw += bits.nbytes
        zvc = blocks.compress(bits, Coding(0x10 | element)).size
        packed["zvc"] += zvc
        # Where exponents gain nothing this is zero-value coding too, which stands first and is taken then.
        packed["exponents"] += min(zvc, blocks.compress(bits, smallest(bits)).size)
    if len(types) > 1 or not raw:
        raise ValueError(f"{pattern!r} matches arrays of {' and '.join(sorted(types)) if raw else 'no bytes'} in "
                         f"{dump}: give a pattern (--array) for keys and values of one type")
    coding = min(packed, key=packed.__getitem__)
    return {"ratio": raw / packed[coding], "coding": coding, "dump": Path(dump).name,
            "arrays": [name for _, name in found], "raw_bytes": raw, "dtype": types.pop()}
