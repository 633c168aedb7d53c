"""The ratio of keys and values, measured on a dump."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from cdma.workload.data import SUMS
from cdma.workload.dumps import entries, load
from cdma.workload.dumps.reading import some
from cdma.workload.dumps.types import type_name
from cdma.workload.timeline.ratios import ALGORITHMS

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
        array = load(file, name)[name].reshape(-1)
        types.add(type_name(array.dtype))
        raw += array.nbytes
        zvc, exponents = (ALGORITHMS[coding](array) for coding in packed)
        packed["zvc"] += zvc
        # Where exponents gain nothing zero-value coding stands first, and is taken.
        packed["exponents"] += min(zvc, exponents)
    if len(types) > 1 or not raw:
        raise ValueError(f"{pattern!r} matches arrays of {' and '.join(sorted(types)) if raw else 'no bytes'} in "
                         f"{dump}: give a pattern (--array) for keys and values of one type")
    coding = min(packed, key=packed.__getitem__)
    return {"ratio": raw / packed[coding], "coding": coding, "dump": Path(dump).name,
            "arrays": [name for _, name in found], "raw_bytes": raw, "dtype": types.pop()}
