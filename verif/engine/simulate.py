"""Arrays through a simulated engine as a training step moves them: offloaded in order, prefetched in reverse."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from golden import blocks
from hdl.engine_config import EngineConfig
from verif import runner, tools
from verif.engine.build import build_engine
from verif.engine.memory import Behaviour
from verif.engine.top import IMAGE_BYTES
from verif.streaming import watch

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
        What a DMA engine of the same width moves at best, uncompressed.
    gain
        How many times as fast there and back went as that.
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
    passed: bool
    difference: str | None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def plain_bytes_per_cycle(config: EngineConfig) -> int:
    """What an engine of this width would move at best without compression: what link and lanes let through."""
    return min(config.link_beat_bytes, config.lanes * config.beat_bytes)


def simulate(arrays: Mapping[str, np.ndarray], element_bytes: int, config: EngineConfig, *,
             how: Behaviour | None = None, waves: Path | None = None, build_dir: Path, seed: int = 1,
             progress: Progress | None = None) -> list[EngineArrayResult]:
    """Offload arrays in order and prefetch them in reverse, in a simulator, back to back.

    All arrays lie in device memory at once; when they are offloaded, that memory is overwritten with noise, and
    prefetch brings them back to where they were. Streams, counts and memories are compared with the golden model.

    Parameters
    ----------
    arrays
        Any shapes and dtypes; their bits are taken as they are.
    element_bytes
        One of the element sizes that are built.
    how
        How the memories answer; at once when not given.
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
        If an argument is not allowed, or an array's length is zero or no multiple of the element size.
    RuntimeError
        If a tool is missing, or the design does not compile or ends before the bench.
    """
    raws = _check(arrays, element_bytes, config)
    how = how or Behaviour()
    packed = {name: blocks.compress(raw, element_bytes, config.block_bytes, config.raw_fallback)
              for name, raw in raws.items()}
    need = max(_room(raws, config.block_bytes), _room(packed, config.link_beat_bytes))
    image_bytes = max(IMAGE_BYTES, 1 << (need - 1).bit_length())
    if progress is not None:
        progress("compiling the engine", 0, 2 * len(raws))
    built = build_engine(config, image_bytes=image_bytes, build_dir=build_dir, waves=waves is not None)
    with tempfile.TemporaryDirectory(prefix="cdma-") as place:
        folder = Path(place)
        files = []
        for number, raw in enumerate(raws.values()):
            files.append(str(folder / f"{number}.npy"))
            np.save(files[-1], raw)
        job = {"config": config.as_dict(), "image_bytes": image_bytes, "element_bytes": element_bytes, "arrays": files,
               "behaviour": asdict(how)}
        names = [*raws, *reversed(raws)]
        with watch(folder / "progress", progress and (lambda done: progress(names[min(done, len(names) - 1)], done,
                                                                             len(names)))):
            report = runner.run(built, "verif.engine.benches.network", job=job, folder=folder, seed=seed)
        if waves is not None:
            waves.mkdir(parents=True, exist_ok=True)
            form = tools.wave_format("verilator")
            (folder / f"dump.{form}").replace(waves / f"engine.{form}")
    return [_result(name, raws[name], packed[name], element_bytes, config, row)
            for name, row in zip(raws, report["arrays"], strict=True)]


def _check(arrays: Mapping[str, np.ndarray], element_bytes: int, config: EngineConfig) -> dict[str, np.ndarray]:
    if element_bytes not in config.element_bytes:
        built = ", ".join(str(8 * size) for size in config.element_bytes)
        raise ValueError(f"{config.name} was built for elements of {built} bits, not for {8 * element_bytes}-bit "
                         "elements: choose another engine, or set its element_bits")
    if not arrays:
        raise ValueError("there is no array to simulate")
    tools.require("verilator")
    raws = {}
    for name, array in arrays.items():
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        if not raw.size:
            raise ValueError(f"array {name} is empty: there is nothing to move")
        if raw.size % element_bytes:
            raise ValueError(f"array {name}: {raw.size} bytes are no multiple of the element size of {element_bytes} "
                             "bytes")
        raws[name] = raw
    return raws


def _room(data: Mapping[str, np.ndarray], align: int) -> int:
    """Bytes of an image that holds all of it, with the gaps between."""
    return sum(each.size + 5 * align + 256 for each in data.values()) + 4096


def _result(name: str, raw: np.ndarray, packed: np.ndarray, element_bytes: int, config: EngineConfig,
            row: dict[str, Any]) -> EngineArrayResult:
    nonzero = int(np.count_nonzero(raw.view(f"<u{element_bytes}")))
    offload, prefetch = row["offload_cycles"], row["prefetch_cycles"]
    plain = plain_bytes_per_cycle(config)
    gain = 2 * raw.size / (offload + prefetch) / plain if offload and prefetch else 0.0
    return EngineArrayResult(
        name, raw.size, packed.size, nonzero * element_bytes / raw.size, raw.size / packed.size, row["raw_blocks"],
        offload, prefetch, raw.size / offload if offload else 0.0, raw.size / prefetch if prefetch else 0.0,
        plain, gain, row["difference"] is None, row["difference"])
