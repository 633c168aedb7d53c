"""Long data through a block core: arrays go in block by block or as a whole; results are reported, not judged."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import cocotb
import numpy as np

from cdma.golden.results import from_json
from cdma.verif.common import job
from cdma.verif.common.stream import Packet
from cdma.verif.core.blocks.jobs import ArrayFiles, BlockJob, BlockReport
from cdma.verif.core.blocks.packets import Expected, RawPacket, payloads_of_stream
from cdma.verif.core.blocks.testbench import BlockTestbench

_PROGRESS_SECONDS = 0.2


def _compressed(files: ArrayFiles, block_bytes: int) -> list[tuple[Packet, list[Expected]]]:
    """The array as one packet, of which its blocks come."""
    raw, stream = np.load(files.raw, mmap_mode="r"), np.load(files.stream, mmap_mode="r")
    return [(RawPacket.of(raw, files.coding), [
        Expected(payload.data, payload.user, about=f"block {number}")
        for number, payload in enumerate(payloads_of_stream(stream, raw.size, block_bytes))])]


def _expanded(files: ArrayFiles, block_bytes: int) -> list[tuple[Packet, list[Expected]]]:
    """The blocks of the array that are not raw, each a packet."""
    raw, stream = np.load(files.raw, mmap_mode="r"), np.load(files.stream, mmap_mode="r")
    return [(payload, [Expected(raw[number * block_bytes:(number + 1) * block_bytes], about=f"block {number}")])
            for number, payload in enumerate(payloads_of_stream(stream, raw.size, block_bytes)) if payload.coding]


@cocotb.test()
async def stream(dut: Any) -> None:
    """Send everything; report cycles and differences of every array, and every fault of the protocol."""
    asked = from_json(BlockJob, job.load())
    config = asked.config
    said = time.monotonic()

    def progress(beats: int) -> None:
        nonlocal said
        if time.monotonic() - said > _PROGRESS_SECONDS:
            said = time.monotonic()
            job.progress(beats)

    of = _compressed if config.core == "block_compressor" else _expanded
    arrays = [of(files, config.block_bytes) for files in asked.arrays]
    pairs = [pair for array in arrays for pair in array]
    waiting = deque(expected for _, expected in pairs)
    bench = BlockTestbench(dut, config, lambda packet, config: waiting.popleft(), progress)
    await bench.reset()
    bench.stall(asked.stalls, asked.stalls, cocotb.RANDOM_SEED % 2**32)
    failed = None
    try:
        await bench.play([packet for packet, _ in pairs], to_the_end=True)
    except AssertionError as error:
        failed = str(error)
    board = bench.scoreboard
    at = 0
    given, differences = [], []
    for array in arrays:
        blocks = [each for _, expected in array for each in expected]
        span = slice(at, at + len(blocks))
        at += len(blocks)
        given.append(_ends([packet.cycles for packet in board.seen[span]]))
        wrong = [f"{block}: {fault}" for block, fault in zip(blocks, board.judged[span], strict=False) if fault]
        lost = failed if len(board.judged[span]) < len(blocks) else None
        differences.append(wrong[0] if wrong else lost)
    job.report(BlockReport(tuple(_ends([packet.cycles for packet, _ in array]) for array in arrays), tuple(given),
                           tuple(differences), failed))


def _ends(packets: Sequence[Any]) -> list[int]:
    """First and last cycle, and number of beats."""
    taken = [cycles for cycles in packets if len(cycles)]
    return [taken[0][0], taken[-1][-1], sum(map(len, taken))] if taken else []
