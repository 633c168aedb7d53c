"""Measures the block cores in simulation: raw beats per cycle over density and coding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cdma.golden.codec.coding import Coding, coding_name
from cdma.verif.common import runner
from cdma.verif.common.tensors import network_values
from cdma.verif.core.blocks.simulate import BlockArray, BlockArrayResult, simulate_blocks
from cdma.verif.core.runs import Progress

__all__ = ["CODINGS", "DENSITIES", "BlockThroughput", "block_throughput"]

CODINGS = tuple(coding for coding in Coding if coding.sized)
"""The codings that are measured."""

DENSITIES = tuple(tenth / 10 for tenth in range(11))
"""Densities of the table."""

TENSOR_BYTES = 65536


@dataclass(frozen=True)
class BlockThroughput:
    """Raw beats per cycle at one density, of one coding.

    Parameters
    ----------
    coding
        Its name.
    beat_bytes
        Bytes of a beat.
    density
        Share of non-zero elements asked for.
    raw_bytes, packed_bytes
        Size of the tensor and of its block stream.
    compress_beats_per_cycle
        Raw beats of the tensor into the compressor, by the cycles that they took.
    decompress_beats_per_cycle
        Raw beats of its blocks out of the decompressor, by the cycles that they took; None if all blocks stayed raw.
    limit
        What the packed side lets through, 1 at most.
    """

    coding: str
    beat_bytes: int
    density: float
    raw_bytes: int
    packed_bytes: int
    compress_beats_per_cycle: float
    decompress_beats_per_cycle: float | None
    limit: float


def block_throughput(beat_bytes: int, *, codings: Sequence[Coding] = CODINGS, densities: Sequence[float] = DENSITIES,
                     simulator: str = "verilator", build_dir: Path = Path("build/sim"), seed: int = 1,
                     progress: Progress | None = None) -> list[BlockThroughput]:
    """Raw beats per cycle of both block cores at every density, for each coding.

    Tensors of 64 KiB follow each other without a pause, and the sinks are always ready. A first one of each coding is
    not measured.

    Raises
    ------
    RuntimeError
        If a tool is missing, or a byte comes out wrong: a figure of a core that does not work means nothing.
    """
    rng = np.random.default_rng(seed)
    points = [(coding, density) for coding in codings for density in (densities[0], *densities)]
    arrays = [BlockArray(f"{coding_name(coding)} at {density:.1f}",
                         network_values(rng, coding, TENSOR_BYTES // coding.element_bytes, density), coding)
              for coding, density in points]
    results = simulate_blocks(arrays, beat_bytes, simulator=simulator, build_dir=build_dir, progress=progress)
    for result in results:
        if result.difference:
            raise runner.BenchError(f"block cores, {result.name}: {result.difference}")
    rows = [_row(result, density, beat_bytes) for result, (_, density) in zip(results, points, strict=True)]
    return [row for number, row in enumerate(rows) if number % (len(densities) + 1)]


def _row(result: BlockArrayResult, density: float, beat_bytes: int) -> BlockThroughput:
    expanded = result.expanded_beats / result.decompress_cycles if result.decompress_cycles else None
    return BlockThroughput(result.coding, beat_bytes, density, result.raw_bytes, result.packed_bytes,
                           result.raw_beats / result.compress_cycles, expanded, result.limit)
