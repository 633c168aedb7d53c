"""A driver, and all it can do with descriptors: queue them, wait, take interrupts, abort, reset."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.golden.engine import Status
from cdma.hdl.config.engine import EngineConfig
from tests.hdl.engine.control.bench import CONFIG, DIRECTIONS, Bench, good, simulated

_FOR_EVER = 100_000
_OK, _ABORTED = Status.OK, Status.ABORTED
_BOTH = pytest.mark.parametrize(("name", "operation"), DIRECTIONS)


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
@simulated(lambda: Bench(latency=2000))
async def test_an_entry_on_its_way_has_its_place(bench: Bench, ctx: Any, name: str, operation: int) -> None:
    """A doorbell does not take the last place of a queue from an entry that is being read."""
    path, depth, upper = bench.paths[name], CONFIG.queue_depth, name.upper()
    path.cycles = _FOR_EVER
    await bench.push(name, *(good(operation, tag=tag) for tag in range(depth)))
    await bench.until(f"{upper}_QUEUE", 0xFF, depth - 1)
    await bench.ring(name, 0, 4, good(operation, tag=depth))
    await bench.wait(100)
    await bench.reads(**{f"{upper}_QUEUE": depth - 1, f"{upper}_RING_HEAD": 0})
    await bench.refused(f"{upper}_DOORBELL", 1, f"{upper}_REFUSED", 1)
    path.cycles = 3
    await bench.write(f"{upper}_ABORT", 1)
    await bench.outcomes(name, (0, _ABORTED), *((tag, _OK) for tag in range(1, depth + 1)))


@_BOTH
@simulated(Bench)
async def test_entries_that_cannot_be_read_wait_for_each_other(bench: Bench, ctx: Any, name: str, operation: int
                                                               ) -> None:
    """The failure of a second one, after the ring was enabled again, does not change what is told of the first."""
    path, upper = bench.paths[name], name.upper()
    path.cycles = _FOR_EVER
    bench.memory.faulty = {0x1000: 2, 0x2000: 3}
    await bench.push(name, good(operation, tag=9))
    for base in bench.memory.faulty:
        await bench.ring(name, base, 4, good(operation))
        await bench.until(f"{upper}_RING_CONTROL", 1, base == 0x2000)
    await bench.wait(200)
    path.cycles = 3
    await bench.write(f"{upper}_ABORT", 1)
    await bench.outcomes(name, (9, _ABORTED))
    for base, response in bench.memory.faulty.items():
        found = await bench.completion(name)
        assert (found.status, found.place, found.response) == (Status.DESCRIPTOR_READ_ERROR, base, response)


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


@_BOTH
@simulated(Bench)
async def test_an_abort_shows_until_it_is_done(bench: Bench, ctx: Any, name: str, operation: int) -> None:
    path, registers = bench.paths[name], {"OFFLOAD_ABORT": int(operation == 1), "PREFETCH_ABORT": int(operation == 2)}
    path.busy = 0.0
    await bench.push(name, good(operation, tag=3))
    await bench.write(f"{name.upper()}_ABORT", 0)
    await bench.reads(**dict.fromkeys(registers, 0))
    await bench.write(f"{name.upper()}_ABORT", 1)
    await bench.reads(**registers)
    path.busy = 1.0
    await bench.outcomes(name, (3, _ABORTED))
    await bench.reads(**dict.fromkeys(registers, 0))


@simulated(Bench)
async def test_a_doorbell_around_a_soft_reset(bench: Bench, ctx: Any) -> None:
    """It comes before the reset as a whole, which forgets it, or as a whole behind it."""
    path, found = bench.paths["offload"], []
    for wait in (0, 4, 8, 40, 60):
        path.busy = 0.0
        await bench.push("offload", good(1))
        await bench.write("CONTROL", 1)
        path.busy = 1.0
        await bench.wait(wait)
        before = bench.resets
        await bench.write("PREFETCH_DOORBELL", 1)
        assert bench.resets == before, "a reset in the middle of an access"
        await bench.until("CONTROL", 1, 0)
        await bench.wait(200)
        found.append(await bench.read("PREFETCH_COMPLETIONS"))
        await bench.soft_reset()
    assert found == [0, 0, 0, 1, 1]


@_BOTH
@simulated(lambda: Bench(CONFIG.replace(page_lists=True, address_windows=True)))
async def test_a_soft_reset_waits_for_a_page_list(bench: Bench, ctx: Any, name: str, operation: int) -> None:
    """One that is read behind its transfer: the direction is busy until it has come, and windows stay."""
    listing = getattr(bench.dut, f"{name}_listing")
    ctx.set(listing, 1)
    await bench.reads(STATUS=operation)
    await bench.refused("LINK_BASE_LO", 0x7000, "REFUSED", 1)
    await bench.write("CONTROL", 1)
    await bench.wait(300)
    await bench.reads(CONTROL=1)
    assert bench.resets == 0
    # It comes, or its port is silent.
    ctx.set(listing if operation == 1 else bench.dut.silent, int(operation == 2))
    await bench.until("CONTROL", 1, 0)
    assert bench.resets == 1
    await bench.reads(STATUS=0 if operation == 1 else 2)


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
