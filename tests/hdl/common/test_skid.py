"""Row queue, skid and spare against a plain queue, under every kind of stop and go."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest

from cdma.hdl.codec.lines.packer import RowQueue
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


@pytest.mark.parametrize("willing", [0.2, 0.6, 1.0])
def test_row_queue_takes_two_rows_in_a_cycle(willing: float) -> None:
    queue = RowQueue(16, 1)
    rng = random.Random(willing)
    expected: deque[tuple[int, int, int]] = deque()

    async def process(ctx: Any) -> None:
        for _ in range(400):
            ctx.set(queue.o.ready, rng.random() < willing)
            push = min(rng.choice([0, 0, 1, 1, 1, 2]), 3 - ctx.get(queue.level))
            ctx.set(queue.push, push)
            for row, port in enumerate((queue.row_a, queue.row_b)):
                bits, last, used, none = rng.getrandbits(128), rng.random() < 0.3, rng.randrange(16), rng.random() < 0.1
                ctx.set(port.data, bits)
                ctx.set(port.end.last, last)
                ctx.set(port.end.units, used)
                ctx.set(port.end.none, none)
                if row < push:
                    count = 16 if not last or (used == 0 and not none) else used
                    expected.append((bits, last, (1 << count) - 1))
            if ctx.get(queue.o.valid) and ctx.get(queue.o.ready):
                beat = ctx.get(queue.o.payload)
                assert (beat.data, beat.last, beat.keep) == expected.popleft()
            assert ctx.get(queue.level_next) == len(expected)
            await ctx.tick()

    clocked(queue, process)
