"""Shared by the benches of the cores: the testbench of a job, conditions, and tests that apply to any core."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from cdma.verif.common import job
from cdma.verif.common.job import share
from cdma.verif.common.stream import Packet
from cdma.verif.core.packets import Expected, by_golden
from cdma.verif.core.testbench import CoreTestbench, core_config

__all__ = ["across_stalls", "across_thirds", "each_condition", "generator", "random_conditions", "ready",
           "reset_in_packets", "share"]

_CONDITIONS = ((0.0, 0.0, 1.0), (0.5, 0.0, 1.0), (0.0, 0.5, 1.0), (0.3, 0.3, 5.0), (0.05, 0.9, 1.0), (0.9, 0.05, 1.0))
"""Idle, backpressure, mean length of a pause."""


def generator() -> np.random.Generator:
    """The source of every random choice of a test."""
    return np.random.default_rng(cocotb.RANDOM_SEED)


async def ready(dut: Any, expect: Callable[[Packet, Any], list[Expected]] = by_golden) -> CoreTestbench:
    """A testbench for the core of the job, after reset; ``expect`` says what must come out, where golden does not."""
    bench = CoreTestbench(dut, core_config(job.load()["config"]), expect)
    await bench.reset()
    return bench


def each_condition(bench: CoreTestbench, rng: np.random.Generator | None = None,
                   most: int = len(_CONDITIONS)) -> Iterator[int]:
    """Put the bench under one condition of idle and backpressure after the other, and give its number; ``rng`` seeds
    the pauses, a fresh generator for each when not given."""
    for number, (idle, backpressure, burst) in enumerate(_CONDITIONS[:most]):
        bench.stall(idle, backpressure, int((rng or generator()).integers(1 << 30)), burst)
        yield number


def random_conditions(bench: CoreTestbench, rng: np.random.Generator, count: int) -> Iterator[int]:
    """Put the bench under random conditions, so many times."""
    for number in range(count):
        idle, backpressure = rng.choice([0, 0, 0.1, 0.5, 0.8], 2).tolist()
        bench.stall(idle, backpressure, int(rng.integers(1 << 30)), float(rng.choice([1, 4, 20])))
        yield number


async def across_stalls(bench: CoreTestbench, packets: Sequence[Packet]) -> None:
    """Play packets under every condition of idle and backpressure."""
    for _ in each_condition(bench):
        await bench.play(packets)


async def across_thirds(bench: CoreTestbench, packets: Sequence[Packet]) -> None:
    """Play a share of the packets under each condition, so that each packet has two of them."""
    for number in each_condition(bench):
        await bench.play(packets[number % 3::3][:share(len(packets))])


async def reset_in_packets(bench: CoreTestbench, make: Callable[[np.random.Generator], Packet]) -> None:
    """Reset in the middle of packets, at any cycle and with any stalls; the packets after must be right.

    Parameters
    ----------
    make
        Makes a packet.
    """
    rng = generator()
    for _ in range(share(40)):
        idle, backpressure, burst = _CONDITIONS[int(rng.integers(len(_CONDITIONS)))]
        bench.stall(idle, backpressure, int(rng.integers(1 << 30)), burst)
        bench.source.queue.extend([make(rng) for _ in range(3)])
        await ClockCycles(bench.dut.aclk, int(rng.integers(1, 50)))
        bench.check()
        await bench.reset(cycles=int(rng.integers(2, 5)))
        await bench.play([make(rng) for _ in range(2)])
