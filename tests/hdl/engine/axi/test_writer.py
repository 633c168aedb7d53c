"""The writer: bytes, rules of the protocol, speed, errors, and stopping at any time."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal

from cdma.hdl.engine.axi.bursts import burst_beats
from cdma.hdl.engine.axi.writer import AxiWriter
from tests.hdl.bench import clocked
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.axi.traffic import Pace, beats_of, give, never_waits, spans

_LENGTH_BITS = 16
_LINKS = [  # beat_bytes, outstanding, latency, pauses, stretch, early
    (16, 1, 0, 0.0, 1, False), (16, 4, 30, 0.3, 1, True), (16, 32, 350, 0.5, 40, False), (32, 2, 5, 0.0, 1, True),
    (32, 8, 350, 0.1, 1, False), (32, 3, 0, 0.6, 20, True), (64, 4, 20, 0.5, 1, False), (64, 1, 3, 0.0, 1, True),
    (64, 5, 0, 0.2, 3, False)]


def _requests(items: list[tuple[int, int]]) -> list[dict[str, int]]:
    return [{"address": address, "bytes": size} for address, size in items]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("beat_bytes", "outstanding", "latency", "pauses", "stretch", "early"), _LINKS)
def test_any_request_at_any_pace(
        beat_bytes: int, outstanding: int, latency: int, pauses: float, stretch: int, early: bool, whole: bool) -> None:
    rng = random.Random(f"{beat_bytes} {latency} {pauses}")
    most = 32 if whole else 256
    dut = AxiWriter(40, beat_bytes, _LENGTH_BITS, outstanding, most, 32 * whole)
    memory = Memory(dut.axi, beat_bytes, rng, latency, pauses, stretch, early, most_beats=most,
                    content=bytearray(rng.randbytes(SIZE)))
    asked = spans(rng, beat_bytes, 25)
    expected = bytearray(memory.content)
    beats: list[Any] = []
    for address, size in asked:
        data = rng.randbytes(-(-size // beat_bytes) * beat_bytes)
        expected[address:address + size] = data[:size]
        beats += beats_of(data, beat_bytes)
    given = []

    async def feed(ctx: Any) -> None:
        await give(ctx, dut.data, beats, Pace(rng, pauses, stretch))
        given.append(len(beats))

    async def ask(ctx: Any) -> None:
        await give(ctx, dut.i, _requests(asked), Pace(rng, pauses))
        await ctx.tick().until(dut.idle)
        assert given == [len(beats)]
        assert memory.open == 0
        assert memory.content == expected
        assert memory.most_open <= outstanding
        assert not ctx.get(dut.fault.valid)

    clocked(dut, ask, feed, memory.write, *((never_waits(dut.axi),) if whole else ()))


def test_no_request_before_its_data() -> None:
    dut = AxiWriter(40, 32, _LENGTH_BITS, 4)
    memory = Memory(dut.axi, 32, random.Random(1))

    async def process(ctx: Any) -> None:
        await give(ctx, dut.i, _requests([(0, 5000)]), Pace(random.Random(1), 0))
        for start, stop in ((0, 128), (128, 157)):
            for _ in range(50):
                _, _, asks, beat, idle = await ctx.tick().sample(dut.axi.awvalid, dut.axi.wvalid, dut.idle)
                assert not asks and not beat and not idle
            await give(ctx, dut.data, beats_of(bytes(32 * (stop - start)), 32), Pace(random.Random(1), 0))
            await ctx.tick().repeat(3)
        assert memory.bursts == [(0, 128), (4096, 29)]
        assert ctx.get(dut.idle)

    clocked(dut, process, memory.write)


@pytest.mark.parametrize("first", ["aw", "w"])
def test_idle_does_not_believe_a_response_that_comes_too_early(first: str) -> None:
    """A response without a burst: the unit is busy until its own side of the burst is done."""
    dut = AxiWriter(40, 32, _LENGTH_BITS, 4)
    later = "w" if first == "aw" else "aw"

    async def process(ctx: Any) -> None:
        ctx.set(dut.axi.bvalid, 1)
        ctx.set(getattr(dut.axi, f"{first}ready"), 1)
        await give(ctx, dut.i, _requests([(0, 64)]), Pace(random.Random(1), 0))
        for beat in range(2):
            if later == "w" and beat == 1:
                ctx.set(dut.axi.wready, 1)
                await ctx.tick()
                ctx.set(dut.axi.wready, 0)
            for _ in range(10):
                await ctx.tick()
                assert not ctx.get(dut.idle)
            ctx.set(dut.data.valid, 1)
            await ctx.tick().until(dut.data.ready)
            ctx.set(dut.data.valid, 0)
        ctx.set(dut.stop, later == "aw")
        for _ in range(10):
            await ctx.tick()
            assert ctx.get(getattr(dut.axi, f"{later}valid")) and not ctx.get(dut.idle)
        ctx.set(getattr(dut.axi, f"{later}ready"), 1)
        await ctx.tick().repeat(2)
        assert ctx.get(dut.idle) and not ctx.get(dut.fault.valid)

    clocked(dut, process)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("beat_bytes", "most"), [(16, 256), (32, 256), (64, 256), (16, 16), (32, 16), (64, 32)])
def test_a_beat_in_every_cycle(beat_bytes: int, most: int, whole: bool) -> None:
    """Long requests that follow each other, with enough bursts on the way to cover the latency."""
    latency, size = 350, 4 * 4096
    dut = AxiWriter(40, beat_bytes, _LENGTH_BITS, latency // burst_beats(beat_bytes, most) + 2, most,
                    burst_beats(beat_bytes, most) if whole else 0)
    rng = random.Random(1)
    memory = Memory(dut.axi, beat_bytes, rng, latency, most_beats=most)

    async def ask(ctx: Any) -> None:
        await give(ctx, dut.i, _requests([(0, size)] * 3), Pace(rng, 0))

    assert _rate(dut, memory, ask, 3 * size // beat_bytes) >= 0.99


@pytest.mark.parametrize(("beats", "least"), [(1, 0.24), (2, 0.49), (4, 0.97), (16, 0.99)])
def test_short_requests(beats: int, least: float) -> None:
    """A request takes four cycles of the request channel."""
    dut = AxiWriter(40, 32, _LENGTH_BITS, 32)
    rng = random.Random(1)
    memory = Memory(dut.axi, 32, rng, 20)

    async def ask(ctx: Any) -> None:
        await give(ctx, dut.i, _requests([(512 * k, 32 * beats) for k in range(100)]), Pace(rng, 0))

    assert _rate(dut, memory, ask, 100 * beats) >= least


def _rate(dut: Any, memory: Memory, ask: Any, beats: int) -> float:
    """Beats per cycle, from the first one to the last."""
    rates = []

    async def feed(ctx: Any) -> None:
        ctx.set(dut.data.valid, 1)
        await ctx.tick().until(dut.data.ready)
        cycles = seen = 1
        while seen < beats:
            cycles += 1
            _, _, ready = await ctx.tick().sample(dut.data.ready)
            seen += ready
        rates.append(beats / cycles)

    clocked(dut, feed, ask, memory.write)
    return rates[0]


@pytest.mark.parametrize("whole", [0, 128])
@pytest.mark.parametrize("seed", range(8))
def test_an_error_ends_it(seed: int, whole: int) -> None:
    """Of any burst; the first one is told, and the bursts that were begun are finished."""
    rng = random.Random(seed)
    dut = AxiWriter(40, 32, _LENGTH_BITS, 2, whole=whole)
    memory = Memory(dut.axi, 32, rng, 10, rng.choice([0, 0.2]))
    starts = [0, 4096, 8192, 3 * 4096 + 512, 4 * 4096, 5 * 4096]
    first = rng.randrange(len(starts))
    resp = rng.choice([2, 3])
    memory.faulty = {place: rng.choice([0, 2, 3]) for place in starts[first:]} | {starts[first]: resp}
    memory.faulty |= {place: rng.choice([0, 1]) for place in starts[:first]}

    async def ask(ctx: Any) -> None:
        await give(ctx, dut.i, _requests([(0, 3 * 4096), (3 * 4096 + 512, 40), (4 * 4096, 6000)]), Pace(rng, 0))

    async def watch(ctx: Any) -> None:
        ctx.set(dut.data.valid, 1)
        await ctx.tick().repeat(1400)
        assert ctx.get(dut.fault) == {"valid": 1, "resp": resp, "address": starts[first]}
        assert ctx.get(dut.idle)
        assert memory.open == 0
        assert [address for address, _ in memory.bursts] == starts[:len(memory.bursts)]
        assert first < len(memory.bursts) <= first + 3

    clocked(dut, watch, ask, memory.write)


@pytest.mark.parametrize("whole", [0, 16])
@pytest.mark.parametrize("seed", range(12))
def test_stop_and_reset(seed: int, whole: int) -> None:
    """Stopped at any time, nothing new begins, and bursts that were begun end without writing more than was given;
    after a reset the unit is as new."""
    rng = random.Random(seed)
    clear = Signal()
    dut = AxiWriter(40, 32, _LENGTH_BITS, rng.choice([1, 3]), whole or 256, whole)
    memory = Memory(dut.axi, 32, rng, rng.choice([0, 25]), rng.choice([0, 0.3]), 3, rng.random() < 0.5)
    feeding = rng.choice([0.3, 0.9])
    still_feeding = rng.choice([0, 0.5])

    async def process(ctx: Any) -> None:
        ctx.set(dut.i.payload, {"address": 0, "bytes": 60000})
        ctx.set(dut.i.valid, 1)
        _, _, taken = await ctx.tick().sample(dut.i.ready)
        assert taken
        ctx.set(dut.i.valid, 0)
        ctx.set(dut.data.payload.data, (1 << 256) - 1)
        given = 0
        for _ in range(rng.randint(1, 400)):
            ctx.set(dut.data.valid, rng.random() < feeding)
            _, _, valid, ready = await ctx.tick().sample(dut.data.valid, dut.data.ready)
            given += valid and ready
        ctx.set(dut.stop, 1)
        ctx.set(dut.i.valid, 1)
        dropped = 0
        withdrawn = False
        for _ in range(1200):
            ctx.set(dut.data.valid, rng.random() < still_feeding)
            _, _, awvalid, ready, another, idle = await ctx.tick().sample(
                dut.axi.awvalid, dut.data.ready, dut.i.ready, dut.idle)
            dropped += another
            assert not (withdrawn and awvalid), "a request after the stop"
            withdrawn = not awvalid
            assert ready, "what comes is dropped"
            assert not idle or memory.open == 0
        assert ctx.get(dut.idle)
        assert dropped > 100
        # Of whole bursts, those that had not begun are dropped.
        written = memory.content.count(b"\xff") // 32 if whole else given
        assert given - 3 * whole <= written <= given
        assert memory.content == b"\xff" * 32 * written + bytes(SIZE - 32 * written)
        ctx.set(dut.i.valid, 0)
        ctx.set(dut.data.valid, 0)
        ctx.set(clear, 1)
        await ctx.tick()
        ctx.set(clear, 0)
        ctx.set(dut.stop, 0)
        for address, size in spans(rng, 32, 4):
            data = rng.randbytes(size)
            expected = memory.content[:address] + data + memory.content[address + size:]
            await give(ctx, dut.i, _requests([(address, size)]), Pace(rng, 0))
            await give(ctx, dut.data, beats_of(data, 32), Pace(rng, 0.1))
            await ctx.tick().until(dut.idle)
            assert memory.content == expected

    clocked(ResetInserter(clear)(dut), process, memory.write)
