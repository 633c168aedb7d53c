"""The store in control: windows that keep their content, and counters that lose nothing, whatever else it does."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.lib.memory import Memory

from cdma.golden.engine import Completion, Status
from cdma.hdl.config.engine import load_engine
from cdma.hdl.engine.control import store as module
from cdma.hdl.engine.control.store import Command, Store
from cdma.hdl.engine.control.table import COUNTERS
from tests.hdl.bench import clocked
from tests.hdl.engine.control.bench import DIRECTIONS, Bench, good, simulated

PARTS = ["cdma.hdl.engine.control.store.Store"]
"""Components whose faults show here; mutants of them were tried."""

_OK = Status.OK
_NOTHING = dict.fromkeys(COUNTERS, 0)
_LATE = (1 << 32) - 3000


async def _counted(bench: Bench, name: str, control: int = 1) -> dict[str, int]:
    """The counters of a direction, after a command to them."""
    await bench.write(f"{name}_COUNTER_CONTROL", control)
    return {counter: await bench.read(f"{name}_{counter}_LO") | await bench.read(f"{name}_{counter}_HI") << 32
            for counter in COUNTERS}


@pytest.mark.parametrize(("name", "operation"), DIRECTIONS)
@simulated(Bench)
async def test_transfers_their_completions_and_counters(bench: Bench, ctx: Any, name: str, operation: int) -> None:
    """Sums beyond 32 bits; transfers that fail add no bytes; a direction at work is busy."""
    path, other = bench.paths[name], {"offload": "prefetch", "prefetch": "offload"}[name]
    asked = good(operation, tag=0xA1B2C3D4, source=0x7_0000_8000, destination=0x9_1000_4000, raw_bytes=0x12_B456_7890,
                 capacity=0x23_0000_0001, packed_bytes=0 if operation == 1 else 0x45_E789_ABC0, crc=0x13572468)
    report = {"status": _OK, "bytes": 0x12C45678AB, "nonzero": 0x3456789ABC, "raw_blocks": 0x765432, "crc": 0x89ABCDEF}
    path.reports = [report, {"status": Status.LANE_READ_ERROR, "lane": 2, "resp": 3, "place": 0xFEDCBA9876}, report]
    right = Completion(tag=asked.tag, status=_OK, operation=operation, bytes_written=0x12C45678AB,
                       nonzero=0x3456789ABC, raw_blocks=0x765432, crc=0x89ABCDEF)
    failed = Completion(tag=asked.tag, status=Status.LANE_READ_ERROR, operation=operation, lane=2, response=3,
                        place=0xFEDCBA9876)
    cycles = []
    for number, wanted in enumerate((right, failed, right)):
        path.cycles = 6 + 300 * number
        # The window keeps its content: the same again.
        await (bench.write(f"{name.upper()}_DOORBELL", 1) if number else bench.push(name, asked))
        done = await bench.completion(name)
        assert done == wanted
        assert path.ran[-1] + 15 < done.cycles < path.ran[-1] + 35
        cycles.append(done.cycles)
    assert path.seen == 3 * [{
        "source": asked.source, "destination": asked.destination, "element": 4, "exponents": 0,
        "raw_bytes": asked.raw_bytes, "capacity": asked.capacity, "packed_bytes": asked.packed_bytes, "check_crc": 0,
        "crc": asked.crc, "fallback": 1, "leave_raw": 0, "narrow": 0}]
    await bench.push(name, good(operation, tag=5, raw_bytes=2))
    done = await bench.completion(name)
    assert done == Completion(tag=5, status=Status.BAD_RAW_BYTES, operation=operation)
    cycles.append(done.cycles)
    counted = await _counted(bench, name.upper())
    assert (counted["RAW_BYTES"], counted["PACKED_BYTES"]) == (
        2 * (asked.raw_bytes if operation == 1 else 0x12C45678AB),
        2 * (0x12C45678AB if operation == 1 else asked.packed_bytes))
    # A descriptor at work is also checked and completed.
    assert sum(cycles) < counted["BUSY_CYCLES"] < sum(cycles) + 4 * 60
    for control in (1, 0, 3):
        assert await _counted(bench, name.upper(), control) == counted
    await bench.push(name, good(operation, raw_bytes=2))
    await bench.completion(name)
    await bench.write(f"{name.upper()}_COUNTER_CONTROL", 2)
    assert await _counted(bench, name.upper()) == await _counted(bench, other.upper()) == _NOTHING
    assert len(path.seen) == 3 and not bench.paths[other].seen


@pytest.mark.parametrize("seed", range(2))
def test_events_are_counted_once(seed: int) -> None:
    """Events in every cycle, while the bus, rings and snapshots keep the store busy; sums over cleared snapshots."""
    bench = Bench(load_engine("wide"), seed=seed, latency=5)
    rng = bench.rng
    kinds = {"link_busy": "LINK_BUSY_CYCLES", "memory_stalls": "MEMORY_STALLS", "buffer_stalls": "BUFFER_STALLS"}
    happened = {name: dict(_NOTHING) for name, _ in DIRECTIONS}
    sums = {name: dict(_NOTHING) for name, _ in DIRECTIONS}
    going = True

    async def events(ctx: Any) -> None:
        while True:
            for name, counts in happened.items():
                chosen = (rng.randrange(2), rng.randrange(17), rng.choice([0, 16])) if going else (0, 0, 0)
                ctx.set(getattr(bench.dut, f"{name}_events"), dict(zip(kinds, chosen, strict=True)))
                for counter, count in zip(kinds.values(), chosen, strict=True):
                    counts[counter] += count
            await ctx.tick()

    async def add(name: str, control: int) -> None:
        for counter, count in (await _counted(bench, name.upper(), control)).items():
            sums[name][counter] += count

    async def driver(ctx: Any) -> None:
        nonlocal going
        await bench.ring("offload", 0, 16, *(good(1, tag=k, raw_bytes=40) for k in range(8)))
        for _ in range(6):
            await add(rng.choice(["offload", "prefetch"]), 3)
            await bench.wait(rng.randrange(200))
        await bench.until("OFFLOAD_COMPLETIONS", 0xFF, 8)
        going = False
        await bench.wait(3)
        happened["offload"] |= {"RAW_BYTES": 8 * 40, "PACKED_BYTES": 8 * 7}
        for name, counts in happened.items():
            await add(name, 1)
            busy = sums[name].pop("BUSY_CYCLES")
            assert (busy > 0) == (name == "offload")
            assert sums[name] == {counter: count for counter, count in counts.items() if counter != "BUSY_CYCLES"}

    bench.run(driver, events)


@pytest.mark.parametrize("preset", ["smallest", "wide"])
def test_nothing_waits_for_ever(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries of a ring, bytes of transfers and commands without an end, and all events in all cycles: no counter
    overflows, every command is answered, and the bytes of both directions are added equally often. Counters of events
    begin at what they are after seconds, so that they go beyond 32 bits."""
    config, memories = load_engine(preset), []

    def kept(**given: Any) -> Memory:
        memories.append(Memory(**given))
        return memories[-1]

    monkeypatch.setattr(module, "Memory", kept)
    store = Store(config)
    events = {"link_busy": 1, "memory_stalls": config.lanes, "buffer_stalls": config.lanes}
    added, answered, going, cycles, pushed = [0, 0], 0, True, 0, 0

    async def busy(ctx: Any) -> None:
        nonlocal cycles
        while not ctx.get(store.command.done):      # the memory is being cleared
            await ctx.tick()
        for _ in range(8):      # longer than an update in flight
            for number in range(2, len(COUNTERS)):
                for direction in range(2):
                    ctx.set(memories[0].data[64 + 16 * direction + 2 * number], _LATE)
            await ctx.tick()
        while going:
            ctx.set(store.busy, 3)
            for each in store.events:
                ctx.set(each, events)
            cycles += 1
            await ctx.tick()
        ctx.set(store.busy, 0)
        for each in store.events:
            ctx.set(each, dict.fromkeys(events, 0))

    async def entries(ctx: Any) -> None:
        nonlocal pushed
        word = 0
        while True:
            ctx.set(store.fill.valid, going and word < 16)
            ctx.set(store.fill.word, word % 16)
            ctx.set(store.push, word == 16)
            _, _, taken, done = await ctx.tick().sample(store.fill.valid & store.fill.ready, store.pushed)
            word = (word + taken) % (17 if config.entries_ahead == 1 else 16)
            if done:
                word, pushed = 0, pushed + 1

    async def transfers(ctx: Any) -> None:
        while True:
            for each in store.account:
                ctx.set(each, {"valid": going, "raw_bytes": (1 << 40) - 1, "packed_bytes": 1 << 31})
            _, _, ended = await ctx.tick().sample(store.accounted)
            for number in range(2):
                added[number] += ended >> number & 1

    async def command(ctx: Any, **fields: Any) -> int:
        for name in ("direction", "word", "write", "write_data", "snapshot", "clear", "kind"):
            ctx.set(getattr(store.command, name), fields.get(name, 0))
        ctx.set(store.command.valid, 1)
        shown, = await ctx.tick().sample(store.command.read_data).until(store.command.done)
        ctx.set(store.command.valid, 0)
        await ctx.tick()
        return int(shown)

    async def driver(ctx: Any) -> None:
        nonlocal going, answered
        await command(ctx, kind=Command.COUNT)
        for _ in range(60):
            await command(ctx, kind=Command.WINDOW, direction=1, word=answered % 16, write=1, write_data=answered)
            answered += 1
            await ctx.tick().repeat(100)
        going = False
        await ctx.tick().repeat(300)
        for direction in range(2):
            await command(ctx, kind=Command.COUNT, direction=direction, snapshot=1)
            shown = [await command(ctx, kind=Command.SNAPSHOT, direction=direction, word=word)
                     for word in range(2 * len(COUNTERS))]
            totals = [low | high << 32 for low, high in zip(shown[::2], shown[1::2], strict=True)]
            assert totals == [added[direction] * ((1 << 40) - 1), added[direction] << 31,
                              *(_LATE + cycles * each for each in (1, *events.values()))]
        assert abs(added[0] - added[1]) <= 1 and min(added) > 50 and cycles > 6000

    clocked(store, driver, busy, entries, transfers)
