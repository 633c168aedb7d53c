"""The FIFO against a plain queue, under every kind of stop and go: order, room, level and speed."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest

from cdma.hdl.common.fifo import StreamFifo
from tests.hdl.bench import clocked


@pytest.mark.parametrize("depth", [1, 3, 7, 15])
@pytest.mark.parametrize(("busy", "willing"), [(0.2, 0.9), (0.9, 0.2), (0.5, 0.5), (1.0, 1.0)])
def test_fifo_is_a_queue(depth: int, busy: float, willing: float) -> None:
    fifo = StreamFifo(16, depth)
    rng = random.Random(f"{depth} {busy} {willing}")
    held: deque[int] = deque()
    moved, most = [], 0

    async def process(ctx: Any) -> None:
        nonlocal most
        waits = False
        for cycle in range(500):
            if not waits:
                ctx.set(fifo.i.valid, rng.random() < busy)
                ctx.set(fifo.i.payload, rng.randrange(1 << 16))
            ctx.set(fifo.o.ready, rng.random() < willing)
            assert ctx.get(fifo.level) == len(held)
            taken = ctx.get(fifo.i.valid) and ctx.get(fifo.i.ready)
            waits = bool(ctx.get(fifo.i.valid) and not taken)
            assert not waits or len(held) >= depth, "it refuses while it has room"
            if ctx.get(fifo.o.valid) and ctx.get(fifo.o.ready):
                assert ctx.get(fifo.o.payload) == held.popleft()
                moved.append(cycle)
            if taken:
                held.append(ctx.get(fifo.i.payload))
            most = max(most, len(held))
            await ctx.tick()

    clocked(fifo, process)
    if busy > willing:
        assert most >= depth
    if busy == willing == 1.0 and depth > 1:
        # Two cycles of latency, then one in every cycle.
        assert moved == list(range(2, 500))


def test_what_is_held_stays() -> None:
    fifo = StreamFifo(8, 3)

    async def process(ctx: Any) -> None:
        for value in (5, 6, 7):
            ctx.set(fifo.i.valid, 1)
            ctx.set(fifo.i.payload, value)
            await ctx.tick()
        ctx.set(fifo.i.valid, 0)
        await ctx.tick().repeat(20)
        assert (ctx.get(fifo.o.valid), ctx.get(fifo.o.payload), ctx.get(fifo.level)) == (1, 5, 3)

    clocked(fifo, process)
