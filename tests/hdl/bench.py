"""Helpers for tests on Amaranth's own simulator.

A run ends after a number of cycles, so that a design that hangs fails its test. Registers without a reset, and memories
that are written, start at random values as in hardware: a design that needs a reset it does not have fails as well.
What a memory shows of a row that is written in the same cycle is wrong: a design that uses it fails, too.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, cast

from amaranth.hdl import Elaboratable, Fragment, MemoryInstance, Signal, Value
from amaranth.hdl._xfrm import LHSMaskCollector
from amaranth.sim import Simulator

from tests.hdl.memories import WrongCollisions
from tests.hdl.scheduler import OrderedEngine
from tests.hdl.values import values_once

__all__ = ["CYCLES", "Bench", "assigned", "clocked", "pulse", "settled"]

Process = Callable[[Any], Coroutine[Any, Any, None]]

CYCLES = 200_000
"""Cycles after which a test has failed, unless it asks for more."""

_PERIOD = 1e-6


def settled(dut: Elaboratable, process: Process, *, cycles: int = CYCLES) -> None:
    """Run a test of a combinational design; the process gives each input time with ``ctx.delay``.

    Parameters
    ----------
    cycles
        Microseconds of simulated time that the process may take.

    Raises
    ------
    TimeoutError
        If it takes longer.
    """
    async def limit(ctx: Any) -> None:
        await ctx.delay(cycles * _PERIOD)
        raise TimeoutError(_overrun(dut, cycles))

    simulator = Simulator(dut, engine=OrderedEngine)
    simulator.add_testbench(limit, background=True)
    simulator.add_testbench(process)
    simulator.run()


class Bench:
    """A clocked design that is prepared once and run as often as a test likes, each time from power-up.

    Preparing a large design takes Amaranth seconds, a short run of it a tenth of that: tests of many short runs keep
    the bench.

    Parameters
    ----------
    dut
        The design.
    platform
        What it is elaborated for; one whose memories show what is wrong when rows collide, when not given.
    """

    def __init__(self, dut: Elaboratable, platform: object = None):
        self._dut = dut
        self._platform = platform or WrongCollisions()
        self._unreset: list[tuple[Value, int]] = []
        self._simulator: Simulator | None = None

    def run(self, process: Process, *background: Process, cycles: int = CYCLES, seed: int | None = None) -> None:
        """Run until ``process`` ends; the background processes may go on for ever.

        Parameters
        ----------
        cycles
            Cycles that the process may take.
        seed
            Of the values that registers without a reset and memories start at, together with the test's name;
            ``CDMA_SEED``, or 1, when not given.

        Raises
        ------
        TimeoutError
            If the process takes longer.
        """
        chosen = int(os.environ.get("CDMA_SEED", "1")) if seed is None else seed

        async def power_up(ctx: Any) -> None:
            # Every test has other values: one bit is at its initial value half of the time.
            rng = random.Random(f"{chosen} {os.environ.get('PYTEST_CURRENT_TEST', '')}")
            for place, mask in self._unreset:
                ctx.set(place, (ctx.get(place) & ~mask) | (rng.getrandbits(len(place)) & mask))

        async def limit(ctx: Any) -> None:
            await ctx.delay(cycles * _PERIOD)
            raise TimeoutError(_overrun(self._dut, cycles))

        simulator = self._prepared()
        for each in (power_up, limit, *background, process):
            async def call(ctx: Any, each: Process = each) -> None:
                await each(ctx)
            simulator.add_testbench(call, background=each is not process)
        try:
            simulator.run()
        except Exception as error:
            # A simulation that was left in the middle is not used again.
            self._simulator = None
            error.add_note(
                f"registers without a reset started at random values; CDMA_SEED={chosen} gives the same ones")
            raise

    def register(self, name: str) -> Signal:
        """The register without a reset that has this name, to be set by a test; there is just one."""
        self._prepared()
        (found,) = [place for place, _ in self._unreset if isinstance(place, Signal) and place.name == name]
        return found

    def _prepared(self) -> Simulator:
        """A simulator at time 0 without testbenches."""
        if self._simulator is not None:
            cast(OrderedEngine, self._simulator._engine).forget()
            self._simulator.reset()
            return self._simulator
        # A simulator changes the design that it is given, so each one gets its own.
        with values_once():
            design = Fragment.get(self._dut, platform=self._platform)
            self._unreset = list(_unreset(design))
            self._simulator = Simulator(design, engine=OrderedEngine)
        self._simulator.add_clock(_PERIOD)
        return self._simulator


def clocked(dut: Elaboratable, process: Process, *background: Process, cycles: int = CYCLES,
            seed: int | None = None) -> None:
    """Run a test of a clocked design once: :meth:`Bench.run` of a bench that is not kept."""
    Bench(dut).run(process, *background, cycles=cycles, seed=seed)


async def pulse(ctx: Any, *signals: Value) -> None:
    """Set signals of one bit for one cycle."""
    for signal in signals:
        ctx.set(signal, 1)
    await ctx.tick()
    for signal in signals:
        ctx.set(signal, 0)


def _overrun(dut: Elaboratable, cycles: int) -> str:
    return (f"the test of {type(dut).__name__} did not end within {cycles} cycles: the design hangs, or the test needs "
            "a larger limit (cycles=)")


def _unreset(design: Fragment) -> Iterator[tuple[Value, int]]:
    """Registers that no reset reaches, and what memories hold that are written, each with a mask of such bits, in a
    fixed order.

    Bits of a register that are never assigned are constants.
    """
    for domain, statements in design.statements.items():
        if domain != "comb":
            yield from assigned(statements)
    for part, _, _ in design.subfragments:
        if isinstance(part, MemoryInstance):
            if part._write_ports:
                for row in range(part._data.depth):
                    yield _whole(Value.cast(part._data[row]))
            for port in part._read_ports:
                if port._domain != "comb":
                    yield _whole(port._data)
        else:
            yield from _unreset(part)


def assigned(statements: Iterable[Any]) -> list[tuple[Signal, int]]:
    """Registers without a reset that statements assign to, each with a mask of the bits."""
    masks = LHSMaskCollector()
    masks.visit_stmt(statements)
    return [(signal, mask) for signal, mask in masks.masks() if signal.reset_less]


def _whole(value: Any) -> tuple[Any, int]:
    return value, (1 << len(value)) - 1
