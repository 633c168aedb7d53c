"""Measures the engine in simulation: how busy the link and the lanes are, and the effective bandwidth."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cdma.golden.codec.coding import Coding, coding_name
from cdma.golden.results import from_json
from cdma.hdl.config.engine import EngineConfig
from cdma.verif.common import runner
from cdma.verif.engine.build import build_engine
from cdma.verif.engine.jobs import MeasureJob, Passage
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.top import IMAGE_BYTES

__all__ = ["DENSITIES", "LANES", "LATENCIES", "LOADS", "QUICK", "RAW_BYTES", "SIZES", "SLOW", "SMALL_BYTES",
           "EngineThroughput", "SmallTensors", "measure", "passages", "row_of", "scaling", "small", "small_image"]

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

LATENCIES = (0, 350)
"""Cycles of latency of the memories, for small tensors and for options."""

RAW_BYTES = 1 << 20
"""Size of each tensor; the figures in the design's limits are for this."""

QUICK = Behaviour()
"""Memories that answer at once."""

SLOW = Behaviour(latency=350, stalls=0.1, longest=8)
"""Memories with the latency of the paper, and with random pauses."""


@dataclass(frozen=True)
class EngineThroughput:
    """How fast a tensor went through an engine.

    Parameters
    ----------
    name
        Of the engine's top module.
    direction
        ``offload`` or ``prefetch``.
    latency, stalls
        Of all memories: cycles, and share of the cycles in which each channel pauses.
    coding
        Name of the coding of the tensor's blocks.
    density
        Share of non-zero elements asked for.
    raw_bytes, packed_bytes
        Size of the tensor, and of its block stream.
    link_busy
        Beats that passed the link by the cycles from its first to its last beat.
    lanes_busy
        Beats that passed the lanes by the cycles from the first to the last beat on any of them, and by the lanes.
    bytes_per_cycle
        Effective bandwidth: raw bytes by the cycles from the first beat on any port to the last.
    limit
        Raw bytes per cycle that ports of these widths can carry: the lanes their beats, the link its beats times the
        ratio, both less the share of cycles in which memories pause.
    share
        How busy the side is that sets the limit, by how busy it can be.
    """

    name: str
    lanes: int
    beat_bytes: int
    link_beat_bytes: int
    direction: str
    latency: int
    stalls: float
    coding: str
    density: float
    raw_bytes: int
    packed_bytes: int
    cycles: int
    link_busy: float
    lanes_busy: float
    bytes_per_cycle: float
    limit: float
    share: float


@dataclass(frozen=True)
class SmallTensors:
    """How fast small tensors went through an engine.

    Parameters
    ----------
    name, direction, latency, coding, density
        As in :class:`EngineThroughput`.
    transfers_in_flight
        Of the engine.
    tensor_bytes, tensors
        Size and number of the tensors.
    alone_cycles
        Cycles of the completion of one such tensor that goes alone.
    bytes_per_cycle, limit, share
        Of all tensors, one directly after the other, as in :class:`EngineThroughput`.
    """

    name: str
    transfers_in_flight: int
    direction: str
    latency: int
    coding: str
    density: float
    tensor_bytes: int
    tensors: int
    alone_cycles: int
    bytes_per_cycle: float
    limit: float
    share: float


def measure(config: EngineConfig, densities: Sequence[float] = DENSITIES, how: Behaviour = QUICK, *,
            raw_bytes: int = RAW_BYTES, coding: Coding | None = None, build_dir: Path,
            seed: int = 1) -> list[EngineThroughput]:
    """How fast an engine moves a tensor of every density, in both directions, one transfer at a time.

    Parameters
    ----------
    how
        How all memories answer.
    coding
        Of the tensors' blocks; zero-value coding of the largest elements that were built when not given.

    Raises
    ------
    RuntimeError
        If a tool is missing, or a byte comes out wrong: a figure of an engine that does not work means nothing.
    """
    coding = coding or Coding[f"ZVC{8 * max(config.element_bytes)}"]
    job = MeasureJob(config, tuple(densities), raw_bytes, int(coding), how)
    return [row_of(config, how, coding, passage) for passage in passages(job, build_dir, seed)]


def passages(job: MeasureJob, build_dir: Path, seed: int) -> list[Passage]:
    """What the bench of a job saw; errors as :func:`measure`."""
    built = build_engine(job.config, image_bytes=job.image_bytes, build_dir=build_dir)
    with tempfile.TemporaryDirectory(prefix="cdma-") as place:
        report = runner.run(built, "cdma.verif.engine.benches.measure", job=job, folder=Path(place), seed=seed)
        return [from_json(Passage, each) for each in report["passages"]]


def row_of(config: EngineConfig, how: Behaviour, coding: Coding, passage: Passage) -> EngineThroughput:
    """The figures of what a bench saw, with memories that answer in this way."""
    link, lanes = passage.link, passage.lanes
    first, last = min(lane.first for lane in lanes), max(lane.last for lane in lanes)
    lanes_busy = sum(lane.beats for lane in lanes) / (last - first + 1) / config.lanes
    link_busy = link.beats / (link.last - link.first + 1)
    cycles = max(last, link.last) - min(first, link.first) + 1
    open_ = 1 - how.stalls
    by_lanes = config.lanes * config.beat_bytes * open_
    by_link = config.link_beat_bytes * passage.raw_bytes / passage.packed_bytes * open_
    return EngineThroughput(
        config.name, config.lanes, config.beat_bytes, config.link_beat_bytes, passage.direction, how.latency,
        how.stalls, coding_name(coding), passage.density, passage.raw_bytes, passage.packed_bytes, cycles, link_busy,
        lanes_busy, passage.raw_bytes / cycles, min(by_lanes, by_link),
        (link_busy if by_link <= by_lanes else lanes_busy) / open_)


def scaling(config: EngineConfig, lanes: Sequence[int] = LANES, loads: Sequence[tuple[Coding, float]] = LOADS,
            how: Behaviour = QUICK, *, raw_bytes: int = RAW_BYTES, build_dir: Path,
            seed: int = 1) -> list[EngineThroughput]:
    """How throughput grows with the lanes, all else as configured; errors as :func:`measure`.

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


def small_image(config: EngineConfig, size: int, raw_bytes: int) -> int:
    """Bytes of memories in which tensors of a size, so many bytes together, have places for both directions."""
    # Every tensor lies in a memory twice, with gaps between them.
    need = 2 * (raw_bytes // size) * (size + (config.lanes + 1) * config.block_bytes) + 2 * raw_bytes
    return max(IMAGE_BYTES, 1 << (need - 1).bit_length())


def small(config: EngineConfig, sizes: Sequence[int] = SIZES, latencies: Sequence[int] = LATENCIES, *,
          density: float = 0.4, raw_bytes: int = SMALL_BYTES, build_dir: Path, seed: int = 1) -> list[SmallTensors]:
    """How fast an engine moves small tensors, one directly after the other, and one alone; errors as :func:`measure`.

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
        for size in sizes:
            count = raw_bytes // size
            alone, many = (passages(MeasureJob(config, (density,), size, int(coding), how, number, image_bytes),
                                      build_dir, seed) for number in (1, count))
            for one, passage in zip(alone, many, strict=True):
                row = row_of(config, how, coding, passage)
                rows.append(SmallTensors(config.name, config.transfers_in_flight, row.direction, latency, row.coding,
                                         density, size, count, one.cycles, row.bytes_per_cycle, row.limit, row.share))
    return rows
