"""The watch of a port, its periods, and who is blamed when nothing moves."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import pytest
from amaranth.hdl import Fragment, Module, Signal, Value

from cdma.hdl.engine.axi import watch
from cdma.hdl.engine.axi.reader import AxiReader
from cdma.hdl.engine.axi.signature import axi_read, axi_write
from cdma.hdl.engine.axi.watch import Metronome, read_answers, write_answers
from cdma.hdl.engine.axi.writer import AxiWriter
from tests.hdl.bench import clocked, pulse, settled
from tests.hdl.engine.axi.memory import Memory
from tests.hdl.engine.axi.traffic import Pace, beats_of, give

_BEAT_BYTES = 16


@pytest.mark.parametrize("part_bits", [2, 8])
@pytest.mark.parametrize(("limit_bits", "limits"), [(watch.LIMIT_BITS, (0, 1, 2, 3, 6, 9)), (3, (7, 6, 0))],
                         ids=["usual", "longest"])
def test_periods_of_the_ticks(part_bits: int, limit_bits: int, limits: tuple[int, ...],
                              monkeypatch: pytest.MonkeyPatch) -> None:
    """Across the parts of the counter too, which are short here so that all of them count; and with limits of few bits,
    so that the last bit of the counter counts."""
    monkeypatch.setattr(watch, "_PART_BITS", part_bits)
    monkeypatch.setattr(watch, "LIMIT_BITS", limit_bits)
    dut = Metronome(len(limits))

    async def process(ctx: Any) -> None:
        for which, limit in enumerate(limits):
            ctx.set(dut.limit[which], limit)
        await pulse(ctx, dut.changed)
        seen = [(await ctx.tick().sample(dut.tick))[-1] for _ in range(2000)]
        for which, limit in enumerate(limits):
            found = [cycle for cycle, tick in enumerate(seen) if tick >> which & 1]
            assert {later - sooner for sooner, later in pairwise(found)} == ({1 << limit} if limit else set())
            assert bool(found) == bool(limit)

    clocked(dut, process)


def test_the_longest_limit_ticks_as_well() -> None:
    """When all bits of the counter fall, there is a tick for every limit."""
    dut = Metronome((1 << watch.LIMIT_BITS) - 1)
    design = Fragment.get(dut, None)
    parts = [part for each in design.statements["sync"] for part in each._lhs_signals()
             if part.name.startswith("counter_") and not part.name.endswith("wraps")]

    async def process(ctx: Any) -> None:
        for number, limit in enumerate(dut.limit):
            ctx.set(limit, number + 1)
        await pulse(ctx, dut.changed)
        for part in parts:
            ctx.set(part, -1)
        seen = 0
        for _ in range(10):
            seen |= (await ctx.tick().sample(dut.tick))[-1]
        silent = [number + 1 for number in range(len(dut.tick)) if not seen >> number & 1]
        assert not silent, f"no ticks for {silent}"

    clocked(design, process)


def test_a_limit_that_is_changed_makes_no_tick() -> None:
    """Otherwise a port would seem silent after a fraction of the new limit."""
    dut = Metronome(1)

    async def process(ctx: Any) -> None:
        rng = random.Random(1)
        latest = None
        for _ in range(200):
            ctx.set(dut.limit[0], rng.choice([20, 21, 0]))
            await pulse(ctx, dut.changed)
            for _ in range(rng.randrange(1, 8)):
                _, _, tick = await ctx.tick().sample(dut.tick)
                latest = latest or tick
        assert not latest

    clocked(dut, process)


def _watched(port: Any, made: Callable[[Any], Value], unit: Any = None) -> tuple[Module, Signal]:
    """What is made of a port, which is that of a unit, or one whose signals the test drives on both sides."""
    m, answers = Module(), Signal()
    if unit is not None:
        m.submodules.unit = unit
    m.d.comb += answers.eq(made(port))
    return m, answers


def _reader() -> tuple[AxiReader, Module, Signal]:
    reader = AxiReader(40, _BEAT_BYTES, 16, 2)
    return reader, *_watched(reader.axi, read_answers, reader)


@pytest.mark.parametrize(("signature", "made", "channels", "hope"), [
    pytest.param(axi_read(16, _BEAT_BYTES), read_answers, ("ar", "r"),
                 lambda ar, r: all(ar) or r[0] or not (ar[0] or r[1]), id="reads"),
    # A beat is offered, or a response awaited, and nothing moves.
    pytest.param(axi_write(16, _BEAT_BYTES), write_answers, ("aw", "w", "b"),
                 lambda aw, w, b: all(aw) or all(w) or all(b) or not (w[0] or b[1]), id="writes")])
def test_what_counts_as_an_answer(signature: Any, made: Callable[[Any], Value], channels: tuple[str, ...],
                                  hope: Callable[..., Any]) -> None:
    """In all states of the channels, each valid and ready."""
    port = signature.create()
    m, answers = _watched(port, made)

    async def process(ctx: Any) -> None:
        for states in product(product(range(2), repeat=2), repeat=len(channels)):
            for channel, (valid, ready) in zip(channels, states, strict=True):
                ctx.set(getattr(port, f"{channel}valid"), valid)
                ctx.set(getattr(port, f"{channel}ready"), ready)
            assert ctx.get(answers) == bool(hope(*states)), states

    settled(m, process)


async def _settles(ctx: Any, answers: Signal, wanted: int) -> None:
    """What the watch sees is this, from some cycle on."""
    seen = [(await ctx.tick().sample(answers))[-1] for _ in range(60)]
    assert seen[-30:] == [wanted] * 30


@pytest.mark.parametrize("channel", ["ar", "r", "none"])
def test_who_is_slow_when_a_port_is_read(channel: str) -> None:
    reader, m, answers = _reader()

    async def process(ctx: Any) -> None:
        await _settles(ctx, answers, 1)
        ctx.set(reader.o.ready, 1)
        ctx.set(reader.axi.arready, channel != "ar")
        ctx.set(reader.axi.rvalid, 0)
        await give(ctx, reader.i, [{"address": 0, "bytes": 16384}], Pace(random.Random(1), 0))
        await _settles(ctx, answers, 0)
        if channel == "none":
            # Beats are there, but whoever wanted them takes none, and so the port takes no more requests.
            ctx.set(reader.axi.rvalid, 1)
            ctx.set(reader.o.ready, 0)
            ctx.set(reader.axi.arready, 0)
            await _settles(ctx, answers, 1)

    clocked(m, process)


@pytest.mark.parametrize(("silent", "wanted"), [("aw", 0), ("w", 0), ("b", 0), ("data", 1), ("address", 1)])
def test_who_is_slow_when_a_port_is_written(silent: str, wanted: int) -> None:
    """The port is, unless beats are missing: then it may wait with the address and the response."""
    writer = AxiWriter(40, _BEAT_BYTES, 16, 2)
    m, answers = _watched(writer.axi, write_answers, writer)
    memory = Memory(writer.axi, _BEAT_BYTES, random.Random(1))
    beats = beats_of(bytes(range(64)), _BEAT_BYTES)
    given = beats[:2] if silent in ("data", "address") else beats

    async def play(ctx: Any) -> None:
        if silent == "address":
            # It takes beats as they come, and addresses never: at last it waits for beats.
            ctx.set(writer.axi.wready, 1)
        elif silent == "data":
            await memory.write(ctx)
        else:
            ctx.set(writer.axi.awready, silent != "aw")
            ctx.set(writer.axi.wready, silent == "b")

    async def process(ctx: Any) -> None:
        await _settles(ctx, answers, 1)
        await give(ctx, writer.i, [{"address": 0, "bytes": 64}], Pace(random.Random(1), 0))
        ctx.set(writer.data.payload, given[0])
        ctx.set(writer.data.valid, 1)
        taken = 0
        for _ in range(40):
            _, _, ready = await ctx.tick().sample(writer.data.ready)
            taken += ready
            if taken == len(given):
                ctx.set(writer.data.valid, 0)
        await _settles(ctx, answers, wanted)

    clocked(m, process, play)


def test_a_stopped_reader_drops_the_beat_that_it_shows() -> None:
    """An isolated reader is not reset with what follows it, so it must not hand anything over later."""
    reader, m, _ = _reader()

    async def process(ctx: Any) -> None:
        ctx.set(reader.axi.arready, 1)
        ctx.set(reader.axi.rvalid, 1)
        await give(ctx, reader.i, [{"address": 0, "bytes": 64}], Pace(random.Random(1), 0))
        await ctx.tick().until(reader.o.valid)
        ctx.set(reader.axi.rvalid, 0)
        ctx.set(reader.stop, 1)
        await ctx.tick()
        for _ in range(10):
            await ctx.tick()
            assert not ctx.get(reader.o.valid) and not ctx.get(reader.idle)
        ctx.set(reader.axi.rvalid, 1)
        for _ in range(10):
            await ctx.tick()
            assert not ctx.get(reader.o.valid)
        assert ctx.get(reader.idle)

    clocked(m, process)
