"""Counters: everything that happened is in a snapshot, once, whatever else the store has to do."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.hdl.config.engine import load_engine
from cdma.hdl.engine.control.table import COUNTERS
from cdma.hdl.engine.transfer.records import Status
from tests.hdl.engine.control.bench import CONFIG, Bench, good

_NAMES = ("offload", "prefetch")


async def _snapshot(bench: Bench, ctx: Any, name: str, control: int = 1) -> dict[str, int]:
    await bench.write(ctx, f"{name.upper()}_COUNTER_CONTROL", control)
    values = {}
    for counter in COUNTERS:
        low = await bench.read(ctx, f"{name.upper()}_{counter}_LO")
        values[counter] = low | await bench.read(ctx, f"{name.upper()}_{counter}_HI") << 32
    return values


@pytest.mark.parametrize("seed", range(2))
def test_events_are_counted_once(seed: int) -> None:
    """Events in every cycle, while the bus, rings and snapshots keep the store busy; sums over cleared snapshots."""
    bench = Bench(load_engine("wide"), seed=seed, latency=5)
    rng = bench.rng
    happened = {name: dict.fromkeys(COUNTERS, 0) for name in _NAMES}
    going = True

    async def events(ctx: Any) -> None:
        while True:
            for name in _NAMES:
                chosen = (rng.randrange(2), rng.randrange(17), rng.choice([0, 16])) if going else (0, 0, 0)
                ctx.set(getattr(bench.dut, f"{name}_events"), {
                    "link_busy": chosen[0], "memory_stalls": chosen[1], "buffer_stalls": chosen[2]})
                for counter, count in zip(("LINK_BUSY_CYCLES", "MEMORY_STALLS", "BUFFER_STALLS"), chosen, strict=True):
                    happened[name][counter] += count
            await ctx.tick()

    async def driver(ctx: Any) -> None:
        nonlocal going
        sums = {name: dict.fromkeys(COUNTERS, 0) for name in _NAMES}
        bench.ring(0, [good(1, tag=k, raw_bytes=40) for k in range(8)])
        await bench.start_ring(ctx, "offload", 0, 16)
        await bench.write(ctx, "OFFLOAD_RING_TAIL", 8)
        for _ in range(6):
            name = rng.choice(_NAMES)
            for counter, count in (await _snapshot(bench, ctx, name, 3)).items():
                sums[name][counter] += count
            await bench.wait(ctx, rng.randrange(200))
        await bench.until(ctx, "OFFLOAD_COMPLETIONS", 0xFF, 8)
        going = False
        await bench.wait(ctx, 3)
        happened["offload"] |= {"RAW_BYTES": 8 * 40, "PACKED_BYTES": 8 * 7}
        for name in _NAMES:
            for counter, count in (await _snapshot(bench, ctx, name)).items():
                sums[name][counter] += count
                if counter != "BUSY_CYCLES":
                    assert sums[name][counter] == happened[name][counter], (name, counter)
        assert sums["prefetch"]["BUSY_CYCLES"] == 0 < sums["offload"]["BUSY_CYCLES"]
        assert (await _snapshot(bench, ctx, "prefetch"))["MEMORY_STALLS"] > 0       # not cleared by a snapshot

    bench.run(driver, events)


@pytest.mark.parametrize(("name", "operation"), [("offload", 1), ("prefetch", 2)])
def test_bytes_and_cycles_of_transfers(name: str, operation: int) -> None:
    """Sums beyond 32 bits; transfers that fail add no bytes; a direction at work is busy."""
    bench = Bench()
    path = bench.paths[name]
    path.cycles = 50
    raw, packed = (1 << 40) - 4096, (1 << 39) + 0xFFFF_FFF4

    async def driver(ctx: Any) -> None:
        asked = good(operation, raw_bytes=raw, capacity=raw, packed_bytes=packed if operation == 2 else 0,
                     source=0, destination=0)
        await bench.push(ctx, name, asked)
        path.reports = [{"status": Status.OK, "bytes": packed if operation == 1 else raw}] * 3
        path.reports[1] = {"status": Status.LINK_READ_ERROR, "place": 5}
        cycles = [(await bench.completion(ctx, name)).cycles]
        for _ in range(2):
            await bench.write(ctx, f"{name.upper()}_DOORBELL", 1)
            cycles.append((await bench.completion(ctx, name)).cycles)
        await bench.push(ctx, name, good(operation, raw_bytes=2))
        cycles.append((await bench.completion(ctx, name)).cycles)
        counted = await _snapshot(bench, ctx, name)
        assert (counted["RAW_BYTES"], counted["PACKED_BYTES"]) == (2 * raw, 2 * packed)
        # A descriptor at work is also checked and completed.
        assert sum(cycles) < counted["BUSY_CYCLES"] < sum(cycles) + 4 * 60
        assert await _snapshot(bench, ctx, name, 1) == counted
        assert await _snapshot(bench, ctx, name, 3) == counted
        assert await _snapshot(bench, ctx, name, 0) == counted      # asks for nothing
        await bench.write(ctx, f"{name.upper()}_COUNTER_CONTROL", 2)
        assert await _snapshot(bench, ctx, name) == dict.fromkeys(COUNTERS, 0)
        other = "prefetch" if name == "offload" else "offload"
        assert await _snapshot(bench, ctx, other) == dict.fromkeys(COUNTERS, 0)

    bench.run(driver)


def test_an_idle_engine_counts_nothing() -> None:
    bench = Bench(CONFIG)

    async def driver(ctx: Any) -> None:
        await bench.wait(ctx, 500)
        for name in _NAMES:
            assert await _snapshot(bench, ctx, name) == dict.fromkeys(COUNTERS, 0)

    bench.run(driver)
