"""Helpers for tests on Amaranth's own simulator."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from amaranth.hdl import Elaboratable
from amaranth.sim import Simulator

__all__ = ["clocked", "settled"]

Process = Callable[[Any], Coroutine[Any, Any, None]]


def settled(dut: Elaboratable, process: Process) -> None:
    """Runs a test of a combinational design; the process gives each input time with ``ctx.delay``."""
    simulator = Simulator(dut)
    simulator.add_testbench(process)
    simulator.run()


def clocked(dut: Elaboratable, process: Process, *background: Process) -> None:
    """Runs a test of a clocked design until ``process`` ends; the background processes may go on for ever."""
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    for other in background:
        simulator.add_testbench(other, background=True)
    simulator.add_testbench(process)
    simulator.run()
