"""Long data: files go through a core as packets, back to back or one by one; results are reported, not judged.

The job names the configuration, the pauses, and for every packet the files of what goes in and what must come out.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import cocotb
import numpy as np

from hdl.codec.packets import ErrorCode
from hdl.config.core import CoreConfig
from verif.common import job
from verif.common.stream import Packet
from verif.core.testbench import CoreModel, CoreTestbench, Expected

_PROGRESS_SECONDS = 0.2


class FileModel(CoreModel):
    """Expects what lies in files, in the order of the packets."""

    def __init__(self, packets: list[dict[str, Any]]) -> None:
        self._packets = deque(packets)

    def expect(self, item: Packet) -> Expected:
        """What must come out."""
        packet = self._packets.popleft()
        data = np.load(packet["expected"], mmap_mode="r")
        return Expected(data, data.size, ErrorCode.OK, 0, np.load(packet["starts"], mmap_mode="r"))


@cocotb.test()
async def stream(dut: Any) -> None:
    """Send everything; report cycles and differences of every packet, and every fault of the protocol."""
    values = job.load()
    said = time.monotonic()

    def progress(beats: int) -> None:
        nonlocal said
        if time.monotonic() - said > _PROGRESS_SECONDS:
            said = time.monotonic()
            job.progress(beats)

    bench = CoreTestbench(dut, CoreConfig(**values["config"]), FileModel(values["packets"]), progress)
    await bench.reset()
    bench.stall(values["stalls"], values["stalls"], cocotb.RANDOM_SEED % 2**32, values["burst"])
    packets = [Packet(np.load(packet["data"], mmap_mode="r"), packet["element_bytes"]) for packet in values["packets"]]
    failed = None
    try:
        for group in [[packet] for packet in packets] if values["alone"] else [packets]:
            await bench.play(group, to_the_end=True)
    except AssertionError as error:
        failed = str(error)
    board = bench.scoreboard
    cycles = [[list(packet.cycles) if values["alone"] else _ends(packet.cycles) for packet in side]
              for side in (packets, board.seen)]
    job.report({"in": cycles[0], "out": cycles[1], "judged": board.judged, "failed": failed})


def _ends(cycles: Any) -> list[int]:
    """First and last cycle, and how many beats."""
    return [cycles[0], cycles[-1], len(cycles)] if len(cycles) else []
