"""The codecs that are measured: the golden model in NumPy and in C, and zlib, lz4 and zstd.

Those three know nothing of elements. On dense values they do best when the bytes of an array are sorted by their place
in the element, all lowest bytes first, all highest last: *byte planes*.
"""

from __future__ import annotations

import importlib
import importlib.util
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cdma.golden.c.library import CODECS, built, use
from cdma.golden.codec import blocks
from cdma.golden.codec.buffers import Bytes
from cdma.golden.codec.coding import coding_name
from cdma.golden.speeds.samples import Sample

__all__ = ["BYTE_PLANES", "Codec", "Functions", "codecs", "from_planes", "to_planes"]

BYTE_PLANES = "byte planes"

NOT_INSTALLED = "not installed"
NO_COMPILER = "no C compiler"

Functions = tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""Compresses, and decompresses: bytes in, bytes out."""


@dataclass(frozen=True)
class Codec:
    """A codec to be measured.

    Parameters
    ----------
    name
        What runs.
    coding
        Of the blocks; :data:`BYTE_PLANES`, or empty, for codecs that know no blocks.
    functions
        None where there is none.
    note
        Why there is none, or empty.
    """

    name: str
    coding: str
    functions: Functions | None
    note: str = ""


def codecs(sample: Sample) -> Iterator[Codec]:
    """The codecs for values of a sample's type."""
    for coding in sample.codings():
        for name, label in zip(CODECS, ("golden numpy", "C library"), strict=True):
            pair = (partial(_with, name, blocks.compress, coding=coding), partial(_with, name, blocks.decompress))
            there = name == "numpy" or built()
            yield Codec(label, coding_name(coding), pair if there else None, "" if there else NO_COMPILER)
    for name, functions in _general().items():
        note = "" if functions else NOT_INSTALLED
        yield Codec(name, "", functions, note)
        if sample.element_bytes > 1:
            yield Codec(name, BYTE_PLANES, functions and _on_planes(functions, sample.element_bytes), note)


def to_planes(data: Bytes, element_bytes: int) -> Bytes:
    """The lowest bytes of all elements, then the next ones, up to the highest."""
    return np.ascontiguousarray(data.reshape(-1, element_bytes).T).reshape(-1)


def from_planes(planes: Bytes, element_bytes: int) -> Bytes:
    """The reverse of :func:`to_planes`."""
    return np.ascontiguousarray(planes.reshape(element_bytes, -1).T).reshape(-1)


def _on_planes(functions: Functions, element_bytes: int) -> Functions:
    compress, decompress = functions
    return (lambda data: compress(to_planes(data, element_bytes)),
            lambda packed: from_planes(np.frombuffer(decompress(packed), np.uint8), element_bytes))


def _general() -> dict[str, Functions | None]:
    """The general codecs at level 1, by name; None where they are not installed."""
    found: dict[str, Functions | None] = {"zlib 1": (partial(zlib.compress, level=1), zlib.decompress)}
    found["lz4 1"] = found["zstd 1"] = None
    if _installed("lz4"):
        lz4 = importlib.import_module("lz4.frame")
        found["lz4 1"] = (partial(lz4.compress, compression_level=1), lz4.decompress)
    if _installed("zstandard"):
        zstd = importlib.import_module("zstandard")
        found["zstd 1"] = (zstd.ZstdCompressor(level=1).compress, zstd.ZstdDecompressor().decompress)
    return found


def _with(name: str, function: Callable[..., Any], data: Any, **options: Any) -> Any:
    with use(name):
        return function(data, **options)


def _installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None
