"""Reads with an identifier each, between masters of ours and a memory that answers in any order."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib.wiring import connect

from cdma.hdl.engine.axi.arbiter import AxiReadArbiter
from cdma.hdl.engine.axi.bursts import burst_beats
from cdma.hdl.engine.axi.reader import AxiReader
from cdma.hdl.engine.axi.reorder import AxiReorder
from tests.hdl.bench import clocked, pulse
from tests.hdl.engine.axi.masters import Span, Traffic, play, rate, spans
from tests.hdl.engine.axi.memory import SIZE, Memory

_LENGTH_BITS = 16


def _readers(count: int, ids: int, beat_bytes: int = 32, most: int = 256, clear: Signal | None = None
             ) -> tuple[Module, AxiReorder, list[AxiReader]]:
    """Readers, an arbiter, and the unit, as in the engine; ``clear`` resets the first reader."""
    m = Module()
    m.submodules.reorder = reorder = AxiReorder(40, beat_bytes, ids, most)
    m.submodules.arbiter = arbiter = AxiReadArbiter(40, beat_bytes, count, ids)
    connect(m, arbiter.o, reorder.i)
    readers = [AxiReader(40, beat_bytes, _LENGTH_BITS, ids, most) for _ in range(count)]
    for number, reader in enumerate(readers):
        m.submodules[f"reader{number}"] = ResetInserter(clear)(reader) if clear is not None and not number else reader
        connect(m, reader.axi, arbiter.i[number])
    return m, reorder, readers


@pytest.mark.parametrize(("count", "ids", "most", "latency", "pauses", "changes"), [
    (1, 2, 256, 0, 0.0, 0.0), (1, 3, 16, 20, 0.2, 0.5), (2, 4, 16, 5, 0.3, 1.0), (3, 16, 16, 60, 0.1, 0.1),
    (2, 5, 32, 0, 0.5, 0.3)])
def test_any_order(count: int, ids: int, most: int, latency: int, pauses: float, changes: float) -> None:
    """Every master has its bytes, in order; no two outstanding bursts have the same identifier, which the memory
    checks; and the memory did answer out of order."""
    rng = random.Random(f"{count} {ids} {most}")
    m, reorder, readers = _readers(count, ids, most=most)
    memory = Memory(reorder.o, 32, rng, latency, pauses, 3, most_beats=most, changes=changes,
                    content=bytearray(rng.randbytes(SIZE)))
    play(m, memory, [Traffic(reader, memory, spans(rng, 32, 10), rng, 0.2) for reader in readers], most=ids)
    assert memory.most_open == ids
    in_order = [(memory.orders[0] + k) % ids for k in range(len(memory.orders))]
    # Of two, the one that was requested first has mostly begun when the other comes.
    assert memory.orders != in_order or ids == 2
    assert (memory.mixed > 0) == (changes > 0)


@pytest.mark.parametrize(("beat_bytes", "most", "latency", "changes", "least"), [
    (32, 256, 150, None, 0.99), (32, 16, 150, None, 0.99), (64, 16, 0, None, 0.99), (16, 32, 60, 0.0, 0.85),
    (32, 16, 20, 1.0, 0.85)])
def test_a_beat_in_every_cycle(beat_bytes: int, most: int, latency: int, changes: float | None, least: float) -> None:
    """With as many identifiers as cover the latency; twice as many where the memory mixes the bursts, since the oldest
    one then comes later."""
    ids = (latency // burst_beats(beat_bytes, most) + 2) * (1 if changes is None else 2)
    m, reorder, (reader,) = _readers(1, ids, beat_bytes, most)
    memory = Memory(reorder.o, beat_bytes, random.Random(1), latency, most_beats=most, changes=changes)

    async def take(ctx: Any) -> None:
        assert await rate(ctx, reader.o.ready, reader.o.valid, 5 * 4096 // beat_bytes) >= least

    clocked(m, take, memory.read, Traffic(reader, memory, [Span(0, 5 * 4096)], memory.rng).ask)


def test_cycles() -> None:
    """The table of the docstring: a request passes at once; beats come in the order of requests, 3 cycles later."""
    dut = AxiReorder(32, 16, 2, 16)

    async def process(ctx: Any) -> None:
        near, far = dut.i, dut.o
        ctx.set(near.rready, 1)
        ctx.set(far.arready, 1)
        for number in range(2):
            ctx.set(near.arvalid, 1)
            ctx.set(near.arlen, number)
            assert (ctx.get(far.arvalid), ctx.get(near.arready), ctx.get(far.arid)) == (1, 1, number)
            await ctx.tick()
        assert (ctx.get(far.arvalid), ctx.get(near.arready)) == (0, 0)      # both slots are in use
        ctx.set(near.arvalid, 0)
        seen = []
        # Two beats of the second burst, then the one of the first; and one more, which is nobody's.
        for cycle in range(12):
            sent = cycle < 4
            ctx.set(far.rvalid, sent)
            if sent:
                ctx.set(far.rid, (1, 1, 0, 0)[cycle])
                ctx.set(far.rdata, 100 + cycle)
                ctx.set(far.rresp, cycle)
                # It is high for the cycle that the register takes, and then no more.
                assert ctx.get(far.rready)
            elif cycle > 4:
                assert not ctx.get(far.rready)
            if ctx.get(near.rvalid):
                seen.append((cycle, ctx.get(near.rdata), ctx.get(near.rresp), ctx.get(near.rlast)))
            await ctx.tick()
        assert seen == [(5, 102, 2, 1), (6, 100, 0, 0), (7, 101, 1, 1)]

    clocked(dut, process)


def test_a_beat_too_many_changes_nothing() -> None:
    """It comes behind a burst that fills its slot, while that burst waits for the one before it."""
    dut = AxiReorder(32, 16, 2, 16)

    async def process(ctx: Any) -> None:
        near, far = dut.i, dut.o
        for signal, value in ((near.rready, 1), (far.arready, 1), (near.arlen, 15), (near.arvalid, 1)):
            ctx.set(signal, value)
        await ctx.tick().repeat(2)
        ctx.set(near.arvalid, 0)
        seen = []
        for cycle in range(60):
            ctx.set(far.rvalid, cycle < 33)
            ctx.set(far.rid, cycle < 17)
            ctx.set(far.rdata, cycle)
            if ctx.get(near.rvalid):
                seen.append(ctx.get(near.rdata))
            await ctx.tick()
        assert seen == [*range(17, 33), *range(16)]

    clocked(dut, process)


@pytest.mark.parametrize("seed", range(8))
def test_a_master_that_fails_or_stops_is_nothing_to_the_other(seed: int) -> None:
    """An error stays with its beat; what a stopped master has outstanding drains, whenever it comes, and nothing of it
    is seen after the master's reset, while the other goes on."""
    rng = random.Random(seed)
    clear = Signal()
    m, reorder, (stopped, other) = _readers(2, 4, most=16, clear=clear)
    memory = Memory(reorder.o, 32, rng, 20, 0.1, 3, most_beats=16, changes=0.5, content=bytearray(rng.randbytes(SIZE)))
    fails = seed % 2 == 0
    if fails:
        memory.faulty = dict.fromkeys(range(0x8000 + 32 * rng.randrange(600), 0x10000, 32), rng.choice([2, 3]))
    asked = [Span(each.address % 0x4000, each.bytes) for each in spans(rng, 32, 12)]
    traffic = Traffic(other, memory, asked, rng, 0.1)
    checked = Signal()

    async def stop(ctx: Any) -> None:
        for _ in range(3):
            ctx.set(stopped.i.payload, {"address": 0x8000, "bytes": 0x7FFF})
            ctx.set(stopped.i.valid, 1)
            ctx.set(stopped.o.ready, 1)
            if fails:
                place, at = min(memory.faulty), 0x8000
                seen = []
                while not ctx.get(stopped.fault.valid):
                    _, _, valid, beat = await ctx.tick().sample(stopped.o.valid, stopped.o.payload.data)
                    if valid:
                        seen.append(beat.to_bytes(32, "little"))
                assert b"".join(seen) == bytes(memory.content[at:place])
                assert ctx.get(stopped.fault) == {"valid": 1, "resp": memory.faulty[place],
                                                  "address": place // 512 * 512}
            else:
                await ctx.tick().repeat(rng.randint(1, 300))
            # One of its bursts comes last of all.
            memory.withheld = (rng.randrange(4),)
            ctx.set(stopped.i.valid, 0)
            ctx.set(stopped.stop, 1)
            await ctx.tick().repeat(rng.randint(1, 100))
            memory.withheld = ()
            await ctx.tick().until(stopped.idle)
            await pulse(ctx, clear)
            ctx.set(stopped.stop, 0)
            assert not ctx.get(stopped.o.valid)
            after = Traffic(stopped, memory, [Span(0x5000, 700)], rng, 0.1)
            await after.ask(ctx)
            await after.move(ctx)
        ctx.set(checked, 1)

    async def process(ctx: Any) -> None:
        while not (traffic.done and ctx.get(checked)):
            await ctx.tick()
        memory.check()

    clocked(m, process, stop, *traffic.processes, memory.read)
