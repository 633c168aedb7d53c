"""The link's clock and reset, where they are its own: unrelated to the engine's, with jitter, and able to stand."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from cocotb.task import Task
from cocotb.triggers import ClockCycles, Timer
from cocotb.utils import get_sim_time

from cdma.verif.common import cover
from cdma.verif.common.job import CLOCK_NS

__all__ = ["TURN", "LinkClock"]

TURN = 24
"""Cycles of the slower clock in which a burst crosses, and its response comes back."""

_JITTER = 0.1
_OPENING_CYCLES = 120
"""Cycles of the engine's clock that the crossing takes to open, at most, and some of the link's."""


class LinkClock:
    """Drives ``link_aclk`` and ``link_aresetn``.

    Parameters
    ----------
    dut
        The top.
    rng
        Source of the jitter, a tenth of half a period, and of the phase.
    ratio
        The frequency, relative to that of ``aclk``; may be changed while it runs.
    """

    def __init__(self, dut: Any, rng: np.random.Generator, ratio: float) -> None:
        self._dut = dut
        self._jitter = np.random.default_rng(int(rng.integers(1 << 30)))
        self._task: Task[None] | None = None
        self.ratio = ratio
        self.stands = False

    def start(self) -> None:
        """Begin to run, from a low clock on."""
        if self._task is None:
            self._dut.link_aclk.value = 0
            self._task = cocotb.start_soon(self._run())

    def close(self) -> None:
        """Stop for good."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        while True:
            half = 500 * CLOCK_NS / self.ratio
            for high, wait in enumerate(half * self._jitter.uniform(1 - _JITTER, 1 + _JITTER, 2)):
                if self.stands:
                    cover.cover("link_clock", "stands")
                if cover.ENABLED and self._dut.link_aresetn.value == 0 and not cover.condition("link_reset", ""):
                    cover.note("link_reset", str(get_sim_time("ns")))
                self._dut.link_aclk.value = high and not self.stands
                await Timer(round(wait), "ps")

    async def reset(self, cycles: int) -> None:
        """Reset the link for so many of its cycles, with the memory behind it."""
        if self._dut.aresetn.value == 1:
            cover.cover("link_clock", "reset")
        self._dut.link_aresetn.value = 0
        await ClockCycles(self._dut.link_aclk, cycles)
        self._dut.link_aresetn.value = 1

    async def opened(self) -> None:
        """Wait as long as the crossing may take to open after a reset."""
        await ClockCycles(self._dut.link_aclk, 10)
        await ClockCycles(self._dut.aclk, _OPENING_CYCLES)
        await ClockCycles(self._dut.link_aclk, 10)
