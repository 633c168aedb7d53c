"""Transfers with the reference driver: blocking calls, errors, timeouts and resets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cocotb

from cdma.golden.engine import Operation, Status
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.recovery import goes_on
from cdma.verif.engine.software import POLLS, Code, error_text, started, two_transfers
from cdma.verif.engine.stimulus import random_tensor


@cocotb.test()
async def finds_the_engine(dut: Any) -> None:
    """Initialising reads the configuration of the engine."""
    bench, software = await started(dut)
    config = bench.config
    for name in ("lanes", "beat_bytes", "link_beat_bytes", "address_bits", "block_bytes", "queue_depth", "crc",
                 "narrowing", "page_lists", "address_windows", "attribute_registers", "write_back", "buffer_parity"):
        assert getattr(software.driver.state, name) == getattr(config, name), name


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
