"""The store: windows, records for the queues, and counters that lose nothing, all at the same time."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.store import Command, Store
from cdma.hdl.engine.control.table import COUNTERS
from tests.hdl.bench import clocked

_CONFIG = EngineConfig(lanes=3)
_WORDS = 16


@dataclass
class _Record:
    """A record that was written to the queue of a direction."""

    direction: int
    from_ring: bool
    words: dict[int, int] = field(default_factory=dict)


class _Bench:
    """The store, what it writes to the queues, and commands from the bus."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.dut = Store(_CONFIG)
        self.records: list[_Record] = []
        self.totals = [dict.fromkeys(COUNTERS, 0) for _ in range(2)]    # what the counters have to count
        self.busy = 0.0             # share of cycles with events

    async def queues(self, ctx: Any) -> None:
        """Takes records; all words of one come before its push, from one place."""
        dut, record = self.dut, None
        while True:
            _, _, write, word, data, push, direction, ring = await ctx.tick().sample(
                dut.record.write, dut.record.word, dut.record.data, dut.record.push, dut.direction, dut.from_ring)
            if write:
                record = record or _Record(direction, bool(ring))
                assert (record.direction, record.from_ring) == (direction, ring)
                record.words[word] = data
            if push:
                assert record is not None and len(record.words) == _WORDS
                self.records.append(record)
                record = None

    async def events(self, ctx: Any) -> None:
        """Events of both directions at random."""
        rng, dut = self.rng, self.dut
        while True:
            now = [{"BUSY_CYCLES": 0, "LINK_BUSY_CYCLES": 0, "MEMORY_STALLS": 0, "BUFFER_STALLS": 0} for _ in range(2)]
            for direction in range(2):
                if rng.random() < self.busy:
                    now[direction] = {"BUSY_CYCLES": rng.randrange(2), "LINK_BUSY_CYCLES": rng.randrange(2),
                                      "MEMORY_STALLS": rng.randint(0, _CONFIG.lanes),
                                      "BUFFER_STALLS": rng.randint(0, _CONFIG.lanes)}
                ctx.set(dut.events[direction], {
                    name.lower().removesuffix("_cycles"): count for name, count in now[direction].items()
                    if name != "BUSY_CYCLES"})
            ctx.set(dut.busy, now[0]["BUSY_CYCLES"] | now[1]["BUSY_CYCLES"] << 1)
            await ctx.tick()
            for direction in range(2):
                for name, count in now[direction].items():
                    self.totals[direction][name] += count

    async def command(self, ctx: Any, kind: Command, direction: int, **fields: int) -> int:
        """A command from the bus, held until it is done; what was read."""
        port = self.dut.command
        for _ in range(self.rng.choice([0, 0, 1, 9])):
            await ctx.tick()
        ctx.set(port.kind, kind)
        ctx.set(port.direction, direction)
        for name in ("word", "write", "write_data", "snapshot", "clear"):
            ctx.set(getattr(port, name), fields.get(name, 0))
        ctx.set(port.valid, 1)
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

    async def snapshot(self, ctx: Any, direction: int) -> dict[str, int]:
        """The registers of the last snapshot."""
        words = [await self.command(ctx, Command.SNAPSHOT, direction, word=word) for word in range(2 * len(COUNTERS))]
        return {name: words[2 * k] | words[2 * k + 1] << 32 for k, name in enumerate(COUNTERS)}

    async def entry(self, ctx: Any, direction: int, words: list[int]) -> None:
        """An entry of a ring: its words, then its push."""
        dut = self.dut
        for number, word in enumerate(words):
            for _ in range(self.rng.choice([0, 0, 0, 5])):
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

    def run(self, process: Any, *others: Any) -> None:
        """Simulates until the process ends; the memory is cleared before."""
        clocked(self.dut, process, self.queues, self.events, *others)


def test_windows_and_records() -> None:
    bench = _Bench(1)
    rng = bench.rng
    windows = [[0] * _WORDS for _ in range(2)]
    expected: list[tuple[int, bool, list[int]]] = []
    entries: list[tuple[int, bool, list[int]]] = []
    bench.busy = 0.5

    async def ring(ctx: Any) -> None:
        # Entries of the rings come beside the commands of the bus.
        for number in range(12):
            words = [rng.getrandbits(32) for _ in range(_WORDS)]
            await bench.entry(ctx, number % 3 % 2, words)
            entries.append((number % 3 % 2, True, words))

    async def process(ctx: Any) -> None:
        for direction in range(2):          # after reset all words are 0
            assert [await bench.command(ctx, Command.WINDOW, direction, word=word)
                    for word in range(_WORDS)] == [0] * _WORDS
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
                expected.append((direction, False, list(windows[direction])))
        while len(entries) < 12:
            await ctx.tick()
        for _ in range(4):
            await ctx.tick()
        found = [(each.direction, each.from_ring, [each.words[k] for k in range(_WORDS)]) for each in bench.records]
        assert [each for each in found if not each[1]] == expected
        assert [each for each in found if each[1]] == entries

    bench.run(process, ring)


def test_counters_after_everything_has_come_to_rest() -> None:
    bench = _Bench(2)
    rng = bench.rng

    async def process(ctx: Any) -> None:
        most = (1 << 40) - 1
        for direction in range(2):
            assert set((await bench.snapshot(ctx, direction)).values()) == {0}
        bench.busy = 0.8
        for _ in range(12):         # the first counters are carried into their upper halves
            await bench.account(ctx, rng.randrange(2), rng.choice([1, most, rng.getrandbits(40)]),
                                rng.choice([4, most, rng.getrandbits(33)]))
        bench.busy = 0.0
        for _ in range(4):
            await ctx.tick()
        assert bench.totals[0]["RAW_BYTES"] >> 32 and bench.totals[0]["PACKED_BYTES"] >> 32
        for direction in range(2):
            await bench.command(ctx, Command.COUNT, direction, snapshot=1)
            # A snapshot stays as it is, and belongs to one direction.
            await bench.account(ctx, direction, 100, 50)
            found = await bench.snapshot(ctx, direction)
            late = {"RAW_BYTES": 100, "PACKED_BYTES": 50}
            assert found == {name: total - late.get(name, 0) for name, total in bench.totals[direction].items()}
        await bench.command(ctx, Command.COUNT, 0, clear=1)
        await bench.command(ctx, Command.COUNT, 0, snapshot=1)
        await bench.command(ctx, Command.COUNT, 1, snapshot=1)
        assert set((await bench.snapshot(ctx, 0)).values()) == {0}
        assert await bench.snapshot(ctx, 1) == bench.totals[1]

    bench.run(process)


@pytest.mark.parametrize("seed", range(2))
def test_snapshots_that_clear_lose_nothing(seed: int) -> None:
    """While events go on, what the snapshots hold adds up to all that happened."""
    bench = _Bench(10 + seed)
    rng = bench.rng
    sums = [dict.fromkeys(COUNTERS, 0) for _ in range(2)]
    bench.busy = 1.0

    async def transfers(ctx: Any) -> None:
        while True:
            if bench.busy:
                await bench.account(ctx, 1, rng.getrandbits(35), rng.getrandbits(34))
            await ctx.tick()

    async def process(ctx: Any) -> None:
        for number in range(9):
            if number == 7:
                bench.busy = 0.0
                for _ in range(400):        # the transfer under way is accounted for
                    await ctx.tick()
            for direction in range(2):
                await bench.command(ctx, Command.COUNT, direction, snapshot=1, clear=1)
                for name, value in (await bench.snapshot(ctx, direction)).items():
                    sums[direction][name] += value
            if number < 7:
                for _ in range(rng.choice([0, 100, 900])):
                    await ctx.tick()
        assert sums == bench.totals
        assert all(sums[1].values()) and sums[0]["MEMORY_STALLS"] > 1000

    bench.run(process, transfers)
