"""Arrays through a simulated engine as a training step moves them: offloaded in order, prefetched in reverse."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cdma.golden.codec.coding import Coding, coding_name
from cdma.golden.codec.narrowing import NARROWED_CODINGS
from cdma.hdl.config.engine import EngineConfig
from cdma.verif.common import runner, tools
from cdma.verif.common.progress import watch
from cdma.verif.common.stream import Bytes
from cdma.verif.engine.build import build_engine
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.stimulus import RawTensor
from cdma.verif.engine.toggles import bus_beats, toggles
from cdma.verif.engine.top import IMAGE_BYTES

__all__ = ["Handling", "plain_bytes_per_cycle", "simulate", "simulate_row"]

Progress = Callable[[str, int, int], None]
Row = dict[str, Any]


@dataclass(frozen=True)
class Handling:
    """How an array is moved: fields of its descriptors.

    Parameters
    ----------
    coding
        Of the blocks of the stream, one of :class:`cdma.golden.codec.coding.Coding`.
    fallback, leave_raw
        Whether blocks may stay raw, and whether all do.
    narrow
        What float32 values are rounded to, one of :class:`cdma.golden.codec.narrowing.Narrowing`.
    """

    coding: int
    fallback: bool = True
    leave_raw: bool = False
    narrow: int = 0


def plain_bytes_per_cycle(config: EngineConfig, link_share: float = 1.0) -> float:
    """What an engine of this width would move at best without compression: what link and lanes let through."""
    return min(config.link_beat_bytes * link_share, config.lanes * config.beat_bytes)


def simulate(arrays: Mapping[str, np.ndarray], handling: Mapping[str, Handling], config: EngineConfig, *,
             how: Behaviour | None = None, link_share: float = 1.0, waves: Path | None = None, build_dir: Path,
             seed: int = 1, progress: Progress | None = None) -> list[Row]:
    """Offload arrays in order and prefetch them in reverse, in a simulator, one at a time.

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
        A row for every array, in their order: its sizes, coding and density; ``ratio``, raw bytes per byte of the block
        stream; blocks that were left raw; cycles from taking each descriptor to its completion, 0 where there was none,
        and raw bytes by those cycles; ``plain_bytes_per_cycle``, what a DMA engine of the same width moves at best over
        the same link, uncompressed; ``gain``, how many times as fast there and back went as that; bits that change
        between consecutive beats of the link, as a plain DMA engine would move the array and as its block stream passes
        (the bus of the simulation is checked to toggle so, all arrays together); whether completions, memories and bus
        rules were right in both directions; and ``difference``, what was wrong first.

    Raises
    ------
    ValueError
        If an argument is not allowed, or an array's length is zero or not a multiple of the element size.
    RuntimeError
        If a tool is missing, or the design does not compile or ends before the bench.
    """
    tensors, streams, report = _run(arrays, handling, config, how or Behaviour(), link_share, waves, build_dir, seed,
                                    progress)
    plain = plain_bytes_per_cycle(config, link_share)
    return [_result(name, tensors[name], streams[name], config.link_beat_bytes, plain, row)
            for name, row in zip(tensors, report["arrays"], strict=True)]


def simulate_row(arrays: Mapping[str, np.ndarray], handling: Mapping[str, Handling], config: EngineConfig, *,
                 how: Behaviour | None = None, link_share: float = 1.0, build_dir: Path, seed: int = 1,
                 progress: Progress | None = None) -> Row:
    """As :func:`simulate`, but all arrays are queued at once, so that transfers overlap: the cycles in which each
    direction was busy.

    Raises
    ------
    RuntimeError
        Also if an array comes out wrong.
    """
    _, _, report = _run(arrays, handling, config, how or Behaviour(), link_share, None, build_dir, seed, progress, True)
    for name, row in zip(arrays, report["arrays"], strict=True):
        if row["difference"]:
            raise RuntimeError(f"array {name}, one directly after the other: {row['difference']}")
    return {way: report[way] for way in ("offload_cycles", "prefetch_cycles")}


def _run(arrays: Mapping[str, np.ndarray], handling: Mapping[str, Handling], config: EngineConfig, how: Behaviour,
         link_share: float, waves: Path | None, build_dir: Path, seed: int, progress: Progress | None,
         row: bool = False) -> tuple[dict[str, RawTensor], dict[str, Bytes], Row]:
    """The tensors, their streams, and what the bench reports of them."""
    tensors = _tensors(arrays, handling, config)
    streams = {name: tensor.stream(config.block_bytes, handling[name].fallback, handling[name].leave_raw)
               for name, tensor in tensors.items()}
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
            moves.append({"file": file} | asdict(handling[name]))
        job = {"config": config, "image_bytes": image_bytes, "moves": moves, "behaviour": how, "link_share": link_share,
               "row": row}
        names = [*tensors, *reversed(tensors)]
        with watch(folder / "progress", progress and (lambda done: progress(names[min(done, len(names) - 1)], done,
                                                                             len(names)))):
            report = runner.run(built, "cdma.verif.engine.benches.network", job=job, folder=folder, seed=seed)
        if waves is not None:
            waves.mkdir(parents=True, exist_ok=True)
            form = tools.wave_format("verilator")
            (folder / f"dump.{form}").replace(waves / f"engine.{form}")
    return tensors, streams, report


def _tensors(arrays: Mapping[str, np.ndarray], handling: Mapping[str, Handling],
             config: EngineConfig) -> dict[str, RawTensor]:
    if not arrays:
        raise ValueError("there is no array to simulate")
    found = {}
    for name, array in arrays.items():
        coding, narrow = handling[name].coding, handling[name].narrow
        if coding not in config.numbers:
            wanted = coding_name(Coding(coding)) if coding in set(Coding) else f"{coding:#04x}"
            raise ValueError(f"{config.name} builds the codings {', '.join(config.codings)}, not {wanted}: choose "
                             "another engine, or set its codings")
        if narrow and not config.narrowing:
            raise ValueError(f"{config.name} has no stage that rounds {name} to 16 bits: choose an engine with "
                             "narrowing")
        if narrow and coding not in NARROWED_CODINGS.get(narrow, ()):
            raise ValueError(f"array {name}: values that are rounded to bfloat16 are coded as zvc16 or bfloat16, those "
                             f"rounded to float16 as zvc16, not as {coding_name(Coding(coding))}")
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        if not raw.size:
            raise ValueError(f"array {name} is empty: there is nothing to move")
        tensor = RawTensor(raw, Coding(coding), narrow)
        if raw.size % tensor.element_bytes:
            raise ValueError(f"array {name}: {raw.size} bytes are not a multiple of the element size of "
                             f"{tensor.element_bytes} bytes")
        found[name] = tensor
    tools.require("verilator")
    return found


def _room(sizes: Sequence[int], align: int) -> int:
    """Bytes of an image that holds all of it, with the gaps between."""
    return sum(size + 5 * align + 256 for size in sizes) + 4096


def _result(name: str, tensor: RawTensor, stream: Bytes, link_beat_bytes: int, plain: float,
            row: Row) -> Row:
    raw = tensor.raw
    element_bytes = tensor.element_bytes
    nonzero = int(np.count_nonzero(raw.view(f"<u{element_bytes}")))
    offload, prefetch = row["offload_cycles"], row["prefetch_cycles"]
    gain = 2 * raw.size / (offload + prefetch) / plain if offload and prefetch else 0.0
    return {
        "name": name, "raw_bytes": raw.size, "packed_bytes": stream.size, "coding": coding_name(tensor.coding),
        "density": nonzero * element_bytes / raw.size, "ratio": raw.size / stream.size,
        "raw_blocks": row["raw_blocks"], "offload_cycles": offload, "prefetch_cycles": prefetch,
        "offload_bytes_per_cycle": raw.size / offload if offload else 0.0,
        "prefetch_bytes_per_cycle": raw.size / prefetch if prefetch else 0.0,
        "plain_bytes_per_cycle": plain, "gain": gain, "raw_toggles": toggles(bus_beats([raw], link_beat_bytes)),
        "packed_toggles": toggles(bus_beats([stream], link_beat_bytes)), "passed": row["difference"] is None,
        "difference": row["difference"]}
