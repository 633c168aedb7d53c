"""Transfers with the reference driver: blocking calls, errors, timeouts and resets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cocotb

from cdma.golden.engine import Operation, Status
from cdma.hdl.engine.control.table import COUNTERS
from cdma.verif.engine.c_driver import LONG, OWN_TAGS, POLLS, Code, check_result, reference, two_transfers
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.recovery import goes_on
from cdma.verif.engine.stimulus import random_tensor
from cdma.verif.engine.testbench import ready


@cocotb.test()
async def finds_the_engine(dut: Any) -> None:
    """Initialising reads the configuration of the engine; without an engine it returns an error."""
    bench = await ready(dut)
    driver = reference(bench)
    assert await driver.init() == 0
    config = bench.config
    built = [await driver.call("built", number) for number in range(11)]
    assert built == [config.lanes, config.beat_bytes, config.link_beat_bytes, config.address_bits, config.block_bytes,
                     config.queue_depth, config.crc, config.narrowing, config.address_windows,
                     config.page_lists, config.write_back]
    if not config.page_lists:
        assert await driver.move("offload_pages", 0, 0, 1, 12, 4096, 8192, config.numbers[0]) == Code.NOT_BUILT
        assert await driver.move("prefetch_pages", 0, 1, 12, 0, 4096, 4096, config.numbers[0], 0) == Code.NOT_BUILT
    if not config.address_windows:
        assert await driver.call("set_windows", *map(LONG, (0, 0, 0, 0))) == Code.NOT_BUILT
        assert await driver.call("lock_windows") == Code.NOT_BUILT
    assert await reference(bench, shift=4).init() == Code.NO_ENGINE


@cocotb.test()
async def there_and_back(dut: Any) -> None:
    """Blocking offloads and prefetches, all counts compared with golden."""
    bench = await ready(dut)
    await bench.behave(Behaviour(latency=30, stalls=0.2))
    driver = reference(bench)
    assert await driver.init() == 0
    for _ in range(4):
        bench.clear()
        tensor = random_tensor(bench.rng, bench.config, narrows=False)
        room = await driver.call("capacity", LONG(tensor.raw.size))
        assert room >= bench.stream(tensor).size
        offload = bench.offload(tensor, capacity=room)
        await bench.load()
        status = await driver.transfer(offload)
        assert status == Status.OK, driver.text(status)
        packed = driver.found()
        check_result(bench, driver, offload)
        await bench.compare()
        prefetch = bench.prefetch(bench.stream(tensor), tensor, check_crc=bench.config.crc, written=offload)
        status = await driver.transfer(replace(prefetch, packed_bytes=packed["bytes"], crc=packed["crc"]))
        assert status == Status.OK, driver.text(status)
        assert driver.found()["bytes"] == tensor.raw.size
        assert driver.found()["pages"] == packed["pages"]
        bench.device_arena.view(prefetch.destination, tensor.raw.size)[:] = tensor.raw
        await bench.compare()


@cocotb.test()
async def events_and_counters(dut: Any) -> None:
    """An enabled event raises the interrupt until it is taken; counters count since they were last taken."""
    bench = await ready(dut)
    driver = reference(bench)
    assert await driver.init() == 0
    tensor = random_tensor(bench.rng, bench.config, narrows=False)
    offload = bench.offload(tensor)
    await bench.load()
    error = next(field.mask for field in bench.control.registers["IRQ_STATUS"].fields if field.name == "OFFLOAD_ERROR")
    for enabled in (0, error):
        await driver.call("enable_interrupts", enabled)
        assert await driver.transfer(replace(offload, capacity=0)) == Status.DESTINATION_TOO_SMALL
        assert int(dut.irq.value) == bool(enabled)
        assert await driver.call("take_events") == error
        await bench.control.wait(2)
        assert int(dut.irq.value) == 0
        assert await driver.call("take_events") == 0
    # Events of write-back are there only where it was built.
    built = 0 if bench.config.write_back else Code.NOT_BUILT
    assert await driver.call("enable_interrupts", 0x88) == built
    assert await driver.call("enable_interrupts", 0) == 0
    counted = (LONG * len(COUNTERS))()
    await driver.call("take_counters", int(Operation.OFFLOAD), counted)
    assert await driver.transfer(offload) == Status.OK
    right = await bench.control.channels[Operation.OFFLOAD].counters()
    await driver.call("take_counters", int(Operation.OFFLOAD), counted)
    assert dict(zip(COUNTERS, counted, strict=True)) == right
    assert right["RAW_BYTES"] == tensor.raw.size and right["BUSY_CYCLES"]
    await driver.call("take_counters", int(Operation.OFFLOAD), counted)
    assert not any(counted)


@cocotb.test()
async def errors(dut: Any) -> None:
    """Calls return statuses unchanged, and codes for a full and an empty queue; every code has its sentence."""
    bench = await ready(dut)
    driver = reference(bench)
    assert await driver.init() == 0
    tensor = random_tensor(bench.rng, bench.config, narrows=False)
    offload = bench.offload(tensor)
    await bench.load()
    status = await driver.move("offload", offload.source, offload.destination, tensor.raw.size, 0, tensor.coding)
    assert status == Status.DESTINATION_TOO_SMALL
    assert "capacity" in driver.text(status)
    status = await driver.move("offload", offload.source + 1, offload.destination, tensor.raw.size, 1 << 20,
                               tensor.coding)
    assert status == Status.BAD_SOURCE
    assert await driver.call("poll", int(Operation.OFFLOAD), driver.result) == Code.PENDING
    texts = {driver.text(code) for code in [*(each.value for each in Status), *Code]}
    assert len(texts) == len(Status) + len(Code)
    assert driver.text(0x99) == driver.text(min(Code) - 1) == "unknown error"
    assert await driver.submit(offload, OWN_TAGS) == Code.TAG
    assert await driver.submit(replace(offload, operation=3), 1) == Code.ARGUMENT
    assert await driver.submit(replace(offload, coding=0x114), 1) == Code.ARGUMENT
    for name in ("poll", "drain"):
        assert await driver.call(name, 0, *([driver.result] if name == "poll" else [])) == Code.ARGUMENT
    # Completions that are not taken stop the channel, so the queue fills.
    bad = replace(offload, coding=7)
    submitted = 0
    while await driver.submit(bad, submitted) == 0:
        submitted += 1
        assert submitted <= 2 * bench.config.queue_depth + 1
        await bench.control.wait(100)
    assert await driver.submit(bad, submitted) == Code.FULL
    assert await driver.transfer(offload) == Code.BUSY
    for number in range(submitted):
        assert await driver.wait(Operation.OFFLOAD) == (Status.CODING_NOT_BUILT, number)
    assert await driver.transfer(offload) == Status.OK


@cocotb.test()
async def a_timeout_in_mid_transfer(dut: Any) -> None:
    """After a blocking call gave up, the next one returns its own result, and the late one is dropped."""
    bench = await ready(dut)
    driver = reference(bench)
    assert await driver.init() == 0
    for operation in Operation:
        await bench.behave(Behaviour(latency=200, bandwidth=0.2))
        bench.clear()
        first, second = two_transfers(bench, operation)
        await bench.load()
        await driver.call("set_polls", 2)
        assert await driver.transfer(first) == Code.TIMEOUT
        assert await bench.control.read("STATUS") & 1 << operation - 1, "the transfer is over already"
        await driver.call("set_polls", POLLS)
        assert await driver.transfer(second) == Status.OK
        bench.scoreboard.expected(first)
        check_result(bench, driver, second)
        assert await driver.call("late", int(operation)) == 0
        await bench.compare()
        # A late completion is not returned for a submitted descriptor either.
        await driver.call("set_polls", 2)
        assert await driver.transfer(first) == Code.TIMEOUT
        assert await driver.call("late", int(operation)) == 1
        await driver.call("set_polls", POLLS)
        assert await driver.submit(second, 77) == 0
        assert await driver.wait(operation) == (Status.OK, 77)
        check_result(bench, driver, second)
        # Several in a row, followed by submitted descriptors.
        await driver.call("set_polls", 1)
        for _ in range(3):
            assert await driver.transfer(second) == Code.TIMEOUT
        await driver.call("set_polls", POLLS)
        for tag in (78, 79):
            assert await driver.submit(replace(second, coding=7), tag) == 0
        for tag in (78, 79):
            assert await driver.wait(operation) == (Status.CODING_NOT_BUILT, tag)
        assert await driver.transfer(second) == Status.OK
        await bench.compare()


@cocotb.test()
async def draining(dut: Any) -> None:
    """After cdma_drain no buffer of the direction is in use and no completion is left; the other direction goes on."""
    bench = await ready(dut)
    driver = reference(bench)
    assert await driver.init() == 0
    for operation in Operation:
        await bench.behave(Behaviour(latency=200, bandwidth=0.2))
        bench.clear()
        first, second = two_transfers(bench, operation)
        other, _ = two_transfers(bench, Operation(3 - operation))
        await bench.load()
        assert await driver.submit(other, 5) == 0
        await driver.call("set_polls", 2)
        assert await driver.transfer(first) == Code.TIMEOUT
        await driver.call("set_polls", POLLS)
        for tag in range(3):
            assert await driver.submit(second, tag) == 0
        assert await driver.call("drain", int(operation)) == 0
        channel = bench.control.channels[operation]
        assert await channel.read("COMPLETIONS") == 0
        assert (await channel.fields("QUEUE"))["LEVEL"] == 0
        assert not await bench.control.read("STATUS") & 1 << operation - 1
        assert await driver.call("late", int(operation)) == 0
        for descriptor in (first, second):
            bench.scoreboard.lost(descriptor)
        assert await driver.wait(other.operation) == (Status.OK, 5)
        check_result(bench, driver, other)
        await bench.quiet()
        await bench.compare()
        assert await driver.transfer(second) == Status.OK
        check_result(bench, driver, second)
        assert await driver.call("drain", int(operation)) == 0      # with nothing to do


@cocotb.test()
async def time_limits(dut: Any) -> None:
    """Cycles are rounded up to a power of two, and only 0 is no limit; the largest that the register holds is used."""
    bench = await ready(dut)
    driver = reference(bench)
    assert await driver.init() == 0
    for link, lanes, limit in ((0, 1, 0x0100), (2, 3, 0x0201), (1 << 20, (1 << 20) + 1, 0x1514),
                               (1 << 31, (1 << 64) - 1, 0x1F1F)):
        await driver.call("set_time_limit", LONG(link), LONG(lanes))
        assert await bench.control.read("TIME_LIMIT") == limit


@cocotb.test()
async def attributes_of_ports(dut: Any) -> None:
    """What the driver chooses is at every burst; what does not fit is refused, and everything where no register is
    built."""
    bench = await ready(dut)
    driver = reference(bench)
    assert await driver.init() == 0
    if not bench.config.attribute_registers:
        assert [await driver.call("set_attributes", link, 15, 2, 5, 0) for link in (0, 1)] == 2 * [Code.NOT_BUILT]
        assert "FEATURES" in driver.text(Code.NOT_BUILT)
        return
    user = (1 << bench.config.user_bits) - 1
    for link, memory in ((0, bench.device), (1, bench.link)):
        for refused in ((4, 0, 0, 0), (16, 0, 0, 0), (0, 8, 0, 0), (0, 0, 16, 0), (0, 0, 0, 1 << 16)):
            assert await driver.call("set_attributes", link, *refused) == Code.ARGUMENT
        assert await driver.call("set_attributes", link, 15, 2, 5, user) == 0
        await memory.expect(15 | 2 << 4 | 5 << 7 | user << 11)
    tensor = random_tensor(bench.rng, bench.config)
    offload = bench.offload(tensor)
    await bench.load()
    assert await driver.transfer(offload) == Status.OK
    check_result(bench, driver, offload)
    await bench.compare()
    assert await driver.call("set_attributes", 0, 15, 2, 5, user + 1) == (Code.ARGUMENT if user < 0xFFFF else 0)


@cocotb.test()
async def starts_on_a_silent_link(dut: Any) -> None:
    """Without a time limit the engine waits for a link that does not answer: a new driver resets it, and knows when the
    buffers of the old transfer are free."""
    bench = await ready(dut)
    driver = reference(bench)
    assert await driver.init() == 0
    tensor = random_tensor(bench.rng, bench.config)
    offload = bench.offload(tensor)
    await bench.load()
    await bench.link.silence(("aw", "w"))
    await bench.control.write("TIME_LIMIT", 0)
    await bench.control.channels[Operation.OFFLOAD].push(offload)
    await bench.control.wait(20_000)
    assert not await bench.control.channels[Operation.OFFLOAD].read("COMPLETIONS")
    assert await driver.init() == 0
    for channel in bench.control.channels.values():
        channel.forget()
    assert not await bench.control.read("STATUS") & 0xFFFF
    assert await driver.call("isolated", int(Operation.OFFLOAD)) == 1
    assert await driver.call("isolated", int(Operation.PREFETCH)) == 0
    await bench.link.silence(())
    for _ in range(1000):
        if not await driver.call("isolated", int(Operation.OFFLOAD)):
            break
    bench.scoreboard.lost(offload)
    await goes_on(bench)


@cocotb.test()
async def a_reset_that_does_not_end(dut: Any) -> None:
    """The driver stops waiting and returns an error."""
    bench = await ready(dut)
    driver = reference(bench, stuck=bench.control.registers["CONTROL"].offset)
    assert await driver.init() == Code.RESET
    assert "reset" in driver.text(Code.RESET)
