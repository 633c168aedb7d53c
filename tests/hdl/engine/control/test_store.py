"""The store: windows, records for the queues, and counters that lose nothing, all at the same time."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.store import Command, Store
from cdma.hdl.engine.control.table import COUNTERS
from tests.hdl.bench import clocked
from tests.hdl.engine.control.bench import simulated

_CONFIG = EngineConfig(lanes=3)
_WORDS = 16
_EVENTS = {"link_busy": "LINK_BUSY_CYCLES", "memory_stalls": "MEMORY_STALLS", "buffer_stalls": "BUFFER_STALLS"}


class _Bench:
    """The store, what it writes to the queues, and commands from the bus."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.dut = Store(_CONFIG)
        self.records: list[tuple[int, bool, list[int]]] = []            # direction, of a ring, words
        self.entries: list[tuple[int, bool, list[int]]] = []            # those of rings that were pushed
        self.totals = [dict.fromkeys(COUNTERS, 0) for _ in range(2)]    # what the counters have to count
        self.busy = 0.0             # share of cycles with events
        self.coming = 0             # entries of rings to push
        self.transfers = False      # one ends after the other

    def run(self, process: Any) -> None:
        """Simulates until the process ends; the memory is cleared before."""
        clocked(self.dut, process, self._queues, self._events, self._rings, self._transfers)

    async def _queues(self, ctx: Any) -> None:
        """Takes records; all words of one come before its push, from one place."""
        dut, words, source = self.dut, {}, None
        while True:
            _, _, write, word, data, push, *place = await ctx.tick().sample(
                dut.record.write, dut.record.word, dut.record.data, dut.record.push, dut.direction, dut.from_ring)
            if write:
                source = source or place
                assert source == place
                words[word] = data
            if push:
                assert source is not None and len(words) == _WORDS
                self.records.append((source[0], bool(source[1]), [words[k] for k in range(_WORDS)]))
                words, source = {}, None

    async def _events(self, ctx: Any) -> None:
        """Events of both directions at random."""
        rng, dut = self.rng, self.dut
        while True:
            busy = [rng.random() < self.busy and rng.randrange(2) for _ in range(2)]
            events = [dict.fromkeys(_EVENTS, 0) for _ in range(2)]
            for direction in range(2):
                if rng.random() < self.busy:
                    events[direction] = dict(zip(_EVENTS, (rng.randrange(2), rng.randint(0, _CONFIG.lanes),
                                                           rng.randint(0, _CONFIG.lanes)), strict=True))
                ctx.set(dut.events[direction], events[direction])
            ctx.set(dut.busy, busy[0] | busy[1] << 1)
            await ctx.tick()
            for total, now, working in zip(self.totals, events, busy, strict=True):
                total["BUSY_CYCLES"] += working
                for name, count in now.items():
                    total[_EVENTS[name]] += count

    async def _rings(self, ctx: Any) -> None:
        """Entries of rings, beside the commands of the bus: their words, then their push."""
        dut, rng = self.dut, self.rng
        while True:
            await ctx.tick()
            if len(self.entries) == self.coming:
                continue
            direction, words = len(self.entries) % 3 % 2, [rng.getrandbits(32) for _ in range(_WORDS)]
            for number, word in enumerate(words):
                for _ in range(rng.choice([0, 0, 0, 5])):
                    await ctx.tick()
                ctx.set(dut.fill.word, number)
                ctx.set(dut.fill.data, word)
                ctx.set(dut.fill.valid, 1)
                await ctx.tick().until(dut.fill.ready)
                ctx.set(dut.fill.valid, 0)
            ctx.set(dut.push_direction, direction)
            ctx.set(dut.push, 1)
            await ctx.tick().until(dut.pushed)
            ctx.set(dut.push, 0)
            self.entries.append((direction, True, words))

    async def _transfers(self, ctx: Any) -> None:
        """Transfers of the second direction, one after the other."""
        while True:
            if self.transfers:
                await self.account(ctx, 1, self.rng.getrandbits(35), self.rng.getrandbits(34))
            await ctx.tick()

    async def command(self, ctx: Any, kind: Command, direction: int, **fields: int) -> int:
        """A command from the bus, held until it is done; what was read."""
        port = self.dut.command
        for _ in range(self.rng.choice([0, 0, 1, 9])):
            await ctx.tick()
        unused = dict.fromkeys(("word", "write", "write_data", "snapshot", "clear"), 0)
        for name, value in {"kind": kind, "direction": direction, **unused, **fields, "valid": 1}.items():
            ctx.set(getattr(port, name), value)
        for _ in range(400):
            _, _, done, data = await ctx.tick().sample(port.done, port.read_data)
            if done:
                ctx.set(port.valid, 0)
                return data
        raise AssertionError(f"{kind} was not done")

    async def account(self, ctx: Any, direction: int, raw_bytes: int, packed_bytes: int) -> None:
        """Totals of a transfer, held until they were added, which happens once."""
        dut = self.dut
        ctx.set(dut.account[direction], {"valid": 1, "raw_bytes": raw_bytes, "packed_bytes": packed_bytes})
        for _ in range(400):
            _, _, accounted = await ctx.tick().sample(dut.accounted)
            assert not accounted >> (1 - direction) & 1
            if accounted:
                break
        else:
            raise AssertionError("a transfer's bytes were not added")
        # The payload may be anything without `valid`.
        ctx.set(dut.account[direction], {"valid": 0, "raw_bytes": 5, "packed_bytes": 7})
        self.totals[direction]["RAW_BYTES"] += raw_bytes
        self.totals[direction]["PACKED_BYTES"] += packed_bytes

    async def snapshot(self, ctx: Any, direction: int, **asked: int) -> dict[str, int]:
        """The registers of the last snapshot, after a command to the counters if there is one."""
        if asked:
            await self.command(ctx, Command.COUNT, direction, **asked)
        words = [await self.command(ctx, Command.SNAPSHOT, direction, word=word) for word in range(2 * len(COUNTERS))]
        return {name: words[2 * k] | words[2 * k + 1] << 32 for k, name in enumerate(COUNTERS)}


@simulated(lambda: _Bench(1))
async def test_windows_and_records(bench: _Bench, ctx: Any) -> None:
    rng = bench.rng
    windows = [[0] * _WORDS for _ in range(2)]
    pushed: list[tuple[int, bool, list[int]]] = []
    bench.busy, bench.coming = 0.5, 12
    for direction in range(2):          # after reset all words are 0
        for word in range(_WORDS):
            assert await bench.command(ctx, Command.WINDOW, direction, word=word) == 0
    for _ in range(120):
        direction, word, data = rng.randrange(2), rng.randrange(_WORDS), rng.getrandbits(32)
        what = rng.random()
        if what < 0.5:
            await bench.command(ctx, Command.WINDOW, direction, word=word, write=1, write_data=data)
            windows[direction][word] = data
        elif what < 0.9:
            found = await bench.command(ctx, Command.WINDOW, direction, word=word, write_data=data)
            assert found == windows[direction][word]
        else:
            # The window keeps its content.
            await bench.command(ctx, Command.PUSH, direction, write_data=data)
            pushed.append((direction, False, list(windows[direction])))
    while len(bench.entries) < bench.coming:
        await ctx.tick()
    await ctx.tick().repeat(4)
    assert [each for each in bench.records if not each[1]] == pushed
    assert [each for each in bench.records if each[1]] == bench.entries


@simulated(lambda: _Bench(2))
async def test_counters_after_everything_has_come_to_rest(bench: _Bench, ctx: Any) -> None:
    rng, most = bench.rng, (1 << 40) - 1
    for direction in range(2):
        assert set((await bench.snapshot(ctx, direction)).values()) == {0}
    bench.busy = 0.8
    for _ in range(12):         # the first counters are carried into their upper halves
        await bench.account(ctx, rng.randrange(2), rng.choice([1, most, rng.getrandbits(40)]),
                            rng.choice([4, most, rng.getrandbits(33)]))
    bench.busy = 0.0
    await ctx.tick().repeat(4)
    assert bench.totals[0]["RAW_BYTES"] >> 32 and bench.totals[0]["PACKED_BYTES"] >> 32
    for direction in range(2):
        await bench.command(ctx, Command.COUNT, direction, snapshot=1)
        # A snapshot stays as it is, and belongs to one direction.
        before = dict(bench.totals[direction])
        await bench.account(ctx, direction, 100, 50)
        assert await bench.snapshot(ctx, direction) == before
    await bench.command(ctx, Command.COUNT, 0, clear=1)
    assert set((await bench.snapshot(ctx, 0, snapshot=1)).values()) == {0}
    assert await bench.snapshot(ctx, 1, snapshot=1) == bench.totals[1]


@pytest.mark.parametrize("seed", [10, 11])
@simulated(_Bench)
async def test_snapshots_that_clear_lose_nothing(bench: _Bench, ctx: Any, seed: int) -> None:
    """While events go on, what the snapshots hold adds up to all that happened."""
    sums = [dict.fromkeys(COUNTERS, 0) for _ in range(2)]
    bench.busy, bench.transfers = 1.0, True
    for number in range(9):
        if number == 7:
            bench.busy, bench.transfers = 0.0, False
            await ctx.tick().repeat(400)        # the transfer under way is accounted for
        for direction in range(2):
            for name, value in (await bench.snapshot(ctx, direction, snapshot=1, clear=1)).items():
                sums[direction][name] += value
        if number < 7:
            for _ in range(bench.rng.choice([0, 100, 900])):
                await ctx.tick()
    assert sums == bench.totals
    assert all(sums[1].values()) and sums[0]["MEMORY_STALLS"] > 1000
