"""The arbiters, between masters of ours and a memory."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import connect

from cdma.hdl.engine.axi.arbiter import AxiReadArbiter, AxiWriteArbiter
from cdma.hdl.engine.axi.reader import AxiReader
from cdma.hdl.engine.axi.writer import AxiWriter
from tests.hdl.bench import clocked
from tests.hdl.engine.axi.masters import Span, Traffic, play, spans
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.axi.traffic import Pace, beats_of, give

_BEAT_BYTES = 32


def _shared(kind: str, inputs: int, outstanding: int, each: int, whole: int = 0,
            beat_bytes: int = _BEAT_BYTES) -> tuple[Module, Any, list[Any]]:
    """An arbiter of reads or writes and its masters, of which each has so many bursts outstanding."""
    m = Module()
    sizes = 40, beat_bytes, inputs, outstanding
    m.submodules.arbiter = arbiter = AxiReadArbiter(*sizes) if kind == "read" else AxiWriteArbiter(*sizes)
    masters = [AxiReader(40, beat_bytes, 16, each) if kind == "read" else
               AxiWriter(40, beat_bytes, 16, each, whole or 256, whole) for _ in range(inputs)]
    for number, master in enumerate(masters):
        m.submodules[f"master{number}"] = master
        connect(m, master.axi, arbiter.i[number])
    return m, arbiter, masters


@pytest.mark.parametrize("kind", ["read", "write", "early"])
@pytest.mark.parametrize(("inputs", "outstanding", "latency", "pauses", "beat_bytes"), [
    (1, 2, 10, 0.2, 32), (2, 1, 0, 0.0, 32), (2, 4, 40, 0.3, 16), (3, 8, 350, 0.0, 32), (4, 3, 5, 0.6, 64)])
def test_every_master_gets_its_own(inputs: int, outstanding: int, latency: int, pauses: float, beat_bytes: int,
                                   kind: str) -> None:
    """The bytes of every master are where they belong, and an error response goes to the master of its burst. Beats of
    16 bytes have bursts of 256."""
    rng = random.Random(f"{inputs} {outstanding}")
    m, arbiter, masters = _shared(kind, inputs, outstanding, 3, beat_bytes=beat_bytes)
    memory = Memory(arbiter.o, beat_bytes, rng, latency, pauses, 3, kind == "early",
                    content=bytearray(rng.randbytes(SIZE)))
    room = SIZE // inputs // 4096 * 4096
    traffic = [Traffic(master, memory, [Span(number * room + each.address % (room - 8192), each.bytes % 8192 + 1)
                                        for each in spans(rng, beat_bytes, 8)], rng, 0.2)
               for number, master in enumerate(masters)]
    blamed = rng.randrange(inputs)
    bad = blamed * room + room - 4096

    async def fails(ctx: Any) -> None:
        memory.faulty[bad] = 2
        for number, master in enumerate(masters):
            await give(ctx, master.i, [{"address": bad + (number - blamed) * room, "bytes": 64}], Pace(rng, 0))
            if kind == "read":
                ctx.set(master.o.ready, 1)
            else:
                await give(ctx, master.data, beats_of(bytes(64), beat_bytes), Pace(rng, 0))
        await ctx.tick().repeat(4)
        while memory.open or not all(ctx.get(master.idle) for master in masters):
            await ctx.tick()
        assert [ctx.get(master.fault.valid) for master in masters] == [number == blamed for number in range(inputs)]

    play(m, memory, traffic, most=outstanding, then=fails)


async def _is_full(ctx: Any, valid: Any, ready: Any) -> None:
    """The port has a beat in nearly every cycle."""
    beats = 0
    for _ in range(400):
        _, _, moves = await ctx.tick().sample(valid & ready)
        beats += moves
    assert beats >= 396


def test_readers_take_turns_without_a_gap() -> None:
    m, arbiter, readers = _shared("read", 3, 8, 4)
    memory = Memory(arbiter.o, _BEAT_BYTES, random.Random(1), 100)

    async def process(ctx: Any) -> None:
        for number, reader in enumerate(readers):
            ctx.set(reader.i.payload, {"address": 4096 * number, "bytes": 512})
            ctx.set(reader.i.valid, number != 1)
            ctx.set(reader.o.ready, 1)
        await ctx.tick().repeat(200)
        assert [address for address, _ in memory.bursts][:6] in ([0, 8192] * 3, [8192, 0] * 3)
        ctx.set(readers[1].i.valid, 1)
        await ctx.tick().repeat(200)
        turns = [address for address, _ in memory.bursts][-6:]
        assert sorted(turns[:3]) == [0, 4096, 8192] and turns[:3] == turns[3:]
        await _is_full(ctx, arbiter.o.rvalid, arbiter.o.rready)

    clocked(m, process, memory.read)


def test_writers_take_turns_without_a_gap() -> None:
    """Bursts of two masters, of which one beats only two at a time: turn by turn, and no cycle is lost."""
    m, arbiter, writers = _shared("write", 2, 8, 4, 32)
    memory = Memory(arbiter.o, _BEAT_BYTES, random.Random(1), 100)

    async def process(ctx: Any) -> None:
        for number, (writer, size) in enumerate(zip(writers, (1024, 512), strict=True)):
            ctx.set(writer.i.payload, {"address": 4096 * number, "bytes": size})
            ctx.set(writer.i.valid, 1)
            ctx.set(writer.data.valid, 1)
        await ctx.tick().repeat(400)
        assert [address for address, _ in memory.bursts][-6:] in ([0, 4096] * 3, [4096, 0] * 3)
        await _is_full(ctx, arbiter.o.wvalid, arbiter.o.wready)

    clocked(m, process, memory.write)


@pytest.mark.parametrize("seed", range(4))
def test_an_error_or_a_stop_of_one_is_nothing_to_the_others(seed: int) -> None:
    rng = random.Random(seed)
    m, arbiter, (other, reader) = _shared("read", 2, 4, 3)
    memory = Memory(arbiter.o, _BEAT_BYTES, rng, 20, 0.1, content=bytearray(rng.randbytes(SIZE)))
    stops = seed % 2 == 0
    if not stops:
        memory.faulty = dict.fromkeys(range(0x18000, 0x20000, _BEAT_BYTES), 2)
    traffic = Traffic(reader, memory, spans(rng, _BEAT_BYTES, 8), rng, 0.1)

    async def stop(ctx: Any) -> None:
        ctx.set(other.i.payload, {"address": 0x16000, "bytes": 30000})
        ctx.set(other.i.valid, 1)
        ctx.set(other.o.ready, 1)
        await ctx.tick().repeat(rng.randint(1, 400))
        if stops:
            ctx.set(other.o.ready, 0)
            ctx.set(other.stop, 1)

    async def process(ctx: Any) -> None:
        await traffic.move(ctx)
        await ctx.tick().repeat(600)
        assert ctx.get(other.idle)
        memory.check()
        if not stops:
            assert ctx.get(other.fault) == {"valid": 1, "resp": 2, "address": 0x18000}

    clocked(m, process, traffic.ask, stop, memory.read)
