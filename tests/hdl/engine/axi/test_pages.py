"""Streams in pages: read and written across any pages, beside streams that are not; entries that are not good."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.engine.axi.pages import Entry
from cdma.hdl.engine.axi.reader import AxiReader
from cdma.hdl.engine.axi.writer import AxiWriter
from tests.hdl.bench import clocked
from tests.hdl.engine.axi.masters import Span, Traffic, play
from tests.hdl.engine.axi.memory import SIZE, Memory

_BITS, _LENGTH_BITS = 40, 20


def _streams(rng: random.Random, beat_bytes: int, count: int) -> list[Span]:
    found = []
    for _ in range(count):
        length = rng.choice([1, beat_bytes, 4095, 4096, 4097, 8192, rng.randint(1, 20000)])
        if rng.random() < 0.7:
            size = rng.choice([0, 0, 1, 2, 4])
            page_bytes = 4096 << size
            pages = tuple(page_bytes * number + SIZE * rng.randrange(1 << _BITS - 16)
                          for number in rng.sample(range(SIZE // page_bytes), -(-length // page_bytes)))
            cut = rng.choice([0, rng.randrange(0, length, beat_bytes)])
            found.append(Span(0, length, pages, size, cut))
        else:
            found.append(Span(rng.randrange(0, SIZE - length, beat_bytes), length))
    return found


@pytest.mark.parametrize("master", [AxiReader, AxiWriter])
@pytest.mark.parametrize(("beat_bytes", "outstanding", "latency", "pauses"), [
    (16, 1, 0, 0.0), (32, 4, 30, 0.3), (64, 8, 100, 0.1)])
def test_streams(beat_bytes: int, outstanding: int, latency: int, pauses: float, master: Any) -> None:
    rng = random.Random(beat_bytes)
    dut = master(_BITS, beat_bytes, _LENGTH_BITS, outstanding, paged=True)
    memory = Memory(dut.axi, beat_bytes, rng, latency, pauses, content=bytearray(rng.randbytes(SIZE)))

    async def good(ctx: Any) -> None:
        assert Entry(ctx.get(dut.pages.bad)) is Entry.GOOD

    play(dut, memory, [Traffic(dut, memory, _streams(rng, beat_bytes, 20), rng, pauses)], then=good)


@pytest.mark.parametrize("state", [Entry.MISALIGNED, Entry.OUTSIDE, Entry.MISSING])
@pytest.mark.parametrize("size", [0, 2])
@pytest.mark.parametrize("master", [AxiReader, AxiWriter])
def test_an_entry_that_is_not_good(master: Any, size: int, state: Entry) -> None:
    """It is told when it is needed: no burst begins from it on, and the master can be stopped."""
    dut = master(_BITS, 32, _LENGTH_BITS, 4, paged=True)
    memory = Memory(dut.axi, 32, random.Random(1))

    async def pages(ctx: Any) -> None:
        for number in range(3):
            ctx.set(dut.pages.entries.payload, {"page": number << size, "state": state if number == 2 else Entry.GOOD})
            ctx.set(dut.pages.entries.valid, 1)
            if number < 2:
                await ctx.tick().until(dut.pages.entries.ready)

    async def watch(ctx: Any) -> None:
        # Taken and given all the time.
        ctx.set(dut.o.ready if isinstance(dut, AxiReader) else dut.data.valid, 1)
        while Entry(ctx.get(dut.pages.bad)) is Entry.GOOD:
            await ctx.tick()
        await ctx.tick().repeat(1200)
        assert Entry(ctx.get(dut.pages.bad)) is state
        assert [address for address, _ in memory.bursts] == [4096 * number for number in range(2 << size)]
        ctx.set(dut.stop, 1)
        await ctx.tick().repeat(2)
        assert ctx.get(dut.idle)

    traffic = Traffic(dut, memory, [Span(0, 20000 << size, (0,) * 5, size)], memory.rng)
    clocked(dut, watch, traffic.ask, pages, *memory.processes)


@pytest.mark.parametrize(("bits", "size"), [(40, 4), (40, 9), (64, 4)])
def test_a_stream_goes_on_in_its_second_large_page(bits: int, size: int) -> None:
    """A stream one burst longer than a page of 64 KiB or 2 MiB, in the pages that its list names."""
    dut = AxiReader(bits, 64, 22, 8, paged=True)
    memory = Memory(dut.axi, 64, random.Random(size))
    page_bytes = 4096 << size
    pages = (0xA5 << bits - 8) + 7 * page_bytes, (0x5A << bits - 8) + 3 * page_bytes
    traffic = Traffic(dut, memory, [Span(0, page_bytes + 4096, pages, size)], memory.rng)

    async def take(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        await ctx.tick().until(dut.pages.done)
        await ctx.tick().until(dut.idle)
        assert [address for address, _ in memory.bursts] == [
            pages[place // page_bytes] + place % page_bytes for place in range(0, page_bytes + 4096, 4096)]

    clocked(dut, take, traffic.ask, traffic.give_pages, memory.read)
