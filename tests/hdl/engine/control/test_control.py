"""A driver, and all it can do with descriptors: queue them, wait, take interrupts, count, abort, reset."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.golden.engine import Completion, Status
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.hdl.engine.control.table import COUNTERS
from tests.hdl.engine.control.bench import CONFIG, DIRECTIONS, Bench, good, simulated

_FOR_EVER = 100_000
_OK, _ABORTED = Status.OK, Status.ABORTED
_BOTH = pytest.mark.parametrize(("name", "operation"), DIRECTIONS)
_NOTHING = dict.fromkeys(COUNTERS, 0)


async def _counted(bench: Bench, name: str, control: int = 1) -> dict[str, int]:
    """The counters of a direction, after a command to them."""
    await bench.write(f"{name}_COUNTER_CONTROL", control)
    return {counter: await bench.read(f"{name}_{counter}_LO") | await bench.read(f"{name}_{counter}_HI") << 32
            for counter in COUNTERS}


@_BOTH
@simulated(Bench)
async def test_transfers_their_completions_and_counters(bench: Bench, ctx: Any, name: str, operation: int) -> None:
    """Sums beyond 32 bits; transfers that fail add no bytes; a direction at work is busy."""
    path, other = bench.paths[name], {"offload": "prefetch", "prefetch": "offload"}[name]
    asked = good(operation, tag=0xA1B2C3D4, source=0x7_0000_8000, destination=0x9_1000_4000, raw_bytes=0x12_3456_7890,
                 capacity=0x23_0000_0001, packed_bytes=0 if operation == 1 else 0x45_6789_ABC0, crc=0x13572468)
    report = {"status": _OK, "bytes": 0x12345678AB, "nonzero": 0x3456789ABC, "raw_blocks": 0x765432, "crc": 0x89ABCDEF}
    path.reports = [report, {"status": Status.LANE_READ_ERROR, "lane": 2, "resp": 3, "place": 0xFEDCBA9876}, report]
    right = Completion(tag=asked.tag, status=_OK, operation=operation, bytes_written=0x12345678AB,
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
        2 * (asked.raw_bytes if operation == 1 else 0x12345678AB),
        2 * (0x12345678AB if operation == 1 else asked.packed_bytes))
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


@pytest.mark.parametrize("config", [CONFIG, CONFIG.replace(queue_depth=16)], ids=["8", "16"])
@simulated(Bench)
async def test_full_queues(bench: Bench, ctx: Any, config: EngineConfig) -> None:
    """The ring waits for places, and takes one that a doorbell was meant for; completions wait, too; none is lost."""
    path, depth, count = bench.paths["offload"], config.queue_depth, 2 * config.queue_depth + 8
    path.cycles = _FOR_EVER
    await bench.ring("offload", 0, 64, *(good(1, tag=k) for k in range(count)))
    await bench.until("OFFLOAD_QUEUE", 0xFF, depth)
    await bench.wait(200)
    await bench.reads(OFFLOAD_QUEUE=depth, OFFLOAD_RING_HEAD=depth + 1, STATUS=1)       # one is at work
    for register, bit in (("DOORBELL", 1), ("COMPLETION_POP", 2)):
        await bench.refused(f"OFFLOAD_{register}", 1, "OFFLOAD_REFUSED", bit)
        await bench.write(f"OFFLOAD_{register}", 0)     # does nothing, so it is not refused
        await bench.reads(OFFLOAD_REFUSED=0)
    path.cycles = 3
    await bench.write("OFFLOAD_ABORT", 1)
    await bench.until("OFFLOAD_COMPLETIONS", 0xFF, depth)
    await bench.until("STATUS", 0xFFFF, 0x100)      # blocked, not busy
    await bench.wait(200)
    await bench.reads(OFFLOAD_QUEUE=depth, OFFLOAD_RING_HEAD=2 * depth)
    assert len(path.seen) == depth
    await bench.outcomes("offload", (0, _ABORTED), *((tag, _OK) for tag in range(1, count)))
    await bench.reads(OFFLOAD_COMPLETIONS=0, STATUS=0, OFFLOAD_QUEUE=depth << 8,
                      **{f"OFFLOAD_COMPLETION_{word}": 0 for word in range(16)})


@_BOTH
@simulated(Bench)
async def test_interrupts(bench: Bench, ctx: Any, name: str, operation: int) -> None:
    """Bits are set by what happened, whatever is enabled, and stay until 1 is written to them."""
    done, error = (0x01, 0x02) if operation == 1 else (0x10, 0x20)

    async def shows(status: int, high: int) -> None:
        await bench.reads(IRQ_STATUS=status)
        assert ctx.get(bench.dut.irq) == high

    for changes, enable, status, high in (({}, 0x77, 0, 0),      # was not asked for
                                          ({"raw_bytes": 1}, 0x77 & ~error, error, 0),
                                          ({"interrupt": True}, 0x77 & ~error, done | error, 1)):
        await bench.write("IRQ_ENABLE", enable)
        await bench.push(name, good(operation, **changes))
        await bench.completion(name)
        await shows(status, high)
    for cleared, status, high in ((0x77 & ~done, done, 1), (done, 0, 0)):
        await bench.write("IRQ_STATUS", cleared)
        await shows(status, high)
    await bench.write("IRQ_ENABLE", 0)
    await bench.push(name, good(operation, raw_bytes=1, interrupt=True))
    await bench.completion(name)
    await shows(done | error, 0)
    await bench.write("IRQ_ENABLE", error)
    await shows(done | error, 1)
    await bench.write("IRQ_STATUS", 0xFFFFFFFF)
    await shows(0, 0)


@simulated(Bench)
async def test_a_cause_in_the_cycle_of_its_clear_stays(bench: Bench, ctx: Any) -> None:
    """One clear, a cycle later each time, from before the completion to behind it: the interrupt always shows."""
    bench.paths["offload"].cycles = 1
    left = []
    await bench.push("offload", good(1, interrupt=True))
    await bench.completion("offload")
    await bench.write("IRQ_STATUS", 1)
    await bench.write("IRQ_ENABLE", 1)
    for delay in range(20, 60):
        bench.high = 0
        await bench.write("OFFLOAD_DOORBELL", 1)
        await bench.wait(delay)
        await bench.write("IRQ_STATUS", 1)
        await bench.until("OFFLOAD_COMPLETIONS", 0xFF, 1)
        left.append(await bench.read("IRQ_STATUS"))
        assert bench.high, delay
        await bench.write("IRQ_STATUS", 1)
        await bench.write("OFFLOAD_COMPLETION_POP", 1)
    assert left[0] == 1 and left[-1] == 0       # the sweep went across the completion


@pytest.mark.parametrize("delay", range(0, 44, 4))
@simulated(Bench)
async def test_abort_at_any_time(bench: Bench, ctx: Any, delay: int) -> None:
    """Whenever it comes, there is one completion, and the next transfer is not touched."""
    name, operation = DIRECTIONS[delay // 4 % 2]
    path, register = bench.paths[name], f"{name.upper()}_ABORT"
    await bench.write(register, 1)      # nothing runs
    await bench.reads(**{register: 0})
    await bench.push(name, good(operation, tag=1))
    await bench.write(register, 0)
    await bench.wait(delay)
    await bench.write(register, 1)
    done = await bench.completion(name)
    assert (done.tag, done.status, done.bytes_written) == ((1, _ABORTED, 0) if path.aborted else (1, _OK, 7))
    await bench.push(name, good(operation, tag=2))
    await bench.outcomes(name, (2, _OK))
    await bench.reads(**{f"{name.upper()}_COMPLETIONS": 0, register: 0})


@pytest.mark.parametrize("seed", range(3))
@simulated(lambda seed: Bench(seed=seed, pauses=0.2, latency=40))
async def test_soft_reset_in_mid_transfer(bench: Bench, ctx: Any, seed: int) -> None:
    """Both directions at work, queues filled, rings enabled: afterwards all is as after reset, and works."""
    for path in bench.paths.values():
        path.cycles = _FOR_EVER
    for name, operation in DIRECTIONS:
        await bench.push(name, good(operation, raw_bytes=1, interrupt=True))
        await bench.push(name, *(good(operation, tag=tag) for tag in range(3)))
        await bench.ring(name, 4096 * operation, 32, *(good(operation, tag=k) for k in range(100, 120)))
    await bench.write("IRQ_ENABLE", 0x77)
    assert ctx.get(bench.dut.irq)
    await bench.wait(bench.rng.randrange(150))
    await bench.write("CONTROL", 0)
    await bench.wait(10)
    assert bench.resets == 0
    await bench.write("CONTROL", 1)
    for path in bench.paths.values():
        path.cycles = 5
    await bench.until("CONTROL", 1, 0)
    assert bench.resets == 1
    assert not ctx.get(bench.dut.irq)
    await bench.reads(**{register.name: register.reset for register in bench.registers})
    started = [len(path.seen) for path in bench.paths.values()]
    await bench.wait(200)
    assert [len(path.seen) for path in bench.paths.values()] == started
    for name, operation in DIRECTIONS:
        await bench.push(name, good(operation, tag=7))
        await bench.outcomes(name, (7, _OK))
        await bench.reads(**{f"{name.upper()}_COMPLETIONS": 0})
    await bench.soft_reset()        # nothing to wait for
    assert bench.resets == 2


@pytest.mark.parametrize("seed", range(3))
@simulated(lambda seed: Bench(seed=seed, pauses=0.3))
async def test_both_directions_at_once(bench: Bench, ctx: Any, seed: int) -> None:
    """Descriptors of both, some bad, pushed and taken in any order: each direction keeps its own."""
    rng = bench.rng
    waiting: dict[str, list[tuple[int, Status]]] = {"offload": [], "prefetch": []}
    for tag in range(24):
        name, operation = rng.choice(DIRECTIONS)
        bench.paths[name].cycles = rng.randrange(60)
        status = rng.choice([Status.BAD_RAW_BYTES, _OK, _OK])
        await bench.push(name, good(operation, tag=tag, raw_bytes=400 if status is _OK else 2))
        waiting[name].append((tag, status))
        while len(waiting[name]) > 8 or (waiting[name] and rng.random() < 0.3):
            await bench.outcomes(name, waiting[name].pop(0))
    for name, left in waiting.items():
        await bench.outcomes(name, *left)
        await bench.reads(**{f"{name.upper()}_COMPLETIONS": 0})
