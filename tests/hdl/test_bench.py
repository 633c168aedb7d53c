"""The helpers of these tests: what hangs fails, and so does a design that lost a reset or counts on cleared memory."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib.memory import Memory

from tests.hdl.bench import Bench, clocked, settled


def _counter(*, lost: bool) -> tuple[Module, Signal]:
    """Counts cycles; with ``lost``, its register has lost its reset."""
    m = Module()
    value = Signal(16, reset_less=lost)
    m.d.sync += value.eq(value + 1)
    return m, value


def _cleared(*, written: bool) -> tuple[Module, Signal]:
    """Shows a row of a memory; with ``written``, one that hardware does not clear."""
    m, value = Module(), Signal(32)
    m.submodules.memory = memory = Memory(shape=32, depth=4, init=[])
    m.d.comb += value.eq(memory.read_port(domain="comb").data)
    if written:
        memory.write_port()
    # There is a clock.
    m.d.sync += Signal().eq(1)
    return m, value


async def _ends(ctx: Any) -> None:
    await ctx.tick()


def test_a_lost_reset_fails() -> None:
    def runs(lost: bool) -> None:
        dut, value = _counter(lost=lost)

        async def process(ctx: Any) -> None:
            for number in range(5):
                assert ctx.get(value) == number
                await ctx.tick()

        clocked(dut, process)

    runs(lost=False)
    with pytest.raises(AssertionError) as error:
        runs(lost=True)
    assert "CDMA_SEED=1" in error.value.__notes__[0]


def _first(dut: Module, value: Signal, seed: int | None = None) -> int:
    """What a signal is at power-up."""
    seen = []

    async def process(ctx: Any) -> None:
        seen.append(ctx.get(value))

    clocked(dut, process, seed=seed)
    return seen[0]


def test_start_values_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    def first(seed: int | None = None) -> int:
        return _first(*_counter(lost=True), seed)

    assert first(3) == first(3) != first(4)
    monkeypatch.setenv("CDMA_SEED", "4")
    assert first() == first(4)


@pytest.mark.parametrize("written", [False, True])
def test_memories_that_are_written_are_not_clear(written: bool) -> None:
    assert (_first(*_cleared(written=written)) != 0) == written


def test_a_bench_runs_again_after_a_failure() -> None:
    bench = Bench(_cleared(written=True)[0])

    async def fails(ctx: Any) -> None:
        await ctx.tick()
        raise AssertionError("on purpose")

    for _ in range(2):
        with pytest.raises(AssertionError, match="on purpose"):
            bench.run(fails)
        bench.run(_ends)
        bench.run(_ends, _never)


def test_a_hang_fails() -> None:
    dut, value = _counter(lost=False)

    async def forever(ctx: Any) -> None:
        await ctx.tick().until(value == 1 << 16)

    with pytest.raises(TimeoutError, match="test of Module did not end within 100 cycles: the design hangs"):
        clocked(dut, forever, cycles=100)

    async def waits(ctx: Any) -> None:
        await ctx.changed(value)

    clocked(dut, _ends, waits)
    with pytest.raises(TimeoutError, match="did not end within 100 cycles"):
        settled(Module(), _never, cycles=100)


@pytest.mark.parametrize("wait", [lambda ctx, value: ctx.tick().until(value == 1 << 16),
                                  lambda ctx, value: ctx.tick().repeat(1 << 16)])
def test_what_waits_when_a_run_fails_is_dropped_in_silence(wait: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (dut, value), ignored = _counter(lost=False), []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    with pytest.raises(TimeoutError):
        clocked(dut, lambda ctx: wait(ctx, value), cycles=10)
    gc.collect()
    assert not ignored


async def _never(ctx: Any) -> None:
    while True:
        await ctx.delay(1e-6)


@pytest.mark.parametrize("at_once", [False, True])
def test_what_a_memory_shows_of_a_row_that_is_written_is_wrong(at_once: bool) -> None:
    """The part that is written, if it is read at once and not a cycle later; the other part is right."""
    m, write = Module(), Signal()
    m.submodules.memory = memory = Memory(shape=8, depth=2, init=[])
    into, out = memory.write_port(granularity=4), memory.read_port()
    m.d.comb += [into.en.eq(write.replicate(2) & 0b10), into.data.eq(0x50), out.en.eq(write if at_once else ~write)]

    async def process(ctx: Any) -> None:
        held = ctx.get(memory.data[0]) & 15
        for each in (1, 0, 1, 1, 0):
            ctx.set(write, each)
            await ctx.tick()
        assert ctx.get(out.data) == held | (5 ^ 15 if at_once else 5) << 4

    clocked(m, process)
