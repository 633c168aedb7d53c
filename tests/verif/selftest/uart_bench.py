"""Listens to the self-test's UART as a terminal would: edges and time alone, nothing of the design's own."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer, ValueChange, with_timeout

from verif.common import job


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
        """How many runs have told their sum."""
        return sum(line.startswith("run ") for line in self.text.split("\r\n")[:-1])


@cocotb.test()
async def listens(dut: Any) -> None:
    """Reports the text of some runs and the lights behind each.

    The job says what the pins are called, which level they have at rest, which are to be high, and which runs the
    button is pressed in.
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
    # What is not reset may still change from what it was before its first edge.
    await Timer(4 * period_ps, "ps")
    for number in range(wanted["runs"]):
        if number in wanted["pressed"]:
            button.value = 1 - rest[pins["button"]]
            await Timer(20 * period_ps, "ps")
            button.value = rest[pins["button"]]
        # On while a run is under way: it may have begun, or is about to behind the pause.
        if int(running.value) == wanted["dark"]:
            await with_timeout(ValueChange(running), 5, "ms")
        await with_timeout(ValueChange(running), wanted["patience_ms"], "ms")
        await Timer(period_ps, "ps")
        assert all(int(getattr(dut, name).value) for name in wanted["high"])
        lights.append({what: int(getattr(dut, pins[what]).value != wanted["dark"]) for what in ("passed", "failed")})
        # The last line is still under way.
        while receiver.runs() <= number:
            await Timer(100 * period_ps, "ps")
    job.report({"text": receiver.text, "lights": lights})
