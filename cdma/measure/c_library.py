"""The C library of the block stream that engines come with, compiled on this machine and called from Python."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from ctypes import POINTER, byref, c_int, c_size_t, c_uint, c_void_p
from pathlib import Path

import numpy as np

from golden.codec.blocks import BLOCK_BYTES
from golden.codec.buffers import Bytes
from golden.codec.coding import Coding
from golden.speeds.codecs import Functions, Library
from hdl.generate.handover.files import codec

__all__ = ["COMPILERS", "NAME", "OPTIONS", "c_library"]

NAME = "C library"
"""What it is called in tables."""

COMPILERS = ("cc", "gcc", "clang")
"""The C compilers that are tried, in this order."""

OPTIONS = ("-std=c99", "-O3")
"""What it is compiled with."""


class _Stream(ctypes.Structure):
    """``struct cdma_stream`` of cdma_codec.h."""

    _fields_ = (("bytes", c_void_p), ("packed_bytes", c_size_t), ("block_bytes", c_size_t), ("raw_bytes", c_size_t),
                ("coding", c_int))


def c_library() -> Library:
    """The library, or why it cannot be had: no C compiler, or one that fails."""
    compiler = next((name for name in COMPILERS if shutil.which(name)), None)
    if compiler is None:
        return Library(NAME, "no C compiler", None, "no C compiler")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in codec().items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        built = Path(folder) / "codec.so"
        done = subprocess.run([compiler, *OPTIONS, "-shared", "-fPIC", "-o", str(built), "cdma_codec.c"], cwd=folder,
                              capture_output=True, text=True, check=False)
        if done.returncode:
            return Library(NAME, f"{compiler} failed", None, f"{compiler} failed")
        # Loaded code stays after its file is gone.
        loaded = ctypes.CDLL(str(built))
    return Library(NAME, f"{_version(compiler)} {' '.join(OPTIONS)}", _functions(loaded))


def _functions(loaded: ctypes.CDLL) -> Callable[[Coding], Functions]:
    size = POINTER(c_size_t)
    loaded.cdma_compress_bound.restype = c_size_t
    loaded.cdma_compress_bound.argtypes = (c_size_t, c_size_t, c_uint)
    loaded.cdma_compress.argtypes = (c_int, c_size_t, c_uint, c_void_p, c_size_t, c_void_p, c_size_t, size)
    loaded.cdma_decompress.argtypes = (POINTER(_Stream), c_void_p, c_size_t, size, c_void_p)

    def functions(coding: Coding) -> Functions:
        buffers = _Buffers(loaded, coding)
        return buffers.compress, buffers.decompress

    return functions


class _Buffers:
    """Calls with buffers that are kept from call to call, as programs in C keep theirs."""

    def __init__(self, loaded: ctypes.CDLL, coding: Coding) -> None:
        self._loaded, self._coding = loaded, coding
        self._packed = self._raw = np.empty(0, np.uint8)

    def compress(self, data: Bytes) -> Bytes:
        """The block stream, which is valid until the next call."""
        bound = self._loaded.cdma_compress_bound(data.size, BLOCK_BYTES, 0)
        if self._raw.size != data.size:
            self._packed, self._raw = np.empty(bound, np.uint8), np.empty(data.size, np.uint8)
        length = c_size_t()
        _check(self._loaded.cdma_compress(self._coding, BLOCK_BYTES, 0, data.ctypes.data, data.size,
                                          self._packed.ctypes.data, bound, byref(length)))
        return self._packed[:length.value]

    def decompress(self, packed: Bytes) -> Bytes:
        """The raw bytes, which are valid until the next call; of a stream that :meth:`compress` gave."""
        stream = _Stream(packed.ctypes.data, packed.size, BLOCK_BYTES, self._raw.size, self._coding)
        length = c_size_t()
        _check(self._loaded.cdma_decompress(byref(stream), self._raw.ctypes.data, self._raw.size, byref(length), None))
        return self._raw[:length.value]


def _check(status: int) -> None:
    if status:
        raise RuntimeError(f"the C library reports status {status} of cdma_codec.h")


def _version(compiler: str) -> str:
    """The first line of what a compiler says about itself."""
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    return said.partition("\n")[0].strip() or compiler
