"""The FIFO of rows in parts against a list of rows: what was written last, in order, and when."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest

from cdma.hdl.common.row_fifo import RowFifo
from tests.hdl.bench import clocked


@pytest.mark.parametrize(("parts", "depth"), [(1, 2), (4, 5), (3, 8), (2, 4)])
@pytest.mark.parametrize(("busy", "ready"), [(0.5, 0.5), (1.0, 0.3), (0.3, 1.0), (1.0, 1.0)])
def test_rows_are_what_was_written_last(parts: int, depth: int, busy: float, ready: float) -> None:
    rng = random.Random(f"{parts} {depth} {busy} {ready}")
    fifo = RowFifo(4 * parts, parts, depth)
    held: deque[list[int]] = deque()
    opened: dict[int, int] = {}
    taken, most = [], 0

    async def process(ctx: Any) -> None:
        nonlocal most
        for cycle in range(600):
            values = [rng.randrange(16) for _ in range(parts)]
            chosen = [rng.random() < 0.6 for _ in range(parts)]
            commit = rng.random() < busy and len(held) < depth - 1
            if commit:
                # No part of a row that is read is undefined.
                chosen = [each or part not in opened for part, each in enumerate(chosen)]
            opened.update((part, value) for part, value in enumerate(values) if chosen[part])
            ctx.set(fifo.enable, sum(each << part for part, each in enumerate(chosen)))
            ctx.set(fifo.data, sum(value << 4 * part for part, value in enumerate(values)))
            ctx.set(fifo.commit, commit)
            ctx.set(fifo.o.ready, rng.random() < ready)
            assert ctx.get(fifo.level) == len(held)
            row = ctx.get(fifo.o.payload)
            if ctx.get(fifo.o.valid):
                assert row == sum(value << 4 * part for part, value in enumerate(held[0]))
                if ctx.get(fifo.o.ready):
                    held.popleft()
                    taken.append(cycle)
            if commit:
                held.append([opened[part] for part in range(parts)])
                opened.clear()
            most = max(most, len(held))
            await ctx.tick()

    clocked(fifo, process)
    if busy > ready:
        assert most == depth - 1
    if busy == ready == 1.0 and depth > 3:
        # Two cycles of latency, then one in every cycle.
        assert taken == list(range(2, 600))
