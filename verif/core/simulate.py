"""Arrays through the simulated cores, both ways, byte for byte against the golden model."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cdma.hdl.config.core import CoreConfig
from cdma.hdl.config.settings import BEAT_BYTES
from cdma.verif.common import tools
from cdma.verif.core.runs import Meter, Progress, keep_waves, rate
from cdma.verif.core.streaming import Passage, Tensor, build_core, limit, stream

__all__ = ["ArrayResult", "simulate"]

@dataclass(frozen=True)
class ArrayResult:
    """How an array passed both cores.

    Parameters
    ----------
    name
        Of the array.
    raw_bytes, packed_bytes
        Its size, and that of its line stream.
    density
        Share of its elements that are non-zero.
    ratio
        Raw bytes per packed byte.
    compress_in_beats_per_cycle, compress_out_beats_per_cycle, decompress_in_beats_per_cycle, \
decompress_out_beats_per_cycle
        Beats that passed each port per cycle, from the first to the last one of this array.
    limit
        The raw beats per cycle that the packed side lets through, 1 at most.
    passed
        Whether every byte was right in both directions.
    difference
        Where the first wrong byte is, or what else was wrong; None when it passed.
    """

    name: str
    raw_bytes: int
    packed_bytes: int
    density: float
    ratio: float
    compress_in_beats_per_cycle: float
    compress_out_beats_per_cycle: float
    decompress_in_beats_per_cycle: float
    decompress_out_beats_per_cycle: float
    limit: float
    passed: bool
    difference: str | None


def simulate(arrays: Mapping[str, np.ndarray], element_bytes: int, beat_bytes: int, *, stalls: float = 0.0,
             simulator: str = "verilator", waves: Path | None = None, build_dir: Path, seed: int = 1,
             progress: Progress | None = None) -> list[ArrayResult]:
    """Send arrays through a compressor, and their packed streams through a decompressor, in a simulator.

    The arrays follow each other without a pause but for the stalls; both cores run at the same time in simulations of
    their own.

    Parameters
    ----------
    arrays
        Any shapes and dtypes; their bits are taken as they are.
    element_bytes
        1, 2 or 4.
    beat_bytes
        16, 32 or 64.
    stalls
        Share of the cycles that either side of a core pauses, from 0 to below 1.
    simulator
        One of :data:`cdma.verif.common.tools.SIMULATORS`.
    waves
        Folder for the waves of both cores, ``compressor.fst`` and ``decompressor.fst``; ``.vcd`` where the simulator
        cannot write FST (a warning is logged).
    build_dir
        Folder for compiled designs; what is there is used again.
    seed
        Of the stalls.
    progress
        Called with what is under way, and beats done and in all.

    Returns
    -------
    list
        A result for every array, in their order.

    Raises
    ------
    ValueError
        If an argument is not allowed, or an array's length is not a multiple of the element size.
    RuntimeError
        If a tool is missing, or the design does not compile or ends before the bench.
    """
    _check(arrays, element_bytes, beat_bytes, stalls, simulator)
    tensors: dict[str, Tensor] = {}
    for name, array in arrays.items():
        try:
            tensors[name] = Tensor.of(array, element_bytes)
        except ValueError as error:
            raise ValueError(f"array {name}: {error}") from error
    meter = Meter(list(tensors), {core: [-(-side.size // beat_bytes) or 1 for side in sides] for core, sides in (
        ("compressor", [tensor.packed for tensor in tensors.values()]),
        ("decompressor", [tensor.raw for tensor in tensors.values()]))}, progress)
    configs = [CoreConfig(core=core, beat_bytes=beat_bytes) for core in ("compressor", "decompressor")]
    builds = []
    for config in configs:
        meter.say(f"compiling the {config.core}")
        builds.append(build_core(config, simulator=simulator, build_dir=build_dir, waves=waves is not None))
    with tempfile.TemporaryDirectory(prefix="cdma-") as place, ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(stream, built, config, list(tensors.values()), folder=Path(place) / config.core,
                            stalls=stalls, seed=seed, progress=meter.of(config.core))
                for built, config in zip(builds, configs, strict=True)]
        compressed, decompressed = (run.result() for run in runs)
        if waves is not None:
            keep_waves(Path(place), [config.core for config in configs], waves, simulator)
    return [_result(name, tensor, beat_bytes, compressed[number], decompressed[number])
            for number, (name, tensor) in enumerate(tensors.items())]


def _check(arrays: Mapping[str, np.ndarray], element_bytes: int, beat_bytes: int, stalls: float,
           simulator: str) -> None:
    if element_bytes not in (1, 2, 4):
        raise ValueError(f"element_bytes must be 1, 2 or 4, not {element_bytes!r}")
    if beat_bytes not in BEAT_BYTES:
        raise ValueError(f"beat_bytes must be one of {', '.join(map(str, BEAT_BYTES))}, not {beat_bytes!r}")
    if not 0 <= stalls < 1:
        raise ValueError(f"stalls must be at least 0 and below 1, not {stalls}")
    if not arrays:
        raise ValueError("there is no array to simulate")
    tools.require(simulator)


def _result(name: str, tensor: Tensor, beat_bytes: int, compressed: Passage, decompressed: Passage) -> ArrayResult:
    raw, packed = tensor.raw.size, tensor.packed.size
    elements = tensor.raw.view(f"<u{tensor.element_bytes}")
    faults = [f"{direction}: {passage.difference}" for direction, passage in
              (("compressing", compressed), ("decompressing", decompressed)) if passage.difference]
    return ArrayResult(
        name, raw, packed, float(np.count_nonzero(elements) / max(1, elements.size)), raw / packed if packed else 1.0,
        rate(compressed.taken), rate(compressed.given), rate(decompressed.taken), rate(decompressed.given),
        limit(raw, packed, beat_bytes), not faults, "; ".join(faults) or None)
