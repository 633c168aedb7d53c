"""Long data: files go through a core as packets, back to back or one by one; results are reported, not judged.

The job names the configuration, the pauses, and for every packet the files of what goes in and what must come out.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from typing import Any

import cocotb
import numpy as np

from cdma.golden.results import from_json
from cdma.hdl.codec.packets import ErrorCode
from cdma.verif.common import job
from cdma.verif.common.stream import Packet
from cdma.verif.core.jobs import PacketFiles, StreamJob, StreamReport
from cdma.verif.core.testbench import CoreModel, CoreTestbench, Expected

_PROGRESS_SECONDS = 0.2


class FileModel(CoreModel):
    """Expects the content of files, in the order of the packets."""

    def __init__(self, packets: Iterable[PacketFiles]) -> None:
        self._packets = deque(packets)

    def expect(self, item: Packet) -> Expected:
        """What must come out."""
        packet = self._packets.popleft()
        data = np.load(packet.expected, mmap_mode="r")
        return Expected(data, data.size, ErrorCode.OK, 0, np.load(packet.starts, mmap_mode="r"))


@cocotb.test()
async def stream(dut: Any) -> None:
    """Send everything; report cycles and differences of every packet, and every fault of the protocol."""
    asked = from_json(StreamJob, job.load())
    said = time.monotonic()

    def progress(beats: int) -> None:
        nonlocal said
        if time.monotonic() - said > _PROGRESS_SECONDS:
            said = time.monotonic()
            job.progress(beats)

    bench = CoreTestbench(dut, asked.config, FileModel(asked.packets), progress)
    await bench.reset()
    bench.stall(asked.stalls, asked.stalls, cocotb.RANDOM_SEED % 2**32, asked.burst)
    packets = [Packet(np.load(packet.data, mmap_mode="r"), packet.element_bytes) for packet in asked.packets]
    failed = None
    try:
        for group in [[packet] for packet in packets] if asked.alone else [packets]:
            await bench.play(group, to_the_end=True)
    except AssertionError as error:
        failed = str(error)
    board = bench.scoreboard
    taken, given = (tuple(list(packet.cycles) if asked.alone else _ends(packet.cycles) for packet in side)
                    for side in (packets, board.seen))
    job.report(StreamReport(taken, given, tuple(board.judged), failed))


def _ends(cycles: Any) -> list[int]:
    """First and last cycle, and number of beats."""
    return [cycles[0], cycles[-1], len(cycles)] if len(cycles) else []
