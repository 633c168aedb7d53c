"""Shared by the benches of both cores: the testbench of a job, and tests that apply to either core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from cdma.hdl.config.core import CoreConfig
from cdma.verif.common import job
from cdma.verif.common.stream import Packet
from cdma.verif.core.testbench import CoreTestbench, StreamTestbench

__all__ = ["CONDITIONS", "across_stalls", "generator", "ready", "reset_in_packets", "share"]

CONDITIONS = ((0.0, 0.0, 1.0), (0.5, 0.0, 1.0), (0.0, 0.5, 1.0), (0.3, 0.3, 5.0), (0.05, 0.9, 1.0), (0.9, 0.05, 1.0))
"""Idle, backpressure, mean length of a pause."""


def generator() -> np.random.Generator:
    """The source of every random choice of a test."""
    return np.random.default_rng(cocotb.RANDOM_SEED)


def share(count: int) -> int:
    """So much of a count of packets as the job asks for; at least one."""
    return max(1, round(count * job.load().get("share", 1.0)))


async def ready(dut: Any) -> CoreTestbench:
    """A testbench for the core of the job, after reset."""
    bench = CoreTestbench(dut, CoreConfig(**job.load()["config"]))
    await bench.reset()
    return bench


async def across_stalls(bench: StreamTestbench, packets: Sequence[Packet]) -> None:
    """Play packets under every condition of idle and backpressure."""
    for idle, backpressure, burst in CONDITIONS:
        bench.stall(idle, backpressure, int(generator().integers(1 << 30)), burst)
        await bench.play(packets)


async def reset_in_packets(bench: StreamTestbench, make: Callable[[np.random.Generator], Packet]) -> None:
    """Reset in the middle of packets, at any cycle and with any stalls; the packets after must be right.

    Parameters
    ----------
    make
        Makes a packet.
    """
    rng = generator()
    for _ in range(share(40)):
        idle, backpressure, burst = CONDITIONS[int(rng.integers(len(CONDITIONS)))]
        bench.stall(idle, backpressure, int(rng.integers(1 << 30)), burst)
        for _ in range(3):
            bench.source.send(make(rng))
        await ClockCycles(bench.dut.aclk, int(rng.integers(1, 50)))
        bench.check()
        await bench.reset(cycles=int(rng.integers(2, 5)))
        await bench.play([make(rng) for _ in range(2)])
