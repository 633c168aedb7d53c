"""An AXI4 port in another clock domain: bytes, rate, whole bursts, and resets of the far side in mid-transfer."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.engine.axi.crossing import AxiCrossing
from tests.hdl.bench import Bench
from tests.hdl.clocks import RATIOS, FarClock, LateBits, TwoClocks
from tests.hdl.engine.axi.masters import Masters
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.axi.traffic import never_waits

_OUTSTANDING = 4
_SLVERR = 2
_RESET = 20e-6
_RESETS = 8


class _Link:
    """Masters, crossing, and a memory on the other side."""

    def __init__(self, ratio: float, *, seed: str, beat_bytes: int = 16, most_beats: int = 32, whole: bool = False,
                 **memory: Any):
        self.rng = random.Random(f"{ratio} {seed}")
        self.beat_bytes = beat_bytes
        self.dut = AxiCrossing(32, beat_bytes, _OUTSTANDING, most_beats, whole=most_beats * whole)
        self.masters = Masters(self.dut, self.rng, beat_bytes=beat_bytes, outstanding=_OUTSTANDING,
                               most_beats=most_beats, whole=whole)
        self.design = TwoClocks(self.masters)
        self.clock = FarClock(self.design, ratio, self.rng)
        self.memory = Memory(self.dut.o, beat_bytes, self.rng, most_beats=most_beats, domain="link",
                             content=bytearray(self.rng.randbytes(SIZE)), **memory)
        self._platform = LateBits(f"{ratio} {seed}")
        self._whole = whole
        self.far_resets = 0

    async def _low_in_reset(self, ctx: Any) -> None:
        """From the second edge of a reset on, the port is silent."""
        axi, before = self.dut.o, False
        while True:
            _, reset, *valid = await ctx.tick("link").sample(axi.arvalid, axi.awvalid, axi.wvalid)
            assert not (before and any(valid)), "something is valid in reset"
            before = bool(reset)

    async def reset_far(self, ctx: Any, cycles: int) -> None:
        """Resets the far side for cycles of its clock."""
        ctx.set(self.design.far.rst, 1)
        for _ in range(cycles):
            await ctx.tick("link")
        ctx.set(self.design.far.rst, 0)
        self.far_resets += 1

    def run(self, process: Any, *background: Any) -> None:
        async def start(ctx: Any) -> None:
            for domain in (self.design.near, self.design.far):
                ctx.set(domain.rst, 1)
            await ctx.delay(_RESET)
            for domain in (self.design.near, self.design.far):
                ctx.set(domain.rst, 0)
            await ctx.delay(_RESET)
            await process(ctx)

        watches = [self._low_in_reset, *([never_waits(self.dut.o, "link")] if self._whole else [])]
        Bench(self.design, self._platform).run(
            start, self.clock.run, self.memory.read, self.memory.write, *watches, *background)

    async def transfer(self, ctx: Any, busy: float = 1.0, bytes_: int | None = None, stop: int | None = None) -> Any:
        """A read of the lower half of the memory and a write to the upper half; checks what came and what is there."""
        rng, memory, half = self.rng, self.memory, SIZE // 2
        size = bytes_ or rng.choice((1, self.beat_bytes, 700, rng.randint(1, 4000)))
        source = rng.randrange(0, half - 8192, self.beat_bytes)
        target = half + rng.randrange(0, half - 8192, self.beat_bytes)
        data = rng.randbytes(size)
        before = bytes(memory.content)
        done = await self.masters.run(ctx, (source, size), (target, data), busy, stop)
        if done.read is not None:
            assert done.read == before[source:source + size]
        if done.written:
            assert memory.content[target:target + size] == data
        assert memory.content[:target] == before[:target]
        assert memory.content[target + size:] == before[target + size:]
        return done


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("latency", "pauses", "stretch", "early"), [(0, 0.0, 1, True), (40, 0.4, 10, False)])
@pytest.mark.parametrize("ratio", RATIOS)
def test_any_transfer_at_any_pace(ratio: float, latency: int, pauses: float, stretch: int, early: bool,
                                  whole: bool) -> None:
    link = _Link(ratio, seed=f"{latency} {whole}", whole=whole, latency=latency, pauses=pauses, stretch=stretch,
                 early=early or not whole)

    async def process(ctx: Any) -> None:
        for _ in range(6):
            done = await link.transfer(ctx, 1 - pauses)
            assert done.read is not None and done.written
            assert link.memory.open == 0

    link.run(process)


@pytest.mark.parametrize("ratio", RATIOS)
def test_beats_of_the_next_burst_wait_for_its_address(ratio: float) -> None:
    """Also when the far side has taken all beats of a burst and not yet its address: the memory watches."""
    link = _Link(ratio, seed="next", most_beats=2, pauses=0.5, stretch=20, early=True)

    async def process(ctx: Any) -> None:
        for _ in range(3):
            done = await link.transfer(ctx, bytes_=640)
            assert done.read is not None and done.written

    link.run(process)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("ratio", RATIOS)
def test_the_slower_clock_sets_the_rate(ratio: float, whole: bool) -> None:
    """A beat in each of its cycles, both ways at the same time; what it takes to begin and to end comes on top."""
    link = _Link(ratio, seed="rate", whole=whole, early=True)
    beats = 300

    async def process(ctx: Any) -> None:
        await link.transfer(ctx)
        done = await link.transfer(ctx, bytes_=beats * link.beat_bytes)
        slow = max(1.0, 1 / ratio)
        extra = 40 + (32 if whole else 0)
        assert done.cycles <= (1.02 * beats + extra) * slow + extra

    link.run(process)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("ratio", RATIOS)
def test_resets_of_the_far_side(ratio: float, whole: bool) -> None:
    """Transfers end with SLVERR, whether the reset is short or long; after it they succeed, and nothing of before it
    comes."""
    link = _Link(ratio, seed=f"resets {whole}", whole=whole, latency=20, pauses=0.2, stretch=4, early=not whole)
    calm = [False]
    found: list[Any] = []

    async def resets(ctx: Any) -> None:
        await ctx.delay(200e-6)
        for _ in range(_RESETS):
            await ctx.delay(link.rng.random() * 300e-6 * max(1.0, 1 / ratio))
            await link.reset_far(ctx, link.rng.choice((1, 1, 2, 40)))
        calm[0] = True

    async def process(ctx: Any) -> None:
        while not calm[0]:
            found.append(await link.transfer(ctx, 0.8))
        for _ in range(3):
            done = await link.transfer(ctx, 0.8)
        assert done.read is not None and done.written

    link.run(process, resets)
    failed = [each for each in found if each.responses]
    assert link.far_resets == _RESETS and len(failed) > 2 and any(not each.responses for each in found)
    assert {response for each in failed for response in each.responses} == {_SLVERR}


def test_a_clock_that_stands() -> None:
    """Nothing is lost; with a reset meanwhile, open bursts are answered."""
    link = _Link(1.31, seed="stands", latency=10)
    over = [False]

    async def stop(ctx: Any) -> None:
        await ctx.delay(120e-6)
        link.clock.stands = True
        await ctx.delay(500e-6)
        over[0] = True
        link.clock.stands = False

    async def process(ctx: Any) -> None:
        while not over[0]:
            done = await link.transfer(ctx, bytes_=3000)
            assert done.read is not None and done.written
        link.clock.stands = True
        ctx.set(link.design.far.rst, 1)
        done = await link.transfer(ctx)
        assert done.read is None and not done.written and done.responses == {_SLVERR}
        ctx.set(link.design.far.rst, 0)
        link.clock.stands = False
        for _ in range(4):
            await ctx.tick("link")
        await link.reset_far(ctx, 2)
        await ctx.delay(5e-6)
        done = await link.transfer(ctx)
        while not done.written:
            done = await link.transfer(ctx)
        assert done.read is not None

    link.run(process, stop)


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_reset_of_the_near_side(ratio: float) -> None:
    """Of an idle port, for a single cycle; and together with the far side at any time."""
    link = _Link(ratio, seed="near")

    async def process(ctx: Any) -> None:
        for number in range(4):
            done = await link.transfer(ctx, stop=link.rng.randrange(200) if number % 2 else None)
            if number % 2:
                ctx.set(link.design.far.rst, 1)
            ctx.set(link.design.near.rst, 1)
            await ctx.tick()
            if number % 2:
                await ctx.tick("link")
                ctx.set(link.design.far.rst, 0)
            ctx.set(link.design.near.rst, 0)
            await ctx.delay(150e-6 * max(1.0, 1 / ratio))
            done = await link.transfer(ctx)
            assert done.read is not None and done.written

    link.run(process)
