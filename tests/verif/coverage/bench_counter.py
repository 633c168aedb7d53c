"""Clocks a counter as often as the job says."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import Timer

from cdma.verif.common import job
from cdma.verif.common.cover import cover


@cocotb.test()
async def count(dut: Any) -> None:
    """Pulses of the clock, without a reset."""
    dut.aresetn.value = 1
    dut.aclk.value = 0
    for _ in range(job.load()["cycles"]):
        await Timer(1, "ns")
        dut.aclk.value = 1
        cover("pulses", "seen")
        await Timer(1, "ns")
        dut.aclk.value = 0
