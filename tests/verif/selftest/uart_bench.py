"""Listens to the self-test's UART as a terminal would: edges and time alone, nothing of the design's own."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer, ValueChange, with_timeout

from verif import job

PERIOD_NS = 10


class _Receiver:
    """Decodes 8 data bits without parity, sampled in the middle of every bit."""

    def __init__(self, tx: Any, bit_ns: int) -> None:
        self._tx = tx
        self._bit_ns = bit_ns
        self.text = ""

    async def listen(self) -> None:
        while True:
            await FallingEdge(self._tx)
            await Timer(self._bit_ns * 3 // 2, "ns")
            code = 0
            for bit in range(8):
                code |= int(self._tx.value) << bit
                await Timer(self._bit_ns, "ns")
            assert int(self._tx.value) == 1, "a character has no stop bit"
            self.text += chr(code)

    def lines(self) -> list[str]:
        """The lines that are complete."""
        return self.text.split("\r\n")[:-1]


@cocotb.test()
async def listens(dut: Any) -> None:
    """Reports the text of some runs and the lights behind each."""
    wanted = job.load()
    cocotb.start_soon(Clock(dut.clk, PERIOD_NS, "ns").start())
    dut.rst.value, dut.switches.value, dut.button.value = 1, wanted["switches"], 0
    await ClockCycles(dut.clk, 3)
    dut.rst.value = 0
    receiver = _Receiver(dut.tx, wanted["divisor"] * PERIOD_NS)
    cocotb.start_soon(receiver.listen())
    lights = []
    for number in range(wanted["runs"]):
        if number in wanted["pressed"]:
            dut.button.value = 1
            await ClockCycles(dut.clk, 5)
            dut.button.value = 0
        # Low after reset and in the pause; the run before it may have ended just now.
        if not int(dut.running.value):
            await with_timeout(ValueChange(dut.running), 1, "ms")
        await with_timeout(ValueChange(dut.running), wanted["patience"] * PERIOD_NS, "ns")
        lights.append({"passed": int(dut.passed.value), "failed": int(dut.failed.value)})
        # The last line is still under way.
        while sum("PASS" in line or "FAIL" in line for line in receiver.lines() if line.startswith("run")) <= number:
            await ClockCycles(dut.clk, 100)
    job.report({"text": receiver.text, "lights": lights})
