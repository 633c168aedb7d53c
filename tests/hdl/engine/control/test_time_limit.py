"""The time limit in control: its register, and descriptors that the link does not answer."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.golden.engine import Completion, Status
from cdma.hdl.engine.control.table import TIME_LIMIT
from tests.hdl.engine.control.bench import DIRECTIONS, Bench, good, simulated

_LINK_READ_ISOLATED = 1 << 18


@simulated(Bench)
async def test_the_register_sets_the_periods(bench: Bench, ctx: Any) -> None:
    first = TIME_LIMIT << 8 | TIME_LIMIT
    await bench.reads(TIME_LIMIT=first)
    for value, kept, periods in ((0xFFFF_E4E3, 0x0403, [8, 16]), (0x0500, 0x0500, [0, 32])):
        await bench.write("TIME_LIMIT", value)
        await bench.reads(TIME_LIMIT=kept)
        ticks = []
        for _ in range(200):
            _, _, tick = await ctx.tick().sample(bench.dut.tick)
            ticks.append(tick)
        at = [[cycle for cycle, tick in enumerate(ticks) if tick >> which & 1] for which in range(2)]
        assert [each[2] - each[1] if len(each) > 2 else 0 for each in at] == periods
    await bench.soft_reset()
    await bench.reads(TIME_LIMIT=first)


@simulated(Bench)
async def test_a_write_makes_no_tick(bench: Bench, ctx: Any) -> None:
    """The bit of the counter that a limit chooses is 1 for half of the time, and that of no limit never is."""
    ticks, restarts = [], []
    await bench.write("TIME_LIMIT", 0)
    await bench.wait(4)
    for number in range(40):
        # Periods of 256 cycles end where all lower bits of the counter are 0; these writes are elsewhere.
        for limit in (0x0808, 0):
            await bench.write("TIME_LIMIT", limit)
            for _ in range(5 + number % 3):
                _, _, tick, restart = await ctx.tick().sample(bench.dut.tick, bench.dut.restart)
                ticks.append(tick)
                restarts.append(restart)
    assert not any(ticks[at] for at in range(len(ticks)) if any(restarts[max(0, at - 3):at + 2]))
    assert sum(tick != 0 for tick in ticks) <= len(ticks) // 100


@pytest.mark.parametrize(("name", "operation"), DIRECTIONS)
@pytest.mark.parametrize("silent", ["before the request", "before the data"])
@simulated(lambda: Bench(latency=2500))
async def test_descriptors_that_are_not_answered(bench: Bench, ctx: Any, name: str, operation: int, silent: str
                                                 ) -> None:
    """One completion for each try; a soft reset ends beside it, and what comes late is in no later descriptor."""
    dut, control = bench.dut, f"{name.upper()}_RING_CONTROL"
    bench.memory.faulty[0x100] = 2 * (operation - 1)        # in vain: its answer comes too late
    ctx.set(dut.silent, silent == "before the request")
    await bench.ring(name, 0x100, 4, good(operation, tag=7))
    await bench.wait(60)
    ctx.set(dut.silent, 1)
    for _ in range(2):
        assert await bench.completion(name) == Completion(tag=0, status=Status.DESCRIPTOR_READ_TIMEOUT, operation=0,
                                                          place=0x100)
        await bench.reads(**{control: 0, "STATUS": _LINK_READ_ISOLATED})
        await bench.write(control, 1)
    await bench.soft_reset()
    await bench.reads(STATUS=_LINK_READ_ISOLATED)
    # The link wakes up; the next entry waits for what it still owes.
    ctx.set(dut.silent, 0)
    bench.memory.latency = 3
    await bench.ring(name, 0x400, 4, good(operation, tag=9))
    assert bench.memory.open
    await bench.outcomes(name, (9, Status.OK))
    await bench.reads(STATUS=0)
    assert not bench.memory.open
    assert [address for address, _ in bench.memory.bursts] == [0x100, 0x400]
