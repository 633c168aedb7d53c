"""FIFO, skid and spare against a plain queue, under every kind of stop and go: order, room, level and speed."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from cdma.hdl.common.fifo import StreamFifo
from cdma.hdl.common.skid import Skid, Spare
from tests.hdl.bench import clocked

_QUEUES: dict[str, tuple[Callable[[], Any], int, int]] = {
    "skid": (lambda: Skid(16), 2, 1), "spare": (lambda: Spare(16), 1, 0),
    **{f"fifo of {depth}": (lambda depth=depth: StreamFifo(16, depth), depth, 2) for depth in (1, 3, 7, 15)}}
"""How each is made, how many it takes before it refuses any, and its latency."""
_PACES = [(0.2, 0.9), (0.9, 0.2), (0.5, 0.5), (0.1, 1.0), (1.0, 0.1), (1.0, 1.0)]


@pytest.mark.parametrize(("busy", "willing"), _PACES)
@pytest.mark.parametrize("name", _QUEUES)
def test_it_is_a_queue(name: str, busy: float, willing: float) -> None:
    make, depth, latency = _QUEUES[name]
    dut, rng = make(), random.Random(f"{name} {busy} {willing}")
    held: deque[int] = deque()
    moved, most = [], 0

    async def process(ctx: Any) -> None:
        nonlocal most
        waits = False
        for cycle in range(500):
            if not waits:
                ctx.set(dut.i.valid, rng.random() < busy)
                ctx.set(dut.i.payload, rng.randrange(1 << 16))
            ctx.set(dut.o.ready, rng.random() < willing)
            assert not hasattr(dut, "level") or ctx.get(dut.level) == len(held)
            taken = ctx.get(dut.i.valid) and ctx.get(dut.i.ready)
            waits = bool(ctx.get(dut.i.valid) and not taken)
            assert not waits or len(held) >= depth, "it refuses while it has room"
            if taken:
                held.append(ctx.get(dut.i.payload))
            if ctx.get(dut.o.valid) and ctx.get(dut.o.ready):
                assert ctx.get(dut.o.payload) == held.popleft()
                moved.append(cycle)
            most = max(most, len(held))
            await ctx.tick()

    clocked(dut, process)
    if busy > willing:
        assert most >= depth
    if busy == willing == 1.0 and name != "fifo of 1":
        assert moved == list(range(latency, 500))


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
