"""Calls the C library, compiled where there is a C compiler.

Without a compiler, or with ``CDMA_CODEC=numpy`` in the environment, callers use NumPy.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from ctypes import POINTER, byref, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from pathlib import Path

import numpy as np

from cdma.golden.c.compiled import COMPILERS, compiled, compiler
from cdma.golden.codec.buffers import Bytes

__all__ = ["CODECS", "about", "available", "built", "compress", "expand", "sources", "use"]

CODECS = ("numpy", "c")
"""Names that :func:`use` and ``CDMA_CODEC`` accept."""

_OPTIONS = ("-std=gnu99", "-O3")
_CLONES = '-DCDMA_CODEC_CLONES=__attribute__((target_clones("arch=x86-64-v3","default")))'
"""A second version of what expands, for processors of the last ten years; not every compiler and system has it."""
_UNKNOWN = (1 << 8 * ctypes.sizeof(c_size_t)) - 1
_ANY = -1

_wanted: ContextVar[str | None] = ContextVar("wanted codec", default=None)


class _Stream(ctypes.Structure):
    """``struct cdma_stream`` of cdma_codec.h."""

    _fields_ = (("bytes", c_void_p), ("packed_bytes", c_size_t), ("block_bytes", c_size_t), ("raw_bytes", c_size_t),
                ("coding", c_int))


def sources() -> dict[str, str]:
    """The library, as it is handed over: text by name."""
    folder = Path(__file__).parent
    return {name: (folder / name).read_text(encoding="utf-8") for name in ("cdma_codec.h", "cdma_codec.c")}


@contextmanager
def use(name: str) -> Iterator[None]:
    """Within a ``with``, code blocks with ``numpy`` or with ``c``.

    Raises
    ------
    ValueError
        If the name is not in :data:`CODECS`, or is ``c`` and there is no C compiler.
    """
    if name not in CODECS:
        raise ValueError(f"the codec must be {' or '.join(CODECS)}, not {name!r}")
    if name == "c" and not built():
        raise ValueError(f"the codec c needs a C compiler: none of {', '.join(COMPILERS)} compiles it")
    token = _wanted.set(name)
    try:
        yield
    finally:
        _wanted.reset(token)


def available() -> bool:
    """Whether blocks are coded in C: the library is there, and nobody asked for NumPy."""
    name = _wanted.get() or os.environ.get("CDMA_CODEC", "c")
    if name not in CODECS:
        raise ValueError(f"CDMA_CODEC must be {' or '.join(CODECS)}, not {name!r}")
    return name == "c" and built()


def built() -> bool:
    """Whether the library is there; the first call of a machine compiles it."""
    return _library() is not None


def about() -> str:
    """The compiler and its options, or that there is none."""
    program = compiler()
    if program is None or _library() is None:
        return "no C compiler"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    return f"{said.partition(chr(10))[0].strip() or program} {' '.join(_OPTIONS)}"


def compress(raw: Bytes, coding: int, block_bytes: int, fallback: bool) -> Bytes:
    """The block stream of whole elements; arguments as :func:`cdma.golden.codec.blocks.compress`, checked."""
    library = _library()
    assert library is not None
    flags = int(not fallback)
    out = np.empty(library.cdma_compress_bound(raw.size, block_bytes, flags), np.uint8)
    length = c_size_t()
    status = library.cdma_compress(coding, block_bytes, flags, raw.ctypes.data, raw.size, out.ctypes.data, out.size,
                                   byref(length))
    if status:
        raise RuntimeError(f"the C library reports status {status} of cdma_codec.h for {raw.size} bytes")
    return out[:length.value]


def expand(stream: Bytes, block_bytes: int, raw_bytes: int | None, coding: int | None, out: Bytes) -> int | None:
    """Expand a block stream; returns the raw bytes, or None where it is malformed."""
    library = _library()
    assert library is not None
    described = _Stream(stream.ctypes.data, stream.size, block_bytes, _UNKNOWN if raw_bytes is None else raw_bytes,
                        _ANY if coding is None else coding)
    length = c_size_t()
    status = library.cdma_decompress(byref(described), out.ctypes.data, out.size, byref(length), None)
    return None if status else length.value


@cache
def _library() -> ctypes.CDLL | None:
    library = compiled("codec", sources(), *_OPTIONS, _CLONES) or compiled("codec", sources(), *_OPTIONS)
    if library is None:
        return None
    size = POINTER(c_size_t)
    library.cdma_compress_bound.restype = c_size_t
    library.cdma_compress_bound.argtypes = (c_size_t, c_size_t, c_uint)
    library.cdma_compress.argtypes = (c_int, c_size_t, c_uint, c_void_p, c_size_t, c_void_p, c_size_t, size)
    library.cdma_decompress.argtypes = (POINTER(_Stream), c_void_p, c_size_t, size, c_void_p)
    return library
