"""How fast the golden model is on one core, beside zlib, lz4 and zstd at level 1 on the same data in the same run."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cdma.golden.c import library
from cdma.golden.codec.buffers import Bytes
from cdma.golden.codec.crc32c import crc32c
from cdma.golden.results import derived
from cdma.golden.speeds.codecs import codecs
from cdma.golden.speeds.samples import Sample, samples

__all__ = ["Speed", "crc_speed", "machine", "measure"]

RAW_BYTES = 8 << 20

_SECONDS = 0.3
_FEWEST_RUNS = 5

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Speed:
    """One codec on one sample.

    Parameters
    ----------
    codec, coding
        What ran; of blocks their coding, else ``byte planes`` or nothing. See :mod:`cdma.golden.speeds.codecs`.
    values, activation, density
        The data: see :class:`cdma.golden.speeds.samples.Sample`.
    raw_bytes, packed_bytes
        Sizes; None where the codec is not there, as are the speeds.
    compress, decompress
        GB (1e9 bytes) of raw data a second of processor time, the best of several runs. They do not include the CRC.
    note
        Why the codec is not there, or empty.
    """

    codec: str
    coding: str
    values: str
    activation: str
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

    @property
    def label(self) -> str:
        """The codec, with its coding where it has one."""
        return f"{self.codec}, {self.coding}" if self.coding else self.codec

    @property
    def sample(self) -> Sample:
        """The data."""
        return Sample(self.values, self.density, self.activation)


def measure(chosen: Sequence[Sample] | None = None, raw_bytes: int = RAW_BYTES,
            progress: Progress | None = None) -> list[Speed]:
    """Speeds of every codec on the same data; every codec must restore the same bytes.

    Parameters
    ----------
    chosen
        Data to measure with; all of :func:`cdma.golden.speeds.samples.samples` when None.
    raw_bytes
        Of each sample, a multiple of 4.
    progress
        Called with the next measurement, its number, and the number of measurements.

    Raises
    ------
    RuntimeError
        If a codec restores other bytes.
    """
    rows: list[Speed] = []
    jobs = [(sample, list(codecs(sample))) for sample in (samples() if chosen is None else chosen)]
    total = sum(len(own) for _, own in jobs)
    for sample, own in jobs:
        data = sample.data(raw_bytes)
        for codec in own:
            row = Speed(codec.name, codec.coding, sample.values, sample.activation, sample.density, data.size,
                        note=codec.note)
            if progress:
                progress(f"{row.label}: {sample.values}, {sample.label}", len(rows), total)
            rows.append(row if codec.functions is None else _measured(row, data, *codec.functions))
    return rows


def crc_speed(raw_bytes: int = RAW_BYTES) -> float:
    """GB a second of CRC-32C."""
    data = Sample("float32").data(raw_bytes)
    return data.size / _best(lambda: crc32c(data)) / 1e9


def machine() -> dict[str, str]:
    """What the figures were measured on: processor, Python, NumPy, and the compiler of the C library."""
    return {"processor": _processor(), "python": platform.python_version(), "numpy": np.__version__,
            "C library": library.about()}


def _measured(row: Speed, data: Bytes, compress: Callable[[Any], Any], decompress: Callable[[Any], Any]) -> Speed:
    packed = compress(data)
    if not np.array_equal(np.frombuffer(decompress(packed), np.uint8), data):
        raise RuntimeError(f"{row.label} does not give back the same bytes of {row.values}, {row.sample.label}")
    return replace(row, packed_bytes=len(packed), compress=data.size / _best(lambda: compress(data)) / 1e9,
                   decompress=data.size / _best(lambda: decompress(packed)) / 1e9)


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
