"""Errors in buffers through the reference driver in C: injected, counted, and what a transfer returns."""

from __future__ import annotations

from typing import Any

import cocotb

from cdma.golden.engine import Operation, Status
from cdma.hdl.engine.transfer.buffers import LaneMemory
from cdma.verif.engine.software import error_text, started, two_transfers

_FIRST = {Operation.OFFLOAD: LaneMemory.RAW_BEATS, Operation.PREFETCH: LaneMemory.PAYLOAD_ROWS}


@cocotb.test()
async def errors_in_buffers(dut: Any) -> None:
    """A transfer that meets an error has its status and is counted; the next one works."""
    bench, software = await started(dut)
    for operation, memory in _FIRST.items():
        for lane in range(bench.config.lanes):
            bench.clear()
            asked, _ = two_transfers(bench, operation)
            await bench.load()
            assert await software.call("buffer_errors", operation) == lane
            assert await software.call("inject_buffer_error", lane, memory.value) == 0
            assert await software.transfer(asked) == Status.BUFFER_PARITY
            assert software.found.lane == lane
            assert "parity" in error_text(Status.BUFFER_PARITY)
            await software.succeeds(asked)
            await bench.compare()
    assert await software.call("buffer_errors", Operation.OFFLOAD) == bench.config.lanes
