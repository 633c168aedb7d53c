"""Measures the engine in simulation: how busy the link and the lanes are, the effective bandwidth, and what options
cost: streams in pages, and completions in write-back rings; and transfers of fragments by rings."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from cdma.golden.codec.coding import Coding, coding_name
from cdma.hdl.config.engine import EngineConfig
from cdma.verif.common import runner
from cdma.verif.engine.build import build_engine
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.top import IMAGE_BYTES

__all__ = ["DENSITIES", "FRAGMENTS", "LANES", "LATENCIES", "LOADS", "PAGED_LOADS", "QUICK", "RAW_BYTES", "SIZES",
           "SLOW", "SMALL_BYTES", "WAYS", "fragments", "measure", "paged", "scaling", "small", "written_back"]

DENSITIES = tuple(tenth / 10 for tenth in range(11))
"""Densities of the table."""

LANES = (1, 2, 4, 8, 12, 16)
"""Numbers of lanes of the second table; 12 lanes share no tensor evenly."""

LOADS = ((Coding.ZVC32, 0.1), (Coding.BFLOAT16, 1.0))
"""Codings and densities of the second table: sparse and dense."""

SMALL_BYTES = 1 << 19
"""Bytes of all small tensors of a size together."""

SIZES = (1 << 13, 1 << 14, 1 << 16)
"""Bytes of the small tensors."""

FRAGMENTS = (1 << 8, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 16)
"""Bytes of the fragments."""

WAYS = ("in order", "random", "both")
"""How fragments are moved: one direction at a time, by ascending addresses and in random order; and both directions at
the same time."""

LATENCIES = (0, 350)
"""Cycles of latency of the memories, for small tensors and for options."""

RAW_BYTES = 1 << 20
"""Size of each tensor; the figures in the design's limits are for this."""

QUICK = Behaviour()
"""Memories that answer at once."""

SLOW = Behaviour(latency=350, stalls=0.1, longest=8)
"""Memories with the latency of the paper, and with random pauses."""

PAGED_LOADS = tuple((*load, 8) for load in LOADS)
"""Codings, densities and numbers of the tensors of the table of streams in pages. Only the list of the first tensor is
waited for, so fewer tensors show that wait and not the rate."""

_PAGE_SIZE = 12
"""Logarithm of the bytes of the pages that streams are measured in: the smallest pages."""

_FEWEST, _MOST = 24, 96
"""Numbers of fragments of a size."""

_RING_ENTRIES = 64
"""Records of a write-back ring."""

Row = dict[str, Any]


def measure(config: EngineConfig, densities: Sequence[float] = DENSITIES, how: Behaviour = QUICK, *,
            raw_bytes: int = RAW_BYTES, coding: Coding | None = None, build_dir: Path, seed: int = 1) -> list[Row]:
    """How fast an engine moves a tensor of every density, in both directions, one transfer at a time.

    Parameters
    ----------
    how
        How all memories answer.
    coding
        Of the tensors' blocks; zero-value coding of the largest elements that were built when not given.

    Returns
    -------
    list
        Rows with the engine's name and widths, the direction, latency and stalls of all memories, the coding, the
        density asked for, the sizes of tensor and stream, and the cycles from the first beat on any port to the last;
        ``link_busy``, beats that passed the link by the cycles from its first to its last beat; ``lanes_busy``, the
        same of all lanes together, by their number; ``bytes_per_cycle``, the effective bandwidth in raw bytes;
        ``limit``, what ports of these widths can carry: the lanes their beats, the link its beats times the ratio, both
        less the share of cycles in which memories pause; and ``share``, how busy the side is that sets the limit, by
        how busy it can be.

    Raises
    ------
    RuntimeError
        If a tool is missing, or a byte comes out wrong: a figure of an engine that does not work means nothing.
    """
    coding = coding or _widest(config)
    return [_row(config, how, coding, passage)
            for passage in _passages(config, how, coding, densities, raw_bytes, build_dir=build_dir, seed=seed)]


def _widest(config: EngineConfig) -> Coding:
    return Coding[f"ZVC{8 * max(config.element_bytes)}"]


def _passages(config: EngineConfig, how: Behaviour, coding: Coding, densities: Sequence[float], raw_bytes: int, *,
              count: int = 1, image_bytes: int = IMAGE_BYTES, page_size: int | None = None,
              ring_entries: int | None = None, build_dir: Path, seed: int) -> list[Row]:
    """What :mod:`cdma.verif.engine.benches.measure` saw of so many tensors of each density, one directly after the
    other; errors as :func:`measure`.

    ``page_size``: streams are in pages, the logarithm of whose bytes this is. ``ring_entries``: completions are written
    to rings of this size, and not read from the window.
    """
    built = build_engine(config, image_bytes=image_bytes, build_dir=build_dir)
    job = {"config": config, "densities": densities, "raw_bytes": raw_bytes, "coding": int(coding), "behaviour": how,
           "count": count, "image_bytes": image_bytes, "page_size": page_size, "ring_entries": ring_entries}
    with tempfile.TemporaryDirectory(prefix="cdma-") as place:
        return runner.run(built, "cdma.verif.engine.benches.measure", job=job, folder=Path(place),
                          seed=seed)["passages"]


def _row(config: EngineConfig, how: Behaviour, coding: Coding, passage: Row) -> Row:
    """The figures of what a bench saw, with memories that answer in this way."""
    link_beats, link_first, link_last = passage["link"]
    firsts, lasts = ([lane[at] for lane in passage["lanes"]] for at in (1, 2))
    first, last = min(firsts), max(lasts)
    lanes_busy = sum(beats for beats, *_ in passage["lanes"]) / (last - first + 1) / config.lanes
    link_busy = link_beats / (link_last - link_first + 1)
    cycles = max(last, link_last) - min(first, link_first) + 1
    open_ = 1 - how.stalls
    by_lanes = config.lanes * config.beat_bytes * open_
    by_link = config.link_beat_bytes * passage["raw_bytes"] / passage["packed_bytes"] * open_
    return {
        "name": config.name, "lanes": config.lanes, "beat_bytes": config.beat_bytes,
        "link_beat_bytes": config.link_beat_bytes, "direction": passage["direction"], "latency": how.latency,
        "stalls": how.stalls, "coding": coding_name(coding), "density": passage["density"],
        "raw_bytes": passage["raw_bytes"], "packed_bytes": passage["packed_bytes"], "cycles": cycles,
        "link_busy": link_busy, "lanes_busy": lanes_busy, "bytes_per_cycle": passage["raw_bytes"] / cycles,
        "limit": min(by_lanes, by_link), "share": (link_busy if by_link <= by_lanes else lanes_busy) / open_}


def _transfer(row: Row) -> Row:
    """What a row says of the transfer."""
    return {name: row[name] for name in ("name", "direction", "latency", "coding", "density")}


def scaling(config: EngineConfig, lanes: Sequence[int] = LANES, loads: Sequence[tuple[Coding, float]] = LOADS,
            how: Behaviour = QUICK, *, raw_bytes: int = RAW_BYTES, build_dir: Path, seed: int = 1) -> list[Row]:
    """How throughput grows with the lanes, all else as configured; rows and errors as :func:`measure`.

    Parameters
    ----------
    lanes
        Numbers of lanes.
    loads
        Codings and densities of the tensors; those with codings that are not built are left out.
    """
    return [row for count in lanes for coding, density in loads if coding in config.numbers
            for row in measure(config.replace(lanes=count), [density], how, raw_bytes=raw_bytes, coding=coding,
                               build_dir=build_dir, seed=seed)]


def _image(need: int) -> int:
    """Bytes of memories that hold so many."""
    return max(IMAGE_BYTES, 1 << (need - 1).bit_length())


def _small_image(config: EngineConfig, size: int, raw_bytes: int) -> int:
    """Bytes of memories in which tensors of a size, so many bytes together, have places for both directions."""
    # Every tensor lies in a memory twice, with gaps between them.
    return _image(2 * (raw_bytes // size) * (size + (config.lanes + 1) * config.block_bytes) + 2 * raw_bytes)


def small(config: EngineConfig, sizes: Sequence[int] = SIZES, latencies: Sequence[int] = LATENCIES, *,
          density: float = 0.4, raw_bytes: int = SMALL_BYTES, build_dir: Path, seed: int = 1) -> list[Row]:
    """How fast an engine moves small tensors, one directly after the other, and one alone; errors as :func:`measure`.

    Parameters
    ----------
    sizes
        Bytes of a tensor.
    latencies
        Of all memories, in cycles.
    raw_bytes
        Bytes of all tensors of a size together.

    Returns
    -------
    list
        Rows with size and number of the tensors, cycles of the completion of one that goes alone, and the figures of
        all of them as in :func:`measure`.
    """
    coding, image_bytes = _widest(config), _small_image(config, min(sizes), raw_bytes)
    rows = []
    for latency, size in product(latencies, sizes):
        how, count = Behaviour(latency=latency), raw_bytes // size
        seen = partial(_passages, config, how, coding, (density,), size, image_bytes=image_bytes, build_dir=build_dir,
                       seed=seed)
        for one, passage in zip(seen(), seen(count=count), strict=True):
            row = _row(config, how, coding, passage)
            rows.append({"name": config.name, "transfers_in_flight": config.transfers_in_flight} | _transfer(row) | {
                "tensor_bytes": size, "tensors": count, "alone_cycles": one["cycles"],
                **{name: row[name] for name in ("bytes_per_cycle", "limit", "share")}})
    return rows


def paged(config: EngineConfig, loads: Sequence[tuple[Coding, float, int]] = PAGED_LOADS,
          latencies: Sequence[int] = LATENCIES, *, raw_bytes: int = RAW_BYTES, build_dir: Path,
          seed: int = 1) -> list[Row]:
    """How fast an engine with page lists moves tensors whose streams are in pages of 4 KiB, beside streams at one
    address; errors as :func:`measure`.

    Parameters
    ----------
    loads
        Codings, densities and numbers of the tensors, which go one directly after the other; those with codings that
        are not built are left out.
    latencies
        Of all memories, in cycles.
    raw_bytes
        Bytes of a tensor.

    Returns
    -------
    list
        Rows with the bytes of a page, number and bytes of the tensors, and the effective bandwidth in pages and with
        each stream at one address.
    """
    most = max(count for _, _, count in loads)
    # Every tensor lies in a memory twice, with gaps between them; pages are whole, and there are some more of them.
    image_bytes = _image(2 * most * (raw_bytes + raw_bytes // 64 + (config.lanes + 1) * config.block_bytes
                                     + (8 << _PAGE_SIZE)))
    rows = []
    for latency, (coding, density, count) in product(latencies, loads):
        if coding not in config.numbers:
            continue
        how = Behaviour(latency=latency)
        contiguous, pages = (_passages(config, how, coding, (density,), raw_bytes, count=count, image_bytes=image_bytes,
                                       page_size=page_size, build_dir=build_dir, seed=seed)
                             for page_size in (None, _PAGE_SIZE))
        for plain, passage in zip(contiguous, pages, strict=True):
            row = _row(config, how, coding, passage)
            rows.append(_transfer(row) | {
                "page_bytes": 1 << _PAGE_SIZE, "tensors": count, "raw_bytes": row["raw_bytes"],
                "packed_bytes": row["packed_bytes"], "bytes_per_cycle": row["bytes_per_cycle"],
                "contiguous_bytes_per_cycle": _row(config, how, coding, plain)["bytes_per_cycle"]})
    return rows


def written_back(config: EngineConfig, sizes: Sequence[int] = SIZES, latencies: Sequence[int] = LATENCIES, *,
                 density: float = 0.4, raw_bytes: int = SMALL_BYTES, build_dir: Path, seed: int = 1) -> list[Row]:
    """How fast an engine with write-back moves small tensors, with records in a ring and without, and how long after
    the data a record is there; errors as :func:`measure`, parameters as :func:`small`.

    Returns
    -------
    list
        Rows with size and number of the tensors, ``record_cycles`` from the last beat of data of a tensor that goes
        alone to the last beat of its record, and the effective bandwidth with records in a ring and with completions in
        the window of registers.
    """
    coding, image_bytes = _widest(config), _small_image(config, min(sizes), raw_bytes)
    rows = []
    for latency, size in product(latencies, sizes):
        how, count = Behaviour(latency=latency), raw_bytes // size
        seen = partial(_passages, config, how, coding, (density,), size, image_bytes=image_bytes, build_dir=build_dir,
                       seed=seed)
        for alone, recorded, window, ring in zip(
                seen(), seen(ring_entries=_RING_ENTRIES), seen(count=count),
                seen(count=count, ring_entries=_RING_ENTRIES), strict=True):
            row = _row(config, how, coding, ring)
            rows.append(_transfer(row) | {
                "tensor_bytes": size, "tensors": count, "record_cycles": recorded["span"] - alone["span"],
                "bytes_per_cycle": row["bytes_per_cycle"],
                "window_bytes_per_cycle": _row(config, how, coding, window)["bytes_per_cycle"]})
    return rows


def fragments(config: EngineConfig, sizes: Sequence[int] = FRAGMENTS, latencies: Sequence[int] = LATENCIES,
              ways: Sequence[str] = WAYS, *, density: float = 0.4, raw_bytes: int = SMALL_BYTES // 2, build_dir: Path,
              seed: int = 1) -> list[Row]:
    """How fast an engine with write-back moves many small tensors that descriptor rings ask for, with records of their
    completions; errors as :func:`measure`, parameters as :func:`small`.

    Each tensor begins at a block of its own, and these lie one after the other. All descriptors are in the ring before
    the engine is told, so that no register is read or written but one that says how many records there are.

    Parameters
    ----------
    ways
        Some of ``WAYS``.
    raw_bytes
        Bytes of all tensors of a size together, where these are neither too few nor too many for a rate.

    Returns
    -------
    list
        Rows with the way, size and number of the tensors, ``cycles`` from the end of one to the end of the next, in
        the mean from the record of the first eighth of them to that of the last; raw bytes by these cycles
        (``bytes_per_cycle``); the limit of ports of these widths as in :func:`measure`, and the ``share`` of it.
    """
    coding = _widest(config)
    loads = [(size, min(max(raw_bytes // size, _FEWEST), _MOST)) for size in sizes]
    # Tensors lie twice in device memory; streams twice in link memory, with gaps, and with both rings.
    image_bytes = _image(max(2 * count * (max(size, config.block_bytes) + 512) for size, count in loads) + (1 << 17))
    built = build_engine(config, image_bytes=image_bytes, build_dir=build_dir)
    passages = []
    for way in ways:
        job = {"config": config, "coding": int(coding), "latencies": latencies, "loads": loads, "way": way,
               "density": density, "image_bytes": image_bytes}
        with tempfile.TemporaryDirectory(prefix="cdma-") as place:
            passages += runner.run(built, "cdma.verif.engine.benches.fragments", job=job, folder=Path(place),
                                   seed=seed)["passages"]
    rows = []
    for each in passages:
        cycles = each["cycles"] / each["ended"]
        limit = min(config.lanes * config.beat_bytes, config.link_beat_bytes * each["raw_bytes"] / each["packed_bytes"])
        rate = each["raw_bytes"] / cycles
        rows.append({"name": config.name, "transfers_in_flight": config.transfers_in_flight, "way": each["way"],
                     "direction": each["direction"],
                     "latency": each["latency"], "coding": coding_name(coding), "density": density,
                     "tensor_bytes": each["raw_bytes"], "tensors": each["tensors"], "cycles": cycles,
                     "bytes_per_cycle": rate, "limit": limit, "share": rate / limit})
    return rows
