"""The coalescer: reports by number, by time, and at once, each in the cycle in which it is due."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from cdma.hdl.engine.control.coalescer import Coalescer
from tests.hdl.bench import clocked

_Cycles = Sequence[int]

_CASES: dict[str, tuple[int, int, _Cycles, _Cycles, _Cycles, _Cycles]] = {
    # Number and time; then records, flushes and clears by their cycles; then the cycles of reports.
    "every record, by the number 0": (0, 0, [5, 11, 16], [], [], [7, 13, 18]),
    "every record, by the number 1": (1, 0, [5, 11, 16], [], [], [7, 13, 18]),
    "every second record": (2, 0, [5, 11, 16, 22], [], [], [13, 24]),
    "every seventh record": (7, 0, range(5, 89, 6), [], [], [43, 85]),
    "every 300th record": (300, 0, range(3, 1803, 3), [], [], [902, 1802]),
    "after 1 cycle": (1000, 1, [5, 20], [], [], [8, 23]),
    "after 5 cycles": (1000, 5, [5, 25, 30], [], [], [12, 32]),
    "after 255 cycles, whatever comes behind the first record": (1000, 255, [5, 10, 20], [], [], [262]),
    "after 256 cycles": (1000, 256, [5, 10, 20], [], [], [263]),
    "after 1000 cycles": (1000, 1000, [5, 10, 20, 1050], [], [], [1007, 2052]),
    "no time, then a flush": (1000, 0, [5], [3000], [], [3001]),
    "a flush of nothing": (3, 0, [], [5], [], []),
    "a flush with a record": (3, 0, [5], [5], [], [6]),
    "a clear, then a record and a flush": (3, 0, [5, 9, 14], [20], [13], [21]),
    "a record the cycle before the time": (3, 8, [5, 14], [], [], [15]),
    "a record in the report by time": (3, 8, [5, 15], [], [], [15, 25]),
    "a record the cycle after it": (3, 8, [5, 16], [], [], [15, 26]),
    "records in two reports by time": (3, 8, [5, 15, 25], [], [], [15, 25, 35]),
    "the number in a report by time": (3, 8, [5, 9, 13, 15], [], [], [15, 25]),
    "a record in the report by number": (3, 8, [5, 8, 11, 13], [], [], [13, 23]),
    "a record in the report after a flush": (3, 8, [5, 10], [9], [], [10, 20]),
    "a flush in the report by time": (3, 8, [5], [15], [], [15]),
    "a flush and a record in it": (3, 8, [5, 15], [15], [], [15, 16]),
    "a flush in the cycle before it": (3, 8, [5, 15], [14], [], [15, 25]),
    "the time right after a flush": (3, 8, [5, 14], [13], [], [14, 24]),
    "the number right after a report by time": (3, 8, [5, 11, 14], [], [], [15]),
    "a clear in the report by time": (3, 8, [5], [], [15], [15]),
    "a clear with a record in a report": (3, 8, [5, 15], [], [15], [15]),
    "a clear in the cycle before the report": (3, 8, [5], [], [14], []),
    "a record after a clear": (3, 8, [5, 14], [], [13], [24]),
}


@pytest.mark.parametrize("case", _CASES)
def test_reports(case: str) -> None:
    count, time, records, flushes, clears, reports = _CASES[case]
    dut, seen = Coalescer(), []

    async def process(ctx: Any) -> None:
        ctx.set(dut.count, count)
        ctx.set(dut.time, time)
        for cycle in range(max(*records, *flushes, *reports, 0) + 3 * time + 40):
            for port, cycles in ((dut.counts, records), (dut.flush, flushes), (dut.clear, clears)):
                ctx.set(port, cycle in cycles)
            _, _, report = await ctx.tick().sample(dut.report)
            if report:
                seen.append(cycle)

    clocked(dut, process)
    assert seen == list(reports)
