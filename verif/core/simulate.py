"""Arrays through simulated cores, both ways, byte for byte against the golden model."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cdma.golden.codec.coding import Coding, coding_name
from cdma.hdl.codec.coding import CODINGS, TAGS_FIRST
from cdma.hdl.config.block_core import BLOCK_CORES, BlockCoreConfig
from cdma.hdl.config.core import CORES, CoreConfig
from cdma.verif.common import tools
from cdma.verif.core.packets import payloads_of_stream
from cdma.verif.core.streaming import Tensor, build_core, stream
from cdma.verif.core.testbench import Config

__all__ = ["CodedArray", "Progress", "limit", "simulate"]

Progress = Callable[[str, int, int], None]
"""Called with what is under way, and beats done and in all."""


@dataclass(frozen=True)
class CodedArray:
    """An array to send: any shape and type, whose bits are taken as they are, and its coding.

    A coding of lines is for the cores of lines, others are for block cores.
    """

    name: str
    array: np.ndarray
    coding: Coding


def limit(raw_bytes: int, packed_bytes: int) -> float:
    """Raw beats per cycle that a core can carry: one, or as many as the packed side lets through."""
    return min(1.0, raw_bytes / packed_bytes) if packed_bytes else 1.0


def simulate(arrays: Sequence[CodedArray], beat_bytes: int, *, block_bytes: int | None = None, stalls: float = 0.0,
             simulator: str = "verilator", waves: Path | None = None, build_dir: Path, seed: int = 1,
             progress: Progress | None = None) -> list[dict[str, Any]]:
    """Send arrays through a compressor, and their packed streams through a decompressor, in a simulator.

    The arrays follow each other without a pause but for the stalls; both cores run at the same time in simulations of
    their own. Blocks that stay raw are not sent to the decompressor, which they pass in a system.

    Parameters
    ----------
    arrays
        What to send.
    beat_bytes
        16, 32 or 64.
    block_bytes
        Raw bytes of a block of block cores; None for the cores of lines.
    stalls
        Share of the cycles that either side of a core pauses, from 0 to below 1.
    simulator
        One of :data:`cdma.verif.common.tools.SIMULATORS`.
    waves
        Folder for the waves of both cores, named after them, in FST; in VCD where the simulator cannot write FST (a
        warning is logged).
    build_dir
        Folder for compiled designs; what is there is used again.
    seed
        Of the stalls.
    progress
        Called with what is under way, and beats done and in all.

    Returns
    -------
    list
        A row for every array, in their order: its sizes and density; ``ratio``, raw bytes per packed byte; beats that
        passed each port per cycle, from the first to the last one of this array; ``limit``, the raw beats per cycle
        that the packed side lets through, 1 at most; whether it passed; and ``difference``, where the first wrong byte
        is, or what else was wrong. Of block cores also the coding, the number of blocks and of those that stayed raw,
        beats of the array, of all its payloads and of the blocks that the decompressor expands, and the cycles from
        first to last beat at the raw sides, 0 where no beat passed.

    Raises
    ------
    ValueError
        If an argument is not allowed, or an array's length is not a multiple of the element size.
    RuntimeError
        If a tool is missing, or the design does not compile or ends before the bench.
    """
    if not 0 <= stalls < 1:
        raise ValueError(f"stalls must be at least 0 and below 1, not {stalls}")
    if not arrays:
        raise ValueError("there is no array to simulate")
    tools.require(simulator)
    configs = _configs(arrays, beat_bytes, block_bytes)
    tensors = [Tensor.of(each.array, each.coding, block_bytes or 0, each.name) for each in arrays]
    sizes = [_beats(tensor, beat_bytes, block_bytes) for tensor in tensors]
    ends = [np.cumsum([each[side] for each in sizes]) for side in ("payload_beats", "expanded_beats")]
    done = [0, 0]
    all_beats = sum(int(each[-1]) for each in ends)

    def said(core: int) -> Callable[[int], None]:
        def update(beats: int) -> None:
            done[core] = beats
            at = int(np.searchsorted(ends[core], beats, side="right"))
            if progress is not None:
                progress(arrays[min(at, len(arrays) - 1)].name, sum(done), all_beats)

        return update

    builds = []
    for config in configs:
        if progress is not None:
            progress(f"compiling the {config.core.replace('_', ' ')}", 0, all_beats)
        builds.append(build_core(config, simulator=simulator, build_dir=build_dir, waves=waves is not None))
    with tempfile.TemporaryDirectory(prefix="cdma-") as place, ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(stream, built, config, tensors, folder=Path(place) / config.core, stalls=stalls, seed=seed,
                            progress=said(number)) for number, (built, config) in enumerate(zip(builds, configs,
                                                                                                strict=True))]
        passages = zip(*(run.result() for run in runs), strict=True)
        if waves is not None:
            _keep_waves(Path(place), configs, waves, simulator)
    return [_row(tensor, beats, bool(block_bytes), *both)
            for tensor, beats, both in zip(tensors, sizes, passages, strict=True)]


def _configs(arrays: Sequence[CodedArray], beat_bytes: int, block_bytes: int | None) -> Sequence[Config]:
    """The compressor and the decompressor; names and codings of block cores are those of presets, so that their builds
    are used again."""
    if block_bytes is None:
        return [CoreConfig(core=core, beat_bytes=beat_bytes) for core in CORES]
    exponents = any(each.coding.exponents for each in arrays)
    codings = tuple(CODINGS) if exponents else tuple(f"zvc{8 * size}" for size in TAGS_FIRST)
    return [BlockCoreConfig(core=core, name=f"cdma_{'exponent_' * exponents}{core}", beat_bytes=beat_bytes,
                            block_bytes=block_bytes, codings=codings) for core in BLOCK_CORES]


def _beats(tensor: Tensor, beat_bytes: int, block_bytes: int | None) -> dict[str, int]:
    """Numbers of blocks and beats: of the raw bytes, of what comes out of the compressor and of the decompressor."""
    if block_bytes is None:
        return {"payload_beats": -(-tensor.packed.size // beat_bytes) or 1,
                "expanded_beats": -(-tensor.raw.size // beat_bytes) or 1}
    payloads = list(payloads_of_stream(tensor.packed, tensor.raw.size, block_bytes))
    return {"blocks": len(payloads), "raw_blocks": sum(not payload.coding for payload in payloads),
            "raw_beats": -(-tensor.raw.size // beat_bytes),
            "payload_beats": sum(-(-payload.data.size // beat_bytes) for payload in payloads),
            "expanded_beats": sum(-(-payload.raw_bytes // beat_bytes) for payload in payloads if payload.coding)}


def _row(tensor: Tensor, beats: dict[str, int], of_blocks: bool, compressed: dict[str, Any],
         decompressed: dict[str, Any]) -> dict[str, Any]:
    raw, packed = tensor.raw.size, tensor.packed.size
    faults = [f"{direction}: {passage['difference']}" for direction, passage in
              (("compressing", compressed), ("decompressing", decompressed)) if passage["difference"]]
    elements = tensor.raw.view(f"<u{tensor.coding.element_bytes}")
    ratio = raw / packed if packed else 1.0
    row: dict[str, Any] = {"name": tensor.name} | ({"coding": coding_name(tensor.coding)} if of_blocks else {}) | {
        "raw_bytes": raw, "packed_bytes": packed,
        "density": float(np.count_nonzero(elements) / max(1, elements.size)), "ratio": ratio}
    if of_blocks:
        row |= beats
        row |= {"compress_cycles": _span(compressed["taken"]), "decompress_cycles": _span(decompressed["given"])}
    rates = {f"{way}_{side}_beats_per_cycle": _rate(passage[cycles])
             for way, passage in (("compress", compressed), ("decompress", decompressed))
             for side, cycles in (("in", "taken"), ("out", "given"))}
    return row | rates | {
        "limit": min(1.0, beats["raw_beats"] / beats["payload_beats"]) if of_blocks else limit(raw, packed),
        "passed": not faults, "difference": "; ".join(faults) or None}


def _span(ends: list[int]) -> int:
    """Cycles from the first to the last beat."""
    return ends[1] - ends[0] + 1 if ends else 0


def _rate(ends: list[int]) -> float:
    """Beats per cycle."""
    return ends[2] / _span(ends) if ends else 0.0


def _keep_waves(place: Path, configs: Sequence[Config], waves: Path, simulator: str) -> None:
    """Move the waves of cores from the folders of their runs, below ``place``, to one folder."""
    waves.mkdir(parents=True, exist_ok=True)
    form = tools.wave_format(simulator)
    if form == "vcd":
        logging.getLogger(__name__).warning(
            "waves are VCD files, ten times as large as FST: for FST, install the headers of lz4 and zlib "
            "(Debian and Ubuntu: apt install liblz4-dev zlib1g-dev)")
    for config in configs:
        shutil.move(place / config.core / f"dump.{form}", waves / f"{config.core}.{form}")
