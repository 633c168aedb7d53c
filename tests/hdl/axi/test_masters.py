"""Reader and writer: bytes, rules of the protocol, speed, errors, and stopping at any time."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hdl.axi.reader import AxiReader
from hdl.axi.writer import AxiWriter
from hdl.engine_config import burst_beats
from tests.hdl.axi.memory import Memory
from tests.hdl.bench import clocked

_LENGTH_BITS = 16


def _spans(rng: random.Random, beat_bytes: int, count: int) -> list[tuple[int, int]]:
    """Requests around the edges of pages and beats."""
    spans = []
    for _ in range(count):
        address = rng.choice([0, 4096 - beat_bytes, 4096 - 2 * beat_bytes, rng.randrange(0, 8192, beat_bytes)])
        size = rng.choice([1, beat_bytes - 1, beat_bytes, beat_bytes + 1, rng.randint(1, 600), rng.randint(1, 5000)])
        spans.append((address + 4096 * rng.randrange(4), size))
    return spans


async def _give(ctx: Any, stream: Any, items: list[Any], rng: random.Random, pauses: float) -> None:
    for item in items:
        while rng.random() < pauses:
            await ctx.tick()
        ctx.set(stream.payload, item)
        ctx.set(stream.valid, 1)
        taken = False
        while not taken:
            _, _, taken = await ctx.tick().sample(stream.ready)
        ctx.set(stream.valid, 0)


async def _packet(ctx: Any, stream: Any, rng: random.Random, pauses: float) -> bytes:
    packet = b""
    while True:
        ctx.set(stream.ready, rng.random() >= pauses)
        _, _, valid, ready, beat = await ctx.tick().sample(stream.valid, stream.ready, stream.payload)
        if valid and ready:
            kept = beat.keep.bit_count()
            assert beat.keep == (1 << kept) - 1
            packet += beat.data.to_bytes(stream.payload.keep.shape().width, "little")[:kept]
            if beat.last:
                return packet


@pytest.mark.parametrize(("beat_bytes", "outstanding", "latency", "pauses"), [
    (16, 1, 0, 0.0), (16, 4, 30, 0.3), (32, 2, 5, 0.0), (32, 8, 350, 0.1), (64, 4, 20, 0.5), (64, 1, 3, 0.0)])
def test_reads(beat_bytes: int, outstanding: int, latency: int, pauses: float) -> None:
    rng = random.Random(beat_bytes + latency)
    dut = AxiReader(40, beat_bytes, _LENGTH_BITS, outstanding)
    memory = Memory(dut.axi, beat_bytes, rng, latency, pauses, content=bytearray(rng.randbytes(1 << 16)))
    spans = _spans(rng, beat_bytes, 25)

    async def ask(ctx: Any) -> None:
        await _give(ctx, dut.i, [{"address": a, "bytes": n} for a, n in spans], rng, pauses)

    async def take(ctx: Any) -> None:
        for address, size in spans:
            assert await _packet(ctx, dut.o, rng, pauses) == bytes(memory.content[address:address + size])
        assert memory.most_open <= outstanding
        assert ctx.get(dut.idle)

    clocked(dut, take, ask, memory.read)


@pytest.mark.parametrize(("beat_bytes", "outstanding", "latency", "pauses"), [
    (16, 1, 0, 0.0), (16, 4, 30, 0.3), (32, 2, 5, 0.0), (32, 8, 350, 0.1), (64, 4, 20, 0.5), (64, 1, 3, 0.0)])
def test_writes(beat_bytes: int, outstanding: int, latency: int, pauses: float) -> None:
    rng = random.Random(beat_bytes + latency)
    dut = AxiWriter(40, beat_bytes, _LENGTH_BITS, outstanding)
    memory = Memory(dut.axi, beat_bytes, rng, latency, pauses, content=bytearray(rng.randbytes(1 << 16)))
    spans = _spans(rng, beat_bytes, 25)
    expected = bytearray(memory.content)
    beats: list[Any] = []
    for address, size in spans:
        data = rng.randbytes(-(-size // beat_bytes) * beat_bytes)
        expected[address:address + size] = data[:size]
        beats += [{"data": int.from_bytes(data[k:k + beat_bytes], "little")} for k in range(0, len(data), beat_bytes)]

    async def feed(ctx: Any) -> None:
        await _give(ctx, dut.data, beats, rng, pauses)

    async def ask(ctx: Any) -> None:
        await _give(ctx, dut.i, [{"address": a, "bytes": n} for a, n in spans], rng, pauses)
        await ctx.tick().until(dut.idle)
        assert memory.content == expected
        assert memory.most_open <= outstanding

    clocked(dut, ask, feed, memory.write)


@pytest.mark.parametrize("beat_bytes", [16, 32, 64])
def test_a_beat_in_every_cycle(beat_bytes: int) -> None:
    """Long requests that follow each other, with enough bursts on the way to cover the latency."""
    latency, size = 150, 5 * 4096
    outstanding = latency // burst_beats(beat_bytes) + 2
    beats = 3 * size // beat_bytes
    rng = random.Random(1)
    reader = AxiReader(32, beat_bytes, _LENGTH_BITS, outstanding)
    source = Memory(reader.axi, beat_bytes, rng, latency)
    cycles = {}

    async def ask_reader(ctx: Any) -> None:
        await _give(ctx, reader.i, [{"address": 0, "bytes": size}] * 3, rng, 0)

    async def take(ctx: Any) -> None:
        ctx.set(reader.o.ready, 1)
        await ctx.tick().until(reader.o.valid)
        first, seen = 0, 1
        while seen < beats:
            first += 1
            _, _, valid = await ctx.tick().sample(reader.o.valid)
            seen += valid
        cycles["read"] = first

    clocked(reader, take, ask_reader, source.read)
    writer = AxiWriter(32, beat_bytes, _LENGTH_BITS, outstanding)
    target = Memory(writer.axi, beat_bytes, rng, latency)

    async def ask_writer(ctx: Any) -> None:
        await _give(ctx, writer.i, [{"address": 0, "bytes": size}] * 3, rng, 0)

    async def feed(ctx: Any) -> None:
        ctx.set(writer.data.valid, 1)
        await ctx.tick().until(writer.data.ready)
        number, seen = 0, 1
        while seen < beats:
            number += 1
            _, _, ready = await ctx.tick().sample(writer.data.ready)
            seen += ready
        cycles["write"] = number

    clocked(writer, feed, ask_writer, target.write)
    assert cycles["read"] <= beats * 1.005
    assert cycles["write"] <= beats * 1.005


@pytest.mark.parametrize("resp", [2, 3])
@pytest.mark.parametrize("number", [0, 1, 3])
def test_an_error_ends_a_read(number: int, resp: int) -> None:
    rng = random.Random(number)
    dut = AxiReader(40, 32, _LENGTH_BITS, 2)
    memory = Memory(dut.axi, 32, rng, 10, 0.2, content=bytearray(rng.randbytes(1 << 16)))
    address = number * 4096
    memory.faulty[address] = resp

    async def ask(ctx: Any) -> None:
        await _give(ctx, dut.i, [{"address": 0, "bytes": 6 * 4096}], rng, 0)

    async def watch(ctx: Any) -> None:
        seen = 0
        ctx.set(dut.o.ready, 1)
        for cycle in range(3000):
            _, _, valid = await ctx.tick().sample(dut.o.valid)
            seen += valid
            if cycle > 2500:
                assert ctx.get(dut.idle)
        assert ctx.get(dut.fault.valid)
        assert (ctx.get(dut.fault.resp), ctx.get(dut.fault.address)) == (resp, address)
        assert seen == number * 128
        assert len(memory.bursts) <= number + 3

    clocked(dut, watch, ask, memory.read)


@pytest.mark.parametrize("number", [0, 2])
def test_an_error_ends_a_write(number: int) -> None:
    rng = random.Random(number)
    dut = AxiWriter(40, 32, _LENGTH_BITS, 2)
    memory = Memory(dut.axi, 32, rng, 10, 0.2)
    memory.faulty[number * 4096] = 3

    async def ask(ctx: Any) -> None:
        await _give(ctx, dut.i, [{"address": 0, "bytes": 6 * 4096}], rng, 0)

    async def watch(ctx: Any) -> None:
        ctx.set(dut.data.valid, 1)
        for _ in range(2500):
            await ctx.tick()
        assert (ctx.get(dut.fault.valid), ctx.get(dut.fault.resp), ctx.get(dut.fault.address)) == (1, 3, number * 4096)
        assert ctx.get(dut.idle)
        assert len(memory.bursts) <= number + 3

    clocked(dut, watch, ask, memory.write)


@pytest.mark.parametrize("seed", range(8))
def test_stopping_leaves_nothing_open(seed: int) -> None:
    """Whenever the stop comes, bursts that were begun are finished, and what was not yet given is not written."""
    rng = random.Random(seed)
    reader = AxiReader(40, 32, _LENGTH_BITS, 3)
    source = Memory(reader.axi, 32, rng, 25, 0.3)
    writer = AxiWriter(40, 32, _LENGTH_BITS, 3)
    target = Memory(writer.axi, 32, rng, 25, 0.3)
    given = []

    async def stop(ctx: Any, dut: Any, memory: Memory) -> None:
        for _ in range(rng.randint(1, 400)):
            await ctx.tick()
        ctx.set(dut.stop, 1)
        await ctx.tick()
        begun = len(memory.bursts)
        for _ in range(1500):
            await ctx.tick()
        assert ctx.get(dut.idle)
        assert memory.open == 0
        assert len(memory.bursts) <= begun + 1      # one may have been offered already

    async def ask_reader(ctx: Any) -> None:
        await _give(ctx, reader.i, [{"address": 0, "bytes": 9000}] * 9, rng, 0)

    async def ask_writer(ctx: Any) -> None:
        await _give(ctx, writer.i, [{"address": 0, "bytes": 60000}], rng, 0)

    async def feed(ctx: Any) -> None:
        while True:
            ctx.set(writer.data.payload.data, (1 << 256) - 1)
            ctx.set(writer.data.valid, rng.random() < 0.5)
            _, _, valid, ready = await ctx.tick().sample(writer.data.valid, writer.data.ready)
            given.append(valid and ready)

    async def take(ctx: Any) -> None:
        while True:
            ctx.set(reader.o.ready, rng.random() < 0.4)
            await ctx.tick()

    async def stop_reader(ctx: Any) -> None:
        await stop(ctx, reader, source)

    async def stop_writer(ctx: Any) -> None:
        await stop(ctx, writer, target)

    clocked(reader, stop_reader, ask_reader, take, source.read)
    clocked(writer, stop_writer, ask_writer, feed, target.write)
    assert target.content == b"\xff" * 32 * sum(given) + bytes((1 << 16) - 32 * sum(given))
