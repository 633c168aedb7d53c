"""Page lists: entries in order, ahead of their use, checked, and forgotten when a stream needs no more of them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal

from cdma.hdl.engine.axi.page_list import ENTRY_BYTES, PageList
from cdma.hdl.engine.axi.pages import PAGES_BITS, Entry
from tests.hdl.bench import Process, clocked, pulse
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.axi.traffic import Pace, give

_BITS = 40


@dataclass
class _List:
    """A list in memory: where it is, its entries, the page size, how many entries the stream uses, the first one that
    is answered with an error, and the bits of an address."""

    address: int
    entries: list[int]
    size: int
    uses: int
    unread: int | None = None
    bits: int = _BITS

    def request(self) -> dict[str, int]:
        return {"address": self.address, "pages": len(self.entries), "size": self.size}

    def store(self, memory: Memory) -> None:
        for number, entry in enumerate(self.entries):
            place = (self.address + ENTRY_BYTES * number) % SIZE
            memory.content[place:place + ENTRY_BYTES] = entry.to_bytes(ENTRY_BYTES, "little")

    def expected(self, number: int, window: tuple[int, int]) -> tuple[int | None, Entry]:
        """Page and state of an entry as they are used; the page of one that is not good does not matter."""
        if number >= len(self.entries):
            return None, Entry.MISSING
        if self.unread is not None and number >= self.unread:
            return None, Entry.UNREAD
        entry = self.entries[number]
        if entry >> self.bits:
            return None, Entry.OUTSIDE
        if entry % (4096 << self.size):
            return None, Entry.MISALIGNED
        if entry < window[0] or entry + (4096 << self.size) > window[1]:
            return None, Entry.OUTSIDE
        return entry >> 12, Entry.GOOD


def _lists(rng: random.Random, beat_bytes: int, lengths: list[int], bad: float = 0.0, bits: int = _BITS) -> list[_List]:
    """Lists behind each other, across 4 GiB, or 64 PiB where addresses have 64 bits; some entries are bad, in one way
    or in two."""
    first = place = (1 << bits - 8) - 1024
    found = []
    for length in lengths:
        size = rng.choice([0, 1, 5, 9])
        entries = [rng.randrange(1 << bits - 12 - size) << 12 + size for _ in range(length)]
        for number in range(length):
            if rng.random() < bad:
                entries[number] ^= sum(1 << bit for bit in {*rng.choices([0, 11 + size, bits, 63], k=2)})
        uses = rng.choice([length, 1, rng.randint(1, length), length + 1])
        found.append(_List(place, entries, size, uses, bits=bits))
        place += -(-length * ENTRY_BYTES // beat_bytes) * beat_bytes + beat_bytes * rng.randrange(3)
    assert place <= first + SIZE
    return found


def _asking(dut: PageList, lists: list[_List], pace: Pace) -> Process:
    """What gives the lists, one after the other."""
    async def ask(ctx: Any) -> None:
        await give(ctx, dut.lists, [each.request() for each in lists], pace)

    return ask


async def _use(ctx: Any, dut: PageList, memory: Memory, each: _List, pace: Pace, window: tuple[int, int]) -> None:
    """Takes the entries that a stream uses, then ends it."""
    for number in range(each.uses):
        taken = False
        while not taken:
            ready = pace.go()
            ctx.set(dut.entries.ready, ready)
            _, _, valid, entry = await ctx.tick().sample(dut.entries.valid, dut.entries.payload)
            taken = valid and ready
        ctx.set(dut.entries.ready, 0)
        page, state = each.expected(number, window)
        assert Entry(entry.state) is state
        assert page in (None, entry.page)
        if state is Entry.UNREAD and each.unread is not None:
            place = each.address + each.unread * ENTRY_BYTES
            start = next(address for address, beats in reversed(memory.bursts)
                         if address <= place < address + beats * memory.beat_bytes)
            assert ctx.get(dut.fault) == {"valid": 1, "resp": memory.faulty[place], "address": start}
    while not pace.go():
        await ctx.tick()
    await pulse(ctx, dut.done)


def _run(dut: PageList, memory: Memory, lists: list[_List], pauses: float, window: tuple[int, int] | None = None,
         then: Process | None = None) -> None:
    """Stores lists, gives them one behind the other, and uses their entries; ``then`` goes on from there."""
    for each in lists:
        each.store(memory)

    async def use(ctx: Any) -> None:
        if window is not None:
            base, limit = window[0] >> 12, window[1] >> 12
            ctx.set(dut.window, {"base": base, "limit": limit, "unlimited": window[1] == 1 << lists[0].bits})
        for each in lists:
            await _use(ctx, dut, memory, each, Pace(memory.rng, pauses, 5), window or (0, 1 << each.bits))
        if then is not None:
            await then(ctx)

    clocked(dut, use, _asking(dut, lists, Pace(memory.rng, pauses, 20)), memory.read)


@pytest.mark.parametrize(("bits", "beat_bytes", "lists", "latency", "pauses", "bad"), [
    (_BITS, 16, 4, 0, 0.0, 0.0), (_BITS, 16, 1, 20, 0.4, 0.3), (_BITS, 32, 2, 350, 0.1, 0.0),
    (_BITS, 32, 4, 60, 0.5, 0.3), (_BITS, 64, 4, 5, 0.2, 0.2), (_BITS, 64, 8, 100, 0.0, 0.0), (64, 64, 4, 0, 0.0, 0.0)])
def test_entries_of_lists_in_order(bits: int, beat_bytes: int, lists: int, latency: int, pauses: float, bad: float
                                   ) -> None:
    rng = random.Random(f"{beat_bytes} {lists} {latency}")
    dut = PageList(bits, beat_bytes, lists)
    memory = Memory(dut.axi, beat_bytes, rng, latency, pauses, 10)
    lengths = [1, 2, 15, 16, 17, 31, 32, 33, 48, 100, *(rng.randint(1, 40) for _ in range(15))]
    rng.shuffle(lengths)
    used = _lists(rng, beat_bytes, lengths, bad, bits)

    async def rests(ctx: Any) -> None:
        await ctx.tick().repeat(latency + 200)
        assert ctx.get(dut.idle)
        assert not ctx.get(dut.fault.valid)
        # Nothing outside the lists is read, but for the rest of their last beat.
        for address, beats in memory.bursts:
            assert any(each.address <= address and address + beats * beat_bytes < each.address + beat_bytes
                       + ENTRY_BYTES * len(each.entries) for each in used), f"{address:x} is in no list"

    _run(dut, memory, used, pauses, then=rests)


def test_all_bits_of_the_number_of_entries_count() -> None:
    """The list goes on behind the five entries that its lowest bits ask for."""
    dut = PageList(_BITS, 32, 1)
    memory = Memory(dut.axi, 32, random.Random(1))

    async def use(ctx: Any) -> None:
        ctx.set(dut.lists.payload, {"address": 0, "pages": (1 << PAGES_BITS - 1) + 5, "size": 0})
        await pulse(ctx, dut.lists.valid)
        ctx.set(dut.entries.ready, 1)
        for number in range(40):
            entry, = await ctx.tick().sample(dut.entries.payload).until(dut.entries.valid)
            assert Entry(entry.state) is Entry.GOOD, f"entry {number}"

    clocked(dut, use, memory.read)


@pytest.mark.parametrize(("beat_bytes", "lists", "latency", "pauses"), [
    (16, 1, 0, 0.0), (16, 4, 30, 0.3), (32, 1, 100, 0.0), (32, 2, 350, 0.1), (64, 4, 60, 0.5), (64, 2, 5, 0.0)])
def test_an_error_is_that_of_its_list_alone(beat_bytes: int, lists: int, latency: int, pauses: float) -> None:
    """Errors in entries that are used, in others that are read for nothing, and in lists that are forgotten before the
    answer comes: all other entries are as without errors."""
    rng = random.Random(f"errors {beat_bytes} {lists} {latency}")
    dut = PageList(_BITS, beat_bytes, lists)
    memory = Memory(dut.axi, beat_bytes, rng, latency, pauses, 10)
    used = _lists(rng, beat_bytes, [rng.choice([1, 3, 16, 17, 40, 70]) for _ in range(40)])
    words = beat_bytes // ENTRY_BYTES
    met, unmet = 0, 0
    for each in used:
        if rng.random() < 0.6:
            each.unread = rng.randrange(len(each.entries)) // words * words
            # The stream ends at the entry that it cannot have, or does not come so far.
            each.uses = rng.choice([each.unread + 1, rng.randint(1, max(each.unread, 1))])
            memory.faulty[each.address + each.unread * ENTRY_BYTES] = rng.choice([2, 3])
            met, unmet = met + (each.uses > each.unread), unmet + (each.uses <= each.unread)
    assert met > 3 and unmet > 3
    _run(dut, memory, used, pauses)


@pytest.mark.parametrize(("bits", "base", "limit"), [
    (40, 0, 0), (40, 4096, 0), (40, 3 << 21, 7 << 21), (40, 5 << 12, 9 << 12), (40, 0, 1 << 39),
    (40, (1 << 40) - 4096, 0), (40, 1 << 30, 1 << 30), (64, 3 << 50, 7 << 50), (64, 5 << 12, 9 << 12),
    (64, (1 << 64) - 4096, 0)])
def test_pages_at_the_edges_of_a_window(bits: int, base: int, limit: int) -> None:
    """Pages of all sizes around base and limit: those that are inside with all their bytes are good."""
    rng = random.Random(base + limit)
    dut = PageList(bits, 32, 2, windowed=True)
    memory = Memory(dut.axi, 32, rng, 10, 0.1)
    window = base, limit or 1 << bits
    used, place, states = [], 0, set()
    for _ in range(12):
        size = rng.choice([0, 0, 1, 4, 9])
        page_bytes = 4096 << size
        places = [edge // page_bytes + step for edge in window for step in (-2, -1, 0, 1)]
        entries = [each * page_bytes for each in places if 0 <= each * page_bytes < 1 << bits]
        entries += [each ^ 1 << bits - rng.randrange(1, 12) for each in entries]
        entries += [rng.randrange(1 << bits) // page_bytes * page_bytes for _ in range(4)]
        entries[-1] += 1 << rng.randrange(12)
        rng.shuffle(entries)
        used.append(_List(place, entries, size, len(entries), bits=bits))
        states |= {used[-1].expected(number, window)[1] for number in range(len(entries))}
        place += -(-len(entries) * ENTRY_BYTES // 32) * 32
    assert {Entry.GOOD, Entry.MISALIGNED, Entry.OUTSIDE} - states <= (
        {Entry.OUTSIDE} if window == (0, 1 << bits) else {Entry.GOOD} if base == limit else set())

    _run(dut, memory, used, 0.2, window)


@pytest.mark.parametrize(("beat_bytes", "latency"), [(16, 350), (32, 1200), (64, 700)])
def test_entries_are_there_in_time(beat_bytes: int, latency: int) -> None:
    """A stream that begins a page of 4 KiB with every full burst waits for the first entry only, and one that follows
    another does not wait."""
    rng = random.Random(1)
    dut = PageList(_BITS, beat_bytes, 4)
    memory = Memory(dut.axi, beat_bytes, rng, latency)
    used = [_List(4096 * k, [rng.randrange(1 << 28) << 12 for _ in range(64)], 0, 64) for k in range(4)]
    for each in used:
        each.store(memory)

    async def use(ctx: Any) -> None:
        await ctx.tick().until(dut.entries.valid)
        for each in used:
            for number in range(each.uses):
                assert ctx.get(dut.entries.valid), f"entry {number} is late"
                assert ctx.get(dut.entries.payload.page) == each.entries[number] >> 12
                ctx.set(dut.entries.ready, 1)
                await ctx.tick()
                ctx.set(dut.entries.ready, 0)
                await ctx.tick().repeat(4096 // beat_bytes - 5)
                ctx.set(dut.done, number == each.uses - 1)
                await ctx.tick()
                ctx.set(dut.done, 0)
                await ctx.tick().repeat(3)

    clocked(dut, use, _asking(dut, used, Pace(rng, 0)), memory.read)


@pytest.mark.parametrize("windowed", [False, True])
@pytest.mark.parametrize(("beat_bytes", "faulty", "good"), [(16, 5, 4), (32, 20, 20), (64, 16, 16), (64, 39, 32)])
def test_entries_behind_an_error_response(beat_bytes: int, faulty: int, good: int, windowed: bool) -> None:
    """Entries of the beats before the one with the error are good, and the others unread; nothing more is requested.
    After a stop and a reset a list is read again."""
    rng = random.Random(faulty)
    dut = PageList(_BITS, beat_bytes, 2, windowed=windowed)
    clear = Signal()
    memory = Memory(dut.axi, beat_bytes, rng, 20, 0.2)
    used = _List(0, [number << 12 for number in range(40)], 0, 40)
    used.store(memory)
    # Of several errors the first one is told.
    first = faulty * ENTRY_BYTES // beat_bytes * beat_bytes
    memory.faulty = dict.fromkeys(range(first, 40 * ENTRY_BYTES, beat_bytes), 3) | {first: 2}

    async def use(ctx: Any) -> None:
        if windowed:
            ctx.set(dut.window.unlimited, 1)
        for failing in (True, False):
            ctx.set(dut.lists.payload, used.request())
            await pulse(ctx, dut.lists.valid)
            if failing and faulty < 32:     # in what is requested before any entry is used
                await ctx.tick().until(dut.fault.valid)
            ctx.set(dut.entries.ready, 1)
            for number in range(good if failing else 40):
                entry, = await ctx.tick().sample(dut.entries.payload).until(dut.entries.valid)
                assert (entry.page, Entry(entry.state)) == (number, Entry.GOOD)
            if failing:
                # All entries of the beat with the error.
                for _ in range(beat_bytes // ENTRY_BYTES):
                    entry, = await ctx.tick().sample(dut.entries.payload).until(dut.entries.valid)
                    assert Entry(entry.state) is Entry.UNREAD
            ctx.set(dut.entries.ready, 0)
            if failing:
                for _ in range(100):
                    chunk = faulty // 16 * 16 * ENTRY_BYTES
                    assert ctx.get(dut.fault) == {"valid": 1, "resp": 2, "address": chunk}
                    await ctx.tick()
                assert len(memory.bursts) == max(faulty // 16 + 1, 2)
                ctx.set(dut.stop, 1)
                await ctx.tick().until(dut.idle)
                await pulse(ctx, clear)
                ctx.set(dut.stop, 0)
                memory.faulty.clear()

    clocked(ResetInserter(clear)(dut), use, memory.read)


@pytest.mark.parametrize("windowed", [False, True])
@pytest.mark.parametrize("beat_bytes", [16, 32, 64])
def test_an_entry_right_before_an_error_response(beat_bytes: int, windowed: bool) -> None:
    """A list of one entry, and in the next cycle the error of the list behind it: the entry is good."""
    dut = PageList(_BITS, beat_bytes, 2, windowed=windowed)
    memory = Memory(dut.axi, beat_bytes, random.Random(beat_bytes), latency=60)
    used = [_List(4096 * number, [number + 1 << 12], 0, 1) for number in range(2)]
    for each in used:
        each.store(memory)
    memory.faulty[used[1].address] = 2

    async def use(ctx: Any) -> None:
        if windowed:
            ctx.set(dut.window.unlimited, 1)
        while not memory.bursts:
            await ctx.tick()
        memory.latency = 0      # the second answer is right behind the first one
        ctx.set(dut.entries.ready, 1)
        entry, = await ctx.tick().sample(dut.entries.payload).until(dut.entries.valid)
        assert (entry.page, Entry(entry.state)) == (1, Entry.GOOD)
        await pulse(ctx, dut.done)
        entry, = await ctx.tick().sample(dut.entries.payload).until(dut.entries.valid)
        assert Entry(entry.state) is Entry.UNREAD

    clocked(dut, use, _asking(dut, used, Pace(random.Random(1), 0)), memory.read)
