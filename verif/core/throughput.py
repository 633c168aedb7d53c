"""Measures the cores in simulation: beats per cycle over density and element size, and latency."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.config.core import CoreConfig
from cdma.verif.common import runner
from cdma.verif.common.tensors import random_raw
from cdma.verif.core.lines import walk
from cdma.verif.core.streaming import Passage, Tensor, build_core, limit, stream

__all__ = ["DENSITIES", "Latency", "Throughput", "latency", "measure"]

DENSITIES = tuple(tenth / 10 for tenth in range(11))
"""Densities of the table."""

TENSOR_BYTES = 65536
_BUILD_DIR = Path("build/sim")


@dataclass(frozen=True)
class Throughput:
    """Beats per cycle at one density and element size.

    Parameters
    ----------
    core, name
        Which core, and the name of its top module.
    density
        Share of non-zero elements asked for.
    raw_bytes, packed_bytes
        Size of the tensor.
    beats_per_cycle
        Raw beats of the tensor by the cycles from the last raw beat of the tensor before it to its own last one, so
        that a bubble between tensors counts as well.
    limit
        What the packed side lets through.
    share
        ``beats_per_cycle`` by ``limit``.
    """

    core: str
    name: str
    beat_bytes: int
    element_bits: int
    density: float
    raw_bytes: int
    packed_bytes: int
    beats_per_cycle: float
    limit: float
    share: float


@dataclass(frozen=True)
class Latency:
    """The longest latencies of a core at one element size, from handshake to handshake.

    Packets are sent alone, and the sink is always ready.

    Parameters
    ----------
    first_cycles
        Compressor: from the last raw beat of a line to the first packed beat of it, where the line more than fills
        that beat (one that does not has to wait for bytes of the next line). Decompressor: from the packed beat that
        completes what the first raw beat of a line needs, tag and elements, to that raw beat.
    flush_cycles
        Compressor: from the last raw beat of a packet to its last packed beat, where the packed side did not delay
        it. Decompressor: None, a last packed beat may hold many lines.
    """

    core: str
    name: str
    beat_bytes: int
    element_bits: int
    first_cycles: int
    flush_cycles: int | None


def measure(config: CoreConfig, densities: Sequence[float] = DENSITIES, *, raw_bytes: int = TENSOR_BYTES,
            simulator: str = "verilator", build_dir: Path = _BUILD_DIR, seed: int = 1) -> list[Throughput]:
    """Beats per cycle of a core at every density, for each of its element sizes.

    Tensors follow each other without a pause, and the sink is always ready.

    Parameters
    ----------
    raw_bytes
        Size of each tensor; the figures in the design's limits are for 65536 and more.

    Raises
    ------
    RuntimeError
        If a tool is missing, or a byte comes out wrong: a figure of a core that does not work means nothing.
    """
    rng = np.random.default_rng(seed)
    points = [(size, density) for size in config.element_bytes for density in densities]
    # The first tensor is not measured: the second one needs one before it.
    points.insert(0, points[0])
    tensors = [Tensor.of(random_raw(rng, raw_bytes // size, size, density), size) for size, density in points]
    passages = _stream(config, tensors, False, simulator, build_dir)
    ends = [passage.taken[1] if config.core == "compressor" else passage.given[1] for passage in passages]
    rows = []
    for number, ((size, density), tensor) in enumerate(zip(points[1:], tensors[1:], strict=True)):
        most = limit(tensor.raw.size, tensor.packed.size, config.beat_bytes)
        rate = tensor.raw.size / config.beat_bytes / (ends[number + 1] - ends[number])
        rows.append(Throughput(config.core, config.name, config.beat_bytes, 8 * size, density, tensor.raw.size,
                               tensor.packed.size, rate, most, rate / most))
    return rows


def latency(config: CoreConfig, *, simulator: str = "verilator", build_dir: Path = _BUILD_DIR,
            seed: int = 1) -> list[Latency]:
    """The longest latency of a core for each element size, over empty, half and dense packets of a line or four.

    Raises
    ------
    RuntimeError
        As :func:`measure`.
    """
    rng = np.random.default_rng(seed)
    tensors = [Tensor.of(random_raw(rng, lines * LINE_BYTES // size, size, density), size)
               for size in config.element_bytes for density in (0.0, 0.5, 1.0) for lines in (1, 4)]
    passages = _stream(config, tensors, True, simulator, build_dir)
    rows = []
    for size in config.element_bytes:
        own = [pair for pair in zip(tensors, passages, strict=True) if pair[0].element_bytes == size]
        first = max(cycles for pair in own if (cycles := _first(config, *pair)) is not None)
        flush = max(passage.given[-1] - passage.taken[-1] for tensor, passage in own
                    if tensor.packed.size <= tensor.raw.size) if config.core == "compressor" else None
        rows.append(Latency(config.core, config.name, config.beat_bytes, 8 * size, first, flush))
    return rows


def _first(config: CoreConfig, tensor: Tensor, passage: Passage) -> int | None:
    """Latency of the first line's first beat; None for a line that does not more than fill it."""
    beat = config.beat_bytes
    line = walk(tensor.packed, tensor.element_bytes)[0]
    tag_bytes = LINE_BYTES // tensor.element_bytes // 8
    if config.core == "compressor":
        return passage.given[0] - passage.taken[LINE_BYTES // beat - 1] if tag_bytes + line.held > beat else None
    elements = (line.tag & (1 << beat // tensor.element_bytes) - 1).bit_count()
    return passage.given[0] - passage.taken[(tag_bytes + elements * tensor.element_bytes - 1) // beat]


def _stream(config: CoreConfig, tensors: list[Tensor], alone: bool, simulator: str,
            build_dir: Path) -> list[Passage]:
    built = build_core(config, simulator=simulator, build_dir=build_dir)
    with tempfile.TemporaryDirectory(prefix="cdma-") as place:
        passages = stream(built, config, tensors, folder=Path(place), alone=alone)
    for passage in passages:
        if passage.difference:
            raise runner.BenchError(f"{config.name}: {passage.difference}")
    return passages
