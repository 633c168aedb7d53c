"""Skid and spare against a plain queue, under every kind of stop and go."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest

from cdma.hdl.common.skid import Skid, Spare
from tests.hdl.bench import clocked


@pytest.mark.parametrize("kind", ["skid", "spare"])
@pytest.mark.parametrize("busy", [0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("willing", [0.1, 0.5, 0.9, 1.0])
def test_skid_keeps_order_and_speed(busy: float, willing: float, kind: str) -> None:
    skid, latency = (Skid(8), 1) if kind == "skid" else (Spare(8), 0)
    rng = random.Random(f"{busy} {willing}")
    expected: deque[int] = deque()
    moved = []

    async def process(ctx: Any) -> None:
        held = False
        for cycle in range(400):
            if not held:
                ctx.set(skid.i.valid, rng.random() < busy)
                ctx.set(skid.i.payload, rng.randrange(256))
            ctx.set(skid.o.ready, rng.random() < willing)
            held = bool(ctx.get(skid.i.valid) and not ctx.get(skid.i.ready))
            if ctx.get(skid.i.valid) and ctx.get(skid.i.ready):
                expected.append(ctx.get(skid.i.payload))
            if ctx.get(skid.o.valid) and ctx.get(skid.o.ready):
                assert ctx.get(skid.o.payload) == expected.popleft()
                moved.append(cycle)
            await ctx.tick()

    clocked(skid, process)
    if busy == willing == 1.0:
        assert moved == list(range(latency, 400))
