"""Arrays through the simulated block cores, both ways, byte for byte against the golden model."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding, coding_name
from cdma.golden.results import from_json
from cdma.hdl.codec.coding import CODINGS, TAGS_FIRST
from cdma.hdl.config.block_core import BLOCK_CORES, BlockCoreConfig
from cdma.verif.common import runner, tools
from cdma.verif.common.progress import watch
from cdma.verif.common.stream import Bytes
from cdma.verif.core.blocks.jobs import ArrayFiles, BlockJob, BlockReport
from cdma.verif.core.blocks.packets import Payload, payloads_of_stream
from cdma.verif.core.runs import Meter, Progress, keep_waves, rate
from cdma.verif.core.streaming import build_core

__all__ = ["BlockArray", "BlockArrayResult", "simulate_blocks"]


@dataclass(frozen=True)
class BlockArray:
    """An array to send: any shape and type, whose bits are taken as they are, and the coding of its blocks."""

    name: str
    array: np.ndarray
    coding: Coding


@dataclass(frozen=True)
class BlockArrayResult:
    """How an array passed both block cores.

    Parameters
    ----------
    name
        Of the array.
    coding
        Name of the coding that its blocks were to have.
    raw_bytes, packed_bytes
        Its size, and that of its block stream, headers and padding included.
    density
        Share of its elements that are non-zero.
    ratio
        Raw bytes per packed byte.
    blocks, raw_blocks
        Number of its blocks, and of those that stayed raw: these are not sent to the decompressor.
    raw_beats, payload_beats, expanded_beats
        Beats of the array, of all its payloads, and of the blocks that the decompressor expands.
    compress_cycles, decompress_cycles
        Cycles from the first to the last beat of the array, in at the compressor and out at the decompressor; 0 where
        no beat passed.
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
    coding: str
    raw_bytes: int
    packed_bytes: int
    density: float
    ratio: float
    blocks: int
    raw_blocks: int
    raw_beats: int
    payload_beats: int
    expanded_beats: int
    compress_cycles: int
    decompress_cycles: int
    compress_in_beats_per_cycle: float
    compress_out_beats_per_cycle: float
    decompress_in_beats_per_cycle: float
    decompress_out_beats_per_cycle: float
    limit: float
    passed: bool
    difference: str | None


@dataclass(frozen=True)
class _Sent:
    """An array with its block stream, and the beats that its blocks take."""

    asked: BlockArray
    raw: Bytes
    stream: Bytes
    payloads: tuple[Payload, ...]

    @classmethod
    def of(cls, asked: BlockArray, block_bytes: int) -> _Sent:
        raw = np.ascontiguousarray(asked.array).reshape(-1).view(np.uint8)
        if raw.size % asked.coding.element_bytes or not raw.size:
            raise ValueError(f"array {asked.name}: {raw.size} bytes are no multiple of the "
                             f"{asked.coding.element_bytes} bytes of an element of {coding_name(asked.coding)}")
        stream = blocks.compress(raw, asked.coding, block_bytes)
        return cls(asked, raw, stream, tuple(payloads_of_stream(stream, raw.size, block_bytes)))

    def payload_beats(self, beat_bytes: int) -> int:
        """Beats of all payloads."""
        return sum(-(-payload.data.size // beat_bytes) for payload in self.payloads)

    def expanded_beats(self, beat_bytes: int) -> int:
        """Beats that come out of the decompressor."""
        return sum(-(-payload.raw_bytes // beat_bytes) for payload in self.payloads if payload.coding)


def simulate_blocks(arrays: Sequence[BlockArray], beat_bytes: int, *, block_bytes: int = blocks.BLOCK_BYTES,
                    stalls: float = 0.0, simulator: str = "verilator", waves: Path | None = None, build_dir: Path,
                    seed: int = 1, progress: Progress | None = None) -> list[BlockArrayResult]:
    """Send arrays through a block compressor, and their payloads through a block decompressor, in a simulator.

    The arrays follow each other without a pause but for the stalls; both cores run at the same time in simulations of
    their own. Blocks that stay raw are not sent to the decompressor, which they pass in a system.

    Parameters
    ----------
    arrays
        What to send.
    beat_bytes, block_bytes
        As for :class:`cdma.hdl.config.block_core.BlockCoreConfig`.
    stalls, simulator, waves, build_dir, seed, progress
        As for :func:`cdma.verif.core.simulate.simulate`.

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
    if not 0 <= stalls < 1:
        raise ValueError(f"stalls must be at least 0 and below 1, not {stalls}")
    if not arrays:
        raise ValueError("there is no array to simulate")
    tools.require(simulator)
    exponents = any(asked.coding.exponents for asked in arrays)
    # Names and codings of presets, so that their builds are used again.
    configs = [BlockCoreConfig(core=core, name=f"cdma_{'exponent_' * exponents}{core}", beat_bytes=beat_bytes,
                               block_bytes=block_bytes,
                               codings=tuple(CODINGS) if exponents else tuple(f"zvc{8 * size}" for size in TAGS_FIRST))
               for core in BLOCK_CORES]
    sent = [_Sent.of(asked, block_bytes) for asked in arrays]
    meter = Meter([asked.name for asked in arrays], {
        "block_compressor": [each.payload_beats(beat_bytes) for each in sent],
        "block_decompressor": [each.expanded_beats(beat_bytes) for each in sent]}, progress)
    builds = []
    for config in configs:
        meter.say(f"compiling the {config.core.replace('_', ' ')}")
        builds.append(build_core(config, simulator=simulator, build_dir=build_dir, waves=waves is not None))
    with tempfile.TemporaryDirectory(prefix="cdma-") as place, ThreadPoolExecutor(2) as pool:
        files = tuple(_written(Path(place), number, each) for number, each in enumerate(sent))
        runs = [pool.submit(_run, built, BlockJob(config, files, stalls), Path(place) / config.core, seed,
                            meter.of(config.core)) for built, config in zip(builds, configs, strict=True)]
        reports = [run.result() for run in runs]
        if waves is not None:
            keep_waves(Path(place), BLOCK_CORES, waves, simulator)
    return [_result(each, number, beat_bytes, *reports) for number, each in enumerate(sent)]


def _written(place: Path, number: int, sent: _Sent) -> ArrayFiles:
    files = ArrayFiles(str(place / f"{number}.raw.npy"), str(place / f"{number}.stream.npy"), sent.asked.coding)
    np.save(files.raw, sent.raw)
    np.save(files.stream, sent.stream)
    return files


def _run(built: runner.Build, job: BlockJob, folder: Path, seed: int, progress: Callable[[int], None]) -> BlockReport:
    folder.mkdir(parents=True, exist_ok=True)
    with watch(folder / "progress", progress):
        return from_json(BlockReport, runner.run(built, "cdma.verif.core.benches.block_stream", job=job, folder=folder,
                                                 seed=seed))


def _result(sent: _Sent, number: int, beat_bytes: int, compressed: BlockReport,
            decompressed: BlockReport) -> BlockArrayResult:
    raw, packed, coding = sent.raw.size, sent.stream.size, sent.asked.coding
    faults = [f"{direction}: {fault}" for direction, report in
              (("compressing", compressed), ("decompressing", decompressed))
              if (fault := report.differences[number] or (None if any(report.differences) else report.failed))]
    raw_beats, payload_beats = -(-raw // beat_bytes), sent.payload_beats(beat_bytes)
    elements = sent.raw.view(f"<u{coding.element_bytes}")
    taken, given = compressed.taken[number], decompressed.given[number]
    return BlockArrayResult(
        sent.asked.name, coding_name(coding), raw, packed, float(np.count_nonzero(elements) / elements.size),
        raw / packed, len(sent.payloads), sum(not payload.coding for payload in sent.payloads), raw_beats,
        payload_beats, sent.expanded_beats(beat_bytes), _cycles(taken), _cycles(given), rate(taken),
        rate(compressed.given[number]), rate(decompressed.taken[number]), rate(given),
        min(1.0, raw_beats / payload_beats), not faults, "; ".join(faults) or None)


def _cycles(ends: list[int]) -> int:
    return ends[1] - ends[0] + 1 if ends else 0
