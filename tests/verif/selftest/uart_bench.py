"""Receives from the self-test's UART as a terminal does: from edges and times alone."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer, ValueChange, with_timeout

from cdma.verif.common import job


class _Receiver:
    """Decodes 8 data bits without parity, sampled in the middle of every bit."""

    def __init__(self, tx: Any, bit_ps: int) -> None:
        self._tx = tx
        self._bit_ps = bit_ps
        self.text = ""

    async def listen(self) -> None:
        while True:
            await FallingEdge(self._tx)
            await Timer(self._bit_ps * 3 // 2, "ps")
            code = 0
            for bit in range(8):
                code |= int(self._tx.value) << bit
                await Timer(self._bit_ps, "ps")
            assert int(self._tx.value) == 1, "a character has no stop bit"
            self.text += chr(code)

    def runs(self) -> int:
        """How many runs have printed their result."""
        return sum(line.startswith("run=") for line in self.text.split("\r\n")[:-1])

    async def printed(self, runs: int) -> None:
        """Return when so many runs have printed their result."""
        while self.runs() < runs:
            await Timer(self._bit_ps, "ps")


@cocotb.test()
async def listens(dut: Any) -> None:
    """Reports the text of some runs, and the LEDs after each.

    The job names the pins, their levels at rest, those that must be high, and the runs during which the button is
    pressed.
    """
    wanted = job.load()
    pins, rest = wanted["pins"], wanted["rest"]
    for name, level in rest.items():
        getattr(dut, name).value = level
    button, running = getattr(dut, pins["button"]), getattr(dut, pins["running"])
    period_ps = wanted["period_ps"]
    cocotb.start_soon(Clock(getattr(dut, pins["clock"]), period_ps, "ps").start())
    if pins["reset"] is not None:
        reset = getattr(dut, pins["reset"])
        reset.value = 1 - rest[pins["reset"]]
        await Timer(40 * period_ps, "ps")
        reset.value = rest[pins["reset"]]
    receiver = _Receiver(getattr(dut, pins["tx"]), wanted["bit_ps"])
    cocotb.start_soon(receiver.listen())
    lights = []
    # Registers without a reset change at the first clock edges.
    await Timer(4 * period_ps, "ps")
    for number in range(wanted["runs"]):
        if number in wanted["pressed"]:
            button.value = 1 - rest[pins["button"]]
            await Timer(20 * period_ps, "ps")
            button.value = rest[pins["button"]]
        # The LED is on during a run, which has begun already, or begins after the pause.
        if int(running.value) == wanted["dark"]:
            await with_timeout(ValueChange(running), 5, "ms")
        await with_timeout(ValueChange(running), wanted["patience_ms"], "ms")
        await Timer(period_ps, "ps")
        assert all(int(getattr(dut, name).value) for name in wanted["high"])
        lights.append({what: int(getattr(dut, pins[what]).value != wanted["dark"]) for what in ("passed", "failed")})
        # The last line is still being sent: at most 100 characters of 10 bits.
        await with_timeout(receiver.printed(number + 1), 1000 * wanted["bit_ps"], "ps")
    job.report({"text": receiver.text, "lights": lights})
