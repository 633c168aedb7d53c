"""How fast the golden model is on one core, beside zlib, lz4 and zstd at level 1 on the same data in the same run.

    python -m golden.bench [--json] [--megabytes N] [--density D ...]
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import platform
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from golden.codec import blocks
from golden.codec.buffers import Bytes
from golden.codec.crc32c import crc32c
from golden.kernels.choice import KERNELS, numba_installed, use
from golden.results import derived, to_json

__all__ = ["DENSITIES", "Bench", "Speed", "crc_speed", "machine", "main", "measure", "sample", "table"]

DENSITIES = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Densities of the table."""

RAW_BYTES = 8 << 20

_SECONDS = 0.15
_FEWEST_RUNS = 3

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Speed:
    """One codec at one density and element size.

    Parameters
    ----------
    codec
        Its name; ``golden`` with its inner loops.
    element_bits, density
        Of the data.
    raw_bytes, packed_bytes
        Sizes; None where the codec is not installed, as are the speeds.
    compress, decompress
        GB (1e9 bytes) of raw data a second, the best of several runs. They do not include the CRC.
    note
        ``not installed``, or empty.
    """

    codec: str
    element_bits: int
    density: float
    raw_bytes: int
    packed_bytes: int | None = None
    compress: float | None = None
    decompress: float | None = None
    note: str = ""

    @derived
    def ratio(self) -> float | None:
        """Raw bytes by packed bytes."""
        return None if self.packed_bytes is None else self.raw_bytes / self.packed_bytes


@dataclass(frozen=True)
class Bench:
    """What was measured: on which machine, the CRC's GB a second, and the codecs."""

    machine: dict[str, str]
    crc32c: float
    rows: tuple[Speed, ...]


def sample(density: float, element_bytes: int, raw_bytes: int, seed: int = 0) -> Bytes:
    """Data like activations after a ReLU: float32, float16 or 8-bit integers, with zeros at random places."""
    rng = np.random.default_rng(seed)
    count = raw_bytes // element_bytes
    values = np.abs(rng.standard_normal(count, np.float32)) + np.float32(0.01)
    values[rng.random(count, np.float32) >= density] = 0
    if element_bytes == 1:
        # Rounded away from zero, so that the density does not change.
        return np.ceil(np.minimum(values * 32, 127)).astype(np.uint8)
    return values.astype(f"<f{element_bytes}").view(np.uint8)


def measure(densities: Sequence[float] = DENSITIES, element_bytes: Sequence[int] = (4, 2, 1),
            raw_bytes: int = RAW_BYTES, progress: Progress | None = None) -> list[Speed]:
    """Speeds of every codec on the same data; every codec must restore the same bytes.

    Parameters
    ----------
    densities, element_bytes
        Of the data.
    raw_bytes
        Of the data, a multiple of 4.
    progress
        Called with the next measurement, its number, and the number of measurements.

    Raises
    ------
    RuntimeError
        If a codec restores other bytes.
    """
    rows: list[Speed] = []
    names = list(_codecs(4))
    total = len(densities) * len(element_bytes) * len(names)
    for size in element_bytes:
        for density in densities:
            data = sample(density, size, raw_bytes)
            for codec, pair in _codecs(size).items():
                if progress:
                    progress(f"{codec}, {8 * size} bit, density {density:.1f}", len(rows), total)
                row = Speed(codec, 8 * size, density, data.size, note="not installed")
                rows.append(row if pair is None else _measured(row, data, *pair))
    return rows


def crc_speed(raw_bytes: int = RAW_BYTES) -> float:
    """GB a second of CRC-32C."""
    data = sample(1.0, 4, raw_bytes)
    return data.size / _best(lambda: crc32c(data)) / 1e9


def machine() -> dict[str, str]:
    """What the figures were measured on: processor, Python, NumPy, Numba."""
    return {"processor": _processor(), "python": platform.python_version(), "numpy": np.__version__,
            "numba": importlib.import_module("numba").__version__ if numba_installed() else "not installed"}


def table(rows: Sequence[Speed]) -> str:
    """The rows as text: for each element size, a line per density and codec."""
    lines = [f"{'bits':>4}  {'density':>7}  {'codec':<14}  {'ratio':>7}  {'in GB/s':>8}  {'out GB/s':>8}"]
    lines.append("  ".join("-" * width for width in (4, 7, 14, 7, 8, 8)))
    for row in rows:
        figures = (f"{row.ratio:7.3f}  {row.compress:8.2f}  {row.decompress:8.2f}"
                   if row.ratio is not None else row.note)
        lines.append(f"{row.element_bits:4}  {row.density:7.1f}  {row.codec:<14}  {figures}")
    return "\n".join(lines)


_Codec = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def _codecs(element_bytes: int) -> dict[str, _Codec | None]:
    """The functions that pack and unpack, by name; None where they are not installed."""
    found: dict[str, _Codec | None] = {}
    for name in KERNELS:
        there = name != "numba" or numba_installed()
        found[f"golden {name}"] = (partial(_with, name, blocks.compress, coding=element_bytes),
                                   partial(_with, name, blocks.decompress)) if there else None
    found["zlib 1"] = (partial(zlib.compress, level=1), zlib.decompress)
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


def _measured(row: Speed, data: Bytes, compress: Callable[[Any], Any], decompress: Callable[[Any], Any]) -> Speed:
    packed = compress(data)
    if not np.array_equal(np.frombuffer(decompress(packed), np.uint8), data):
        raise RuntimeError(f"{row.codec} does not give back the same bytes at density {row.density}")
    return Speed(row.codec, row.element_bits, row.density, row.raw_bytes, len(packed),
                 data.size / _best(lambda: compress(data)) / 1e9, data.size / _best(lambda: decompress(packed)) / 1e9)


def _best(function: Callable[[], Any]) -> float:
    """Seconds of the fastest run of a function."""
    best = float("inf")
    runs, until = 0, time.perf_counter() + _SECONDS
    while runs < _FEWEST_RUNS or time.perf_counter() < until:
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
        runs += 1
    return best


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m golden.bench", description=(
        "Measure the golden model on one core, beside zlib, lz4 and zstd at level 1 on the same data."))
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--megabytes", type=_megabytes, default=RAW_BYTES >> 20, metavar="N",
                        help=f"raw data for each measurement in MiB, 1 to 1024 (default: {RAW_BYTES >> 20})")
    parser.add_argument("--density", type=_density, nargs="+", default=DENSITIES, metavar="D",
                        help="shares of elements that are not zero, 0 to 1 "
                             f"(default: {' '.join(map(str, DENSITIES))})")
    call = parser.parse_args(arguments)
    raw_bytes = call.megabytes << 20
    with _progress() as progress:
        rows = measure(call.density, raw_bytes=raw_bytes, progress=progress)
    outcome = Bench(machine(), crc_speed(raw_bytes), tuple(rows))
    if call.json:
        print(json.dumps(to_json(outcome), indent=1))
        return 0
    print(table(rows))
    print(f"\nCRC-32C: {outcome.crc32c:.2f} GB/s. {call.megabytes} MiB of raw data; "
          + ", ".join(f"{name} {value}" for name, value in outcome.machine.items()))
    return 0


def _megabytes(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to 1024, not {text!r}")
    return int(text)


def _density(text: str) -> float:
    try:
        density = float(text)
    except ValueError:
        density = -1.0
    if not 0 <= density <= 1:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 1, not {text!r}")
    return density


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """A progress line on standard error, overwritten each time; None if that is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return

    def show(text: str, number: int, total: int) -> None:
        print(f"\r\033[K{number}/{total}  {text}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
