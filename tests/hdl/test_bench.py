"""The helpers of these tests: what hangs fails, and so does a design that lost a reset or counts on cleared memory."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from tests.hdl.bench import Bench, clocked, settled


class Counter(wiring.Component):
    """Counts cycles; with ``lost``, its register has lost its reset."""

    value: Signal

    def __init__(self, *, lost: bool) -> None:
        super().__init__({"value": Out(16)})
        self._lost = lost

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        count = Signal(16, reset_less=self._lost)
        m.d.sync += count.eq(count + 1)
        m.d.comb += self.value.eq(count)
        return m


class Cleared(wiring.Component):
    """Shows a row of a memory; with ``written``, one that hardware does not clear."""

    value: Signal

    def __init__(self, *, written: bool) -> None:
        super().__init__({"value": Out(32)})
        self._written = written

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=32, depth=4, init=[])
        m.d.comb += self.value.eq(memory.read_port(domain="comb").data)
        if self._written:
            memory.write_port()
        # There is a clock.
        m.d.sync += Signal().eq(1)
        return m


async def _ends(ctx: Any) -> None:
    await ctx.tick()


def _counts(dut: Counter) -> Any:
    async def process(ctx: Any) -> None:
        for number in range(5):
            assert ctx.get(dut.value) == number
            await ctx.tick()
    return process


def test_a_lost_reset_fails() -> None:
    right, lost = Counter(lost=False), Counter(lost=True)
    clocked(right, _counts(right))
    with pytest.raises(AssertionError) as error:
        clocked(lost, _counts(lost))
    assert "CDMA_SEED=1" in error.value.__notes__[0]


def test_start_values_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    def first(seed: int | None = None) -> int:
        dut, seen = Counter(lost=True), []

        async def process(ctx: Any) -> None:
            seen.append(ctx.get(dut.value))

        clocked(dut, process, seed=seed)
        return seen[0]

    assert first(3) == first(3) != first(4)
    monkeypatch.setenv("CDMA_SEED", "4")
    assert first() == first(4)


@pytest.mark.parametrize("written", [False, True])
def test_memories_that_are_written_are_not_clear(written: bool) -> None:
    dut = Cleared(written=written)

    async def process(ctx: Any) -> None:
        assert (ctx.get(dut.value) != 0) == written

    clocked(dut, process)


def test_a_bench_runs_again_after_a_failure() -> None:
    bench = Bench(Cleared(written=True))

    async def fails(ctx: Any) -> None:
        await ctx.tick()
        raise AssertionError("on purpose")

    for _ in range(2):
        with pytest.raises(AssertionError, match="on purpose"):
            bench.run(fails)
        bench.run(_ends)
        bench.run(_ends, _never)


def test_a_hang_fails() -> None:
    dut = Counter(lost=False)

    async def forever(ctx: Any) -> None:
        await ctx.tick().until(dut.value == 1 << 16)

    with pytest.raises(TimeoutError, match="test of Counter did not end within 100 cycles: the design hangs"):
        clocked(dut, forever, cycles=100)

    async def waits(ctx: Any) -> None:
        await ctx.changed(dut.value)

    clocked(dut, _ends, waits)
    with pytest.raises(TimeoutError, match="did not end within 100 cycles"):
        settled(Still(), _never, cycles=100)


@pytest.mark.parametrize("wait", [lambda ctx, dut: ctx.tick().until(dut.value == 1 << 16),
                                  lambda ctx, dut: ctx.tick().repeat(1 << 16)])
def test_what_waits_when_a_run_fails_is_dropped_in_silence(wait: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dut, ignored = Counter(lost=False), []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    with pytest.raises(TimeoutError):
        clocked(dut, lambda ctx: wait(ctx, dut), cycles=10)
    gc.collect()
    assert not ignored


class Still(wiring.Component):
    """Never changes."""

    value: Signal

    def __init__(self) -> None:
        super().__init__({"value": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        return Module()


async def _never(ctx: Any) -> None:
    while True:
        await ctx.delay(1e-6)


class Stale(wiring.Component):
    """Reads the row of a memory that it writes; a cycle later, unless it does so ``at_once``."""

    write: Signal
    value: Signal

    def __init__(self, *, at_once: bool) -> None:
        super().__init__({"write": In(1), "value": Out(8)})
        self._at_once = at_once

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=2, init=[])
        into, out = memory.write_port(granularity=4), memory.read_port()
        m.d.comb += [into.en.eq(self.write.replicate(2) & 0b10), into.data.eq(0x50), self.value.eq(out.data)]
        m.d.comb += out.en.eq(self.write if self._at_once else ~self.write)
        return m


def test_what_a_memory_shows_of_a_row_that_is_written_is_wrong() -> None:
    """The part that is written; the other one and the next read are right."""
    seen = []
    for at_once in (False, True):
        dut = Stale(at_once=at_once)

        async def process(ctx: Any, dut: Stale = dut) -> None:
            for write in (1, 0, 1, 1, 0):
                ctx.set(dut.write, write)
                await ctx.tick()
            seen.append(ctx.get(dut.value))

        clocked(dut, process)
    right, wrong = seen
    assert right >> 4 == 5 and wrong >> 4 == 5 ^ 15
    assert right & 15 == wrong & 15, "both have started with the same value, and nothing writes it"
