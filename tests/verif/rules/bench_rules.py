"""Plays traces into the protocol rules, and reports when each cycle was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cocotb
from cocotb.triggers import Timer
from cocotb.types import LogicArray
from cocotb.utils import get_sim_time

from cdma.verif.common import job
from tests.verif.rules.traces import IDLE

_HALF_NS = 1


async def _cycle(dut: Any, signals: Mapping[str, int | str], now: dict[str, int | str]) -> int:
    """One clock cycle with these signals; the time of its rising edge, in picoseconds."""
    for name, value in {**IDLE, **signals}.items():
        if now.get(name) != value:
            handle = getattr(dut, name)
            handle.value = LogicArray("X" * len(handle)) if value == "X" else value
            now[name] = value
    await Timer(_HALF_NS, "ns")
    dut.aclk.value = 1
    time = int(get_sim_time("ps"))
    await Timer(_HALF_NS, "ns")
    dut.aclk.value = 0
    return time


@cocotb.test()
async def play(dut: Any) -> None:
    """Each trace behind a reset; all behind an edge at time 0, as of a clock that is high when a simulator begins, in a
    reset that nothing has seen."""
    dut.aclk.value, dut.aresetn.value, dut.on_stream.value = 1, 0, 1
    await Timer(_HALF_NS, "ns")
    dut.aclk.value = 0
    now: dict[str, int | str] = {}
    times = []
    for _ in range(3):
        await _cycle(dut, {"tvalid": 1}, now)
    for trace, protocol in job.load()["traces"]:
        for name in ("write", "read", "lite", "narrow", "stream"):
            getattr(dut, f"on_{name}").value = name == protocol
        for signals in ({"aresetn": 0}, {"aresetn": 0}, {}):
            await _cycle(dut, signals, now)
        times.append([await _cycle(dut, signals, now) for signals in trace])
        await _cycle(dut, {"aresetn": 0}, now)
    job.report({"times": times})
