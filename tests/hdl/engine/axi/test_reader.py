"""The reader: bytes, rules of the protocol, speed, errors, and stopping at any time."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal

from cdma.hdl.engine.axi.bursts import burst_beats
from cdma.hdl.engine.axi.reader import AxiReader
from tests.hdl.bench import clocked
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.axi.traffic import Pace, give, spans, take_packet

_LENGTH_BITS = 16
_LINKS = [  # beat_bytes, outstanding, latency, pauses, stretch
    (16, 1, 0, 0.0, 1), (16, 4, 30, 0.3, 1), (16, 32, 350, 0.5, 40), (32, 2, 5, 0.0, 1), (32, 8, 350, 0.1, 1),
    (32, 3, 0, 0.6, 20), (64, 4, 20, 0.5, 1), (64, 1, 3, 0.0, 1), (64, 5, 0, 0.2, 3)]


def _requests(items: list[tuple[int, int]]) -> list[dict[str, int]]:
    return [{"address": address, "bytes": size} for address, size in items]


@pytest.mark.parametrize(("beat_bytes", "outstanding", "latency", "pauses", "stretch"), _LINKS)
def test_any_request_at_any_pace(beat_bytes: int, outstanding: int, latency: int, pauses: float, stretch: int) -> None:
    rng = random.Random(f"{beat_bytes} {latency} {pauses}")
    dut = AxiReader(40, beat_bytes, _LENGTH_BITS, outstanding)
    memory = Memory(dut.axi, beat_bytes, rng, latency, pauses, stretch, content=bytearray(rng.randbytes(SIZE)))
    asked = spans(rng, beat_bytes, 25)

    async def ask(ctx: Any) -> None:
        await give(ctx, dut.i, _requests(asked), Pace(rng, pauses))

    async def take(ctx: Any) -> None:
        pace = Pace(rng, pauses, stretch)
        for address, size in asked:
            assert await take_packet(ctx, dut.o, pace) == bytes(memory.content[address:address + size])
        assert memory.most_open <= outstanding
        assert ctx.get(dut.idle)
        assert not ctx.get(dut.fault.valid)

    clocked(dut, take, ask, memory.read)


@pytest.mark.parametrize("address_bits", [32, 64])
@pytest.mark.parametrize("length_bits", [10, 40])
def test_widths(address_bits: int, length_bits: int) -> None:
    """Addresses up to the last page, across a carry into the upper half of the page's number."""
    rng = random.Random(address_bits)
    dut = AxiReader(address_bits, 32, length_bits, 2)
    memory = Memory(dut.axi, 32, rng, content=bytearray(rng.randbytes(SIZE)))
    edge = 1 << 12 + (address_bits - 12) // 2
    asked = [((1 << address_bits) - 544, 544), (edge - 512, 1000), (3 * edge - 32, 1023)]

    async def ask(ctx: Any) -> None:
        await give(ctx, dut.i, _requests(asked), Pace(rng, 0))

    async def take(ctx: Any) -> None:
        for address, size in asked:
            expected = bytes(memory.content[(address + k) % SIZE] for k in range(size))
            assert await take_packet(ctx, dut.o, Pace(rng, 0)) == expected
        assert [address for address, _ in memory.bursts] == [
            (1 << address_bits) - 544, edge - 512, edge, 3 * edge - 32, 3 * edge]

    clocked(dut, take, ask, memory.read)


@pytest.mark.parametrize(("beat_bytes", "most"), [(16, 256), (32, 256), (64, 256), (16, 16), (32, 16), (64, 32)])
def test_a_beat_in_every_cycle(beat_bytes: int, most: int) -> None:
    """Long requests that follow each other, with enough bursts on the way to cover the latency."""
    latency, size = 350, 4 * 4096
    dut = AxiReader(40, beat_bytes, _LENGTH_BITS, latency // burst_beats(beat_bytes, most) + 2, most)
    rng = random.Random(1)
    memory = Memory(dut.axi, beat_bytes, rng, latency, most_beats=most)
    beats = 3 * size // beat_bytes

    async def ask(ctx: Any) -> None:
        await give(ctx, dut.i, _requests([(0, size)] * 3), Pace(rng, 0))

    async def take(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        await ctx.tick().until(dut.o.valid)
        cycles = seen = 1
        while seen < beats:
            cycles += 1
            _, _, valid = await ctx.tick().sample(dut.o.valid)
            seen += valid
        assert beats / cycles >= 0.99

    clocked(dut, take, ask, memory.read)


@pytest.mark.parametrize(("beats", "least"), [(1, 0.32), (2, 0.65), (3, 0.97), (16, 0.99)])
def test_short_requests(beats: int, least: float) -> None:
    """A request takes three cycles of the request channel."""
    dut = AxiReader(40, 32, _LENGTH_BITS, 32)
    rng = random.Random(1)
    memory = Memory(dut.axi, 32, rng, 20)
    count = 100

    async def ask(ctx: Any) -> None:
        await give(ctx, dut.i, _requests([(512 * k, 32 * beats) for k in range(count)]), Pace(rng, 0))

    async def take(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        await ctx.tick().until(dut.o.valid)
        cycles = seen = 1
        while seen < count * beats:
            cycles += 1
            _, _, valid = await ctx.tick().sample(dut.o.valid)
            seen += valid
        assert seen / cycles >= least

    clocked(dut, take, ask, memory.read)


@pytest.mark.parametrize("seed", range(10))
def test_an_error_is_the_last_that_is_seen(seed: int) -> None:
    """Of any kind, in any beat of any burst, and later ones change nothing."""
    rng = random.Random(seed)
    dut = AxiReader(40, 32, _LENGTH_BITS, 2)
    memory = Memory(dut.axi, 32, rng, 10, 0.2, content=bytearray(rng.randbytes(SIZE)))
    asked = [(0, 3 * 4096), (3 * 4096 + 512, 40), (4 * 4096, 6000)]
    places = [address + 32 * k for address, size in asked for k in range(-(-size // 32))]
    first = rng.choice([rng.randrange(len(places)), 0, 127, 128, len(places) - 1])
    resp = rng.choice([2, 3])
    memory.faulty = {place: rng.choice([0, 2, 3]) for place in places[first:]} | {places[first]: resp}
    memory.faulty |= {place: rng.choice([0, 1]) for place in places[:first]}

    async def ask(ctx: Any) -> None:
        await give(ctx, dut.i, _requests(asked), Pace(rng, 0))

    async def watch(ctx: Any) -> None:
        seen = []
        for _ in range(1800):
            ctx.set(dut.o.ready, rng.random() < 0.8)
            _, _, valid, ready, beat = await ctx.tick().sample(dut.o.valid, dut.o.ready, dut.o.payload)
            if valid and ready:
                seen.append(beat.data.to_bytes(32, "little"))
        assert ctx.get(dut.idle)
        assert seen == [bytes(memory.content[place:place + 32]) for place in places[:first]]
        starts = [address for address, beats in memory.bursts if address <= places[first] < address + 32 * beats]
        assert ctx.get(dut.fault) == {"valid": 1, "resp": resp, "address": starts[0]}
        assert [address for address, _ in memory.bursts].index(starts[0]) >= len(memory.bursts) - 3

    clocked(dut, watch, ask, memory.read)


@pytest.mark.parametrize("seed", range(10))
def test_stop_and_reset(seed: int) -> None:
    """Stopped at any time, nothing new begins, all that was begun ends; and after a reset the unit is as new."""
    rng = random.Random(seed)
    clear = Signal()
    dut = AxiReader(40, 32, _LENGTH_BITS, rng.choice([1, 3]))
    memory = Memory(dut.axi, 32, rng, rng.choice([0, 25]), rng.choice([0, 0.3]), 3,
                    content=bytearray(rng.randbytes(SIZE)))
    open_end = rng.random() < 0.3       # nobody takes what comes out

    async def process(ctx: Any) -> None:
        ctx.set(dut.i.payload, {"address": 64, "bytes": rng.choice([32, 9000])})
        ctx.set(dut.i.valid, 1)
        for _ in range(rng.randint(1, 400)):
            ctx.set(dut.o.ready, not open_end and rng.random() < 0.8)
            _, _, arvalid, idle = await ctx.tick().sample(dut.axi.arvalid, dut.idle)
            assert not (arvalid and idle)
        ctx.set(dut.o.ready, 0)
        ctx.set(dut.stop, 1)
        withdrawn = False
        for _ in range(1200):
            _, _, arvalid, idle = await ctx.tick().sample(dut.axi.arvalid, dut.idle)
            assert not (withdrawn and arvalid), "a request after the stop"
            withdrawn = not arvalid
            assert not idle or memory.open == 0
        assert ctx.get(dut.idle)
        ctx.set(dut.i.valid, 0)
        ctx.set(clear, 1)
        await ctx.tick()
        ctx.set(clear, 0)
        ctx.set(dut.stop, 0)
        assert not ctx.get(dut.o.valid)
        for address, size in spans(rng, 32, 4):
            await give(ctx, dut.i, _requests([(address, size)]), Pace(rng, 0))
            assert await take_packet(ctx, dut.o, Pace(rng, 0.1)) == bytes(memory.content[address:address + size])

    clocked(ResetInserter(clear)(dut), process, memory.read)
