"""Readers and writers of ours at a memory: requests of all kinds, with every byte compared."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from amaranth.hdl import Elaboratable, Value

from cdma.hdl.engine.axi.pages import Entry
from cdma.hdl.engine.axi.reader import AxiReader
from cdma.hdl.engine.axi.writer import AxiWriter
from tests.hdl.bench import Process, clocked
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.axi.traffic import Pace, beats_of, give, take_packet

__all__ = ["Span", "Traffic", "bursts", "never_waits", "play", "rate", "spans"]


class Span(NamedTuple):
    """A request: bytes from an address on, or in pages of ``4 KiB << size``; with ``cut``, one request up to this byte
    and one from it on."""

    address: int
    bytes: int
    pages: tuple[int, ...] = ()
    size: int = 0
    cut: int = 0

    def requests(self) -> list[tuple[int, int]]:
        """Address and bytes of each request; addresses of a stream in pages are places in it."""
        start, edges = 0 if self.pages else self.address, [0, *([self.cut] if self.cut else []), self.bytes]
        return [(start + low, high - low) for low, high in itertools.pairwise(edges)]

    def places(self) -> list[int]:
        """Where each byte is in memory."""
        page_bytes = 4096 << self.size
        return [(self.pages[k // page_bytes] + k % page_bytes if self.pages else self.address + k) % SIZE
                for k in range(self.bytes)]


def spans(rng: random.Random, beat_bytes: int, count: int) -> list[Span]:
    """Requests, many of them around the edges of pages and beats."""
    found = []
    for _ in range(count):
        address = rng.choice([0, 4096 - beat_bytes, 4096 - 2 * beat_bytes, rng.randrange(0, 8192, beat_bytes)])
        to_page = 4096 - address % 4096
        size = rng.choice([1, beat_bytes - 1, beat_bytes, beat_bytes + 1, to_page, to_page + 1, to_page + 4096,
                           rng.randint(1, 600), rng.randint(1, 5000)])
        found.append(Span(address + 4096 * rng.randrange(4), size))
    return found


def bursts(address: int, length: int, beat: int, most: int) -> list[tuple[int, int, int, int]]:
    """Bursts of a request, up to pages or multiples of the longest burst: address, beats less one, whether it is the
    last, and bytes of the request's last beat."""
    found, at, end, span = [], address, address + length, min(4096, most * beat)
    while at < end:
        stop = min(end, (at // span + 1) * span)
        found.append((at, -(-(stop - at) // beat) - 1, int(stop == end), length % beat))
        at = stop
    return found


class Traffic:
    """Requests to one master, one behind the other. What a writer is given goes into the memory's ``image`` at once.

    Parameters
    ----------
    pauses, stretch
        Of the requests, and of the beats: as :class:`Pace` has them.
    """

    def __init__(self, master: AxiReader | AxiWriter, memory: Memory, asked: Sequence[Span], rng: random.Random,
                 pauses: float = 0.0, stretch: int = 1):
        self.master, self._memory, self._asked, self._rng = master, memory, asked, rng
        self._pauses, self._stretch = pauses, stretch
        self.done = False
        self._beats: list[dict[str, int]] = []
        if isinstance(master, AxiWriter):
            for each in asked:
                data = rng.randbytes(-(-each.bytes // memory.beat_bytes) * memory.beat_bytes)
                self._beats += beats_of(data, memory.beat_bytes)
                for place, byte in zip(each.places(), data, strict=False):
                    memory.image[place] = byte

    @property
    def processes(self) -> list[Process]:
        """What is to run."""
        return [self.ask, self.move, *([self.give_pages] if hasattr(self.master, "pages") else [])]

    async def ask(self, ctx: Any) -> None:
        """Makes the requests."""
        for each in self._asked:
            for address, size in each.requests():
                if hasattr(self.master, "pages"):
                    final = address + size == each.bytes
                    ctx.set(self.master.pages.paging, {"listed": bool(each.pages), "size": each.size, "final": final})
                await give(ctx, self.master.i, [{"address": address, "bytes": size}], Pace(self._rng, self._pauses))

    async def move(self, ctx: Any) -> None:
        """Gives the beats, or takes and compares them."""
        pace = Pace(self._rng, self._pauses, self._stretch)
        if isinstance(self.master, AxiReader):
            for each in self._asked:
                hope = bytes(self._memory.content[place] for place in each.places())
                found = b"".join([await take_packet(ctx, self.master.o, pace) for _ in each.requests()])
                assert found == hope
        else:
            await give(ctx, self.master.data, self._beats, pace)
            await ctx.tick().until(self.master.idle)
        assert not ctx.get(self.master.fault.valid)
        self.done = True

    async def give_pages(self, ctx: Any) -> None:
        """Gives the entries of the page lists, and expects ``done`` once for each list."""
        pages = self.master.pages
        for each in self._asked:
            for address in each.pages:
                await ctx.tick().repeat(self._rng.choice([1, 1, 40]) if self._pauses else 1)
                ctx.set(pages.entries.payload, {"page": address >> 12, "state": Entry.GOOD})
                ctx.set(pages.entries.valid, 1)
                taken = False
                while not taken:
                    _, _, taken, done = await ctx.tick().sample(pages.entries.ready, pages.done)
                    assert not done, "a stream ended that has pages left"
                ctx.set(pages.entries.valid, 0)
            if each.pages:
                await ctx.tick().until(pages.done)


def play(design: Elaboratable, memory: Memory, traffic: Sequence[Traffic], *more: Process, most: int = SIZE,
         then: Process | None = None) -> None:
    """Runs masters until all have done what they are to do, and checks the memory; ``then`` goes on from there."""
    async def end(ctx: Any) -> None:
        while not all(each.done for each in traffic):
            await ctx.tick()
        assert all(ctx.get(each.master.idle) for each in traffic)
        memory.check(most)
        if then is not None:
            await then(ctx)

    clocked(design, end, *memory.processes, *(process for each in traffic for process in each.processes), *more)


async def rate(ctx: Any, end: Value, other: Value, beats: int) -> float:
    """Beats of a stream per cycle, from the first one to the last: the test's end always goes, and the other is
    watched."""
    ctx.set(end, 1)
    await ctx.tick().until(other)
    cycles = seen = 1
    while seen < beats:
        cycles += 1
        _, _, moves = await ctx.tick().sample(other)
        seen += moves
    return beats / cycles


def never_waits(axi: Any, domain: str = "sync") -> Any:
    """Watches that the data of a burst are there from its address on: a cycle later, and in every cycle up to the last
    beat; a reset of the domain ends them all."""

    async def watch(ctx: Any) -> None:
        inside = False
        open_ = late = 0        # bursts whose address was shown and whose last beat was not taken; since when
        before = False
        while True:
            _, reset, asks, ready, beat, moves, last = await ctx.tick(domain).sample(
                axi.awvalid, axi.awready, axi.wvalid, axi.wready, axi.wlast)
            if reset:
                inside = before = False
                open_ = late = 0
                continue
            late = late + 1 if open_ and not beat else 0
            assert late <= 1, "an address was given, and its data wait"
            assert not (late and inside), "data wait inside a burst"
            open_ += bool(asks) and not before
            before = bool(asks) and not ready
            inside = bool(beat) and not (moves and last)
            open_ -= bool(beat and moves and last)

    return watch
