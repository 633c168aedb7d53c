# amaranth: UnusedElaboratable=no
"""The FIFO with two clocks against a plain queue: unrelated clocks, jitter, late bits, stop and go, and its rate."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest

from cdma.hdl.common.dual_clock_fifo import DualClockFifo
from tests.hdl.bench import Bench
from tests.hdl.clocks import RATIOS, FarClock, LateBits, TwoClocks

_DEPTH = 16


class _Run:
    """A FIFO between the domains, what was written, and what came out and when."""

    def __init__(self, depth: int, ratio: float, writes: str, busy: float, willing: float, seed: str = ""):
        self._writes, self._reads = writes, "link" if writes == "sync" else "sync"
        self._busy, self._willing = busy, willing
        self.rng = random.Random(f"{depth} {ratio} {writes} {busy} {willing} {seed}")
        self.fifo = DualClockFifo(16, depth, writes=writes, reads=self._reads)
        design = TwoClocks(self.fifo)
        self.clock = FarClock(design, ratio, self.rng)
        self.bench = Bench(design, LateBits(f"{depth} {ratio} {writes}"))
        self.sent: deque[int] = deque()
        self.most = 0
        self.read_cycles: list[int] = []
        self.cleared = False

    async def write(self, ctx: Any) -> None:
        """Writes whenever it may."""
        fifo = self.fifo
        await self._clear(ctx, fifo.i_clear, self._writes)
        while not self.cleared:
            await ctx.tick(self._writes)
        while True:
            if self.rng.random() < self._busy:
                value = self.rng.randrange(1 << 16)
                ctx.set(fifo.i.payload, value)
                ctx.set(fifo.i.valid, 1)
                taken = False
                while not taken:
                    _, _, taken = await ctx.tick(self._writes).sample(fifo.i.ready)
                self.sent.append(value)
                self.most = max(self.most, len(self.sent))
                ctx.set(fifo.i.valid, 0)
            else:
                await ctx.tick(self._writes)

    async def _clear(self, ctx: Any, clear: Any, domain: str) -> None:
        ctx.set(clear, 1)
        await ctx.tick(domain).repeat(40)
        ctx.set(clear, 0)

    async def read(self, ctx: Any, count: int) -> None:
        """Reads so many, compares, and notes the cycles."""
        fifo = self.fifo
        await self._clear(ctx, fifo.o_clear, self._reads)
        await ctx.delay(100e-6)
        self.cleared = True
        cycle = 0
        held: int | None = None
        while len(self.read_cycles) < count:
            ready = self.rng.random() < self._willing
            ctx.set(fifo.o.ready, ready)
            _, _, valid, payload = await ctx.tick(self._reads).sample(fifo.o.valid, fifo.o.payload)
            cycle += 1
            assert held is None or (valid and payload == held), "a payload changed before it was taken"
            held = payload if valid and not ready else None
            if valid and ready:
                assert payload == self.sent.popleft()
                self.read_cycles.append(cycle)

    def run(self, count: int) -> None:
        async def process(ctx: Any) -> None:
            await self.read(ctx, count)

        self.bench.run(process, self.clock.run, self.write)


# Pairwise, and each way at the ratio at which the depth shows.
@pytest.mark.parametrize(("depth", "busy", "willing", "ratio", "writes"), [
    (4, 0.3, 1.0, 0.23, "sync"), (4, 1.0, 0.3, 0.97, "link"), (4, 1.0, 0.3, 0.97, "sync"), (4, 0.6, 0.6, 4.3, "sync"),
    (8, 0.3, 1.0, 0.97, "link"), (8, 1.0, 0.3, 4.3, "sync"), (8, 0.6, 0.6, 0.23, "link"), (8, 1.0, 0.3, 0.97, "link"),
    (64, 0.3, 1.0, 4.3, "link"), (64, 1.0, 0.3, 0.23, "link"), (64, 0.6, 0.6, 0.97, "sync"),
    (64, 1.0, 0.3, 0.97, "sync"), (4, 1.0, 0.3, 4.3, "link"), (64, 1.0, 0.3, 0.23, "sync")])
def test_it_is_a_queue(depth: int, busy: float, willing: float, ratio: float, writes: str) -> None:
    run = _Run(depth, ratio, writes, busy, willing)
    run.run(120 + depth)
    if busy > willing and 0.5 < ratio < 2:
        # One more is in the register, and another may just have been taken.
        assert depth <= run.most <= depth + 2


@pytest.mark.parametrize("writes", ["sync", "link"])
@pytest.mark.parametrize("ratio", RATIOS)
def test_the_slower_clock_sets_the_rate(ratio: float, writes: str) -> None:
    """A transfer in every cycle of the slower clock, once it flows."""
    run = _Run(_DEPTH, ratio, writes, 1.0, 1.0)
    count = 400
    run.run(count)
    cycles = run.read_cycles[-1] - run.read_cycles[0]
    reader_ratio = ratio if writes == "sync" else 1 / ratio
    assert cycles <= (count - 1) * max(1.0, reader_ratio) * 1.02 + 2


def test_a_depth_that_is_no_power_of_two_is_refused() -> None:
    with pytest.raises(ValueError, match="depth must be a power of two"):
        DualClockFifo(8, 2, writes="sync", reads="link")
