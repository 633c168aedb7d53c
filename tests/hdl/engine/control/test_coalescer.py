"""The coalescer against a model: reports by number, by time, and at once."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.engine.control.coalescer import Coalescer
from tests.hdl.bench import clocked


async def _step(ctx: Any, dut: Coalescer, counts: int = 0, flush: int = 0, clear: int = 0) -> bool:
    """One cycle; whether something is reported in it."""
    ctx.set(dut.counts, counts)
    ctx.set(dut.flush, flush)
    ctx.set(dut.clear, clear)
    _, _, report = await ctx.tick().sample(dut.report)
    return bool(report)


async def _rest(ctx: Any, dut: Coalescer, cycles: int) -> list[int]:
    """The cycles, counted from 1, in which something is reported while nothing happens."""
    return [cycle for cycle in range(1, cycles + 1) if await _step(ctx, dut)]


@pytest.mark.parametrize("count", [0, 1, 2, 7, 300])
def test_by_number(count: int) -> None:
    dut, rng = Coalescer(), random.Random(count)

    async def process(ctx: Any) -> None:
        ctx.set(dut.count, count)
        for number in range(1, 3 * max(count, 1) + 1):
            assert not await _step(ctx, dut, counts=1)
            seen = await _rest(ctx, dut, 4 + rng.randrange(3))
            assert seen == ([2] if number % max(count, 1) == 0 else []), number

    clocked(dut, process)


@pytest.mark.parametrize("time", [1, 5, 255, 256, 1000])
def test_by_time(time: int) -> None:
    """The time runs from the first record on, whatever comes behind it."""
    dut = Coalescer()

    async def process(ctx: Any) -> None:
        ctx.set(dut.count, 1000)
        ctx.set(dut.time, time)
        for others in (0, min(time // 8, 5)):
            assert not await _rest(ctx, dut, 10)
            assert not await _step(ctx, dut, counts=1)
            cycle = 0
            for _ in range(others):
                for counts in (0, 0, 0, 0, 1):
                    assert not await _step(ctx, dut, counts=counts)
                    cycle += 1
            assert [cycle + each for each in await _rest(ctx, dut, time + 20)] == [time + 2]
        # Without a limit nothing is reported, however long it takes.
        ctx.set(dut.time, 0)
        await _rest(ctx, dut, 2)
        await _step(ctx, dut, counts=1)
        assert not await _rest(ctx, dut, 3 * time)
        await _step(ctx, dut, flush=1)
        assert await _rest(ctx, dut, 9) == [1]

    clocked(dut, process)


def test_at_once_and_not_at_all() -> None:
    dut = Coalescer()

    async def process(ctx: Any) -> None:
        ctx.set(dut.count, 3)
        # Nothing to report.
        assert not await _step(ctx, dut, flush=1)
        assert not await _rest(ctx, dut, 5)
        # A record that comes with the flush is reported with it.
        assert not await _step(ctx, dut, counts=1, flush=1)
        assert await _rest(ctx, dut, 5) == [1]
        # What is cleared is not reported.
        for _ in range(2):
            await _step(ctx, dut, counts=1)
            await _rest(ctx, dut, 4)
        await _step(ctx, dut, clear=1)
        await _step(ctx, dut, counts=1)
        assert not await _rest(ctx, dut, 5)
        await _step(ctx, dut, flush=1)
        assert await _rest(ctx, dut, 5) == [1]

    clocked(dut, process)


_TOGETHER = {
    # Records, flushes and clears by their cycles; then the cycles of reports, of 3 records or after 8 cycles.
    "a record the cycle before the time": ([5, 14], [], [], [15]),
    "a record in the report by time": ([5, 15], [], [], [15, 25]),
    "a record the cycle after it": ([5, 16], [], [], [15, 26]),
    "records in two reports by time": ([5, 15, 25], [], [], [15, 25, 35]),
    "the number in a report by time": ([5, 9, 13, 15], [], [], [15, 25]),
    "a record in the report by number": ([5, 8, 11, 13], [], [], [13, 23]),
    "a record in the report after a flush": ([5, 10], [9], [], [10, 20]),
    "a flush in the report by time": ([5], [15], [], [15]),
    "a flush and a record in it": ([5, 15], [15], [], [15, 16]),
    "a flush in the cycle before it": ([5, 15], [14], [], [15, 25]),
    "the time right after a flush": ([5, 14], [13], [], [14, 24]),
    "the number right after a report by time": ([5, 11, 14], [], [], [15]),
    "a clear in the report by time": ([5], [], [15], [15]),
    "a clear with a record in a report": ([5, 15], [], [15], [15]),
    "a clear in the cycle before the report": ([5], [], [14], []),
    "a record after a clear": ([5, 14], [], [13], [24]),
}


@pytest.mark.parametrize("case", _TOGETHER)
def test_two_events_in_a_cycle(case: str) -> None:
    records, flushes, clears, reports = _TOGETHER[case]
    dut, seen = Coalescer(), []

    async def process(ctx: Any) -> None:
        ctx.set(dut.count, 3)
        ctx.set(dut.time, 8)
        for cycle in range(60):
            if await _step(ctx, dut, cycle in records, cycle in flushes, cycle in clears):
                seen.append(cycle)

    clocked(dut, process)
    assert seen == reports
