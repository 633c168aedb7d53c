"""Long data: arrays go through a core, back to back or packet by packet; results are reported, not judged."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from typing import Any

import cocotb
import numpy as np

from cdma.verif.common import job
from cdma.verif.common.stream import Packet
from cdma.verif.core.packets import Expected, RawPacket, line_starts, payloads_of_stream, raw_starts
from cdma.verif.core.testbench import CoreTestbench, core_config

_PROGRESS_SECONDS = 0.2


def _packets(config: Any, coding: int, raw: str, packed: str) -> list[tuple[Packet, list[Expected]]]:
    """The packets that go in for an array, by its files, each with those that must come out."""
    whole, stream, size = np.load(raw, mmap_mode="r"), np.load(packed, mmap_mode="r"), coding & 0x0F
    if config.core == "compressor":
        return [(Packet(whole, size), [Expected(stream, starts=line_starts(whole, size))])]
    if config.core == "decompressor":
        return [(Packet(stream, size), [Expected(whole, starts=raw_starts(whole.size))])]
    block = config.block_bytes
    payloads = list(enumerate(payloads_of_stream(stream, whole.size, block)))
    if config.core == "block_compressor":
        return [(RawPacket.of(whole, coding), [Expected(payload.data, payload.user, about=f"block {number}")
                                               for number, payload in payloads])]
    return [(payload, [Expected(whole[number * block:(number + 1) * block], about=f"block {number}",
                                starts=raw_starts(block))]) for number, payload in payloads if payload.coding]


@cocotb.test()
async def stream(dut: Any) -> None:
    """Send everything; report cycles and differences of every array, and every fault of the protocol."""
    asked = job.load()
    alone, config = asked["alone"], core_config(asked["config"])
    said = time.monotonic()

    def progress(beats: int) -> None:
        nonlocal said
        if time.monotonic() - said > _PROGRESS_SECONDS:
            said = time.monotonic()
            job.progress(beats)

    arrays = [_packets(config, **each) for each in asked["arrays"]]
    pairs = [pair for array in arrays for pair in array]
    waiting = deque(expected for _, expected in pairs)
    bench = CoreTestbench(dut, config, lambda packet, config: waiting.popleft(), progress)
    await bench.reset()
    bench.stall(asked["stalls"], asked["stalls"], cocotb.RANDOM_SEED % 2**32)
    failed = None
    try:
        for group in [[pair] for pair in pairs] if alone else [pairs]:
            await bench.play([packet for packet, _ in group], to_the_end=True)
    except AssertionError as error:
        failed = str(error)
    rows: list[dict[str, Any]] = []
    out = 0
    for array in arrays:
        blocks = [each for _, expected in array for each in expected]
        seen, judged = bench.seen[out:out + len(blocks)], bench.judged[out:out + len(blocks)]
        out += len(blocks)
        wrong = [f"{block}: {fault}" if block.about else fault
                 for block, fault in zip(blocks, judged, strict=False) if fault]
        rows.append({"taken": _cycles((packet for packet, _ in array), alone), "given": _cycles(seen, alone),
                     "difference": wrong[0] if wrong else failed if len(judged) < len(blocks) else None})
    if not any(row["difference"] for row in rows):
        rows = [row | {"difference": failed} for row in rows]
    job.report({"arrays": rows})


def _cycles(packets: Iterable[Any], alone: bool) -> list[int]:
    """The cycles of all beats, or the first, the last, and the number of beats."""
    taken = [packet.cycles for packet in packets if len(packet.cycles)]
    if alone:
        return [cycle for cycles in taken for cycle in cycles]
    return [taken[0][0], taken[-1][-1], sum(map(len, taken))] if taken else []
