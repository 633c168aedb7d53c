"""The ratio of keys and values, measured on a dump."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.smallest import smallest
from cdma.workload.data import SUMS
from cdma.workload.dumps import entries, load, own_element_bytes
from cdma.workload.dumps.types import type_name

__all__ = ["SHIPPED_ARRAYS", "KvRatio", "kv_ratio"]

SHIPPED_ARRAYS = "*qkv#[23]"
"""Keys and values in the shipped dump of a transformer: attention saves queries, keys and values in this order."""


@dataclass(frozen=True)
class KvRatio:
    """What was measured.

    Parameters
    ----------
    ratio, coding
        Raw bytes divided by those of the block streams, and the coding: ``exponents``, or ``zvc`` where that is better.
    dump, arrays, raw_bytes
        The file's name, names of the arrays, and their bytes.
    dtype
        Type of their values.
    """

    ratio: float
    coding: str
    dump: str
    arrays: tuple[str, ...]
    raw_bytes: int
    dtype: str


def kv_ratio(dump: str | Path = SUMS, pattern: str = SHIPPED_ARRAYS) -> KvRatio:
    """The ratio of all arrays of a dump whose names match a pattern, with ``*``, ``?`` and ``[...]``.

    Raises
    ------
    ValueError
        If the dump cannot be read, no array matches, or arrays of different types do.
    """
    named = entries(dump)
    found = [(file, name) for file, name in named if fnmatchcase(name, pattern)]
    if not found:
        raise ValueError(f"{dump} has no array that matches {pattern!r}: it has {_some([name for _, name in named])}")
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
    return KvRatio(raw / packed[coding], coding, Path(dump).name, tuple(name for _, name in found), raw, types.pop())


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (" and others" if len(names) > 8 else "")
