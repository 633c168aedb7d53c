"""The time limit in control: its register, and descriptors that the link does not answer."""

from __future__ import annotations

from typing import Any

from cdma.hdl.engine.control.table import TIME_LIMIT
from tests.hdl.engine.control.bench import Bench, simulated


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
