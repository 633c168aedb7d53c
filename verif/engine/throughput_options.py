"""Measures what options cost an engine in simulation: streams in pages, and completions in write-back rings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cdma.golden.codec.coding import Coding
from cdma.hdl.config.engine import EngineConfig
from cdma.verif.engine.jobs import MeasureJob, Passage
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.throughput import LATENCIES, LOADS, RAW_BYTES, SIZES, SMALL_BYTES, passages, row_of, small_image
from cdma.verif.engine.top import IMAGE_BYTES

__all__ = ["PAGED_LOADS", "PagedStreams", "WrittenBack", "paged", "written_back"]

PAGED_LOADS = tuple((*load, 8) for load in LOADS)
"""Codings, densities and numbers of the tensors of the table of streams in pages. Only the list of the first tensor is
waited for, so fewer tensors show that wait and not the rate."""

PAGE_SIZE = 12
"""Logarithm of the bytes of the pages that streams are measured in: the smallest pages."""

RING_ENTRIES = 64
"""Records of a write-back ring."""


@dataclass(frozen=True)
class PagedStreams:
    """How fast tensors went through an engine with their block streams in pages, and at one address.

    Parameters
    ----------
    name, direction, latency, coding, density, raw_bytes, packed_bytes
        As in :class:`EngineThroughput`, of all tensors together.
    page_bytes
        Bytes of a page.
    tensors
        Number of the tensors, one directly after the other.
    bytes_per_cycle, contiguous_bytes_per_cycle
        Effective bandwidth in pages, and with each stream at one address.
    """

    name: str
    direction: str
    latency: int
    coding: str
    density: float
    page_bytes: int
    tensors: int
    raw_bytes: int
    packed_bytes: int
    bytes_per_cycle: float
    contiguous_bytes_per_cycle: float


@dataclass(frozen=True)
class WrittenBack:
    """How fast small tensors went through an engine with their completions in a write-back ring, and in the window.

    Parameters
    ----------
    name, direction, latency, coding, density
        As in :class:`cdma.verif.engine.throughput.EngineThroughput`.
    tensor_bytes, tensors
        Size and number of the tensors, one directly after the other.
    record_cycles
        Cycles from the last beat of data of a tensor that goes alone to the last beat of its record.
    bytes_per_cycle, window_bytes_per_cycle
        Effective bandwidth with records in a ring, and with completions in the window of registers.
    """

    name: str
    direction: str
    latency: int
    coding: str
    density: float
    tensor_bytes: int
    tensors: int
    record_cycles: int
    bytes_per_cycle: float
    window_bytes_per_cycle: float


def paged(config: EngineConfig, loads: Sequence[tuple[Coding, float, int]] = PAGED_LOADS,
          latencies: Sequence[int] = LATENCIES, *, raw_bytes: int = RAW_BYTES, build_dir: Path,
          seed: int = 1) -> list[PagedStreams]:
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
    """
    most = max(count for _, _, count in loads)
    # Every tensor lies in a memory twice, with gaps between them; pages are whole, and there are some more of them.
    need = 2 * most * (raw_bytes + raw_bytes // 64 + (config.lanes + 1) * config.block_bytes + (8 << PAGE_SIZE))
    image_bytes = max(IMAGE_BYTES, 1 << (need - 1).bit_length())
    rows = []
    for latency in latencies:
        how = Behaviour(latency=latency)
        for coding, density, count in loads:
            if coding not in config.numbers:
                continue
            contiguous, pages = ([row_of(config, how, coding, each) for each in passages(MeasureJob(
                config, (density,), raw_bytes, int(coding), how, count, image_bytes, page_size), build_dir, seed)]
                for page_size in (None, PAGE_SIZE))
            rows += [PagedStreams(
                config.name, row.direction, latency, row.coding, density, 1 << PAGE_SIZE, count, row.raw_bytes,
                row.packed_bytes, row.bytes_per_cycle, plain.bytes_per_cycle)
                for plain, row in zip(contiguous, pages, strict=True)]
    return rows


def written_back(config: EngineConfig, sizes: Sequence[int] = SIZES, latencies: Sequence[int] = LATENCIES, *,
                 density: float = 0.4, raw_bytes: int = SMALL_BYTES, build_dir: Path,
                 seed: int = 1) -> list[WrittenBack]:
    """How fast an engine with write-back moves small tensors, with records in a ring and without, and how long after
    the data a record is there; errors as :func:`cdma.verif.engine.throughput.measure`.

    Parameters
    ----------
    sizes
        Bytes of a tensor.
    latencies
        Of all memories, in cycles.
    raw_bytes
        Bytes of all tensors of a size together.
    """
    coding = Coding[f"ZVC{8 * max(config.element_bytes)}"]
    image_bytes = small_image(config, min(sizes), raw_bytes)
    rows = []
    for latency in latencies:
        how = Behaviour(latency=latency)

        def seen(count: int, size: int, ring: int | None, how: Behaviour = how) -> list[Passage]:
            return passages(MeasureJob(config, (density,), size, int(coding), how, count, image_bytes,
                                       ring_entries=ring), build_dir, seed)

        for size in sizes:
            count = raw_bytes // size
            each = zip(seen(1, size, None), seen(1, size, RING_ENTRIES), seen(count, size, None),
                       seen(count, size, RING_ENTRIES), strict=True)
            for alone, recorded, window, ring in each:
                row, plain = row_of(config, how, coding, ring), row_of(config, how, coding, window)
                rows.append(WrittenBack(
                    config.name, row.direction, latency, row.coding, density, size, count,
                    recorded.span - alone.span, row.bytes_per_cycle, plain.bytes_per_cycle))
    return rows
