"""How fast the golden model is on one core, beside zlib, lz4 and zstd at level 1 on the same data in the same run.

Those three know nothing of elements. On dense values they do best when the bytes of an array are sorted by their place
in the element, all lowest bytes first, all highest last: *byte planes*.
"""

from __future__ import annotations

import importlib
import importlib.util
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cdma.golden.c import library
from cdma.golden.codec import blocks
from cdma.golden.codec.buffers import Bytes
from cdma.golden.codec.coding import Coding, coding_name
from cdma.golden.codec.crc32c import crc32c
from cdma.golden.codec.narrowing import Narrowing, narrow

__all__ = ["BYTE_PLANES", "GELU", "RELU", "SAMPLES", "Sample", "codecs", "crc_speed", "data_of", "machine", "measure"]

RAW_BYTES = 8 << 20
BYTE_PLANES = "byte planes"
RELU, GELU = "ReLU", "GELU"
"""What values are the outputs of: no value is negative, and zeros are at random places; or dense values of both signs.
"""

_ELEMENT_BYTES = {"float32": 4, "bfloat16": 2, "uint8": 1}
_DENSITIES = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
_SECONDS = 0.3
_FEWEST_RUNS = 5

Functions = tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""Compresses, and decompresses: bytes in, bytes out."""


class Sample(NamedTuple):
    """Data to measure with: type of the values, share of the elements that are not zero, and what they are like."""

    values: str
    density: float = 1.0
    activation: str = RELU


SAMPLES = tuple(sample for values in _ELEMENT_BYTES for sample in (
    *(Sample(values, density) for density in _DENSITIES), Sample(values, activation=GELU)) if sample != (
    "uint8", 1.0, GELU))
"""Values of each type behind a ReLU, those of floating point behind a GELU too."""


def data_of(sample: Sample, raw_bytes: int) -> Bytes:
    """The bytes of the values; ``raw_bytes`` is a multiple of 4."""
    rng = np.random.default_rng(0)
    found = rng.standard_normal(raw_bytes // _ELEMENT_BYTES[sample.values], np.float32)
    if sample.activation == GELU:
        # By the hyperbolic tangent, as PyTorch's approximate="tanh".
        found *= (1 + np.tanh(np.float32(0.7978845608) * (found + np.float32(0.044715) * found ** 3))) / 2
    else:
        found = np.abs(found) + np.float32(0.01)
        found[rng.random(found.size, np.float32) >= sample.density] = 0
    if sample.values == "uint8":
        # Rounded away from zero, so that the density does not change.
        return np.ceil(np.minimum(found * 32, 127)).astype(np.uint8)
    if sample.values == "bfloat16":
        return narrow(found, Narrowing.BFLOAT16).view(np.uint8)
    return found.astype("<f4").view(np.uint8)


def codecs(values: str) -> Iterator[tuple[str, str, Functions | None, str]]:
    """The codecs for values of a type: what runs; the coding of its blocks, :data:`BYTE_PLANES`, or nothing; how, or
    None where it is not there; and why it is not."""
    size = _ELEMENT_BYTES[values]
    for coding in (size, 0x10 | size, *((0x20 | size,) if size > 1 else ())):
        for name, label in zip(library.CODECS, ("golden numpy", "C library"), strict=True):
            pair = partial(_with, name, blocks.compress, coding=coding), partial(_with, name, blocks.decompress)
            there = name == "numpy" or library.built()
            yield label, coding_name(Coding(coding)), pair if there else None, "" if there else "no C compiler"
    general = {"zlib 1": ("zlib", lambda zlib: (partial(zlib.compress, level=1), zlib.decompress)),
               "lz4 1": ("lz4.frame", lambda lz4: (partial(lz4.compress, compression_level=1), lz4.decompress)),
               "zstd 1": ("zstandard", lambda zstd: (zstd.ZstdCompressor(level=1).compress,
                                                     zstd.ZstdDecompressor().decompress))}
    for name, (module, functions_of) in general.items():
        there = _installed(module.partition(".")[0])
        functions = functions_of(importlib.import_module(module)) if there else None
        yield name, "", functions, "" if there else "not installed"
        if size > 1:
            yield name, BYTE_PLANES, functions and _on_planes(functions, size), "" if there else "not installed"


def _on_planes(functions: Functions, size: int) -> Functions:
    """The lowest bytes of all elements first, then the next ones, up to the highest."""
    def turned(data: Any, shape: tuple[int, int]) -> Bytes:
        return np.ascontiguousarray(np.frombuffer(data, np.uint8).reshape(shape).T).reshape(-1)

    return (lambda data: functions[0](turned(data, (-1, size))),
            lambda packed: turned(functions[1](packed), (size, -1)))


def _with(name: str, function: Callable[..., Any], data: Any, **options: Any) -> Any:
    with library.use(name):
        return function(data, **options)


def _installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def measure(chosen: Iterable[Sample] = SAMPLES, raw_bytes: int = RAW_BYTES,
            progress: Callable[[str, int, int], None] | None = None) -> list[dict[str, Any]]:
    """Speeds of every codec on the same data; every codec must restore the same bytes.

    Parameters
    ----------
    chosen
        Data to measure with.
    raw_bytes
        Of each sample, a multiple of 4.
    progress
        Called with the next measurement, its number, and the number of measurements.

    Returns
    -------
    list[dict[str, Any]]
        Of each codec and sample, see :func:`codecs` and :class:`Sample`, the sizes, and ``compress`` and
        ``decompress``: GB (1e9 bytes) of raw data a second of processor time, the best of several runs, without the
        CRC. What is not there has None for these, and ``note`` says why.

    Raises
    ------
    RuntimeError
        If a codec restores other bytes.
    """
    rows: list[dict[str, Any]] = []
    jobs = [(sample, list(codecs(sample.values))) for sample in chosen]
    for sample, own in jobs:
        data = data_of(sample, raw_bytes)
        for name, coding, functions, note in own:
            what = (f"{', '.join(filter(None, (name, coding)))}: {sample.values}, "
                    f"{f'{sample.density:.1f}' if sample.activation == RELU else sample.activation}")
            if progress:
                progress(what, len(rows), sum(len(own) for _, own in jobs))
            rows.append({"codec": name, "coding": coding, "values": sample.values, "activation": sample.activation,
                         "density": sample.density, "raw_bytes": data.size,
                         **_speeds(what, data, functions), "note": note})
            rows[-1]["ratio"] = None if functions is None else data.size / rows[-1]["packed_bytes"]
    return rows


def crc_speed(raw_bytes: int = RAW_BYTES) -> float:
    """GB a second of CRC-32C."""
    data = data_of(Sample("float32"), raw_bytes)
    return data.size / _best(lambda: crc32c(data)) / 1e9


def machine() -> dict[str, str]:
    """What the figures were measured on: processor, Python, NumPy, and the compiler of the C library."""
    return {"processor": _processor(), "python": platform.python_version(), "numpy": np.__version__,
            "C library": library.about()}


def _speeds(what: str, data: Bytes, functions: Functions | None) -> dict[str, Any]:
    if functions is None:
        return dict.fromkeys(("packed_bytes", "compress", "decompress"))
    compress, decompress = functions
    packed = compress(data)
    if not np.array_equal(np.frombuffer(decompress(packed), np.uint8), data):
        raise RuntimeError(f"a codec does not give back the same bytes: {what}")
    return {"packed_bytes": len(packed), "compress": data.size / _best(lambda: compress(data)) / 1e9,
            "decompress": data.size / _best(lambda: decompress(packed)) / 1e9}


def _best(function: Callable[[], Any]) -> float:
    """Seconds of the fastest run of a function, in time of the processor: what else the machine does counts less."""
    best = float("inf")
    runs, until = 0, time.perf_counter() + _SECONDS
    while runs < _FEWEST_RUNS or time.perf_counter() < until:
        start = time.process_time()
        function()
        best = min(best, max(time.process_time() - start, 1e-9))
        runs += 1
    return best


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
