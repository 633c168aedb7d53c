"""The fetcher: entries of both rings in turn, entries that cannot be read, and a link that does not answer."""

from __future__ import annotations

import random
import struct
from collections import deque
from dataclasses import dataclass
from typing import Any

import pytest

from cdma.golden.engine import Descriptor
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.fetcher import Fetcher
from tests.hdl.bench import clocked
from tests.hdl.engine.axi.memory import SIZE, Memory

_ENTRY = 64


@dataclass
class _Ring:
    """A ring as the fetcher sees it: where its entries are, and how many there are to read."""

    base: int
    size: int
    head: int = 0
    entries: int = 0
    reading: bool = False

    @property
    def address(self) -> int:
        return self.base + _ENTRY * self.head


@dataclass(frozen=True)
class _Record:
    """A record that was pushed."""

    direction: int
    failed: bool
    words: tuple[int, ...]


class _Bench:
    """The fetcher between link memory, two rings and a store that takes its time."""

    def __init__(self, config: EngineConfig, seed: int, pauses: float) -> None:
        self.rng = rng = random.Random(seed)
        self.dut = Fetcher(config)
        self.memory = Memory(self.dut.axi, config.link_beat_bytes, rng, latency=rng.choice([0, 20]), pauses=pauses,
                             stretch=5, content=bytearray(rng.randbytes(SIZE)))
        self.pauses = pauses
        # The lower halves of addresses are added first: the second ring crosses 4 GiB.
        self.rings = [_Ring(0x2000, 8), _Ring((1 << 32) - 3 * _ENTRY, 16)]
        self.records: list[_Record] = []
        self.began: list[int] = []
        self.ends: list[tuple[str, int]] = []
        self.answers = True

    async def link(self, ctx: Any) -> None:
        """Link memory, which does not answer before it may."""
        while not self.answers:
            await ctx.tick()
        await self.memory.read(ctx)

    async def ring(self, ctx: Any) -> None:
        """Plays the rings: an entry is there until it was read; a failure stops its ring."""
        dut = self.dut
        while True:
            for number, ring in enumerate(self.rings):
                ctx.set(dut.rings[number], {"base": ring.base // _ENTRY, "head": ring.head, "size": ring.size,
                                            "tail": (ring.head + ring.entries) % ring.size, "enable": 1})
            ctx.set(dut.pending, sum((ring.entries > 0 and not ring.reading) << number
                                     for number, ring in enumerate(self.rings)))
            _, _, begin, advance, fail = await ctx.tick().sample(dut.begin, dut.advance, dut.fail)
            for number, ring in enumerate(self.rings):
                if begin >> number & 1:
                    assert ring.entries and not any(each.reading for each in self.rings)
                    ring.reading = True
                    self.began.append(number)
                for name, pulse in (("advance", advance), ("fail", fail)):
                    if pulse >> number & 1:
                        assert ring.reading
                        ring.reading = False
                        self.ends.append((name, number))
                if advance >> number & 1:
                    ring.head = (ring.head + 1) % ring.size
                    ring.entries -= 1
                elif fail >> number & 1:
                    ring.entries = 0

    async def store(self, ctx: Any) -> None:
        """Takes words in any rhythm, and pushes records."""
        dut, words = self.dut, {}
        held: deque[tuple[int, int]] = deque(maxlen=1)
        while True:
            ready = self.rng.random() >= self.pauses
            ctx.set(dut.fill.ready, ready)
            pushed = bool(ctx.get(dut.push)) and self.rng.random() >= self.pauses
            ctx.set(dut.pushed, pushed)
            _, _, valid, word, data, push, direction, failed = await ctx.tick().sample(
                dut.fill.valid, dut.fill.word, dut.fill.data, dut.push, dut.direction, dut.failed)
            if held:
                assert valid and (word, data) == held.pop(), "a word changed before it was taken"
            if valid and ready:
                words[word] = data
            elif valid:
                held.append((word, data))
            if push:
                assert sorted(words) == list(range(16)), "the record is not complete"
                if pushed:
                    self.records.append(_Record(direction, bool(failed), tuple(words[k] for k in range(16))))
                    words = {}

    def entry(self, address: int) -> tuple[int, ...]:
        """The words at an address of link memory."""
        return struct.unpack("<16I", self.memory.content[address % SIZE:address % SIZE + _ENTRY])

    async def until(self, ctx: Any, count: int, patience: int = 4000) -> None:
        """Waits for so many records to be pushed, and for the fetcher to be idle."""
        for _ in range(patience):
            if len(self.records) == count and ctx.get(self.dut.idle):
                await ctx.tick()
                return
            await ctx.tick()
        raise AssertionError(f"{len(self.records)} entries came, not {count}")

    @property
    def processes(self) -> list[Any]:
        return [self.link, self.ring, self.store]


def _failure(address: int, response: int) -> tuple[int, ...]:
    """The record of an entry that could not be read: its address as source, the response as CRC, all else zero."""
    asked = Descriptor(operation=0, coding=0, source=address, destination=0, raw_bytes=0, capacity=0,
                       crc=response)
    return struct.unpack("<16I", asked.pack())


@pytest.mark.parametrize(("link_beat_bytes", "address_bits", "pauses"), [(16, 34, 0.3), (32, 40, 0.0), (64, 64, 0.3)])
def test_entries_of_both_rings_in_turn(link_beat_bytes: int, address_bits: int, pauses: float) -> None:
    config = EngineConfig(lanes=2, beat_bytes=16, link_beat_bytes=link_beat_bytes, address_bits=address_bits,
                          buffer_bytes=8192)
    bench = _Bench(config, link_beat_bytes, pauses)
    one, other = bench.rings
    starts = one.address, other.address

    async def process(ctx: Any) -> None:
        for _ in range(20):
            await ctx.tick()
            assert ctx.get(bench.dut.idle)
        one.entries, other.entries = 5, 7
        await bench.until(ctx, 12)
        # The ring is walked round its end.
        one.entries = 6
        await bench.until(ctx, 18)

    clocked(bench.dut, process, *bench.processes)
    assert bench.began[:10] in ([0, 1] * 5, [1, 0] * 5)
    assert bench.ends == [("advance", number) for number in bench.began]
    places = [[start + _ENTRY * (k % ring.size) for k in range(count)]
              for ring, start, count in ((one, starts[0], 11), (other, starts[1], 7))]
    order = [places[number].pop(0) for number in bench.began]
    assert bench.memory.bursts == [(place, _ENTRY // link_beat_bytes) for place in order]
    assert bench.records == [_Record(number, False, bench.entry(place))
                             for number, place in zip(bench.began, order, strict=True)]


@pytest.mark.parametrize("pauses", [0.0, 0.3])
def test_an_entry_that_cannot_be_read(pauses: float) -> None:
    config = EngineConfig(lanes=2, address_bits=40)
    bench = _Bench(config, 5, pauses)
    ring, other = bench.rings

    async def process(ctx: Any) -> None:
        count = 0
        for beat, response in ((0, 2), (32, 3)):
            bad = ring.address + _ENTRY
            bench.memory.faulty[bad + beat] = response
            ring.entries, other.entries = 3, 2
            await bench.until(ctx, count + 4)       # the entry before the bad one, and its record; both of the other
            count += 4
            mine = [each for each in bench.records[-4:] if each.direction == 0]
            assert [each.failed for each in mine] == [False, True]
            assert mine[1].words == _failure(bad, response)
            assert all(each.failed == (each is mine[1]) for each in bench.records[-4:])
            assert bench.ends[-4:].count(("fail", 0)) == 1
            # The ring is enabled again, and the same entry is read.
            bench.memory.faulty.clear()
            assert ring.address == bad
            ring.entries = 1
            await bench.until(ctx, count + 1)
            count += 1
            assert bench.records[-1] == _Record(0, False, bench.entry(bad))
            assert not ctx.get(bench.dut.isolated)

    clocked(bench.dut, process, *bench.processes)


@pytest.mark.parametrize("response", [0, 2])
def test_a_link_that_does_not_answer(response: int) -> None:
    config = EngineConfig(lanes=2, address_bits=40)
    bench = _Bench(config, 6, 0.2)
    bench.answers = False
    ring, other = bench.rings

    async def process(ctx: Any) -> None:
        dut = bench.dut
        ring.entries = 2
        for _ in range(100):
            await ctx.tick()
            assert not ctx.get(dut.push)
        # Silent for the time limit: the entry fails, and its transaction stays open.
        ctx.set(dut.silent, 1)
        await bench.until(ctx, 1)
        assert bench.records == [_Record(0, True, _failure(ring.address, 0))]
        assert bench.ends == [("fail", 0)]
        assert ctx.get(dut.isolated)
        # As long as the port is silent, entries fail without being asked for.
        other.entries = 1
        await bench.until(ctx, 2)
        assert bench.records[1] == _Record(1, True, _failure(other.address, 0))
        ctx.set(dut.silent, 0)
        # An entry waits for the port; then it is read, and what comes late is discarded.
        ring.entries = 1
        for _ in range(4):
            await ctx.tick()
        for _ in range(60):
            await ctx.tick()
            assert ctx.get(dut.isolated) and not ctx.get(dut.push) and not ctx.get(dut.idle)
        bench.memory.faulty[ring.base] = response
        bench.answers = True
        while ctx.get(dut.isolated):
            await ctx.tick()
        bench.memory.faulty.clear()
        await bench.until(ctx, 3)
        assert bench.records[2] == _Record(0, False, bench.entry(ring.base))
        assert not ctx.get(dut.isolated)
        assert [address for address, _ in bench.memory.bursts] == 2 * [ring.base]

    clocked(bench.dut, process, *bench.processes)
