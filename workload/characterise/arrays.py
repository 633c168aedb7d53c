"""Measures dumps: density and the ratio of every coding, in every layout, as stored and narrowed.

Arrays are loaded and measured one at a time, in worker processes or on a Dask cluster. Only sums are kept of an array,
so that the dumps may be larger than memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cdma.golden.codec import blocks
from cdma.golden.codec import lines as zvc
from cdma.golden.codec.coding import Coding, coding_name
from cdma.golden.codec.smallest import SIZED
from cdma.workload.characterise.baselines import bound_bytes, rle_bytes, zlib_bytes
from cdma.workload.characterise.density import Density, measure
from cdma.workload.characterise.exponents import Exponents, measure_exponents
from cdma.workload.characterise.spread import on_cluster, on_cores
from cdma.workload.dumps import check_once, entries, is_floating, load, own_element_bytes, type_name
from cdma.workload.dumps.layouts import LAYOUTS, reorder
from cdma.workload.dumps.narrow import narrow
from cdma.workload.dumps.steps import training_step
from cdma.workload.dumps.types import element_type

__all__ = ["CODINGS", "Array", "Coded", "characterise", "characterise_array", "in_all"]

CODINGS = ("zvc8", "zvc16", "zvc32", "rle", "zlib", "blocks", "tags_first", "exponents")
"""Zero-value coding of 8, 16 and 32-bit elements, run-length coding, zlib on 4 KiB windows; then block streams: of
lines, the smallest with the tags first, and the smallest of all, with exponents of 16 or 32 bits or the tags first."""

MIXED = "mixed"
"""The format, and the best coding, of arrays that do not have the same."""

# Below this many bytes of dumps, starting workers takes longer than the work.
_ALONE_BYTES = 4 << 20

# Values that are rounded in one step.
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Coded:
    """One or more arrays in one layout and format: statistics of zeros, and bytes under every coding.

    ``format`` is the format of the values and ``narrowed`` says that they were rounded to it; ``bounds`` are the bytes
    of the bound of mask coding for elements of the size that the coding has, see
    :mod:`cdma.workload.characterise.entropy`, and for block streams of the size of the values. ``streams`` are the
    bytes of each block stream that engines write. ``best`` names the coding of blocks with the fewest bytes, ``raw``
    where none has fewer than the array, and ``best_bytes`` are its bytes. ``exponent_statistics`` are those of
    floating-point values in the stored layout; None for others, and for a sum over several types.
    """

    layout: str
    format: str
    narrowed: bool
    raw_bytes: int
    density: Density
    packed: dict[str, int]
    bounds: dict[str, float]
    streams: dict[Coding, int]
    best: str
    best_bytes: int
    exponent_statistics: Exponents | None = None

    def ratio(self, coding: str) -> float | None:
        """Raw bytes divided by packed bytes; None for an empty array."""
        return self.raw_bytes / self.packed[coding] if self.packed[coding] else None

    def bound(self, coding: str) -> float | None:
        """The ratio at the bound of mask coding; None if the bound is 0 bytes, as for an array of zeros only."""
        return self.raw_bytes / self.bounds[coding] if self.bounds[coding] else None

    @property
    def best_ratio(self) -> float | None:
        """Raw bytes divided by those of the best coding, of each array its own; None for an empty array."""
        return self.raw_bytes / self.best_bytes if self.best_bytes else None

    def as_json(self) -> dict[str, Any]:
        """All figures, with bytes, ratio and bound by coding."""
        return {"layout": self.layout, "format": self.format, "narrowed": self.narrowed, "raw_bytes": self.raw_bytes,
                **self.density.as_json(), "best": self.best, "best_bytes": self.best_bytes,
                "exponent_statistics": self.exponent_statistics, "best_ratio": self.best_ratio, "codings": {
                    name: {"packed_bytes": self.packed[name], "ratio": self.ratio(name), "bound": self.bound(name)}
                    for name in CODINGS}}

    def __add__(self, other: Coded) -> Coded:
        one, two = self.exponent_statistics, other.exponent_statistics
        return Coded(self.layout, _common(self.format, other.format), self.narrowed, self.raw_bytes + other.raw_bytes,
                     self.density + other.density, _sums(self.packed, other.packed), _sums(self.bounds, other.bounds),
                     _sums(self.streams, other.streams), _common(self.best, other.best),
                     self.best_bytes + other.best_bytes,
                     one + two if one and two and self.format == other.format else None)


@dataclass(frozen=True)
class Array:
    """An array of a dump: its name, the layer and step of training in the name, and its figures.

    Arrays of one layer differ in their steps. ``variants[0]`` is the array as it is stored.
    """

    name: str
    layer: str
    step: int | None
    step_unit: str | None
    shape: tuple[int, ...]
    dtype: str
    variants: tuple[Coded, ...] = field(repr=False)

    @property
    def stored(self) -> Coded:
        """The array in the layout and format in which it is stored."""
        return self.variants[0]


def characterise(paths: Iterable[str | Path], names: Iterable[str] | None = None, *, layout: str = "NCHW",
                 form: str | None = "bfloat16", dtype: str | None = None, element_bytes: int | None = None,
                 shape: Sequence[int] | None = None, jobs: int | None = None, scheduler: str | None = None,
                 progress: Callable[[str, int, int], None] | None = None) -> list[Array]:
    """Measure the arrays of dumps.

    Parameters
    ----------
    paths
        Dumps, as :func:`cdma.workload.dumps.load` reads them.
    names
        Arrays to measure of every dump; all of them when None.
    layout
        The layout in which arrays of four dimensions are stored, in all dumps.
    form
        Format of two bytes to narrow longer floating-point values to; None leaves narrowing out.
    dtype, element_bytes, shape
        Type, or size in bytes, of a raw file's elements, and the shape of its array.
    jobs
        Worker processes; None takes one for each core, 1 measures in this process.
    scheduler
        Address of a Dask cluster that is to measure instead, see :func:`cdma.workload.characterise.spread.on_cluster`.
    progress
        Called with a stage, the arrays done and all of them.

    Returns
    -------
    list[Array]
        In the order of paths and files. Names are the arrays', behind the file's where there are several dumps.

    Raises
    ------
    ValueError
        If a dump cannot be read or is given twice, a choice is not allowed, a worker process died, or the cluster
        fails.
    """
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs must be 1 or more worker processes, not {jobs}")
    if jobs is not None and scheduler is not None:
        raise ValueError("a cluster has workers of its own: choose either jobs or a scheduler")
    dumps = [Path(path) for path in paths]
    check_once(dumps)
    wanted = None if names is None else list(names)
    there = [(file, name, _title(path, dumps)) for path in dumps for file, name in entries(path, wanted)]
    # A worker of a cluster may have another working folder.
    tasks = [partial(_measured, file if scheduler is None else file.absolute(), name, prefix, layout, form, dtype,
                     element_bytes, shape) for file, name, prefix in there]
    workers = min(jobs or os.cpu_count() or 1, len(tasks))
    if jobs is None and sum(file.stat().st_size for file in {file for file, _, _ in there}) < _ALONE_BYTES:
        workers = 1
    results = on_cluster(_call, tasks, scheduler) if scheduler is not None else \
        on_cores(_call, tasks, workers) if workers > 1 else map(_call, tasks)
    if progress is not None:
        progress("characterise", 0, len(tasks))
    found: list[Array] = []
    for array in results:
        found.append(array)
        if progress is not None:
            progress("characterise", len(found), len(tasks))
    return found


def characterise_array(array: np.ndarray, name: str = "array", *, layout: str = "NCHW",
                       form: str | None = "bfloat16", prefix: str = "") -> Array:
    """Measure an array; parameters and errors as for :func:`characterise`.

    Parameters
    ----------
    array
        Any shape; numbers.
    name
        Its name, of which ``p020/conv1`` is at 20 % of the training, ``step100/...`` and ``epoch3/...`` have
        the step and epoch.
    prefix
        What stands before the name where there are several dumps; it may have the step instead.
    """
    title = f"{prefix}:{name}" if prefix else name
    layer, step, unit = training_step(name, prefix)
    variants = [(type_name(array.dtype), False, array)]
    if form is not None and is_floating(array.dtype) and array.dtype.itemsize > 2:
        variants.append((form, True, _narrowed(array, form)))
    coded = [coded for label, narrowed, values in variants for coded in _layouts(values, layout, label, narrowed)]
    return Array(title, layer, step, unit, array.shape, type_name(array.dtype), tuple(coded))


def in_all(arrays: Iterable[Array]) -> list[Coded]:
    """The sums over arrays, by layout, first as stored and then narrowed; arrays that are not narrowed are not in
    the latter."""
    sums: dict[tuple[bool, str], Coded] = {}
    for array in arrays:
        for coded in array.variants:
            key = coded.narrowed, coded.layout
            sums[key] = sums[key] + coded if key in sums else coded
    return [sums[key] for key in sorted(sums, key=lambda key: key[0])]


def _measured(file: Path, name: str, prefix: str, layout: str, form: str | None, dtype: str | None,
              element_bytes: int | None, shape: Sequence[int] | None) -> Array:
    array = load(file, name, dtype, element_bytes, shape)[name]
    return characterise_array(array, name, layout=layout, form=form, prefix=prefix)


def _call(task: Callable[[], Array]) -> Array:
    return task()


def _title(path: Path, dumps: list[Path]) -> str:
    """Prefix for the names of a dump's arrays: empty for a single dump, otherwise its stem or its path."""
    if len(dumps) == 1:
        return ""
    return path.stem if sum(other.stem == path.stem for other in dumps) == 1 else str(path)


def _narrowed(array: np.ndarray, form: str) -> np.ndarray:
    """An array rounded to a format of two bytes, chunk by chunk: rounding takes many times the bytes of its values."""
    flat = array.reshape(-1)
    out = np.empty(flat.size, np.uint16)
    for start in range(0, flat.size, _CHUNK):
        out[start:start + _CHUNK] = narrow(flat[start:start + _CHUNK], 2, form)
    return out.view(element_type(form)).reshape(array.shape)


def _layouts(values: np.ndarray, stored: str, form: str, narrowed: bool) -> Iterator[Coded]:
    """An array in all layouts; the stored one comes first."""
    first = _coded(reorder(values, stored, stored), stored, form, narrowed)
    yield replace(first, exponent_statistics=measure_exponents(values))
    for layout in LAYOUTS:
        if layout != stored:
            yield (_coded(reorder(values, layout, stored), layout, form, narrowed) if values.ndim == 4
                   else replace(first, layout=layout))


def _coded(values: np.ndarray, layout: str, form: str, narrowed: bool) -> Coded:
    own = own_element_bytes(values)
    density = measure(values, own)
    bits = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    # Elements of another size than the values may not divide the array, which is then padded with zeros.
    bits = np.concatenate((bits, np.zeros(-bits.size % 4, np.uint8))) if bits.size % 4 else bits
    packed, bounds = {}, {}
    for size in (1, 2, 4):
        counted = bits[:values.nbytes] if values.nbytes % size == 0 else bits
        packed[f"zvc{8 * size}"] = zvc.packed_bytes(counted, size)
        bounds[f"zvc{8 * size}"] = bound_bytes(counted.size // size, int(np.count_nonzero(counted.view(f"<u{size}"))),
                                               size)
    # All are tried on all values, without a sample: zlib takes many times as long.
    streams = {coding: int(blocks.compress(bits if values.nbytes % coding.element_bytes else values, coding).size)
               for coding in SIZED}
    packed |= {"rle": rle_bytes(values, own), "zlib": zlib_bytes(values),
               "blocks": int(blocks.compress(values, Coding(own)).size),
               "tags_first": min(streams[coding] for coding in SIZED if coding.tags_first),
               "exponents": min(streams.values())}
    bounds |= dict.fromkeys(CODINGS[3:], bound_bytes(density.elements, density.nonzero, own))
    fewest, best = min((values.nbytes, Coding.RAW), *((streams[coding], coding) for coding in SIZED),
                       key=lambda each: each[0])
    return Coded(layout, form, narrowed, values.nbytes, density, packed, bounds, streams, coding_name(best), fewest)


def _sums(one: dict[Any, Any], other: dict[Any, Any]) -> dict[Any, Any]:
    return {key: one[key] + other[key] for key in one}


def _common(one: str, other: str) -> str:
    return one if one == other else MIXED
