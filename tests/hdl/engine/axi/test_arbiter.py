"""The read arbiter, between masters of ours and a memory."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import connect

from hdl.engine.axi.arbiter import AxiReadArbiter
from hdl.engine.axi.reader import AxiReader
from tests.hdl.bench import clocked
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.axi.traffic import Pace, give, spans, take_packet

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
