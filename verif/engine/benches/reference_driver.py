"""Transfers with the reference driver: blocking calls, errors, timeouts and resets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cocotb

from cdma.driver import Pages
from cdma.golden.engine import Operation, Status, Window
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.recovery import goes_on
from cdma.verif.engine.software import POLLS, Code, Software, error_text, started, two_transfers
from cdma.verif.engine.stimulus import random_tensor
from cdma.verif.engine.testbench import ready

_ATTRIBUTES = ("set_lane_attributes", "set_link_attributes")


@cocotb.test()
async def finds_the_engine(dut: Any) -> None:
    """Initialising reads the configuration of the engine; without an engine it returns an error."""
    bench, software = await started(dut)
    config = bench.config
    for name in ("lanes", "beat_bytes", "link_beat_bytes", "address_bits", "block_bytes", "queue_depth", "crc",
                 "narrowing", "page_lists", "address_windows", "attribute_registers", "write_back", "buffer_parity"):
        assert getattr(software.driver.state, name) == getattr(config, name), name
    if not config.page_lists:
        pages = Pages(0, 1, 12)
        assert await software.call("offload_pages", 0, pages, 4096, 8192, config.numbers[0]) == Code.NOT_BUILT
        assert await software.call("prefetch_pages", pages, 0, 4096, 4096, config.numbers[0], 0) == Code.NOT_BUILT
    if not config.address_windows:
        assert await software.call("set_windows", Window(), Window()) == Code.NOT_BUILT
        assert await software.call("lock_windows") == Code.NOT_BUILT
    assert await Software(bench, shift=4).init() == Code.NO_ENGINE


@cocotb.test()
async def there_and_back(dut: Any) -> None:
    """Blocking offloads and prefetches, all counts compared with golden."""
    bench, software = await started(dut)
    await bench.behave(Behaviour(latency=30, stalls=0.2))
    for _ in range(4):
        bench.clear()
        tensor = random_tensor(bench.rng, bench.config, narrows=False)
        room = await software.call("capacity", tensor.raw.size)
        assert room >= bench.stream(tensor).size
        offload = bench.offload(tensor, capacity=room)
        await bench.load()
        await software.succeeds(offload)
        packed = software.found
        await bench.compare()
        prefetch = bench.prefetch(bench.stream(tensor), tensor, check_crc=bench.config.crc, written=offload)
        status = await software.transfer(replace(prefetch, packed_bytes=packed.bytes_written, crc=packed.crc))
        assert status == Status.OK, error_text(status)
        assert software.found.bytes_written == tensor.raw.size
        assert software.found.pages == packed.pages
        bench.device_arena.view(prefetch.destination, tensor.raw.size)[:] = tensor.raw
        await bench.compare()


@cocotb.test()
async def events_and_counters(dut: Any) -> None:
    """An enabled event raises the interrupt until it is taken; counters count since they were last taken."""
    bench, software = await started(dut)
    tensor = random_tensor(bench.rng, bench.config, narrows=False)
    offload = bench.offload(tensor)
    await bench.load()
    for enabled in ((), ("OFFLOAD_ERROR",)):
        assert await software.call("enable_interrupts", *enabled) == 0
        assert await software.transfer(replace(offload, capacity=0)) == Status.DESTINATION_TOO_SMALL
        assert int(dut.irq.value) == bool(enabled)
        assert await software.call("take_events") == {"OFFLOAD_ERROR"}
        await bench.control.wait(2)
        assert int(dut.irq.value) == 0
        assert await software.call("take_events") == set()
    # Events of write-back are there only where it was built.
    built = 0 if bench.config.write_back else Code.NOT_BUILT
    events = (f"{each.name}_WRITE_BACK_ERROR" for each in Operation)
    assert await software.call("enable_interrupts", *events) == built
    assert await software.call("enable_interrupts") == 0
    await software.call("take_counters", Operation.OFFLOAD)
    assert await software.transfer(offload) == Status.OK
    right = await bench.control.channels[Operation.OFFLOAD].counters()
    counted = await software.call("take_counters", Operation.OFFLOAD)
    assert {name.upper(): value for name, value in counted.items()} == right
    assert right["RAW_BYTES"] == tensor.raw.size and right["BUSY_CYCLES"]
    assert not any((await software.call("take_counters", Operation.OFFLOAD)).values())


@cocotb.test()
async def errors(dut: Any) -> None:
    """Calls return statuses unchanged, and codes for a full and an empty queue."""
    bench, software = await started(dut)
    tensor = random_tensor(bench.rng, bench.config, narrows=False)
    offload = bench.offload(tensor)
    await bench.load()
    status = await software.call("offload", offload.source, offload.destination, tensor.raw.size, 0, tensor.coding)
    assert status == Status.DESTINATION_TOO_SMALL
    assert "capacity" in error_text(status)
    status = await software.call("offload", offload.source + 1, offload.destination, tensor.raw.size, 1 << 20,
                               tensor.coding)
    assert status == Status.BAD_SOURCE
    assert await software.poll(Operation.OFFLOAD) == Code.PENDING
    # Completions that are not taken stop the channel, so the queue fills.
    bad = replace(offload, coding=7)
    submitted = 0
    while await software.submit(bad, submitted) == 0:
        submitted += 1
        assert submitted <= 2 * bench.config.queue_depth + 1
        await bench.control.wait(100)
    assert await software.submit(bad, submitted) == Code.FULL
    assert await software.transfer(offload) == Code.BUSY
    for number in range(submitted):
        assert await software.wait(Operation.OFFLOAD) == (Status.CODING_NOT_BUILT, number)
    assert await software.transfer(offload) == Status.OK


@cocotb.test()
async def a_timeout_in_mid_transfer(dut: Any) -> None:
    """After a blocking call gave up, the next one returns its own result, and the late one is dropped."""
    bench, software = await started(dut)
    for operation in Operation:
        await bench.behave(Behaviour(latency=200, bandwidth=0.2))
        bench.clear()
        first, second = two_transfers(bench, operation)
        await bench.load()
        software.driver.state.polls = 2
        assert await software.transfer(first) == Code.TIMEOUT
        assert await bench.control.read("STATUS") & 1 << operation - 1, "the transfer is over already"
        software.driver.state.polls = POLLS
        assert await software.transfer(second) == Status.OK
        bench.scoreboard.expected(first)
        software.check(second)
        assert software.driver.state.late[operation - 1] == 0
        await bench.compare()
        # A late completion is not returned for a submitted descriptor either.
        software.driver.state.polls = 2
        assert await software.transfer(first) == Code.TIMEOUT
        assert software.driver.state.late[operation - 1] == 1
        software.driver.state.polls = POLLS
        assert await software.submit(second, 77) == 0
        assert await software.wait(operation) == (Status.OK, 77)
        software.check(second)
        # Several in a row, followed by submitted descriptors.
        software.driver.state.polls = 1
        for _ in range(3):
            assert await software.transfer(second) == Code.TIMEOUT
        software.driver.state.polls = POLLS
        for tag in (78, 79):
            assert await software.submit(replace(second, coding=7), tag) == 0
        for tag in (78, 79):
            assert await software.wait(operation) == (Status.CODING_NOT_BUILT, tag)
        assert await software.transfer(second) == Status.OK
        await bench.compare()


@cocotb.test()
async def draining(dut: Any) -> None:
    """After cdma_drain no buffer of the direction is in use and no completion is left; the other direction goes on."""
    bench, software = await started(dut)
    for operation in Operation:
        await bench.behave(Behaviour(latency=200, bandwidth=0.2))
        bench.clear()
        first, second = two_transfers(bench, operation)
        other, _ = two_transfers(bench, Operation(3 - operation))
        await bench.load()
        assert await software.submit(other, 5) == 0
        software.driver.state.polls = 2
        assert await software.transfer(first) == Code.TIMEOUT
        software.driver.state.polls = POLLS
        for tag in range(3):
            assert await software.submit(second, tag) == 0
        assert await software.call("drain", operation) == 0
        channel = bench.control.channels[operation]
        assert await channel.read("COMPLETIONS") == 0
        assert (await channel.fields("QUEUE"))["LEVEL"] == 0
        assert not await bench.control.read("STATUS") & 1 << operation - 1
        assert software.driver.state.late[operation - 1] == 0
        for descriptor in (first, second):
            bench.scoreboard.lost(descriptor)
        assert await software.wait(other.operation) == (Status.OK, 5)
        software.check(other)
        await bench.quiet()
        await bench.compare()
        await software.succeeds(second)
        assert await software.call("drain", operation) == 0      # with nothing to do


@cocotb.test()
async def attributes_of_ports(dut: Any) -> None:
    """What the driver chooses is at every burst; what does not fit is refused, and everything where no register is
    built."""
    bench, software = await started(dut)
    if not bench.config.attribute_registers:
        assert [await software.call(name, 15, 2, 5, 0) for name in _ATTRIBUTES] == 2 * [Code.NOT_BUILT]
        assert "FEATURES" in error_text(Code.NOT_BUILT)
        return
    user = (1 << bench.config.user_bits) - 1
    for name, memory in zip(_ATTRIBUTES, (bench.device, bench.link), strict=True):
        assert await software.call(name, 15, 2, 5, user) == 0
        await memory.expect(15 | 2 << 4 | 5 << 7 | user << 11)
    tensor = random_tensor(bench.rng, bench.config)
    offload = bench.offload(tensor)
    await bench.load()
    await software.succeeds(offload)
    await bench.compare()
    assert await software.call("set_lane_attributes", 15, 2, 5, user + 1) == (Code.ARGUMENT if user < 0xFFFF else 0)


@cocotb.test()
async def starts_on_a_silent_link(dut: Any) -> None:
    """Without a time limit the engine waits for a link that does not answer: a new driver resets it, and knows when the
    buffers of the old transfer are free."""
    bench, software = await started(dut)
    tensor = random_tensor(bench.rng, bench.config)
    offload = bench.offload(tensor)
    await bench.load()
    await bench.link.silence(("aw", "w"))
    await bench.control.write("TIME_LIMIT", 0)
    await bench.control.channels[Operation.OFFLOAD].push(offload)
    await bench.control.wait(20_000)
    assert not await bench.control.channels[Operation.OFFLOAD].read("COMPLETIONS")
    assert await software.init() == 0
    for channel in bench.control.channels.values():
        channel.forget()
    assert not await bench.control.read("STATUS") & 0xFFFF
    assert await software.call("isolated", Operation.OFFLOAD) == 1
    assert await software.call("isolated", Operation.PREFETCH) == 0
    await bench.link.silence(())
    for _ in range(1000):
        if not await software.call("isolated", Operation.OFFLOAD):
            break
    bench.scoreboard.lost(offload)
    await goes_on(bench)


@cocotb.test()
async def a_reset_that_does_not_end(dut: Any) -> None:
    """The driver stops waiting and returns an error."""
    bench = await ready(dut)
    software = Software(bench, stuck=bench.control.registers["CONTROL"].offset)
    assert await software.init() == Code.RESET
    assert "reset" in error_text(Code.RESET)
