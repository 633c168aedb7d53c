"""The link writer against a memory: bytes, bursts, speed, errors, and stopping at any time."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.bursts import burst_beats
from cdma.hdl.engine.link.writer import LinkWriter
from tests.hdl.bench import clocked
from tests.hdl.engine.axi.masters import Span, bursts, never_waits
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.axi.traffic import Pace, give

_PAGE = 4096


def _config(beat_bytes: int, outstanding: int = 4, most: int = 256) -> EngineConfig:
    return EngineConfig(beat_bytes=16, link_beat_bytes=beat_bytes, outstanding_reads=outstanding, burst_beats=most)


async def _transfer(ctx: Any, dut: LinkWriter, address: int, content: bytes, pace: Pace, **paging: int) -> None:
    """Gives a transfer as the aggregator does: words behind the last one are zero."""
    size = dut.i.payload.data.shape().width // 8
    await give(ctx, dut.start, [{"address": address, **paging}], pace)
    await give(ctx, dut.i, [{"data": int.from_bytes(content[at:at + size], "little"),
                             "words": min(size, len(content) - at) // 4, "last": at + size >= len(content)}
                            for at in range(0, len(content), size)], pace)


@pytest.mark.parametrize(("beat_bytes", "outstanding", "latency", "pauses", "most"), [
    (16, 1, 0, 0.0, 256), (16, 4, 20, 0.4, 256), (32, 2, 40, 0.2, 256), (32, 4, 0, 0.6, 256), (64, 8, 100, 0.1, 256),
    (64, 1, 3, 0.5, 256), (16, 4, 20, 0.2, 16), (32, 2, 0, 0.4, 64), (64, 8, 40, 0.0, 32)])
def test_writes_its_words_and_no_more(beat_bytes: int, outstanding: int, latency: int, pauses: float,
                                      most: int) -> None:
    """Lengths around the edges of beats and pages, each from a place of its own. A burst waits until all of it is
    there: the link's data channel is busy from its first beat to its last, however slow the source."""
    rng = random.Random(f"{beat_bytes} {latency}")
    dut = LinkWriter(_config(beat_bytes, outstanding, most))
    memory = Memory(dut.axi, beat_bytes, rng, latency, pauses, most_beats=most, content=bytearray(rng.randbytes(SIZE)))
    sizes = [4, beat_bytes - 4, beat_bytes, beat_bytes + 4, _PAGE - 4, _PAGE, _PAGE + 4, rng.randrange(4, 3 * _PAGE, 4)]
    places = [0, _PAGE - beat_bytes, _PAGE - 2 * beat_bytes, beat_bytes, *(
        rng.randrange(0, _PAGE, beat_bytes) for _ in range(4))]
    rng.shuffle(places)
    expected = []

    async def process(ctx: Any) -> None:
        for size, place in zip(sizes, places, strict=True):
            address = place + _PAGE * rng.randrange(12)
            content = rng.randbytes(size)
            memory.image[address:address + size] = content
            expected.extend((at, beats + 1) for at, beats, _, _ in bursts(address, size, beat_bytes, most))
            await _transfer(ctx, dut, address, content, Pace(rng, rng.choice([0, pauses, 0.7])))
            await ctx.tick().until(dut.written)
            assert ctx.get(dut.idle)
            memory.check(outstanding)

    clocked(dut, process, memory.write, never_waits(dut.axi))
    assert memory.bursts == expected


@pytest.mark.parametrize(("beat_bytes", "outstanding", "most", "paged"), [
    (32, 4, 256, False), (16, 1, 16, True), (64, 2, 16, True), (16, 4, 256, True)])
def test_transfers_one_behind_the_other(beat_bytes: int, outstanding: int, most: int, paged: bool) -> None:
    """A transfer begins while the bursts of those before it are outstanding; each is written once, when its last burst
    is, however many wait for pages and responses."""
    rng = random.Random(outstanding)
    dut = LinkWriter(_config(beat_bytes, outstanding, most).replace(page_lists=paged))
    memory = Memory(dut.axi, beat_bytes, rng, 60 if paged else 200, most_beats=most)
    if paged:
        sizes = [1020, 8, beat_bytes, 1020, 4, _PAGE, _PAGE + 4, 1000, 1020, 600, 4, 4, 1020, 4]
        free = iter(rng.sample(range(0, SIZE, _PAGE), SIZE // _PAGE))
        used = [tuple(next(free) for _ in range(-(-size // _PAGE))) for size in sizes]
        asked = [Span(pages[0], size, pages if number % 4 else ())
                 for number, (size, pages) in enumerate(zip(sizes, used, strict=True))]
    else:
        asked = [Span(2 * _PAGE * number + _PAGE - 64, size)
                 for number, size in enumerate([40, 4, 32, 3000, 5000, 64, 96, 8])]
    contents = [rng.randbytes(each.bytes) for each in asked]
    for each, content in zip(asked, contents, strict=True):
        for place, byte in zip(each.places(), content, strict=True):
            memory.image[place] = byte
    pages: list[int] = []
    written: list[int] = []     # beats that had been answered when each transfer was
    behind = 0

    async def watch(ctx: Any) -> None:
        while True:
            await ctx.tick().until(dut.written)
            written.append(sum(length for _, length in memory.bursts[:len(memory.bursts) - memory.open]))

    async def give_pages(ctx: Any) -> None:
        # One is there when it is needed, or some cycles later.
        while True:
            while not pages:
                await ctx.tick()
            await give(ctx, dut.pages.entries, [{"page": pages.pop(0) // _PAGE}], Pace(rng, 0))
            for _ in range(rng.choice([0, 0, 100])):
                await ctx.tick()

    async def process(ctx: Any) -> None:
        nonlocal behind
        for number, (each, content) in enumerate(zip(asked, contents, strict=True)):
            pages.extend(each.pages)
            await _transfer(ctx, dut, 0 if each.pages else each.address, content, Pace(rng, 0),
                            **({"listed": bool(each.pages)} if paged else {}))
            behind = max(behind, number - len(written))
        while len(written) < len(asked):
            await ctx.tick()
        await ctx.tick().repeat(300)
        assert ctx.get(dut.idle)
        memory.check(outstanding)

    clocked(dut, process, watch, memory.write, *([give_pages] if paged else []))
    assert paged or behind >= 3
    assert len(written) == len(asked)
    beats = [-(-each.bytes // beat_bytes) for each in asked]
    assert all(found >= sum(beats[:number + 1]) for number, found in enumerate(written))


@pytest.mark.parametrize("place", [0, _PAGE - 64, 2048])
@pytest.mark.parametrize(("beat_bytes", "most"), [(16, 256), (32, 256), (64, 256), (32, 16)])
def test_takes_a_beat_in_every_cycle(beat_bytes: int, most: int, place: int) -> None:
    """No beat waits while the memory takes one in every cycle, however late it answers."""
    latency = 150
    dut = LinkWriter(_config(beat_bytes, latency // burst_beats(beat_bytes, most) + 2, most))
    rng = random.Random(place)
    memory = Memory(dut.axi, beat_bytes, rng, latency, most_beats=most)
    content = rng.randbytes(8 * _PAGE + 20)
    memory.image[place:place + len(content)] = content

    async def watch(ctx: Any) -> None:
        while True:
            _, _, refused = await ctx.tick().sample(dut.i.valid & ~dut.i.ready)
            assert not refused

    async def process(ctx: Any) -> None:
        await _transfer(ctx, dut, place, content, Pace(rng, 0))
        # Behind the last beat: what is left of the burst before it, its own beats, and the answer.
        for _ in range(2 * burst_beats(beat_bytes, most) + latency + 16):
            if ctx.get(dut.written):
                break
            await ctx.tick()
        assert ctx.get(dut.written)
        memory.check()

    clocked(dut, process, memory.write, watch)


def test_the_first_burst_begins_soon() -> None:
    """The address is there in the fourth cycle after the only beat, and the beat in the next."""
    dut = LinkWriter(_config(32))

    async def process(ctx: Any) -> None:
        await _transfer(ctx, dut, 96, b"word", Pace(random.Random(0), 0))
        shown = []
        for _ in range(5):
            shown.append((ctx.get(dut.axi.awvalid), ctx.get(dut.axi.wvalid)))
            await ctx.tick()
        assert shown == [(0, 0)] * 3 + [(1, 0), (1, 1)]
        assert (ctx.get(dut.axi.awaddr), ctx.get(dut.axi.awlen), ctx.get(dut.axi.wstrb)) == (96, 0, 0xF)

    clocked(dut, process)


@pytest.mark.parametrize("address", [0xA55A_A55A_A55A_A400, 0x5AA5_5AA5_5AA5_5A00])
def test_an_address_has_all_its_bits(address: int) -> None:
    dut = LinkWriter(_config(32).replace(address_bits=64))

    async def process(ctx: Any) -> None:
        await _transfer(ctx, dut, address, bytes(32), Pace(random.Random(0), 0))
        await ctx.tick().until(dut.axi.awvalid)
        assert ctx.get(dut.axi.awaddr) == address

    clocked(dut, process)


def test_a_transfer_across_four_gibibytes() -> None:
    """The carry goes through all bits of the address."""
    dut = LinkWriter(_config(32).replace(address_bits=40))
    border, begun = 1 << 32, []

    async def take(ctx: Any) -> None:
        ctx.set(dut.axi.awready, 1)
        ctx.set(dut.axi.wready, 1)
        while True:
            address, beats = await ctx.tick().sample(dut.axi.awaddr, dut.axi.awlen).until(dut.axi.awvalid)
            begun.append((address, beats + 1))

    async def process(ctx: Any) -> None:
        await _transfer(ctx, dut, border - 64, bytes(4 * 32), Pace(random.Random(0), 0))
        await ctx.tick().repeat(20)
        assert begun == [(border - 64, 2), (border, 2)]

    clocked(dut, process, take)


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
        await _transfer(ctx, dut, 2048, rng.randbytes(2048 + 2 * _PAGE + 100), Pace(rng, 0.1))
        for _ in range(600):
            await ctx.tick()
            assert not ctx.get(dut.written)
        assert ctx.get(dut.fault) == {"valid": 1, "resp": resp, "address": address}
        assert ctx.get(dut.idle)
        assert ctx.get(dut.i.ready)
        assert memory.open == 0

    clocked(dut, process, memory.write)


@pytest.mark.parametrize("seed", range(12))
def test_stopping_leaves_nothing_open(seed: int) -> None:
    """Whenever the stop comes: bursts that were begun are finished, and nothing is written that was not given."""
    rng = random.Random(seed)
    beat_bytes = rng.choice([16, 32])
    dut = LinkWriter(_config(beat_bytes))
    memory = Memory(dut.axi, beat_bytes, rng, rng.choice([0, 40]), rng.choice([0, 0.4]))
    content = rng.randbytes(3 * _PAGE)
    place = rng.choice([0, 2048, _PAGE - 32])

    async def feed(ctx: Any) -> None:
        await _transfer(ctx, dut, place, content, Pace(rng, 0.1))

    async def stop(ctx: Any) -> None:
        await ctx.tick().repeat(rng.randint(1, 700))
        ctx.set(dut.stop, 1)
        await ctx.tick()
        begun = len(memory.bursts)
        await ctx.tick().repeat(1000)
        assert ctx.get(dut.idle) and not ctx.get(dut.written)
        assert ctx.get(dut.i.ready)
        assert memory.open == 0
        assert len(memory.bursts) <= begun + 1      # one may have been offered already

    clocked(dut, stop, feed, memory.write)
    written = memory.content[place:place + len(content)]
    assert all(new in (0, old) for new, old in zip(written, content, strict=True))
    assert not any(memory.content[:place]) and not any(memory.content[place + len(content):])
