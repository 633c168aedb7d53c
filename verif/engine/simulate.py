"""Arrays through a simulated engine as a training step moves them: offloaded in order, prefetched in reverse."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from golden.codec.narrowing import WIDE_BYTES
from golden.results import from_json
from hdl.config.engine import EngineConfig
from verif.common import runner, tools
from verif.common.progress import watch
from verif.common.stream import Bytes
from verif.engine.build import build_engine
from verif.engine.jobs import ArrayReport, Handling, Move, NetworkJob, NetworkReport
from verif.engine.memory import Behaviour
from verif.engine.stimulus import RawTensor
from verif.engine.toggles import bus_beats, toggles
from verif.engine.top import IMAGE_BYTES

__all__ = ["EngineArrayResult", "plain_bytes_per_cycle", "simulate"]

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class EngineArrayResult:
    """How an array went through an engine and back.

    Parameters
    ----------
    name
        Of the array.
    raw_bytes, packed_bytes
        Its size, and that of its block stream.
    density
        Share of its elements that are non-zero.
    ratio
        Raw bytes per byte of the block stream.
    raw_blocks
        Blocks that were left raw.
    offload_cycles, prefetch_cycles
        From taking the descriptor to its completion; 0 where there was none.
    offload_bytes_per_cycle, prefetch_bytes_per_cycle
        Effective bandwidth: raw bytes by those cycles.
    plain_bytes_per_cycle
        What a DMA engine of the same width moves at best over the same link, uncompressed.
    gain
        How many times as fast there and back went as that.
    raw_toggles, packed_toggles
        Bits that change between consecutive beats of the link, as a plain DMA engine would move the array and as its
        block stream passes; the bus of the simulation is checked to toggle so, all arrays together.
    passed
        Whether completions, memories and bus rules were right in both directions.
    difference
        What was wrong first; None when it passed.
    """

    name: str
    raw_bytes: int
    packed_bytes: int
    density: float
    ratio: float
    raw_blocks: int
    offload_cycles: int
    prefetch_cycles: int
    offload_bytes_per_cycle: float
    prefetch_bytes_per_cycle: float
    plain_bytes_per_cycle: float
    gain: float
    raw_toggles: int
    packed_toggles: int
    passed: bool
    difference: str | None


def plain_bytes_per_cycle(config: EngineConfig, link_share: float = 1.0) -> float:
    """What an engine of this width would move at best without compression: what link and lanes let through."""
    return min(config.link_beat_bytes * link_share, config.lanes * config.beat_bytes)


def simulate(arrays: Mapping[str, np.ndarray], handling: Mapping[str, Handling], config: EngineConfig, *,
             how: Behaviour | None = None, link_share: float = 1.0, waves: Path | None = None, build_dir: Path,
             seed: int = 1, progress: Progress | None = None) -> list[EngineArrayResult]:
    """Offload arrays in order and prefetch them in reverse, in a simulator, back to back.

    All arrays lie in device memory at once; when they are offloaded, that memory is overwritten with noise, and
    prefetch brings them back to where they were. Streams, counts and memories are compared with the golden model.

    Parameters
    ----------
    arrays
        Any shapes and dtypes; their bits are taken as they are.
    handling
        How each is moved.
    how
        How the memories answer; at once when not given.
    link_share
        Share of the cycles in which the link carries a beat at most, in each direction.
    waves
        Folder for the waves.
    build_dir
        Folder for compiled designs; what is there is used again.
    seed
        Of places, noise and stalls.
    progress
        Called with what is under way, and arrays moved and to move.

    Returns
    -------
    list
        A result for every array, in their order.

    Raises
    ------
    ValueError
        If an argument is not allowed, or an array's length is zero or not a multiple of the element size.
    RuntimeError
        If a tool is missing, or the design does not compile or ends before the bench.
    """
    tensors = _tensors(arrays, handling, config)
    how = how or Behaviour()
    streams = {name: tensor.stream(config.block_bytes, handling[name].fallback and config.raw_fallback,
                                   handling[name].leave_raw) for name, tensor in tensors.items()}
    need = max(_room([tensor.raw.size for tensor in tensors.values()], config.block_bytes),
               _room([stream.size for stream in streams.values()], config.link_beat_bytes))
    image_bytes = max(IMAGE_BYTES, 1 << (need - 1).bit_length())
    if progress is not None:
        progress("compiling the engine", 0, 2 * len(tensors))
    built = build_engine(config, image_bytes=image_bytes, build_dir=build_dir, waves=waves is not None)
    with tempfile.TemporaryDirectory(prefix="cdma-") as place:
        folder = Path(place)
        moves = []
        for number, (name, tensor) in enumerate(tensors.items()):
            file = str(folder / f"{number}.npy")
            np.save(file, tensor.raw)
            moves.append(Move(file, handling[name]))
        job = NetworkJob(config, image_bytes, tuple(moves), how, link_share)
        names = [*tensors, *reversed(tensors)]
        with watch(folder / "progress", progress and (lambda done: progress(names[min(done, len(names) - 1)], done,
                                                                             len(names)))):
            report = from_json(NetworkReport, runner.run(built, "verif.engine.benches.network", job=job, folder=folder,
                                                         seed=seed))
        if waves is not None:
            waves.mkdir(parents=True, exist_ok=True)
            form = tools.wave_format("verilator")
            (folder / f"dump.{form}").replace(waves / f"engine.{form}")
    plain = plain_bytes_per_cycle(config, link_share)
    return [_result(name, tensors[name], streams[name], config.link_beat_bytes, plain, row)
            for name, row in zip(tensors, report.arrays, strict=True)]


def _tensors(arrays: Mapping[str, np.ndarray], handling: Mapping[str, Handling],
             config: EngineConfig) -> dict[str, RawTensor]:
    if not arrays:
        raise ValueError("there is no array to simulate")
    found = {}
    for name, array in arrays.items():
        size, narrow = handling[name].element_bytes, handling[name].narrow
        if size not in config.element_bytes:
            built = ", ".join(str(8 * each) for each in config.element_bytes)
            raise ValueError(f"{config.name} was built for elements of {built} bits, not for {8 * size}-bit elements: "
                             "choose another engine, or set its element_bits")
        if narrow and not config.narrowing:
            raise ValueError(f"{config.name} has no stage that rounds {name} to 16 bits: choose an engine with "
                             "narrowing")
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        if not raw.size:
            raise ValueError(f"array {name} is empty: there is nothing to move")
        whole = WIDE_BYTES if narrow else size
        if raw.size % whole:
            raise ValueError(f"array {name}: {raw.size} bytes are not a multiple of the element size of {whole} bytes")
        found[name] = RawTensor(raw, size, narrow)
    tools.require("verilator")
    return found


def _room(sizes: Sequence[int], align: int) -> int:
    """Bytes of an image that holds all of it, with the gaps between."""
    return sum(size + 5 * align + 256 for size in sizes) + 4096


def _result(name: str, tensor: RawTensor, stream: Bytes, link_beat_bytes: int, plain: float,
            row: ArrayReport) -> EngineArrayResult:
    raw = tensor.raw
    element_bytes = WIDE_BYTES if tensor.narrow else tensor.element_bytes
    nonzero = int(np.count_nonzero(raw.view(f"<u{element_bytes}")))
    offload, prefetch = row.offload_cycles, row.prefetch_cycles
    gain = 2 * raw.size / (offload + prefetch) / plain if offload and prefetch else 0.0
    return EngineArrayResult(
        name, raw.size, stream.size, nonzero * element_bytes / raw.size, raw.size / stream.size, row.raw_blocks,
        offload, prefetch, raw.size / offload if offload else 0.0, raw.size / prefetch if prefetch else 0.0,
        plain, gain, toggles(bus_beats([raw], link_beat_bytes)), toggles(bus_beats([stream], link_beat_bytes)),
        row.difference is None, row.difference)
