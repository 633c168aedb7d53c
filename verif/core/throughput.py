"""Measures the cores in simulation: beats per cycle over density and element size or coding, and latency."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cdma.golden.codec.blocks import BLOCK_BYTES
from cdma.golden.codec.coding import Coding, coding_name
from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.config.core import CoreConfig
from cdma.verif.common import runner
from cdma.verif.common.tensors import network_values, random_raw
from cdma.verif.core.packets import walk
from cdma.verif.core.simulate import CodedArray, Progress, limit, simulate
from cdma.verif.core.streaming import Tensor, build_core, stream

__all__ = ["CODINGS", "DENSITIES", "block_throughput", "latency", "measure"]

CODINGS = tuple(coding for coding in Coding if coding.sized)
"""The codings of blocks that are measured."""

DENSITIES = tuple(tenth / 10 for tenth in range(11))
"""Densities of the tables."""

TENSOR_BYTES = 65536
_BUILD_DIR = Path("build/sim")


def measure(config: CoreConfig, densities: Sequence[float] = DENSITIES, *, raw_bytes: int = TENSOR_BYTES,
            build_dir: Path = _BUILD_DIR, seed: int = 1) -> list[dict[str, Any]]:
    """Beats per cycle of a core at every density, for each of its element sizes.

    Tensors follow each other without a pause, and the sink is always ready.

    Parameters
    ----------
    raw_bytes
        Size of each tensor; the figures in the design's limits are for 65536 and more.

    Returns
    -------
    list
        Rows with the core and the name of its top module, the density asked for, the sizes of the tensor;
        ``beats_per_cycle``, raw beats of the tensor by the cycles from the last raw beat of the tensor before it to its
        own last one, so that a bubble between tensors counts as well; ``limit``, what the packed side lets through; and
        ``share``, the one by the other.

    Raises
    ------
    RuntimeError
        If a tool is missing, or a byte comes out wrong: a figure of a core that does not work means nothing.
    """
    rng = np.random.default_rng(seed)
    points = [(size, density) for size in config.element_bytes for density in densities]
    # The first tensor is not measured: the second one needs one before it.
    points.insert(0, points[0])
    tensors = [_random(rng, raw_bytes // size, size, density) for size, density in points]
    side = "taken" if config.core == "compressor" else "given"
    ends = [passage[side][1] for passage in _stream(config, tensors, False, build_dir)]
    rows = []
    for number, ((size, density), tensor) in enumerate(zip(points[1:], tensors[1:], strict=True)):
        most = limit(tensor.raw.size, tensor.packed.size)
        rate = tensor.raw.size / config.beat_bytes / (ends[number + 1] - ends[number])
        rows.append(_named(config, size) | {
            "density": density, "raw_bytes": tensor.raw.size, "packed_bytes": tensor.packed.size,
            "beats_per_cycle": rate, "limit": most, "share": rate / most})
    return rows


def latency(config: CoreConfig, *, build_dir: Path = _BUILD_DIR, seed: int = 1) -> list[dict[str, Any]]:
    """The longest latency of a core for each element size, over empty, half and dense packets of a line or four.

    Packets are sent alone, and the sink is always ready. Cycles are from handshake to handshake.

    Returns
    -------
    list
        Rows with ``first_cycles`` and ``flush_cycles``. Compressor: from the last raw beat of a line to the first
        packed beat of it, where the line more than fills that beat (one that does not has to wait for bytes of the next
        line); and from the last raw beat of a packet to its last packed beat, where the packed side did not delay it.
        Decompressor: from the packed beat that completes what the first raw beat of a line needs, tag and elements, to
        that raw beat; and None, for a last packed beat may hold many lines.

    Raises
    ------
    RuntimeError
        As :func:`measure`.
    """
    rng = np.random.default_rng(seed)
    tensors = [_random(rng, lines * LINE_BYTES // size, size, density)
               for size in config.element_bytes for density in (0.0, 0.5, 1.0) for lines in (1, 4)]
    passages = _stream(config, tensors, True, build_dir)
    rows = []
    for size in config.element_bytes:
        own = [pair for pair in zip(tensors, passages, strict=True) if pair[0].coding.element_bytes == size]
        first = max(cycles for pair in own if (cycles := _first(config, *pair)) is not None)
        flush = max(passage["given"][-1] - passage["taken"][-1] for tensor, passage in own
                    if tensor.packed.size <= tensor.raw.size) if config.core == "compressor" else None
        rows.append(_named(config, size) | {"first_cycles": first, "flush_cycles": flush})
    return rows


def _random(rng: np.random.Generator, elements: int, size: int, density: float) -> Tensor:
    return Tensor.of(random_raw(rng, elements, size, density), Coding[f"LINES{8 * size}"])


def _named(config: CoreConfig, element_bytes: int) -> dict[str, Any]:
    return {"core": config.core, "name": config.name, "beat_bytes": config.beat_bytes,
            "element_bits": 8 * element_bytes}


def _first(config: CoreConfig, tensor: Tensor, passage: dict[str, Any]) -> int | None:
    """Latency of the first line's first beat; None for a line that does not more than fill it."""
    beat, size = config.beat_bytes, tensor.coding.element_bytes
    line = walk(tensor.packed, size)[0]
    tag_bytes = LINE_BYTES // size // 8
    given, taken = passage["given"], passage["taken"]
    if config.core == "compressor":
        return given[0] - taken[LINE_BYTES // beat - 1] if tag_bytes + line.held > beat else None
    elements = (line.tag & (1 << beat // size) - 1).bit_count()
    return given[0] - taken[(tag_bytes + elements * size - 1) // beat]


def _stream(config: CoreConfig, tensors: list[Tensor], alone: bool, build_dir: Path) -> list[dict[str, Any]]:
    built = build_core(config, simulator="verilator", build_dir=build_dir)
    with tempfile.TemporaryDirectory(prefix="cdma-") as place:
        passages = stream(built, config, tensors, folder=Path(place), alone=alone)
    for passage in passages:
        if passage["difference"]:
            raise runner.BenchError(f"{config.name}: {passage['difference']}")
    return passages


def block_throughput(beat_bytes: int, *, codings: Sequence[Coding] = CODINGS, densities: Sequence[float] = DENSITIES,
                     build_dir: Path = _BUILD_DIR, seed: int = 1,
                     progress: Progress | None = None) -> list[dict[str, Any]]:
    """Raw beats per cycle of both block cores at every density, for each coding.

    Tensors of 64 KiB follow each other without a pause, and the sinks are always ready. A first one of each coding is
    not measured.

    Returns
    -------
    list
        Rows with the coding, the density asked for, the sizes of tensor and block stream; raw beats into the compressor
        and out of the decompressor by the cycles that they took, the latter None if all blocks stayed raw; and
        ``limit``, what the packed side lets through.

    Raises
    ------
    RuntimeError
        As :func:`measure`.
    """
    rng = np.random.default_rng(seed)
    points = [(coding, density) for coding in codings for density in (densities[0], *densities)]
    arrays = [CodedArray(f"{coding_name(coding)} at {density:.1f}",
                         network_values(rng, coding, TENSOR_BYTES // coding.element_bytes, density), coding)
              for coding, density in points]
    rows = []
    for number, row in enumerate(simulate(arrays, beat_bytes, block_bytes=BLOCK_BYTES, build_dir=build_dir,
                                          progress=progress)):
        if row["difference"]:
            raise runner.BenchError(f"block cores, {row['name']}: {row['difference']}")
        if number % (len(densities) + 1):
            expanded = row["expanded_beats"] / row["decompress_cycles"] if row["decompress_cycles"] else None
            rows.append({"coding": row["coding"], "beat_bytes": beat_bytes, "density": points[number][1],
                         "raw_bytes": row["raw_bytes"], "packed_bytes": row["packed_bytes"],
                         "compress_beats_per_cycle": row["raw_beats"] / row["compress_cycles"],
                         "decompress_beats_per_cycle": expanded, "limit": row["limit"]})
    return rows
