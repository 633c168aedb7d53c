"""The reader and the writer: bytes, rules of the protocol, speed, errors, and stopping at any time."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal

from cdma.hdl.engine.axi.bursts import burst_beats
from cdma.hdl.engine.axi.reader import AxiReader
from cdma.hdl.engine.axi.writer import AxiWriter
from tests.hdl.bench import clocked, pulse
from tests.hdl.engine.axi.masters import Span, Traffic, never_waits, play, rate, spans
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.axi.traffic import Pace, beats_of, give

_READERS = ("read", "fast")
_KINDS = (*_READERS, "write", "whole")
_LINKS = [  # beat_bytes, outstanding, latency, pauses, stretch, early
    (16, 1, 0, 0.0, 1, False), (16, 4, 30, 0.3, 1, True), (16, 32, 350, 0.5, 40, False), (32, 2, 5, 0.0, 1, True),
    (32, 8, 350, 0.1, 1, False), (32, 3, 0, 0.6, 20, True), (64, 4, 20, 0.5, 1, False), (64, 1, 3, 0.0, 1, True),
    (64, 5, 0, 0.2, 3, False)]


def _master(kind: str, beat_bytes: int = 32, outstanding: int = 4, most: int = 256) -> Any:
    """A master; ``fast``: a reader of that pipeline; ``whole``: a writer whose bursts begin when all their beats are
    there."""
    if kind in _READERS:
        return AxiReader(40, beat_bytes, 16, outstanding, most, pipeline="fast" if kind == "fast" else "small")
    return AxiWriter(40, beat_bytes, 16, outstanding, most, burst_beats(beat_bytes, most) * (kind == "whole"))


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize(("beat_bytes", "outstanding", "latency", "pauses", "stretch", "early"), _LINKS)
def test_any_request_at_any_pace(beat_bytes: int, outstanding: int, latency: int, pauses: float, stretch: int,
                                 early: bool, kind: str) -> None:
    rng = random.Random(f"{beat_bytes} {latency} {pauses}")
    most = 32 if kind == "whole" else 256
    dut = _master(kind, beat_bytes, outstanding, most)
    memory = Memory(dut.axi, beat_bytes, rng, latency, pauses, stretch, early, most_beats=most,
                    content=bytearray(rng.randbytes(SIZE)))
    play(dut, memory, [Traffic(dut, memory, spans(rng, beat_bytes, 25), rng, pauses, stretch)],
         *([never_waits(dut.axi)] if kind == "whole" else []), most=outstanding)


def test_a_fast_reader_passes_no_errors() -> None:
    with pytest.raises(ValueError, match="cannot pass on beats with an error"):
        AxiReader(40, 32, 16, 4, passes_errors=True, pipeline="fast")


@pytest.mark.parametrize("address_bits", [32, 64])
@pytest.mark.parametrize("length_bits", [10, 40])
def test_widths(address_bits: int, length_bits: int) -> None:
    """Addresses up to the last page, across a carry into the upper half of the page's number."""
    rng = random.Random(address_bits)
    dut = AxiReader(address_bits, 32, length_bits, 2)
    memory = Memory(dut.axi, 32, rng, content=bytearray(rng.randbytes(SIZE)))
    edge = 1 << 12 + (address_bits - 12) // 2
    asked = [Span((1 << address_bits) - 544, 544), Span(edge - 512, 1000), Span(3 * edge - 32, 1023)]
    play(dut, memory, [Traffic(dut, memory, asked, rng)])
    assert [address for address, _ in memory.bursts] == [
        (1 << address_bits) - 544, edge - 512, edge, 3 * edge - 32, 3 * edge]


def _speed(dut: Any, memory: Memory, asked: list[Span]) -> float:
    """Beats per cycle of requests that follow each other."""
    beats = sum(-(-each.bytes // memory.beat_bytes) for each in asked)
    ends = (dut.o.ready, dut.o.valid) if isinstance(dut, AxiReader) else (dut.data.valid, dut.data.ready)
    found = 0.0

    async def watch(ctx: Any) -> None:
        nonlocal found
        found = await rate(ctx, *ends, beats)

    clocked(dut, watch, Traffic(dut, memory, asked, memory.rng).ask, *memory.processes)
    return found


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize(("beat_bytes", "most"), [(16, 256), (32, 256), (64, 256), (16, 16), (32, 16), (64, 32)])
def test_a_beat_in_every_cycle(beat_bytes: int, most: int, kind: str) -> None:
    """Long requests that follow each other, with enough bursts on the way to cover the latency."""
    latency = 350
    dut = _master(kind, beat_bytes, latency // burst_beats(beat_bytes, most) + 2, most)
    memory = Memory(dut.axi, beat_bytes, random.Random(1), latency, most_beats=most)
    assert _speed(dut, memory, [Span(0, 4 * 4096)] * 3) >= 0.99


@pytest.mark.parametrize(("kind", "beats", "least"), [
    ("read", 1, 0.32), ("read", 2, 0.65), ("read", 3, 0.97), ("read", 16, 0.99),
    ("write", 1, 0.24), ("write", 2, 0.49), ("write", 4, 0.97), ("write", 16, 0.99)])
def test_short_requests(kind: str, beats: int, least: float) -> None:
    """A request takes three cycles of the request channel, and of a writer four."""
    dut = _master(kind, outstanding=32)
    memory = Memory(dut.axi, 32, random.Random(1), 20)
    assert _speed(dut, memory, [Span(512 * k, 32 * beats) for k in range(100)]) >= least


@pytest.mark.parametrize("kind", ["write", "whole"])
def test_no_response_is_taken_before_the_last_beat(kind: str) -> None:
    """Of a memory that answers at once, which it must not."""
    dut = _master(kind, most=16)

    async def process(ctx: Any) -> None:
        for signal in (dut.axi.awready, dut.axi.wready, dut.axi.bvalid, dut.data.valid, dut.i.valid):
            ctx.set(signal, 1)
        ctx.set(dut.i.payload, {"address": 0, "bytes": 256})
        bursts = answers = 0
        for cycle in range(200):
            ctx.set(dut.data.valid, cycle % 3 == 0)
            _, _, beat, last, taken = await ctx.tick().sample(dut.axi.wvalid, dut.axi.wlast, dut.axi.bready)
            bursts, answers = bursts + (beat & last), answers + taken
            assert answers <= bursts
        assert answers > 5

    clocked(dut, process)


@pytest.mark.parametrize("seed", range(6))
def test_a_beat_with_an_error_of_parity_is_not_written(seed: int) -> None:
    """However long the port lets it wait."""
    rng = random.Random(seed)
    dut = AxiWriter(40, 32, 16, 4, 16, 16, protected=True)
    memory = Memory(dut.axi, 32, rng, 3, 0.7, 5, most_beats=16, content=bytearray(rng.randbytes(SIZE)))
    before = bytes(memory.content)
    traffic = Traffic(dut, memory, [Span(0, 2048)], rng)

    async def process(ctx: Any) -> None:
        await ctx.tick().repeat(rng.randrange(1, 40))
        await pulse(ctx, dut.inject)
        while not traffic.done:
            await ctx.tick()
        place, = (place for place in range(0, 2048, 32)
                  if memory.content[place:place + 32] != memory.image[place:place + 32])
        assert memory.content[place:place + 32] == before[place:place + 32]

    clocked(dut, process, traffic.ask, traffic.move, *memory.processes)


_THREE = [Span(0, 3 * 4096), Span(3 * 4096 + 512, 40), Span(4 * 4096, 6000)]


def _faulty(rng: random.Random, memory: Memory, places: list[int], first: int) -> int:
    """The first error is at one of the places; those before it are answered well, and those behind it anyhow."""
    memory.faulty = {place: rng.choice([0, 1] if number < first else [0, 2, 3]) for number, place in enumerate(places)}
    memory.faulty[places[first]] = rng.choice([2, 3])
    return memory.faulty[places[first]]


@pytest.mark.parametrize("kind", _READERS)
@pytest.mark.parametrize("seed", range(10))
def test_an_error_is_the_last_that_is_seen(seed: int, kind: str) -> None:
    """Of any kind, in any beat of any burst, and later ones change nothing."""
    rng = random.Random(seed)
    dut = _master(kind, outstanding=2)
    memory = Memory(dut.axi, 32, rng, 10, 0.2, content=bytearray(rng.randbytes(SIZE)))
    places = [place for each in _THREE for place in each.places()[::32]]
    first = rng.choice([rng.randrange(len(places)), 0, 127, 128, len(places) - 1])
    resp = _faulty(rng, memory, places, first)

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

    clocked(dut, watch, Traffic(dut, memory, _THREE, rng).ask, memory.read)


@pytest.mark.parametrize("kind", ["write", "whole"])
@pytest.mark.parametrize("seed", range(8))
def test_an_error_ends_a_write(seed: int, kind: str) -> None:
    """Of any burst; the first one is told, and the bursts that were begun are finished."""
    rng = random.Random(seed)
    dut = _master(kind, outstanding=2)
    memory = Memory(dut.axi, 32, rng, 10, rng.choice([0, 0.2]))
    starts = [0, 4096, 8192, 3 * 4096 + 512, 4 * 4096, 5 * 4096]
    first = rng.randrange(len(starts))
    resp = _faulty(rng, memory, starts, first)

    async def watch(ctx: Any) -> None:
        ctx.set(dut.data.valid, 1)
        await ctx.tick().repeat(1400)
        assert ctx.get(dut.fault) == {"valid": 1, "resp": resp, "address": starts[first]}
        assert ctx.get(dut.idle)
        assert memory.open == 0
        assert [address for address, _ in memory.bursts] == starts[:len(memory.bursts)]
        assert first < len(memory.bursts) <= first + 3

    clocked(dut, watch, Traffic(dut, memory, _THREE, rng).ask, memory.write)


async def _drains(ctx: Any, dut: Any, memory: Memory, valid: Signal) -> None:
    """After a stop no request begins, but for one that is shown, and the unit is idle when nothing is open."""
    withdrawn = False
    for _ in range(1200):
        _, _, asks, idle = await ctx.tick().sample(valid, dut.idle)
        assert not (withdrawn and asks), "a request after the stop"
        withdrawn = not asks
        assert not idle or memory.open == 0
    assert ctx.get(dut.idle)


async def _as_new(ctx: Any, dut: Any, memory: Memory, clear: Signal) -> None:
    """After a reset the unit does what it is asked."""
    ctx.set(dut.i.valid, 0)
    await pulse(ctx, clear)
    ctx.set(dut.stop, 0)
    memory.image[:] = memory.content
    for each in spans(memory.rng, 32, 4):
        traffic = Traffic(dut, memory, [each], memory.rng, 0.1)
        await traffic.ask(ctx)
        await traffic.move(ctx)
        memory.check()


@pytest.mark.parametrize("kind", _READERS)
@pytest.mark.parametrize("seed", range(10))
def test_stop_and_reset_of_a_reader(seed: int, kind: str) -> None:
    """Stopped at any time, nothing new begins, all that was begun ends; and after a reset the unit is as new."""
    rng = random.Random(seed)
    clear = Signal()
    dut = _master(kind, outstanding=rng.choice([1, 3]))
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
        await _drains(ctx, dut, memory, dut.axi.arvalid)
        await _as_new(ctx, dut, memory, clear)

    clocked(ResetInserter(clear)(dut), process, memory.read)


def test_the_port_of_a_fast_reader_is_registered() -> None:
    """Whether its ``rready`` is high does not depend on ``o.ready``."""
    dut = _master("fast")
    memory = Memory(dut.axi, 32, random.Random(1), content=bytearray(SIZE))

    async def process(ctx: Any) -> None:
        seen = set()
        for _ in range(300):
            shown = []
            for ready in (0, 1):
                ctx.set(dut.o.ready, ready)
                shown.append(ctx.get(dut.axi.rready))
            assert shown[0] == shown[1]
            seen.add(shown[0])
            ctx.set(dut.o.ready, memory.rng.random() < 0.5)
            await ctx.tick()
        assert seen == {0, 1}

    clocked(dut, process, Traffic(dut, memory, _THREE, memory.rng).ask, memory.read)


@pytest.mark.parametrize("kind", ["write", "whole"])
@pytest.mark.parametrize("seed", range(12))
def test_stop_and_reset_of_a_writer(seed: int, kind: str) -> None:
    """Bursts that were begun end without writing more than was given, and what comes is dropped."""
    rng = random.Random(seed)
    clear = Signal()
    dut = _master(kind, 32, rng.choice([1, 3]), 16 if kind == "whole" else 256)
    memory = Memory(dut.axi, 32, rng, rng.choice([0, 25]), rng.choice([0, 0.3]), 3, rng.random() < 0.5)
    feeding = rng.choice([0.3, 0.9])
    still_feeding = rng.choice([0, 0.5])
    given = dropped = 0

    async def feed(ctx: Any) -> None:
        nonlocal given, dropped
        await ctx.tick()
        for _ in range(rng.randint(1, 400)):
            ctx.set(dut.data.valid, rng.random() < feeding)
            _, _, valid, ready = await ctx.tick().sample(dut.data.valid, dut.data.ready)
            given += valid and ready
        ctx.set(dut.stop, 1)
        for _ in range(1200):
            ctx.set(dut.data.valid, rng.random() < still_feeding)
            _, _, ready, another = await ctx.tick().sample(dut.data.ready, dut.i.ready)
            dropped += another
            assert ready, "what comes is dropped"
        ctx.set(dut.data.valid, 0)

    async def process(ctx: Any) -> None:
        ctx.set(dut.data.payload.data, (1 << 256) - 1)
        ctx.set(dut.i.payload, {"address": 0, "bytes": 60000})
        ctx.set(dut.i.valid, 1)
        await ctx.tick()
        ctx.set(dut.i.valid, 0)
        await ctx.tick().until(dut.stop)
        ctx.set(dut.i.valid, 1)
        await _drains(ctx, dut, memory, dut.axi.awvalid)
        assert dropped > 100
        # Of whole bursts, those that had not begun are dropped.
        written = memory.content.count(b"\xff") // 32 if kind == "whole" else given
        assert given - 3 * 16 * (kind == "whole") <= written <= given
        assert memory.content == b"\xff" * 32 * written + bytes(SIZE - 32 * written)
        await _as_new(ctx, dut, memory, clear)

    clocked(ResetInserter(clear)(dut), process, feed, memory.write)


def test_no_request_before_its_data() -> None:
    dut = _master("write")
    memory = Memory(dut.axi, 32, random.Random(1))

    async def process(ctx: Any) -> None:
        await Traffic(dut, memory, [Span(0, 5000)], memory.rng).ask(ctx)
        for start, stop in ((0, 128), (128, 157)):
            for _ in range(50):
                _, _, asks, beat, idle = await ctx.tick().sample(dut.axi.awvalid, dut.axi.wvalid, dut.idle)
                assert not asks and not beat and not idle
            await give(ctx, dut.data, beats_of(bytes(32 * (stop - start)), 32), Pace(memory.rng, 0))
            await ctx.tick().repeat(3)
        assert memory.bursts == [(0, 128), (4096, 29)]
        assert ctx.get(dut.idle)

    clocked(dut, process, memory.write)


@pytest.mark.parametrize("first", ["aw", "w"])
def test_idle_does_not_believe_a_response_that_comes_too_early(first: str) -> None:
    """A response without a burst: the unit is busy until its own side of the burst is done."""
    dut = _master("write")
    later = "w" if first == "aw" else "aw"

    async def process(ctx: Any) -> None:
        ctx.set(dut.axi.bvalid, 1)
        ctx.set(getattr(dut.axi, f"{first}ready"), 1)
        await give(ctx, dut.i, [{"address": 0, "bytes": 64}], Pace(random.Random(1), 0))
        for beat in range(2):
            if later == "w" and beat == 1:
                await pulse(ctx, dut.axi.wready)
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
