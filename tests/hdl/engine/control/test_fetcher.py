"""The fetcher: entries of both rings in turn, entries that cannot be read, and a link that does not answer."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.golden.engine import Descriptor
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.fetcher import Fetcher
from tests.hdl.engine.control.bench import RingsBench, simulated, words_of

_CONFIG = EngineConfig(lanes=2, address_bits=40)

_Record = tuple[int, bool, tuple[int, ...]]
"""A record that was pushed: its direction, whether it stands for an entry that was not read, and its words."""


class _Bench(RingsBench):
    """The fetcher between link memory, two rings and a store that takes its time."""

    def __init__(self, config: EngineConfig, seed: int, pauses: float, answers: bool = True) -> None:
        super().__init__(Fetcher(config), "read", config, seed, pauses, answers=answers)
        self.records: list[_Record] = []
        self.played.append(self._store)

    async def around(self, ctx: Any) -> None:
        """Plays the rings: an entry is there until it was read; a failure stops its ring."""
        dut = self.dut
        while True:
            for number in range(2):
                self.show(ctx, number)
            ctx.set(dut.pending, sum((len(ring.waiting) > ring.begun == 0) << number
                                     for number, ring in enumerate(self.rings)))
            _, _, begin, advance, fail = await ctx.tick().sample(dut.begin, dut.advance, dut.fail)
            for number, ring in enumerate(self.rings):
                if begin >> number & 1:
                    assert ring.waiting and not any(each.begun for each in self.rings)
                    ring.begun = 1
                    self.began.append(number)
                for name, pulse in (("advance", advance), ("fail", fail)):
                    if pulse >> number & 1:
                        assert ring.begun
                        ring.begun = 0
                        self.ends.append((name, number, False))
                if advance >> number & 1:
                    ring.index, _ = ring.at(1)
                    ring.waiting.pop(0)
                elif fail >> number & 1:
                    ring.waiting.clear()

    async def _store(self, ctx: Any) -> None:
        """Takes words in any rhythm, and pushes records."""
        dut, words = self.dut, {}
        held = None
        while True:
            ready = self.rng.random() >= self.pauses
            ctx.set(dut.fill.ready, ready)
            pushed = bool(ctx.get(dut.push)) and self.rng.random() >= self.pauses
            ctx.set(dut.pushed, pushed)
            _, _, valid, word, data, push, direction, failed = await ctx.tick().sample(
                dut.fill.valid, dut.fill.word, dut.fill.data, dut.push, dut.direction, dut.failed)
            assert held in (None, (valid, word, data)), "a word changed before it was taken"
            held = None
            if valid and ready:
                words[word] = data
            elif valid:
                held = (valid, word, data)
            if push:
                assert sorted(words) == list(range(16)), "the record is not complete"
                if pushed:
                    self.records.append((direction, bool(failed), tuple(words[k] for k in range(16))))
                    words = {}


def _failure(direction: int, address: int, response: int) -> _Record:
    """The record of an entry that could not be read: its address as source, the response as CRC, all else zero."""
    asked = Descriptor(operation=0, coding=0, source=address, destination=0, raw_bytes=0, capacity=0, crc=response)
    return direction, True, words_of(asked.pack())


@pytest.mark.parametrize(("link_beat_bytes", "address_bits", "pauses"), [(16, 34, 0.3), (32, 40, 0.0), (64, 64, 0.3)])
@simulated(lambda link_beat_bytes, address_bits, pauses: _Bench(EngineConfig(
    lanes=2, beat_bytes=16, link_beat_bytes=link_beat_bytes, address_bits=address_bits, buffer_bytes=8192),
    link_beat_bytes, pauses))
async def test_entries_of_both_rings_in_turn(bench: _Bench, ctx: Any, link_beat_bytes: int, address_bits: int,
                                             pauses: float) -> None:
    order = await bench.in_turn(ctx, lambda count: [None] * count)
    assert bench.records == [(number, False, bench.record(place))
                             for number, place in zip(bench.began, order, strict=True)]


@pytest.mark.parametrize("pauses", [0.0, 0.3])
@simulated(lambda pauses: _Bench(_CONFIG, 5, pauses))
async def test_an_entry_that_cannot_be_read(bench: _Bench, ctx: Any, pauses: float) -> None:
    ring, other = bench.rings
    for first, beat, response in ((0, 0, 2), (5, 32, 3)):
        bad = ring.address + 64
        bench.memory.faulty[bad + beat] = response
        ring.waiting, other.waiting = [None] * 3, [None] * 2
        await bench.until(ctx, first + 4)       # the entry before the bad one, and its record; both of the other
        failure = _failure(0, bad, response)
        assert [record for record in bench.records[first:] if record[0] == 0][1] == failure
        assert [record for record in bench.records[first:] if record[1]] == [failure]
        assert bench.ends[first:].count(("fail", 0, False)) == 1
        # The ring is enabled again, and the same entry is read.
        bench.memory.faulty.clear()
        assert ring.address == bad
        ring.waiting = [None]
        await bench.until(ctx, first + 5)
        assert bench.records[-1] == (0, False, bench.record(bad))
        assert not ctx.get(bench.dut.isolated)


@pytest.mark.parametrize("response", [0, 2])
@simulated(lambda: _Bench(_CONFIG, 6, 0.2, answers=False))
async def test_a_link_that_does_not_answer(bench: _Bench, ctx: Any, response: int) -> None:
    dut, (ring, other) = bench.dut, bench.rings
    ring.waiting = [None] * 2
    for _ in range(100):
        await ctx.tick()
        assert not ctx.get(dut.push)
    # Silent for the time limit: the entry fails, and its transaction stays open.
    ctx.set(dut.silent, 1)
    await bench.until(ctx, 1)
    assert ctx.get(dut.isolated)
    # As long as the port is silent, entries fail without being asked for.
    other.waiting = [None]
    await bench.until(ctx, 2)
    assert bench.records == [_failure(0, ring.address, 0), _failure(1, other.address, 0)]
    assert bench.ends == [("fail", 0, False), ("fail", 1, False)]
    ctx.set(dut.silent, 0)
    # An entry waits for the port; then it is read, and what comes late is discarded.
    ring.waiting = [None]
    await ctx.tick().repeat(4)
    for _ in range(60):
        await ctx.tick()
        assert ctx.get(dut.isolated) and not ctx.get(dut.push) and not ctx.get(dut.idle)
    bench.memory.faulty[ring.base] = response
    bench.answers = True
    while ctx.get(dut.isolated):
        await ctx.tick()
    bench.memory.faulty.clear()
    await bench.until(ctx, 3)
    assert bench.records[2] == (0, False, bench.record(ring.base))
    assert not ctx.get(dut.isolated)
    assert [address for address, _ in bench.memory.bursts] == 2 * [ring.base]
