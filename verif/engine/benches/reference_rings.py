"""Rings of descriptors with the reference driver, alone and beside the descriptor window."""

from __future__ import annotations

from typing import Any

import cocotb

from cdma.golden.engine import Operation, Status
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.software import POLLS, Code, RingMemory, started, two_transfers


@cocotb.test()
async def ring_and_window(dut: Any) -> None:
    """An entry of the ring takes the place that the driver has just read as free: the driver returns CDMA_E_FULL."""
    bench, software = await started(dut)
    await bench.behave(Behaviour(latency=100, bandwidth=0.1))
    channel = bench.control.channels[Operation.OFFLOAD]
    long, short = two_transfers(bench, Operation.OFFLOAD, blocks=16 * bench.config.lanes)
    ring = RingMemory(software, 4)
    await bench.load()
    assert await ring.set_up(Operation.OFFLOAD) == 0
    assert await ring.submit(short, 1000, publish=False) == 0
    assert await software.submit(long, 0) == 0
    # Descriptors leave the queue until as many are at work as may be: those behind them fill it but for one place.
    sent = 1
    while (await channel.fields("QUEUE"))["LEVEL"] < bench.config.queue_depth - 1:
        assert await software.submit(short, sent) == 0
        sent += 1
        await bench.control.wait(100)

    async def overtake() -> None:
        await channel.write("RING_TAIL", 1)
        while await channel.read("RING_HEAD") != 1:
            await bench.control.wait(10)

    queue = bench.control.registers["OFFLOAD_QUEUE"].offset
    software.after[queue] = overtake
    assert await software.submit(short, 2000) == Code.FULL
    assert queue not in software.after, "the driver did not read whether a place is free"
    assert (await channel.fields("COMPLETIONS"))["COUNT"] == 0, "the long transfer ended too early to fill the queue"
    for tag in (*range(sent), 1000):
        assert await software.wait(Operation.OFFLOAD) == (Status.OK, tag)
    assert await software.submit(short, 2001) == 0
    assert await software.wait(Operation.OFFLOAD) == (Status.OK, 2001)
    assert await software.poll(Operation.OFFLOAD) == Code.PENDING
    for descriptor in (long, short):
        bench.scoreboard.expected(descriptor)
    await bench.compare()


@cocotb.test()
async def a_ring_changed_in_mid_fetch(dut: Any) -> None:
    """A ring is replaced while one of its entries is being read: after that the engine reads only the new ring."""
    bench, software = await started(dut)
    await bench.behave(Behaviour(), Behaviour(latency=250))
    channel = bench.control.channels[Operation.OFFLOAD]
    _, short = two_transfers(bench, Operation.OFFLOAD)
    ahead = bench.config.entries_ahead
    rings = [RingMemory(software, entries) for entries in (64, 32, 128)]
    await bench.load()
    for number, ring in enumerate(rings):
        assert await ring.set_up(Operation.OFFLOAD) == 0
        assert await channel.read("RING_BASE_LO") == ring.place % (1 << 32)
        assert await channel.read("RING_BASE_HI") == ring.place >> 32
        assert await channel.read("RING_SIZE") == ring.entries
        for entry in range(ahead + 2):
            assert await ring.submit(short, 100 * number + entry, publish=entry == ahead + 1) == 0
        before = (await bench.link.traffic(0)).read_bursts
        await channel.write("RING_TAIL", ahead + 2)
        while (await bench.link.traffic(0)).read_bursts == before:
            await bench.control.wait(1)
    # Of each replaced ring, only the entries that were being read are executed; of the last ring, all are.
    done: list[list[int]] = [[], [], []]
    while len(done[2]) < ahead + 2:
        status, tag = await software.wait(Operation.OFFLOAD)
        assert status == Status.OK
        done[tag // 100].append(tag % 100)
    assert await software.poll(Operation.OFFLOAD) == Code.PENDING
    assert [tags == list(range(len(tags))) for tags in done] == 3 * [True], done
    assert all(1 <= len(tags) <= ahead for tags in done[:2]), done
    assert await software.transfer(short) == Status.OK
    bench.scoreboard.expected(short)
    await bench.compare()
    # A read of an entry that takes longer than the driver waits.
    software.driver.state.polls = 2
    await bench.behave(Behaviour(), Behaviour(latency=2000))
    assert await ring.submit(short, 30) == 0
    assert await rings[0].set_up(Operation.OFFLOAD) == Code.TIMEOUT
    software.driver.state.polls = POLLS
    assert await software.wait(Operation.OFFLOAD) == (Status.OK, 30)
