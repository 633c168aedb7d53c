"""Measures the engine in simulation: how busy the link and the lanes are, and the effective bandwidth."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from golden.results import from_json
from hdl.config.engine import EngineConfig
from verif.common import runner
from verif.engine.build import build_engine
from verif.engine.jobs import MeasureJob, Passage, PassageReport
from verif.engine.memory import Behaviour

__all__ = ["DENSITIES", "LANES", "QUICK", "SLOW", "EngineThroughput", "measure", "scaling"]

DENSITIES = tuple(tenth / 10 for tenth in range(11))
"""Densities of the table."""

LANES = (1, 2, 4, 8, 16)
"""Numbers of lanes of the second table."""

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
    element_bits: int
    density: float
    raw_bytes: int
    packed_bytes: int
    cycles: int
    link_busy: float
    lanes_busy: float
    bytes_per_cycle: float
    limit: float
    share: float


def measure(config: EngineConfig, densities: Sequence[float] = DENSITIES, how: Behaviour = QUICK, *,
            raw_bytes: int = RAW_BYTES, element_bytes: int | None = None, build_dir: Path,
            seed: int = 1) -> list[EngineThroughput]:
    """How fast an engine moves a tensor of every density, in both directions, one transfer at a time.

    Parameters
    ----------
    how
        How all memories answer.
    element_bytes
        Element size; the largest that was built when not given.

    Raises
    ------
    RuntimeError
        If a tool is missing, or a byte comes out wrong: a figure of an engine that does not work means nothing.
    """
    size = element_bytes or max(config.element_bytes)
    built = build_engine(config, build_dir=build_dir)
    job = MeasureJob(config, tuple(densities), raw_bytes, size, how)
    with tempfile.TemporaryDirectory(prefix="cdma-") as place:
        report = from_json(PassageReport, runner.run(built, "verif.engine.benches.measure", job=job, folder=Path(place),
                                                     seed=seed))
    return [_row(config, how, size, passage) for passage in report.passages]


def _row(config: EngineConfig, how: Behaviour, element_bytes: int, passage: Passage) -> EngineThroughput:
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
        how.stalls, 8 * element_bytes, passage.density, passage.raw_bytes, passage.packed_bytes, cycles, link_busy,
        lanes_busy, passage.raw_bytes / cycles, min(by_lanes, by_link),
        (link_busy if by_link <= by_lanes else lanes_busy) / open_)


def scaling(config: EngineConfig, lanes: Sequence[int] = LANES, density: float = 0.1, how: Behaviour = QUICK, *,
            build_dir: Path, seed: int = 1) -> list[EngineThroughput]:
    """How throughput grows with the lanes, all else as configured; errors as :func:`measure`."""
    return [row for count in lanes
            for row in measure(config.replace(lanes=count), [density], how, build_dir=build_dir, seed=seed)]
