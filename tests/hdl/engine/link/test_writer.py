"""The link writer against a memory: bytes, bursts, speed, errors, and stopping at any time."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.bursts import burst_beats
from cdma.hdl.engine.link.writer import LinkWriter
from tests.hdl.bench import clocked
from tests.hdl.engine.axi.memory import Memory

_PAGE = 4096
_PATIENCE = 5000        # cycles for any step; what takes longer has got stuck


def _config(beat_bytes: int, outstanding: int = 4, most: int = 256) -> EngineConfig:
    return EngineConfig(beat_bytes=16, link_beat_bytes=beat_bytes, outstanding_reads=outstanding, burst_beats=most)


def _beats(content: bytes, beat_bytes: int) -> list[dict[str, int]]:
    """What the aggregator would give: words behind the last one are zero."""
    return [{"data": int.from_bytes(content[at:at + beat_bytes], "little"),
             "words": min(beat_bytes, len(content) - at) // 4, "last": at + beat_bytes >= len(content)}
            for at in range(0, len(content), beat_bytes)]


async def _transfer(ctx: Any, dut: LinkWriter, address: int, content: bytes, rng: random.Random, pauses: float) -> int:
    """Gives a transfer; how many cycles a beat was there and not taken."""
    ctx.set(dut.start.payload.address, address)
    ctx.set(dut.start.valid, 1)
    await ctx.tick().until(dut.start.ready)
    ctx.set(dut.start.valid, 0)
    refused = 0
    for beat in _beats(content, 4 * (dut.i.payload.data.shape().width // 32)):
        while rng.random() < pauses:
            await ctx.tick()
        ctx.set(dut.i.payload, beat)
        ctx.set(dut.i.valid, 1)
        taken = False
        while not taken:
            _, _, taken = await ctx.tick().sample(dut.i.ready)
            refused += not taken
            assert refused < _PATIENCE
        ctx.set(dut.i.valid, 0)
    return refused


async def _written(ctx: Any, dut: LinkWriter) -> int:
    """Waits until the transfer is written; how many cycles that took."""
    for cycle in range(_PATIENCE):
        if ctx.get(dut.written):
            return cycle
        await ctx.tick()
    raise AssertionError(f"not written after {_PATIENCE} cycles")


def _bursts(address: int, size: int, beat_bytes: int, most: int) -> list[tuple[int, int]]:
    """Bursts that a transfer is to make: pages, or multiples of the longest burst."""
    result = []
    end = address + size
    span = min(_PAGE, most * beat_bytes)
    while address < end:
        edge = min(end, address // span * span + span)
        result.append((address, -(-(edge - address) // beat_bytes)))
        address = edge
    return result


@pytest.mark.parametrize(("beat_bytes", "outstanding", "latency", "pauses", "most"), [
    (16, 1, 0, 0.0, 256), (16, 4, 20, 0.4, 256), (32, 2, 40, 0.2, 256), (32, 4, 0, 0.6, 256), (64, 8, 100, 0.1, 256),
    (64, 1, 3, 0.5, 256), (16, 4, 20, 0.2, 16), (32, 2, 0, 0.4, 64), (64, 8, 40, 0.0, 32)])
def test_writes_its_words_and_no_more(beat_bytes: int, outstanding: int, latency: int, pauses: float,
                                      most: int) -> None:
    """Lengths around the edges of beats and pages, each from a place of its own."""
    rng = random.Random(f"{beat_bytes} {latency}")
    dut = LinkWriter(_config(beat_bytes, outstanding, most))
    memory = Memory(dut.axi, beat_bytes, rng, latency, pauses, most_beats=most,
                    content=bytearray(rng.randbytes(1 << 16)))
    expected = bytearray(memory.content)
    sizes = [4, beat_bytes - 4, beat_bytes, beat_bytes + 4, _PAGE - 4, _PAGE, _PAGE + 4, rng.randrange(4, 3 * _PAGE, 4)]
    places = [0, _PAGE - beat_bytes, _PAGE - 2 * beat_bytes, beat_bytes, *(
        rng.randrange(0, _PAGE, beat_bytes) for _ in range(4))]
    rng.shuffle(places)
    bursts = []

    async def process(ctx: Any) -> None:
        for size, place in zip(sizes, places, strict=True):
            address = place + _PAGE * rng.randrange(12)
            content = rng.randbytes(size)
            expected[address:address + size] = content
            bursts.extend(_bursts(address, size, beat_bytes, most))
            await _transfer(ctx, dut, address, content, rng, rng.choice([0, pauses]))
            await _written(ctx, dut)
            assert ctx.get(dut.idle)
            assert memory.content == expected

    clocked(dut, process, memory.write)
    assert memory.bursts == bursts
    assert memory.most_open <= outstanding


def test_transfers_one_behind_the_other() -> None:
    """A transfer begins while the bursts of those before it are outstanding; each is written once its last one is."""
    rng = random.Random(3)
    dut = LinkWriter(_config(32))
    memory = Memory(dut.axi, 32, rng, 200, content=bytearray(1 << 16))
    expected = bytearray(memory.content)
    sizes = [40, 4, 32, 3000, 5000, 64, 96, 8]
    written = []

    async def watch(ctx: Any) -> None:
        while True:
            _, _, done = await ctx.tick().sample(dut.written)
            if done:
                written.append(sum(length for _, length in memory.bursts[:len(memory.bursts) - memory.open]))

    async def process(ctx: Any) -> None:
        most = 0
        for number, size in enumerate(sizes):
            content = rng.randbytes(size)
            address = 8192 * number + 4096 - 64
            expected[address:address + size] = content
            await _transfer(ctx, dut, address, content, rng, 0)
            most = max(most, number - len(written))
        while len(written) < len(sizes):
            await ctx.tick()
        for _ in range(300):
            await ctx.tick()
        assert most >= 3
        assert memory.content == expected

    clocked(dut, process, watch, memory.write)
    assert len(written) == len(sizes)
    ends = [sum(-(-size // 32) for size in sizes[:number + 1]) for number in range(len(sizes))]
    assert all(found >= end for found, end in zip(written, ends, strict=True))


@pytest.mark.parametrize(("beat_bytes", "outstanding", "most"), [(16, 1, 16), (64, 2, 16), (16, 4, 256)])
def test_transfers_in_pages(beat_bytes: int, outstanding: int, most: int) -> None:
    """Streams in pages and others, one behind the other: each is written once, however many bursts wait for pages and
    responses."""
    rng = random.Random(outstanding)
    config = _config(beat_bytes, outstanding, most).replace(page_lists=True)
    dut = LinkWriter(config)
    memory = Memory(dut.axi, beat_bytes, rng, 60, most_beats=most, content=bytearray(1 << 16))
    expected = bytearray(memory.content)
    sizes = [1020, 8, beat_bytes, 1020, 4, _PAGE, _PAGE + 4, 1000, 1020, 600, 4, 4, 1020, 4]
    free = iter(rng.sample(range(16), 16))
    pages: list[int] = []
    written = []

    async def watch(ctx: Any) -> None:
        while True:
            _, _, done = await ctx.tick().sample(dut.written)
            if done:
                written.append(sum(length for _, length in memory.bursts[:len(memory.bursts) - memory.open]))

    async def give_pages(ctx: Any) -> None:
        # One is there when it is needed, or some cycles later.
        for _ in range(sum(-(-size // _PAGE) for number, size in enumerate(sizes) if number % 4)):
            while not pages:
                await ctx.tick()
            ctx.set(dut.pages.entries.payload.page, pages.pop(0))
            ctx.set(dut.pages.entries.valid, 1)
            await ctx.tick().until(dut.pages.entries.ready)
            ctx.set(dut.pages.entries.valid, 0)
            for _ in range(rng.choice([0, 0, 100])):
                await ctx.tick()

    async def process(ctx: Any) -> None:
        for number, size in enumerate(sizes):
            content, listed = rng.randbytes(size), bool(number % 4)
            used = [next(free) for _ in range(-(-size // _PAGE))]
            for at, page in enumerate(used):
                part = content[at * _PAGE:(at + 1) * _PAGE]
                expected[page * _PAGE:page * _PAGE + len(part)] = part
            if listed:
                pages.extend(used)
            ctx.set(dut.start.payload.listed, listed)
            await _transfer(ctx, dut, 0 if listed else used[0] * _PAGE, content, rng, 0)
        for _ in range(_PATIENCE):
            await ctx.tick()
        assert ctx.get(dut.idle)
        assert memory.content == expected

    clocked(dut, process, give_pages, watch, memory.write)
    ends = [sum(-(-size // beat_bytes) for size in sizes[:number + 1]) for number in range(len(sizes))]
    assert len(written) == len(ends)
    assert all(found >= end for found, end in zip(written, ends, strict=True))


@pytest.mark.parametrize("place", [0, _PAGE - 64, 2048])
@pytest.mark.parametrize(("beat_bytes", "most"), [(16, 256), (32, 256), (64, 256), (32, 16)])
def test_takes_a_beat_in_every_cycle(beat_bytes: int, most: int, place: int) -> None:
    """No beat waits while the memory takes one in every cycle, however late it answers."""
    latency = 150
    dut = LinkWriter(_config(beat_bytes, latency // burst_beats(beat_bytes, most) + 2, most))
    rng = random.Random(place)
    memory = Memory(dut.axi, beat_bytes, rng, latency, most_beats=most)
    content = rng.randbytes(8 * _PAGE + 20)
    cycles = []

    async def process(ctx: Any) -> None:
        assert await _transfer(ctx, dut, place, content, rng, 0) == 0
        cycles.append(await _written(ctx, dut))
        assert memory.content[place:place + len(content)] == content

    clocked(dut, process, memory.write)
    # Behind the last beat: what is left of the burst before it, its own beats, and the answer.
    assert cycles[0] <= 2 * burst_beats(beat_bytes, most) + latency + 16


def test_a_burst_waits_until_all_of_it_is_there() -> None:
    """The link's data channel is busy from a burst's first beat to its last, however slow the source."""
    dut = LinkWriter(_config(32))
    rng = random.Random(1)
    memory = Memory(dut.axi, 32, rng)
    busy = []

    async def watch(ctx: Any) -> None:
        while True:
            _, _, valid, ready, last = await ctx.tick().sample(dut.axi.wvalid, dut.axi.wready, dut.axi.wlast)
            busy.append((valid and ready, valid and ready and last))

    async def process(ctx: Any) -> None:
        await _transfer(ctx, dut, 4064, rng.randbytes(9000), rng, 0.7)
        await _written(ctx, dut)

    clocked(dut, process, memory.write, watch)
    inside = False
    for beat, last in busy:
        assert beat or not inside
        inside = bool((inside or beat) and not last)
    assert sum(last for _, last in busy) == 4


def test_the_first_burst_begins_soon() -> None:
    """The address is there in the fourth cycle after the only beat, and the beat in the next."""
    dut = LinkWriter(_config(32))

    async def process(ctx: Any) -> None:
        await _transfer(ctx, dut, 96, b"word", random.Random(0), 0)
        shown = []
        for _ in range(5):
            shown.append((ctx.get(dut.axi.awvalid), ctx.get(dut.axi.wvalid)))
            await ctx.tick()
        assert shown == [(0, 0)] * 3 + [(1, 0), (1, 1)]
        assert (ctx.get(dut.axi.awaddr), ctx.get(dut.axi.awlen), ctx.get(dut.axi.wstrb)) == (96, 0, 0xF)

    clocked(dut, process)


@pytest.mark.parametrize("resp", [2, 3])
@pytest.mark.parametrize("number", [0, 1, 3])
def test_an_error_ends_the_transfer(number: int, resp: int) -> None:
    """Also when it answers the last burst: all that comes is taken, and the transfer is never written."""
    rng = random.Random(number)
    dut = LinkWriter(_config(32))
    memory = Memory(dut.axi, 32, rng, 20, 0.2)
    address = 2048 if number == 0 else _PAGE * number
    memory.faulty[address] = resp

    async def process(ctx: Any) -> None:
        await _transfer(ctx, dut, 2048, rng.randbytes(2048 + 2 * _PAGE + 100), rng, 0.1)
        for _ in range(600):
            await ctx.tick()
            assert not ctx.get(dut.written)
        assert (ctx.get(dut.fault.valid), ctx.get(dut.fault.resp), ctx.get(dut.fault.address)) == (1, resp, address)
        assert ctx.get(dut.idle)
        assert ctx.get(dut.i.ready)
        assert memory.open == 0

    clocked(dut, process, memory.write)


@pytest.mark.parametrize("seed", range(12))
def test_stopping_leaves_nothing_open(seed: int) -> None:
    """Whenever the stop comes: bursts that were begun are finished, and nothing is written that was not given."""
    rng = random.Random(seed)
    dut = LinkWriter(_config(rng.choice([16, 32])))
    memory = Memory(dut.axi, dut.i.payload.data.shape().width // 8, rng, rng.choice([0, 40]), rng.choice([0, 0.4]))
    content = rng.randbytes(3 * _PAGE)
    place = rng.choice([0, 2048, _PAGE - 32])

    async def feed(ctx: Any) -> None:
        await _transfer(ctx, dut, place, content, rng, 0.1)

    async def stop(ctx: Any) -> None:
        for _ in range(rng.randint(1, 700)):
            await ctx.tick()
        ctx.set(dut.stop, 1)
        await ctx.tick()
        begun = len(memory.bursts)
        for _ in range(1000):
            await ctx.tick()
        assert ctx.get(dut.idle) and not ctx.get(dut.written)
        assert ctx.get(dut.i.ready)
        assert memory.open == 0
        assert len(memory.bursts) <= begun + 1      # one may have been offered already

    clocked(dut, stop, feed, memory.write)
    written = memory.content[place:place + len(content)]
    assert all(new in (0, old) for new, old in zip(written, content, strict=True))
    assert not any(memory.content[:place]) and not any(memory.content[place + len(content):])
