"""A driver, and all it can do with descriptors: queue them, wait, take interrupts, abort, reset."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.hdl.codec.narrowing.rounding import Narrowing
from cdma.hdl.engine.transfer.records import Status
from tests.hdl.engine.control.bench import CONFIG, Bench, good

_SLVERR = 2
_DIRECTIONS = [("offload", 1), ("prefetch", 2)]
_REPORT = {"status": Status.OK, "lane": 0, "resp": 0, "place": 0, "bytes": 0x12345678AB, "nonzero": 0x3456789ABC,
           "raw_blocks": 0x765432, "crc": 0x89ABCDEF}


@pytest.mark.parametrize(("name", "operation"), _DIRECTIONS)
def test_a_transfer_and_its_completion(name: str, operation: int) -> None:
    bench = Bench()
    path = bench.paths[name]
    path.reports = [dict(_REPORT), {"status": Status.LANE_READ_ERROR, "lane": 2, "resp": 3, "place": 0xFEDCBA9876}]

    async def driver(ctx: Any) -> None:
        asked = good(operation, tag=0xA1B2C3D4, source=0x7_0000_8000, destination=0x9_1000_4000,
                     raw_bytes=0x12_3456_7890, capacity=0x23_0000_0001,
                     packed_bytes=0 if operation == 1 else 0x45_6789_ABC0, crc=0x13572468)
        await bench.push(ctx, name, asked)
        done = await bench.completion(ctx, name)
        assert (done.tag, done.status, done.operation) == (0xA1B2C3D4, Status.OK.value, operation)
        assert (done.bytes_written, done.nonzero, done.raw_blocks, done.crc) == (
            0x12345678AB, 0x3456789ABC, 0x765432, 0x89ABCDEF)
        assert (done.lane, done.response, done.place) == (0, 0, 0)
        assert 20 < done.cycles < 40
        expected = {"source": asked.source, "destination": asked.destination, "element": 4, "exponents": 0,
                    "raw_bytes": asked.raw_bytes, "capacity": asked.capacity, "packed_bytes": asked.packed_bytes,
                    "check_crc": 0, "crc": asked.crc, "fallback": 1, "leave_raw": 0,
                    "narrow": Narrowing.NONE}
        assert path.seen == [expected]
        # The window keeps its content: the same again, and it fails.
        path.cycles = 300
        await bench.write(ctx, f"{name.upper()}_DOORBELL", 1)
        done = await bench.completion(ctx, name)
        assert (done.tag, done.status, done.lane, done.response, done.place) == (
            0xA1B2C3D4, Status.LANE_READ_ERROR.value, 2, 3, 0xFEDCBA9876)
        assert (done.bytes_written, done.nonzero, done.raw_blocks, done.crc) == (0, 0, 0, 0)
        assert 320 < done.cycles < 340
        assert path.seen == [expected] * 2
        other = bench.paths["prefetch" if name == "offload" else "offload"]
        assert other.seen == []

    bench.run(driver)


def test_bad_descriptors_never_reach_a_data_path() -> None:
    bench = Bench(seed=1, pauses=0.2)

    async def driver(ctx: Any) -> None:
        for name, operation in _DIRECTIONS:
            for asked, status in (
                    (good(3 - operation, tag=1), Status.BAD_OPERATION),
                    (good(operation, tag=2, coding=0x94), Status.CODING_NOT_BUILT),
                    (good(operation, tag=3, raw_bytes=0), Status.BAD_RAW_BYTES),
                    (good(operation, tag=4, source=8), Status.BAD_SOURCE),
                    (good(operation, tag=5, destination=1 << 50), Status.BAD_DESTINATION)):
                await bench.push(ctx, name, asked)
                done = await bench.completion(ctx, name)
                assert (done.tag, done.status, done.operation) == (asked.tag, status.value, asked.operation)
                assert (done.bytes_written, done.nonzero, done.raw_blocks, done.crc, done.place) == (0, 0, 0, 0, 0)
                assert (done.lane, done.response) == (0, 0)
            assert not bench.paths[name].seen

    bench.run(driver)


@pytest.mark.parametrize("depth", [8, 16])
def test_full_queues(depth: int) -> None:
    """Descriptors are refused when their queue is full, and wait when completions have no place; none is lost."""
    bench = Bench(CONFIG.replace(queue_depth=depth))
    path = bench.paths["offload"]
    path.cycles = 30000

    async def driver(ctx: Any) -> None:
        await bench.push(ctx, "offload", good(1, tag=0))
        assert await bench.read(ctx, "STATUS") == 1
        await bench.until(ctx, "OFFLOAD_QUEUE", 0xFF, 0)
        for tag in range(1, depth + 1):
            assert await bench.read(ctx, "OFFLOAD_QUEUE") == (depth - tag + 1) << 8 | tag - 1
            await bench.write(ctx, "OFFLOAD_DESCRIPTOR_1", tag)
            await bench.write(ctx, "OFFLOAD_DOORBELL", 1)
        assert await bench.read(ctx, "OFFLOAD_QUEUE") == depth
        await bench.write(ctx, "OFFLOAD_DESCRIPTOR_1", 99)
        await bench.write(ctx, "OFFLOAD_DOORBELL", 1, response=_SLVERR)
        await bench.write(ctx, "OFFLOAD_DOORBELL", 0)
        await bench.write(ctx, "OFFLOAD_COMPLETION_POP", 1, response=_SLVERR)
        await bench.write(ctx, "OFFLOAD_COMPLETION_POP", 0)
        path.cycles = 3
        await bench.write(ctx, "OFFLOAD_ABORT", 1)
        await bench.until(ctx, "OFFLOAD_COMPLETIONS", 0xFF, depth)
        await bench.until(ctx, "STATUS", 0xFFFF, 0x100)     # blocked, not busy
        assert await bench.read(ctx, "OFFLOAD_QUEUE") == (depth - 1) << 8 | 1
        assert len(path.seen) == depth
        await bench.push(ctx, "offload", good(1, tag=depth + 1))
        for tag in range(depth + 2):
            assert await bench.outcome(ctx, "offload") == (tag, (Status.OK if tag else Status.ABORTED).value)
        assert await bench.read(ctx, "OFFLOAD_COMPLETIONS") == 0
        assert [await bench.read(ctx, f"OFFLOAD_COMPLETION_{word}") for word in range(16)] == [0] * 16
        await bench.write(ctx, "OFFLOAD_COMPLETION_POP", 1, response=_SLVERR)
        assert await bench.read(ctx, "STATUS") == 0
        assert await bench.read(ctx, "OFFLOAD_QUEUE") == depth << 8

    bench.run(driver)


def test_interrupts() -> None:
    """Bits are set by what happened, whatever is enabled, and stay until 1 is written to them."""
    bench = Bench()
    irq = bench.dut.irq
    bits = {"offload": 0x01, "prefetch": 0x10}

    async def driver(ctx: Any) -> None:
        for name, operation in _DIRECTIONS:
            bit = bits[name]
            await bench.push(ctx, name, good(operation))
            await bench.completion(ctx, name)
            assert await bench.read(ctx, "IRQ_STATUS") == 0     # was not asked for
            await bench.push(ctx, name, good(operation, raw_bytes=1))
            await bench.completion(ctx, name)
            assert await bench.read(ctx, "IRQ_STATUS") == bit << 1
            assert not ctx.get(irq)
            await bench.write(ctx, "IRQ_ENABLE", 0x77 & ~(bit << 1))
            await ctx.tick()
            assert not ctx.get(irq)
            await bench.push(ctx, name, good(operation, interrupt=True))
            await bench.completion(ctx, name)
            assert await bench.read(ctx, "IRQ_STATUS") == bit | bit << 1
            assert ctx.get(irq)
            await bench.write(ctx, "IRQ_STATUS", 0x77 & ~bit)
            assert await bench.read(ctx, "IRQ_STATUS") == bit
            assert ctx.get(irq)
            await bench.write(ctx, "IRQ_STATUS", bit)
            assert await bench.read(ctx, "IRQ_STATUS") == 0
            assert not ctx.get(irq)
            await bench.write(ctx, "IRQ_ENABLE", 0)
            await bench.push(ctx, name, good(operation, raw_bytes=1, interrupt=True))
            await bench.completion(ctx, name)
            assert await bench.read(ctx, "IRQ_STATUS") == bit | bit << 1
            assert not ctx.get(irq)
            await bench.write(ctx, "IRQ_ENABLE", bit << 1)
            await ctx.tick()
            assert ctx.get(irq)
            await bench.write(ctx, "IRQ_STATUS", 0xFFFFFFFF)
            await bench.write(ctx, "IRQ_ENABLE", 0)

    bench.run(driver)


def test_a_cause_in_the_cycle_of_its_clear_stays() -> None:
    """One clear, a cycle later each time, from before the completion to behind it: the interrupt always shows."""
    bench = Bench()
    shown = 0

    async def watch(ctx: Any) -> None:
        nonlocal shown
        while True:
            _, _, irq = await ctx.tick().sample(bench.dut.irq)
            shown += irq

    async def driver(ctx: Any) -> None:
        nonlocal shown
        left = []
        await bench.push(ctx, "offload", good(1, interrupt=True))
        await bench.completion(ctx, "offload")
        await bench.write(ctx, "IRQ_STATUS", 1)
        await bench.write(ctx, "IRQ_ENABLE", 1)
        for delay in range(25, 65):
            shown = 0
            await bench.write(ctx, "OFFLOAD_DOORBELL", 1)
            await bench.wait(ctx, delay)
            await bench.write(ctx, "IRQ_STATUS", 1)
            await bench.until(ctx, "OFFLOAD_COMPLETIONS", 0xFF, 1)
            left.append(await bench.read(ctx, "IRQ_STATUS"))
            assert shown, delay
            await bench.write(ctx, "IRQ_STATUS", 1)
            await bench.write(ctx, "OFFLOAD_COMPLETION_POP", 1)
        assert left[0] == 1 and left[-1] == 0       # the sweep went across the completion

    bench.run(driver, watch)


@pytest.mark.parametrize(("name", "operation"), _DIRECTIONS)
def test_abort(name: str, operation: int) -> None:
    bench = Bench()
    path = bench.paths[name]
    register = f"{name.upper()}_ABORT"

    async def driver(ctx: Any) -> None:
        await bench.write(ctx, register, 1)     # nothing runs
        assert await bench.read(ctx, register) == 0
        path.cycles = 5
        await bench.push(ctx, name, good(operation, tag=1))
        assert (await bench.completion(ctx, name)).status == Status.OK.value
        path.cycles = 100000
        await bench.push(ctx, name, good(operation, tag=2))
        await bench.push(ctx, name, good(operation, tag=3))
        while not path.running:
            await ctx.tick()
        await bench.write(ctx, register, 0)
        await bench.wait(ctx, 20)
        assert path.aborted == 0
        path.cycles = 5
        await bench.write(ctx, register, 1)
        done = await bench.completion(ctx, name)
        assert (done.tag, done.status, done.bytes_written) == (2, Status.ABORTED.value, 0)
        assert await bench.outcome(ctx, name) == (3, Status.OK.value)
        assert path.aborted == 1
        assert await bench.read(ctx, register) == 0

    bench.run(driver)


@pytest.mark.parametrize("delay", range(0, 44, 4))
def test_abort_at_any_time(delay: int) -> None:
    """Whenever it comes, there is one completion, and the next transfer is not touched."""
    bench = Bench()
    path = bench.paths["offload"]
    path.cycles = 6

    async def driver(ctx: Any) -> None:
        await bench.push(ctx, "offload", good(1, tag=1))
        await bench.wait(ctx, delay)
        await bench.write(ctx, "OFFLOAD_ABORT", 1)
        done = await bench.completion(ctx, "offload")
        assert (done.tag, done.status) in ((1, Status.OK.value), (1, Status.ABORTED.value))
        assert (done.status == Status.ABORTED.value) == (path.aborted == 1)
        await bench.push(ctx, "offload", good(1, tag=2))
        assert await bench.outcome(ctx, "offload") == (2, Status.OK.value)
        assert await bench.read(ctx, "OFFLOAD_COMPLETIONS") == 0

    bench.run(driver)


@pytest.mark.parametrize("seed", range(3))
def test_soft_reset_in_mid_transfer(seed: int) -> None:
    """Both directions at work, queues filled, rings enabled: afterwards all is as after reset, and works."""
    bench = Bench(seed=seed, pauses=0.2, latency=40)
    for path in bench.paths.values():
        path.cycles = 100000
    pulses = 0

    async def count(ctx: Any) -> None:
        nonlocal pulses
        while True:
            _, _, pulse = await ctx.tick().sample(bench.dut.soft_reset)
            if pulse:
                assert not any(path.running for path in bench.paths.values())
                pulses += 1

    async def driver(ctx: Any) -> None:
        for name, operation in _DIRECTIONS:
            await bench.push(ctx, name, good(operation, raw_bytes=1, interrupt=True))
            for tag in range(3):
                await bench.push(ctx, name, good(operation, tag=tag))
            bench.ring(4096 * operation, [good(operation, tag=k) for k in range(100, 120)])
            await bench.start_ring(ctx, name, 4096 * operation, 32)
            await bench.write(ctx, f"{name.upper()}_RING_TAIL", 20)
        await bench.write(ctx, "IRQ_ENABLE", 0x77)
        assert ctx.get(bench.dut.irq)
        await bench.wait(ctx, bench.rng.randrange(150))
        await bench.write(ctx, "CONTROL", 0)
        await bench.wait(ctx, 10)
        assert pulses == 0
        await bench.write(ctx, "CONTROL", 1)
        for path in bench.paths.values():
            path.cycles = 5
        await bench.until(ctx, "CONTROL", 1, 0)
        assert pulses == 1
        assert not ctx.get(bench.dut.irq)
        for register in bench.registers:
            assert await bench.read(ctx, register.offset) == register.reset, register.name
        started = {name: len(path.seen) for name, path in bench.paths.items()}
        await bench.wait(ctx, 200)
        for name, operation in _DIRECTIONS:
            assert len(bench.paths[name].seen) == started[name]
            await bench.push(ctx, name, good(operation, tag=7))
            assert await bench.outcome(ctx, name) == (7, Status.OK.value)
            assert await bench.read(ctx, f"{name.upper()}_COMPLETIONS") == 0
        await bench.write(ctx, "CONTROL", 1)        # nothing to wait for
        await bench.until(ctx, "CONTROL", 1, 0)
        assert pulses == 2

    bench.run(driver, count)


@pytest.mark.parametrize("seed", range(3))
def test_both_directions_at_once(seed: int) -> None:
    """Descriptors of both, some bad, pushed and taken in any order: each direction keeps its own."""
    bench = Bench(seed=seed, pauses=0.3)
    rng = bench.rng
    sent: dict[str, list[tuple[int, int]]] = {"offload": [], "prefetch": []}
    got: dict[str, list[tuple[int, int]]] = {"offload": [], "prefetch": []}

    async def driver(ctx: Any) -> None:
        for tag in range(24):
            name, operation = rng.choice(_DIRECTIONS)
            bench.paths[name].cycles = rng.randrange(60)
            bad = rng.random() < 0.3
            await bench.push(ctx, name, good(operation, tag=tag, raw_bytes=2 if bad else 400))
            sent[name].append((tag, (Status.BAD_RAW_BYTES if bad else Status.OK).value))
            while len(sent[name]) - len(got[name]) > 8 or rng.random() < 0.3:
                chosen = rng.choice([each for each in sent if len(sent[each]) > len(got[each])] or [""])
                if not chosen:
                    break
                got[chosen].append(await bench.outcome(ctx, chosen))
        for name in sent:
            while len(got[name]) < len(sent[name]):
                got[name].append(await bench.outcome(ctx, name))
        assert got == sent

    bench.run(driver)
