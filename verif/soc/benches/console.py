"""Reads what the SoC prints until the firmware ends."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import SimTimeoutError, ValueChange, with_timeout
from cocotb.utils import get_sim_time

from cdma.verif.common import job
from cdma.verif.soc.top import END

PERIOD_NS = 10


@cocotb.test()
async def firmware_ends(dut: Any) -> None:
    """Collects bytes up to END; the simulation stops there, or at the limit of cycles."""
    most = job.load()["cycles"]
    text = bytearray()

    async def listen() -> None:
        while True:
            await ValueChange(dut.count)
            if not int(dut.count.value):
                continue    # its start value
            if (byte := int(dut.letter.value)) == END:
                return
            text.append(byte)

    Clock(dut.clk, PERIOD_NS, unit="ns").start()
    ended = True
    try:
        await with_timeout(listen(), most * PERIOD_NS, "ns")
    except SimTimeoutError:
        ended = False
    job.report({"text": text.decode("ascii", "replace"), "cycles": round(get_sim_time("ns") / PERIOD_NS),
                "ended": ended})
