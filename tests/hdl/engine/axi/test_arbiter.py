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
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.axi.traffic import Pace, beats_of, give, spans, take_packet

_BEAT_BYTES = 32


def _shared(inputs: int, outstanding: int, reads: int) -> tuple[Module, AxiReadArbiter, list[AxiReader]]:
    m = Module()
    m.submodules.arbiter = arbiter = AxiReadArbiter(40, _BEAT_BYTES, inputs, outstanding)
    readers = [AxiReader(40, _BEAT_BYTES, 16, reads) for _ in range(inputs)]
    for number, reader in enumerate(readers):
        m.submodules[f"reader{number}"] = reader
        connect(m, reader.axi, arbiter.i[number])
    return m, arbiter, readers


@pytest.mark.parametrize(("inputs", "outstanding", "latency", "pauses"), [
    (1, 2, 10, 0.2), (2, 1, 0, 0.0), (2, 4, 40, 0.3), (3, 8, 350, 0.0), (4, 3, 5, 0.6)])
def test_every_master_gets_its_own(inputs: int, outstanding: int, latency: int, pauses: float) -> None:
    rng = random.Random(f"{inputs} {outstanding}")
    m, arbiter, readers = _shared(inputs, outstanding, 3)
    memory = Memory(arbiter.o, _BEAT_BYTES, rng, latency, pauses, 3, content=bytearray(rng.randbytes(SIZE)))
    asked = [spans(rng, _BEAT_BYTES, 8) for _ in readers]
    done = []

    def master(reader: AxiReader, requests: list[tuple[int, int]]) -> list[Any]:
        async def ask(ctx: Any) -> None:
            await give(ctx, reader.i, [{"address": a, "bytes": n} for a, n in requests], Pace(rng, 0.2))

        async def take(ctx: Any) -> None:
            for address, size in requests:
                assert await take_packet(ctx, reader.o, Pace(rng, 0.1)) == bytes(memory.content[address:address + size])
            done.append(reader)

        return [ask, take]

    async def watch(ctx: Any) -> None:
        while len(done) < inputs:
            await ctx.tick()
        assert memory.open == 0
        assert memory.most_open <= outstanding

    clocked(m, watch, memory.read, *(p for reader, requests in zip(readers, asked, strict=True)
                                     for p in master(reader, requests)))


def test_masters_take_turns_without_a_gap() -> None:
    m, arbiter, readers = _shared(3, 8, 4)
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
        beats = 0
        for _ in range(400):
            _, _, valid, ready = await ctx.tick().sample(arbiter.o.rvalid, arbiter.o.rready)
            beats += valid and ready
        assert beats >= 396

    clocked(m, process, memory.read)


@pytest.mark.parametrize("seed", range(4))
def test_an_error_or_a_stop_of_one_is_nothing_to_the_others(seed: int) -> None:
    rng = random.Random(seed)
    m, arbiter, readers = _shared(2, 4, 3)
    memory = Memory(arbiter.o, _BEAT_BYTES, rng, 20, 0.1, content=bytearray(rng.randbytes(SIZE)))
    asked = spans(rng, _BEAT_BYTES, 8)
    stops = seed % 2 == 0
    if not stops:
        memory.faulty = dict.fromkeys(range(0x18000, 0x20000, _BEAT_BYTES), 2)
    other, reader = readers

    async def ask(ctx: Any) -> None:
        await give(ctx, reader.i, [{"address": a, "bytes": n} for a, n in asked], Pace(rng, 0.2))

    async def stop(ctx: Any) -> None:
        ctx.set(other.i.payload, {"address": 0x16000, "bytes": 30000})
        ctx.set(other.i.valid, 1)
        ctx.set(other.o.ready, 1)
        await ctx.tick().repeat(rng.randint(1, 400))
        if stops:
            ctx.set(other.o.ready, 0)
            ctx.set(other.stop, 1)

    async def take(ctx: Any) -> None:
        for address, size in asked:
            assert await take_packet(ctx, reader.o, Pace(rng, 0.1)) == bytes(memory.content[address:address + size])
        assert not ctx.get(reader.fault.valid)
        await ctx.tick().repeat(600)
        assert ctx.get(other.idle)
        assert memory.open == 0
        if not stops:
            assert ctx.get(other.fault) == {"valid": 1, "resp": 2, "address": 0x18000}

    clocked(m, take, ask, stop, memory.read)


def _shared_writes(inputs: int, outstanding: int, writes: int, whole: int = 0
                   ) -> tuple[Module, AxiWriteArbiter, list[AxiWriter]]:
    m = Module()
    m.submodules.arbiter = arbiter = AxiWriteArbiter(40, _BEAT_BYTES, inputs, outstanding)
    writers = [AxiWriter(40, _BEAT_BYTES, 16, writes, whole or 256, whole) for _ in range(inputs)]
    for number, writer in enumerate(writers):
        m.submodules[f"writer{number}"] = writer
        connect(m, writer.axi, arbiter.i[number])
    return m, arbiter, writers


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize(("inputs", "outstanding", "latency", "pauses"), [
    (1, 2, 10, 0.2), (2, 1, 0, 0.0), (2, 4, 40, 0.3), (3, 8, 350, 0.0), (4, 3, 5, 0.6)])
def test_every_master_writes_its_own(inputs: int, outstanding: int, latency: int, pauses: float, early: bool) -> None:
    """The bytes of every master are where they belong, and an error response goes to the master of its burst."""
    rng = random.Random(f"{inputs} {outstanding}")
    m, arbiter, writers = _shared_writes(inputs, outstanding, 3)
    memory = Memory(arbiter.o, _BEAT_BYTES, rng, latency, pauses, 3, early, content=bytearray(rng.randbytes(SIZE)))
    expected = bytearray(memory.content)
    room = SIZE // inputs // 4096 * 4096
    done, jobs = [], []
    for number in range(inputs):
        asked = [(number * room + address % (room - 8192), size % 4096 + 1)
                 for address, size in spans(rng, _BEAT_BYTES, 8)]
        beats = []
        for address, size in asked:
            content = rng.randbytes(-(-size // _BEAT_BYTES) * _BEAT_BYTES)
            expected[address:address + size] = content[:size]
            beats += beats_of(content, _BEAT_BYTES)
        jobs.append((asked, beats))
    blamed = rng.randrange(inputs)
    bad = blamed * room + room - 4096

    def master(number: int) -> list[Any]:
        writer, (asked, beats) = writers[number], jobs[number]

        async def ask(ctx: Any) -> None:
            await give(ctx, writer.i, [{"address": a, "bytes": n} for a, n in asked], Pace(rng, 0.2))
            await ctx.tick().until(writer.idle)
            done.append(number)

        async def feed(ctx: Any) -> None:
            await give(ctx, writer.data, beats, Pace(rng, 0.1))

        return [ask, feed]

    async def watch(ctx: Any) -> None:
        while len(done) < inputs:
            await ctx.tick()
        assert memory.open == 0 and memory.content == expected
        assert memory.most_open <= outstanding
        memory.faulty[bad] = 2
        for number, writer in enumerate(writers):
            await give(ctx, writer.i, [{"address": bad + (number - blamed) * room, "bytes": 64}], Pace(rng, 0))
            await give(ctx, writer.data, beats_of(bytes(64), _BEAT_BYTES), Pace(rng, 0))
        while memory.open or not all(ctx.get(writer.idle) for writer in writers):
            await ctx.tick()
        assert [ctx.get(writer.fault.valid) for writer in writers] == [number == blamed for number in range(inputs)]

    clocked(m, watch, memory.write, *(p for number in range(inputs) for p in master(number)))


def test_writers_take_turns_without_a_gap() -> None:
    """Bursts of two masters, of which one beats only two at a time: turn by turn, and no cycle is lost."""
    m, arbiter, writers = _shared_writes(2, 8, 4, 32)
    memory = Memory(arbiter.o, _BEAT_BYTES, random.Random(1), 100)

    async def process(ctx: Any) -> None:
        for number, (writer, size) in enumerate(zip(writers, (1024, 512), strict=True)):
            ctx.set(writer.i.payload, {"address": 4096 * number, "bytes": size})
            ctx.set(writer.i.valid, 1)
            ctx.set(writer.data.valid, 1)
        await ctx.tick().repeat(400)
        turns = [address for address, _ in memory.bursts][-6:]
        assert turns in ([0, 4096] * 3, [4096, 0] * 3)
        beats = 0
        for _ in range(400):
            _, _, valid, ready = await ctx.tick().sample(arbiter.o.wvalid, arbiter.o.wready)
            beats += valid and ready
        assert beats >= 396

    clocked(m, process, memory.write)
