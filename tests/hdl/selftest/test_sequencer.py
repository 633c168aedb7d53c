"""The sequencer: its program against an engine that answers as it should, and with every answer wrong in turn."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Value

from cdma.hdl.selftest.config import EngineTestConfig
from cdma.hdl.selftest.program import Action, Step, Trials, Word, program, program_rows
from cdma.hdl.selftest.sequencer import Sequencer
from tests.hdl.bench import Bench, pulse

_STEPS = program(EngineTestConfig())
_WORDS = {Word.OFFLOAD: 0x0001_1401, Word.PREFETCH: 0x0003_1402, Word.TAG: 77, Word.RAW: 5000, Word.NONZERO: 900,
          Word.LINK_WRITTEN: 3210, Word.DEVICE_WRITTEN: 5000}
_KEPT = {Word.PACKED: 3210, Word.CRC: 0xDEADBEEF, Word.RAW_BLOCKS: 2, Word.OFFLOAD_CYCLES: 1000,
         Word.PREFETCH_CYCLES: 800, Word.STATUS: 0x36, Word.LINK_FAULTS: 0, Word.DEVICE_FAULTS: 0}
_VALUES = {**_WORDS, **_KEPT}


def _done(step: Step, flipped: bool) -> bool:
    return {Trials.ALL: True, Trials.RIGHT: not flipped}.get(step.trials, flipped)


def _answers(flipped: bool) -> list[tuple[Step, int]]:
    """What each access to a register must be answered with, or carry."""
    return [(step, step.literal if step.word is Word.LITERAL else _VALUES[step.word]) for step in _STEPS
            if _done(step, flipped) and step.action in (Action.WRITE, Action.READ, Action.KEEP, Action.MALFORMED)]


class _Engine:
    """Registers that expect the accesses of the program in order, and answer them; one answer may be wrong."""

    def __init__(self, dut: Sequencer, rng: random.Random, flipped: bool, wrong: Step | None = None, how: str = ""):
        self.dut, self.rng, self.left = dut, rng, _answers(flipped)
        self.wrong, self.how = wrong, how

    async def registers(self, ctx: Any) -> None:
        bus = self.dut.bus
        while True:
            _, _, asked = await ctx.tick().sample(bus.awvalid | bus.arvalid)
            if not asked:
                continue
            for _ in range(self.rng.randrange(3)):
                await ctx.tick()
            step, value = self.left.pop(0)
            wrong = step is self.wrong
            if wrong and self.how == "silent":
                while True:
                    await ctx.tick()
            resp = 2 if wrong and self.how == "error" else 0
            if ctx.get(bus.awvalid):
                assert step.action is Action.WRITE and ctx.get(bus.wvalid)
                assert (ctx.get(bus.awaddr), ctx.get(bus.wdata), ctx.get(bus.wstrb)) == (step.register, value, 15)
                # Address and data are taken in either order, and each once.
                channels = [(bus.awready,), (bus.wready,)]
                for ready in self.rng.choice([[(bus.awready, bus.wready)], channels, channels[::-1]]):
                    await pulse(ctx, *ready)
                assert not ctx.get(bus.awvalid | bus.wvalid)
                ctx.set(bus.bresp, resp)
                await pulse(ctx, bus.bvalid)
            else:
                assert step.action is not Action.WRITE and ctx.get(bus.araddr) == step.register
                await pulse(ctx, bus.arready)
                ctx.set(bus.rdata, value ^ (0x80 if wrong and self.how == "value" else 0))
                ctx.set(bus.rresp, resp)
                await pulse(ctx, bus.rvalid)

    async def pattern(self, ctx: Any) -> None:
        while True:
            _, _, action, go = await ctx.tick().sample(Value.cast(self.dut.action), self.dut.go)
            if not go:
                continue
            for _ in range(5):
                await ctx.tick()
            if self.wrong and self.how == "pattern" and Action(action) is self.wrong.action:
                ctx.set(self.dut.wrong, 3)
            await pulse(ctx, self.dut.over)
            ctx.set(self.dut.wrong, 0)


async def _run(ctx: Any, dut: Sequencer, flipped: bool, *, irq: int = 1, words: dict[Word, int] | None = None) -> bool:
    for word, value in {**_WORDS, Word.LINK_FAULTS: 0, Word.DEVICE_FAULTS: 0, **(words or {})}.items():
        ctx.set(dut.words[word.value], value)
    ctx.set(dut.flipped, flipped)
    ctx.set(dut.disturbed, flipped)
    ctx.set(dut.irq, irq)
    await pulse(ctx, dut.start)
    await ctx.tick().until(dut.done)
    return bool(ctx.get(dut.passed))


@pytest.fixture(scope="module")
def bench() -> tuple[Sequencer, Bench]:
    dut = Sequencer(_STEPS, 12)
    return dut, Bench(dut)


@pytest.mark.parametrize("flipped", [False, True])
def test_an_engine_that_works_passes(bench: tuple[Sequencer, Bench], flipped: bool) -> None:
    dut, run = bench
    engine = _Engine(dut, random.Random(1), flipped)

    async def process(ctx: Any) -> None:
        assert await _run(ctx, dut, flipped)
        assert not engine.left
        kept = {word: ctx.get(dut.kept[word.value]) for word in _KEPT}
        assert kept[Word.PACKED] == 3210 and kept[Word.CRC] == 0xDEADBEEF and kept[Word.OFFLOAD_CYCLES] == 1000
        assert kept[Word.STATUS if flipped else Word.PREFETCH_CYCLES] == (0x36 if flipped else 800)

    run.run(process, engine.registers, engine.pattern)


@pytest.mark.parametrize("flipped", [False, True])
def test_every_wrong_answer_is_found_at_its_step(bench: tuple[Sequencer, Bench], flipped: bool) -> None:
    dut, run = bench
    for number, step in enumerate(_STEPS, 1):
        hows = {Action.READ: ("value",), Action.MALFORMED: ("value",), Action.FILL: ("pattern",),
                Action.COMPARE: ("pattern",)}.get(step.action, ())
        if not _done(step, flipped) or not hows:
            continue
        engine = _Engine(dut, random.Random(number), flipped, step, hows[0])

        async def process(ctx: Any, number: int = number) -> None:
            assert not await _run(ctx, dut, flipped), number
            assert ctx.get(dut.step) == number
            assert ctx.get(dut.seen) != ctx.get(dut.wanted)

        run.run(process, engine.registers, engine.pattern)


@pytest.mark.parametrize("how", ["error", "silent"])
@pytest.mark.parametrize("number", [2, 19, 28])
def test_a_register_that_refuses_or_is_silent_fails(bench: tuple[Sequencer, Bench], how: str, number: int) -> None:
    dut, run = bench
    engine = _Engine(dut, random.Random(2), False, _STEPS[number - 1], how)

    async def process(ctx: Any) -> None:
        assert not await _run(ctx, dut, False)
        assert ctx.get(dut.step) == number

    run.run(process, engine.registers, engine.pattern)


@pytest.mark.parametrize(("words", "action"), [
    ({Word.LINK_WRITTEN: 3211}, Action.SAME), ({Word.DEVICE_WRITTEN: 4999}, Action.SAME),
    ({Word.LINK_FAULTS: 8}, Action.SAME), ({Word.DEVICE_FAULTS: 1}, Action.SAME), ({}, Action.WAIT)])
def test_bytes_and_bursts_that_are_wrong_and_no_interrupt_fail(
        bench: tuple[Sequencer, Bench], words: dict[Word, int], action: Action) -> None:
    dut, run = bench
    engine = _Engine(dut, random.Random(3), False)

    async def process(ctx: Any) -> None:
        assert not await _run(ctx, dut, False, irq=int(bool(words)), words=words)
        assert _STEPS[ctx.get(dut.step) - 1].action is action
        assert ctx.get(dut.seen) != ctx.get(dut.wanted)

    run.run(process, engine.registers, engine.pattern)


def test_the_table_of_steps_names_each_at_its_number() -> None:
    """Rows of the program's table stand for as many steps as there are."""
    rows = program_rows(EngineTestConfig())
    assert rows[-1] == (len(_STEPS), "end")
    starts = {text: _STEPS[number - 1] for number, text in rows}
    assert starts["fill: the data to their source; their inverse to the destinations"].action is Action.FILL
    assert starts["compare: the tensor (right), and the inverse behind it"].action is Action.COMPARE
    for text, step in starts.items():
        assert ("(right)" in text and "compare" not in text) == (step.trials is Trials.RIGHT), text
        assert text.endswith("(flipped)") == (step.trials in (Trials.FLIPPED, Trials.DISTURBED)), text
        assert text.startswith("ring the doorbell") == (step.action is Action.WRITE and step.register in (0x180, 0x280))
