"""The time limit in control: its register, and descriptors that the link does not answer."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.hdl.engine.control.table import TIME_LIMIT
from cdma.hdl.engine.transfer.records import Status
from tests.hdl.engine.control.bench import Bench, good

_LINK_READ_ISOLATED = 1 << 18
_OK, _TIMEOUT = Status.OK.value, Status.DESCRIPTOR_READ_TIMEOUT.value


def test_the_register_sets_the_periods() -> None:
    bench = Bench()

    async def period(ctx: Any, which: int) -> int:
        ticks = []
        for cycle in range(200):
            _, _, tick = await ctx.tick().sample(bench.dut.tick)
            if tick >> which & 1:
                ticks.append(cycle)
        return ticks[2] - ticks[1] if len(ticks) > 2 else 0

    async def driver(ctx: Any) -> None:
        assert await bench.read(ctx, "TIME_LIMIT") == TIME_LIMIT << 8 | TIME_LIMIT
        await bench.write(ctx, "TIME_LIMIT", 0xFFFF_E4E3)
        assert await bench.read(ctx, "TIME_LIMIT") == 0x0403
        assert (await period(ctx, 0), await period(ctx, 1)) == (8, 16)
        await bench.write(ctx, "TIME_LIMIT", 0x0500)
        assert (await period(ctx, 0), await period(ctx, 1)) == (0, 32)
        await bench.write(ctx, "CONTROL", 1)
        await bench.until(ctx, "CONTROL", 1, 0)
        assert await bench.read(ctx, "TIME_LIMIT") == TIME_LIMIT << 8 | TIME_LIMIT

    bench.run(driver)


def test_a_write_makes_no_tick() -> None:
    """The bit of the counter that a limit chooses is 1 for half of the time, and that of no limit never is."""
    bench = Bench()

    async def driver(ctx: Any) -> None:
        ticks, restarts = [], []

        async def sampled() -> None:
            _, _, tick, restart = await ctx.tick().sample(bench.dut.tick, bench.dut.restart)
            ticks.append(tick)
            restarts.append(restart)

        await bench.write(ctx, "TIME_LIMIT", 0)
        await bench.wait(ctx, 4)
        for number in range(40):
            # Periods of 256 cycles end where all lower bits of the counter are 0; these writes are elsewhere.
            for limit in (0x0808, 0):
                await bench.write(ctx, "TIME_LIMIT", limit)
                for _ in range(5 + number % 3):
                    await sampled()
        assert not any(ticks[at] for at in range(len(ticks)) if any(restarts[max(0, at - 3):at + 2]))
        assert sum(tick != 0 for tick in ticks) <= len(ticks) // 100

    bench.run(driver)


@pytest.mark.parametrize("name", ["offload", "prefetch"])
@pytest.mark.parametrize("silent", ["before the request", "before the data"])
def test_descriptors_that_are_not_answered(name: str, silent: str) -> None:
    """One completion for each try; a soft reset ends beside it, and what comes late is in no later descriptor."""
    bench = Bench(latency=2500)
    operation = 1 if name == "offload" else 2
    prefix = name.upper()
    bench.ring(0x100, [good(operation, tag=7)])
    bench.ring(0x400, [good(operation, tag=9)])

    async def driver(ctx: Any) -> None:
        dut = bench.dut
        await bench.start_ring(ctx, name, 0x100, 4)
        if silent == "before the request":
            ctx.set(dut.silent, 1)
        await bench.write(ctx, f"{prefix}_RING_TAIL", 1)
        await bench.wait(ctx, 60)
        ctx.set(dut.silent, 1)
        for _ in range(2):
            done = await bench.completion(ctx, name)
            assert (done.tag, done.status, done.place, done.response) == (0, _TIMEOUT, 0x100, 0)
            assert await bench.read(ctx, f"{prefix}_RING_CONTROL") == 0
            assert await bench.read(ctx, "STATUS") & _LINK_READ_ISOLATED
            await bench.write(ctx, f"{prefix}_RING_CONTROL", 1)
        await bench.write(ctx, "CONTROL", 1)
        await bench.until(ctx, "CONTROL", 1, 0)
        assert await bench.read(ctx, "STATUS") & _LINK_READ_ISOLATED
        # The link wakes up; the next entry waits for what it still owes.
        ctx.set(dut.silent, 0)
        bench.memory.latency = 3
        await bench.start_ring(ctx, name, 0x400, 4)
        await bench.write(ctx, f"{prefix}_RING_TAIL", 1)
        assert bench.memory.open
        assert await bench.outcome(ctx, name) == (9, _OK)
        assert not await bench.read(ctx, "STATUS")
        assert not bench.memory.open

    bench.run(driver)
