"""Streams in pages: read and written across any pages, beside streams that are not; entries that are not good."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest

from cdma.hdl.engine.axi.pages import Entry, PageTranslator
from cdma.hdl.engine.axi.reader import AxiReader
from cdma.hdl.engine.axi.writer import AxiWriter
from tests.hdl.bench import clocked
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.axi.traffic import Pace, beats_of, give, take_packet

_BITS, _LENGTH_BITS = 40, 20
_SETTINGS = [(16, 1, 0, 0.0), (32, 4, 30, 0.3), (64, 8, 100, 0.1)]      # beat_bytes, outstanding, latency, pauses


@dataclass
class _Stream:
    """Bytes at one address, or in pages of ``4 KiB << size``."""

    length: int
    address: int
    pages: list[int]
    size: int

    def request(self) -> dict[str, int]:
        return {"address": 0 if self.pages else self.address, "bytes": self.length}

    def paging(self) -> dict[str, int]:
        return {"listed": bool(self.pages), "size": self.size, "final": 1}

    def places(self) -> list[int]:
        """The address of each byte in memory."""
        page_bytes = 4096 << self.size
        return [(self.pages[k // page_bytes] + k % page_bytes if self.pages else self.address + k) % SIZE
                for k in range(self.length)]


def _streams(rng: random.Random, beat_bytes: int, count: int) -> list[_Stream]:
    found = []
    for _ in range(count):
        length = rng.choice([1, beat_bytes, 4095, 4096, 4097, 8192, rng.randint(1, 20000)])
        if rng.random() < 0.7:
            size = rng.choice([0, 0, 1, 2, 4])
            page_bytes = 4096 << size
            pages = [page_bytes * number + SIZE * rng.randrange(1 << _BITS - 16)
                     for number in rng.sample(range(SIZE // page_bytes), -(-length // page_bytes))]
            found.append(_Stream(length, 0, pages, size))
        else:
            found.append(_Stream(length, rng.randrange(0, SIZE - length, beat_bytes), [], 0))
    return found


async def _give_pages(ctx: Any, dut: AxiReader | AxiWriter, streams: list[_Stream], pace: Pace) -> None:
    """Gives the entries of each stream, and expects ``done`` once for each that is listed."""
    entries = dut.pages.entries
    for each in streams:
        if not each.pages:
            continue
        for address in each.pages:
            while not pace.go():
                await ctx.tick()
            ctx.set(entries.payload, {"page": address >> 12, "state": Entry.GOOD})
            ctx.set(entries.valid, 1)
            taken = False
            while not taken:
                _, _, taken, done = await ctx.tick().sample(entries.ready, dut.pages.done)
                assert not done, "a stream ended that has pages left"
            ctx.set(entries.valid, 0)
        await ctx.tick().until(dut.pages.done)


async def _ask(ctx: Any, dut: AxiReader | AxiWriter, streams: list[_Stream], pace: Pace) -> None:
    for each in streams:
        ctx.set(dut.pages.paging, each.paging())
        await give(ctx, dut.i, [each.request()], pace)


@pytest.mark.parametrize(("beat_bytes", "outstanding", "latency", "pauses"), _SETTINGS)
def test_streams_are_read(beat_bytes: int, outstanding: int, latency: int, pauses: float) -> None:
    rng = random.Random(beat_bytes)
    dut = AxiReader(_BITS, beat_bytes, _LENGTH_BITS, outstanding, paged=True)
    memory = Memory(dut.axi, beat_bytes, rng, latency, pauses, content=bytearray(rng.randbytes(SIZE)))
    streams = _streams(rng, beat_bytes, 20)

    async def take(ctx: Any) -> None:
        for each in streams:
            assert await take_packet(ctx, dut.o, Pace(rng, pauses)) == bytes(memory.content[k] for k in each.places())
        assert ctx.get(dut.idle)
        assert Entry(ctx.get(dut.pages.bad)) is Entry.GOOD

    clocked(dut, take, lambda ctx: _ask(ctx, dut, streams, Pace(rng, pauses)),
            lambda ctx: _give_pages(ctx, dut, streams, Pace(rng, pauses)), memory.read)


@pytest.mark.parametrize(("beat_bytes", "outstanding", "latency", "pauses"), _SETTINGS)
def test_streams_are_written(beat_bytes: int, outstanding: int, latency: int, pauses: float) -> None:
    rng = random.Random(beat_bytes)
    dut = AxiWriter(_BITS, beat_bytes, _LENGTH_BITS, outstanding, paged=True)
    memory = Memory(dut.axi, beat_bytes, rng, latency, pauses)
    streams = _streams(rng, beat_bytes, 20)
    expected = bytearray(SIZE)
    contents = [rng.randbytes(each.length) for each in streams]
    for each, content in zip(streams, contents, strict=True):
        for place, byte in zip(each.places(), content, strict=True):
            expected[place] = byte

    async def send(ctx: Any) -> None:
        for content in contents:
            await give(ctx, dut.data, beats_of(content, beat_bytes), Pace(rng, pauses))
        await ctx.tick().until(dut.idle)
        assert memory.content == expected

    clocked(dut, send, lambda ctx: _ask(ctx, dut, streams, Pace(rng, pauses)),
            lambda ctx: _give_pages(ctx, dut, streams, Pace(rng, pauses)), memory.write)


@pytest.mark.parametrize("state", [Entry.MISALIGNED, Entry.OUTSIDE, Entry.MISSING])
@pytest.mark.parametrize("master", [AxiReader, AxiWriter])
def test_an_entry_that_is_not_good(master: type[AxiReader | AxiWriter], state: Entry) -> None:
    """No burst begins from it on, and the master can be stopped."""
    rng = random.Random(1)
    dut = master(_BITS, 32, _LENGTH_BITS, 4, paged=True)
    memory = Memory(dut.axi, 32, rng)

    async def pages(ctx: Any) -> None:
        for number in range(3):
            ctx.set(dut.pages.entries.payload, {"page": number, "state": state if number == 2 else Entry.GOOD})
            ctx.set(dut.pages.entries.valid, 1)
            if number < 2:
                await ctx.tick().until(dut.pages.entries.ready)

    async def watch(ctx: Any) -> None:
        # Taken and given all the time.
        if isinstance(dut, AxiReader):
            ctx.set(dut.o.ready, 1)
        else:
            ctx.set(dut.data.valid, 1)
        while Entry(ctx.get(dut.pages.bad)) is Entry.GOOD:
            await ctx.tick()
        await ctx.tick().repeat(400)
        assert Entry(ctx.get(dut.pages.bad)) is state
        assert [address for address, _ in memory.bursts] == [0, 4096]
        ctx.set(dut.stop, 1)
        await ctx.tick().repeat(2)
        assert ctx.get(dut.idle)

    clocked(dut, watch, lambda ctx: _ask(ctx, dut, [_Stream(20000, 0, [1], 0)], Pace(rng, 0)), pages,
            memory.read if master is AxiReader else memory.write)


def _burst(dut: PageTranslator, ctx: Any, address: int, last: int = 0) -> None:
    ctx.set(dut.i.payload, {"address": address, "len": 7, "last": last, "tail": 0})
    ctx.set(dut.i.valid, 1)


def test_the_translator_takes_an_entry_for_each_page() -> None:
    """A burst that begins a page waits for its entry; others do not; those of a stream without a list pass."""
    dut = PageTranslator(_BITS, 32)
    page_bytes = 8192
    places = range(0, 3 * page_bytes, 2048)
    entries = [5 * page_bytes, 900 * page_bytes, 2 * page_bytes]
    found: list[int] = []

    async def bursts(ctx: Any) -> None:
        ctx.set(dut.pages.paging, {"listed": 1, "size": 1, "final": 1})
        ctx.set(dut.begin, 1)
        for place in places:
            _burst(dut, ctx, place, last=place == places[-1])
            await ctx.tick().until(dut.i.ready)
        ctx.set(dut.pages.paging, {"listed": 0, "size": 0, "final": 1})
        _burst(dut, ctx, 0x12345000, last=1)
        await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)

    async def pages(ctx: Any) -> None:
        for number, address in enumerate(entries):
            await ctx.tick().repeat(10)
            # Without its entry, no burst of a page has come.
            assert len(found) == number * page_bytes // 2048
            ctx.set(dut.pages.entries.payload, {"page": address >> 12, "state": Entry.GOOD})
            ctx.set(dut.pages.entries.valid, 1)
            await ctx.tick().until(dut.pages.entries.ready)
            ctx.set(dut.pages.entries.valid, 0)

    async def take(ctx: Any) -> None:
        ended = 0
        ctx.set(dut.o.ready, 1)
        while len(found) <= len(places):
            _, _, valid, burst, done = await ctx.tick().sample(dut.o.valid, dut.o.payload, dut.pages.done)
            ended += done
            if valid:
                found.append(burst.address)
                # One cycle after the last burst of the stream has its address.
                assert done == (len(found) == len(places))
        assert found == [*(entries[place // page_bytes] + place % page_bytes for place in places), 0x12345000]
        assert ended == 1 and Entry(ctx.get(dut.pages.bad)) is Entry.GOOD

    clocked(dut, take, bursts, pages)


@pytest.mark.parametrize("size", range(10))
def test_a_page_of_every_size_has_one_entry(size: int) -> None:
    """Bursts at both ends of two pages and at each power of two within them; from 4 KiB up to 2 MiB."""
    dut = PageTranslator(_BITS, 32)
    page_bytes = 4096 << size
    inside = [0, 2048, *(4096 << bit for bit in range(size)), page_bytes - 4096, page_bytes - 2048]
    places = sorted({page * page_bytes + place for page in (0, 1) for place in inside})
    entries = [37 * page_bytes, 5 * page_bytes]

    async def bursts(ctx: Any) -> None:
        ctx.set(dut.pages.paging, {"listed": 1, "size": size, "final": 1})
        ctx.set(dut.begin, 1)
        for place in places:
            _burst(dut, ctx, place, last=place == places[-1])
            await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)

    async def pages(ctx: Any) -> None:
        for address in entries:
            ctx.set(dut.pages.entries.payload, {"page": address >> 12, "state": Entry.GOOD})
            ctx.set(dut.pages.entries.valid, 1)
            await ctx.tick().until(dut.pages.entries.ready)
        # There is one more, which no burst needs.
        for _ in range(200):
            _, _, taken = await ctx.tick().sample(dut.pages.entries.ready)
            assert not taken

    async def take(ctx: Any) -> None:
        found = []
        ctx.set(dut.o.ready, 1)
        while len(found) < len(places):
            _, _, valid, burst = await ctx.tick().sample(dut.o.valid, dut.o.payload)
            if valid:
                found.append(burst.address)
        assert found == [entries[place // page_bytes] + place % page_bytes for place in places]

    clocked(dut, take, bursts, pages)


@pytest.mark.parametrize("size", [4, 9])
@pytest.mark.parametrize("master", [AxiReader, AxiWriter])
def test_a_stream_goes_on_in_its_second_large_page(master: type[AxiReader | AxiWriter], size: int) -> None:
    """A stream one burst longer than a page of 64 KiB or 2 MiB, in the pages that its list names."""
    rng = random.Random(size)
    dut = master(_BITS, 64, 22, 8, paged=True)
    memory = Memory(dut.axi, 64, rng)
    page_bytes = 4096 << size
    pages = [7 * page_bytes, 3 * page_bytes]
    each = _Stream(page_bytes + 4096, 0, pages, size)

    async def take(ctx: Any) -> None:
        if isinstance(dut, AxiReader):
            ctx.set(dut.o.ready, 1)
        else:
            ctx.set(dut.data.valid, 1)
            ctx.set(dut.data.payload.keep, (1 << 64) - 1)
        await ctx.tick().until(dut.pages.done)
        await ctx.tick().until(dut.idle)
        assert [address for address, _ in memory.bursts] == [
            pages[place // page_bytes] + place % page_bytes for place in range(0, each.length, 4096)]

    clocked(dut, take, lambda ctx: _ask(ctx, dut, [each], Pace(rng, 0)),
            lambda ctx: _give_pages(ctx, dut, [each], Pace(rng, 0)),
            memory.read if master is AxiReader else memory.write)


def test_the_translator_drops_and_holds_back() -> None:
    """No burst is given before ``begin``; ``drop`` takes them all, and none that was dropped uses an entry."""
    dut = PageTranslator(_BITS, 32)

    async def check(ctx: Any) -> None:
        ctx.set(dut.pages.paging, {"listed": 1, "size": 0, "final": 0})
        ctx.set(dut.pages.entries.payload, {"page": 3, "state": Entry.GOOD})
        ctx.set(dut.pages.entries.valid, 1)
        _burst(dut, ctx, 0)
        for _ in range(5):
            await ctx.tick()
            assert not ctx.get(dut.i.ready) and not ctx.get(dut.o.valid)
        ctx.set(dut.begin, 1)
        ctx.set(dut.drop, 1)
        for _ in range(5):
            assert ctx.get(dut.i.ready) and not ctx.get(dut.pages.entries.ready)
            await ctx.tick()
            assert not ctx.get(dut.o.valid)
        ctx.set(dut.drop, 0)
        assert ctx.get(dut.pages.entries.ready)
        await ctx.tick()
        assert ctx.get(dut.o.valid) and ctx.get(dut.o.payload.address) == 0x3000

    clocked(dut, check)
