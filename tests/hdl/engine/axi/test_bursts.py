"""The burst splitter: bursts up to the next 4 KiB boundary, or multiple of the longest burst, and nothing but the
request in them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.engine.axi.bursts import BurstSplitter
from tests.hdl.bench import clocked
from tests.hdl.engine.axi.masters import bursts


@pytest.mark.parametrize(("beat", "most"), [(16, 256), (32, 256), (64, 256), (16, 16), (32, 64), (64, 16)])
@pytest.mark.parametrize(("busy", "willing"), [(1.0, 1.0), (0.3, 1.0), (1.0, 0.3), (0.6, 0.6)])
def test_bursts_of_requests(beat: int, most: int, busy: float, willing: float) -> None:
    splitter = BurstSplitter(40, beat, 20, most)
    rng = random.Random(f"{beat} {most} {busy} {willing}")
    expected: list[tuple[int, int, int, int]] = []
    seen: list[tuple[int, int, int, int]] = []

    async def watch(ctx: Any) -> None:
        before = None
        while True:
            ctx.set(splitter.begin, rng.random() < 0.8)
            ctx.set(splitter.o.ready, rng.random() < willing)
            now = ctx.get(splitter.o.payload)
            burst = tuple(int(now[name]) for name in ("address", "len", "last", "tail"))
            if before is not None:
                assert ctx.get(splitter.o.valid) and burst == before, "a burst changed before it was taken"
            before = burst if ctx.get(splitter.o.valid) and not ctx.get(splitter.o.ready) else None
            if ctx.get(splitter.o.valid) and ctx.get(splitter.o.ready):
                seen.append(burst)  # type: ignore[arg-type]
            await ctx.tick()

    async def process(ctx: Any) -> None:
        for number in range(120):
            address = beat * rng.randrange(1 << 40 - 5 - beat.bit_length())
            # Around page ends, in the upper half of the page's number too, where its carry takes a cycle of its own.
            if number % 3 == 0:
                page = rng.choice([1, 0xFFFF, 1 << 13, (1 << 14) - 1, (1 << 20) - 1])
                if most < 256:
                    page = (page << 4) + rng.choice([0, 15])
                address = (min(4096, most * beat) * page - beat * rng.randrange(1, 4)) % (1 << 40)
            length = rng.choice([1, beat, beat + 1, 4096, 4097, rng.randrange(1, 40000), rng.randrange(1, 5 * beat)])
            expected.extend(bursts(address, length, beat, most))
            while rng.random() >= busy:
                await ctx.tick()
            ctx.set(splitter.i.valid, 1)
            ctx.set(splitter.i.payload, {"address": address, "bytes": length})
            await ctx.tick().until(splitter.i.ready)
            ctx.set(splitter.i.valid, 0)
        while len(seen) < len(expected):
            await ctx.tick()
        await ctx.tick().repeat(50)

    clocked(splitter, process, watch)
    assert seen == expected


def test_dropped_requests_give_no_more_bursts() -> None:
    splitter = BurstSplitter(40, 16, 20)

    async def process(ctx: Any) -> None:
        ctx.set(splitter.begin, 1)
        ctx.set(splitter.i.valid, 1)
        ctx.set(splitter.i.payload, {"address": 0x1000, "bytes": 40000})
        await ctx.tick().until(splitter.i.ready)
        ctx.set(splitter.i.valid, 0)
        await ctx.tick().until(splitter.o.valid)
        ctx.set(splitter.drop, 1)
        await ctx.tick()
        # The burst that is shown stays until it is taken.
        assert ctx.get(splitter.o.valid)
        ctx.set(splitter.o.ready, 1)
        await ctx.tick()
        for _ in range(20):
            assert not ctx.get(splitter.o.valid)
            await ctx.tick()
        # It takes requests again.
        ctx.set(splitter.drop, 0)
        ctx.set(splitter.o.ready, 0)
        ctx.set(splitter.i.valid, 1)
        ctx.set(splitter.i.payload, {"address": 0x8000, "bytes": 16})
        await ctx.tick().until(splitter.i.ready)
        ctx.set(splitter.i.valid, 0)
        await ctx.tick().until(splitter.o.valid)
        assert ctx.get(splitter.o.payload.address) == 0x8000

    clocked(splitter, process, cycles=500)
