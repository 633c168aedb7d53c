"""Test data against an independent generator, and trials with cores that work and cores that do not."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.golden.codec import lines as zvc
from cdma.hdl.codec.packets import coded_beat_stream
from cdma.hdl.common.beat import beat_stream
from cdma.hdl.selftest import trial as trials
from cdma.hdl.selftest.config import CoresTestConfig
from cdma.hdl.selftest.source import DUMP, Source
from cdma.hdl.selftest.trial import Trial
from tests.hdl.bench import clocked, pulse
from tests.hdl.selftest.reference import generated, sparse

PARTS = ["cdma.hdl.selftest.source.Noise"]
"""In the source, whose packets are those of an independent generator."""

_LINES = sparse(np.random.default_rng(5), 384)


@pytest.mark.parametrize(("beat_bytes", "sizes"), [(16, (1, 2, 4)), (32, (2, 4))])
def test_source_makes_the_packets(beat_bytes: int, sizes: tuple[int, ...]) -> None:
    source = Source(beat_bytes, sizes, 1024, _LINES)
    rng = random.Random(beat_bytes)
    packets = [(size, item, floats) for size in sizes for item in (0, 1, 5, 8, DUMP) for floats in (False, True)]

    async def process(ctx: Any) -> None:
        for size, item, floats in packets:
            ctx.set(source.element, size)
            ctx.set(source.item, item)
            ctx.set(source.floats, floats)
            ctx.set(source.start, 1)
            await ctx.tick()
            ctx.set(source.start, 0)
            packet, last = b"", 0
            while not last:
                ready = rng.random() < 0.8
                ctx.set(source.o.ready, ready)
                if ready and ctx.get(source.o.valid):
                    beat = ctx.get(source.o.payload)
                    assert (beat.keep, beat.element) == ((1 << beat_bytes) - 1, size)
                    packet += beat.data.to_bytes(beat_bytes, "little")
                    last = beat.last
                await ctx.tick()
            ctx.set(source.o.ready, 1)
            for _ in range(5):
                assert not ctx.get(source.o.valid)
                await ctx.tick()
            wanted = _LINES if item == DUMP else generated(beat_bytes, size, item, 1024, floats=floats)
            assert packet == wanted, (size, item, floats)

    clocked(source, process)


_CONFIG = CoresTestConfig(raw_bytes=1024, element_bits=(8, 32))


async def _run(ctx: Any, trial: Trial, item: int, group: int, fault: int = 0) -> bool:
    ctx.set(trial.item, item)
    ctx.set(trial.group, group)
    ctx.set(trial.fault, fault)
    await pulse(ctx, trial.start)
    await ctx.tick().until(trial.done)
    return bool(ctx.get(trial.passed))


@pytest.mark.parametrize(("beat_bytes", "bits", "pipeline"), [
    (16, (8, 32), "fast"), (32, (16,), "small"), (64, (16,), "fast")])
def test_trials_pass_and_count_as_golden_does_and_find_a_wrong_bit(
        beat_bytes: int, bits: tuple[int, ...], pipeline: str) -> None:
    trial = Trial(CoresTestConfig(raw_bytes=1024, beat_bytes=beat_bytes, pipeline=pipeline, element_bits=bits), _LINES)

    async def process(ctx: Any) -> None:
        for group, size in enumerate(bits):
            for item in (0, 1, 4, 8, DUMP):
                raw = _LINES if item == DUMP else generated(beat_bytes, size // 8, item, 1024)
                packed = zvc.compress(raw, size // 8).size
                assert not await _run(ctx, trial, item, group, fault=1), (size, item)
                assert await _run(ctx, trial, item, group), (size, item)
                assert (ctx.get(trial.raw), ctx.get(trial.packed)) == (len(raw), packed)
                # The wider side's beats, the way through both cores, and the wait for a first packed beat.
                fewest = max(len(raw), packed) / beat_bytes
                assert fewest <= ctx.get(trial.cycles) <= fewest + 60 + len(raw) / packed

    clocked(trial, process)


class _Broken(wiring.Component):
    """A decompressor behind which one thing goes wrong in its second beat, or at the end."""

    fault = ""

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], pipeline: str):
        self._core = Decompressor(beat_bytes, sizes, pipeline)
        super().__init__({"i": In(coded_beat_stream(beat_bytes)), "o": Out(beat_stream(beat_bytes)),
                          "error": Out(self._core.error.shape())})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.core = core = self._core
        wiring.connect(m, wiring.flipped(self.i), core.i)
        wiring.connect(m, wiring.flipped(self.o), core.o)
        m.d.comb += self.error.eq(core.error)
        number = Signal(16)
        moves = core.o.valid & self.o.ready
        with m.If(moves):
            m.d.sync += number.eq(number + 1)
        last = core.o.payload.last
        with m.If(number == 1):
            if self.fault == "bit":
                m.d.comb += self.o.payload.data.eq(core.o.payload.data ^ (1 << 127))
            if self.fault == "early":
                m.d.comb += self.o.payload.last.eq(1)
            if self.fault == "missing":
                m.d.comb += self.o.valid.eq(0)
        if self.fault == "end":
            m.d.comb += self.o.payload.last.eq(0)
        if self.fault == "keep":
            m.d.comb += self.o.payload.keep.eq(core.o.payload.keep ^ (last << 15))
        if self.fault == "code":
            m.d.comb += self.error.code.eq(1)
        if self.fault == "hang":
            m.d.comb += [core.o.ready.eq(0), self.o.valid.eq(0)]
        return m


Decompressor = trials.Decompressor


@pytest.mark.parametrize("fault", ["", "bit", "early", "missing", "end", "keep", "code", "hang"])
def test_a_broken_core_fails(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Broken, "fault", fault)
    monkeypatch.setattr(trials, "Decompressor", _Broken)
    trial = Trial(_CONFIG, _LINES)

    async def process(ctx: Any) -> None:
        # The cores are reset behind a failure: the second trial ends just as the first.
        for _ in range(2):
            assert await _run(ctx, trial, 4, 1) == (fault == "")

    clocked(trial, process)
