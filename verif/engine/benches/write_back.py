"""Write-back rings: records in link memory, their order behind the data, interrupts, errors, silence and resets.

A driver polls memory only. The memories check the rules of AXI for records as for data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge, with_timeout
from cocotb.utils import get_sim_time

from cdma.golden.engine import (
    OPEN,
    RECORD_BYTES,
    WINDOW_BYTES,
    Descriptor,
    Operation,
    Silence,
    Status,
    Window,
    Windows,
)
from cdma.verif.common.job import CLOCK_NS
from cdma.verif.engine.control import Channel, WriteBackRing, enabled
from cdma.verif.engine.lite import refused
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.recovery import (
    WRITE,
    goes_on,
    limit_ports,
    longest_silence,
    ports_are_back,
    reset_softly,
    right_pair,
    rounds,
)
from cdma.verif.engine.stimulus import random_behaviour, random_tensor
from cdma.verif.engine.testbench import EngineTestbench, ready, share

_SLVERR = 2
_ALL_CAUSES = 0xFF


def _mixed(bench: EngineTestbench, count: int) -> list[Descriptor]:
    """Descriptors of both directions, some of which are refused and some of which fail."""
    found = []
    for _ in range(count):
        tensor = random_tensor(bench.rng, bench.config, most_blocks=3)
        found.append(bench.offload(tensor, capacity=4 if bench.rng.random() < 0.2 else None))
        stream = bench.stream(tensor).copy()
        if bench.rng.random() < 0.2:
            stream[0] ^= 0x40
        found.append(bench.prefetch(stream, tensor, check_crc=False))
    bench.rng.shuffle(found)
    return found


async def _failed(channel: Channel, bench: EngineTestbench, cycles: int) -> bool:
    """Wait for the cause that says that a record could not be written."""
    return await bench.control.sets("IRQ_STATUS", f"{channel.prefix}_WRITE_BACK_ERROR", cycles)


async def _stop(rings: Mapping[Operation, WriteBackRing]) -> None:
    for ring in rings.values():
        await ring.disable()


@cocotb.test()
async def records_of_both_directions(dut: Any) -> None:
    """Every completion is a record, in order, around the ends of rings of many sizes; descriptors from both sources."""
    bench = await ready(dut)
    statuses = set()
    for entries in (2, 4, 16):
        bench.clear()
        await bench.behave(random_behaviour(bench.rng), random_behaviour(bench.rng))
        descriptor_rings = bench.rings(8) if entries == 4 else {}
        rings = bench.write_back(entries)
        descriptors = _mixed(bench, 6 + share(40))
        await bench.load()
        async with enabled(*rings.values(), *descriptor_rings.values()):
            statuses |= {done.status for done in await bench.run(descriptors, descriptor_rings)}
            for channel in bench.control.channels.values():
                assert await channel.read("COMPLETIONS") == 0 and await channel.read("COMPLETION_0") == 0
        await bench.quiet()
        await bench.compare()
        await bench.counters()
        bench.scoreboard.check()
    assert Status.OK in statuses and len(statuses) > 1, statuses


@cocotb.test()
async def full_rings(dut: Any) -> None:
    """A ring without a free place stops its direction and nothing is overwritten; the other direction goes on."""
    bench = await ready(dut)
    depth = bench.config.queue_depth
    for operation in Operation:
        bench.clear()
        rings = bench.write_back(4)
        descriptors = [right_pair(bench, 1)[operation - 1] for _ in range(depth + 5)]
        others = [right_pair(bench, 1)[2 - operation] for _ in range(4)]
        await bench.load()
        async with enabled(*rings.values()):
            channel, ring = bench.control.channels[operation], rings[operation]
            await channel.feed(descriptors)

            assert await bench.control.sets("STATUS", f"{channel.prefix}_BLOCKED", 20 * bench.patience(
                descriptors[0])), "a full ring does not show"
            state = await channel.fields("WRITE_BACK_STATUS")
            assert (state["WAITING"], state["FULL"]) == (depth, 1) and await ring.read("TAIL") == 3
            await bench.run(others)
            for descriptor in descriptors:
                await bench.completed(descriptor)
        await bench.quiet()
        await bench.compare()


@cocotb.test()
async def records_behind_their_data(dut: Any) -> None:
    """No record is asked for while a response to its transfer's data is missing, on whichever port."""
    bench = await ready(dut)
    for operation, channel in bench.control.channels.items():
        for lane in range(bench.config.lanes) if operation is Operation.PREFETCH else [0]:
            bench.clear()
            await bench.behave(Behaviour())
            rings = bench.write_back(4)
            tensor = random_tensor(bench.rng, bench.config, 3 * bench.config.lanes * bench.config.block_bytes)
            asked = bench.move(operation, tensor)
            await bench.load()
            await rings[operation].enable()
            await bench.link.clear()
            if operation is Operation.OFFLOAD:
                await bench.link.silence(("b",))
            else:
                await bench.device.silence(("b",), lane)
            await channel.push(asked)
            await bench.control.wait(bench.patience(asked) // 4)
            before = (await bench.link.traffic()).write_bursts
            assert await rings[operation].take() is None
            assert await bench.device.open() + await bench.link.open(), "no response is missing"
            for memory in (bench.device, bench.link):
                await memory.silence(())
            await bench.completed(asked)
            after = (await bench.link.traffic()).write_bursts
            # At the port's limit of open bursts, data wait for responses too; a record would be one more.
            assert after == before + 1 or before == bench.config.outstanding_reads, \
                f"{before} bursts were written before the responses came, {after} in all"
            await _stop(rings)
            await bench.compare()


@cocotb.test()
async def interrupts_by_count(dut: Any) -> None:
    """Without a time, the interrupt comes with the second record of two, and not before."""
    bench = await ready(dut)
    for number, (operation, channel) in enumerate(bench.control.channels.items()):
        bench.clear()
        await bench.behave(Behaviour())
        ring = bench.write_back(4)[operation]
        pair = [replace(right_pair(bench, 2)[number], interrupt=True) for _ in range(2)]
        await bench.load()
        await ring.enable(2, 0)
        bit = bench.control.mask("IRQ_STATUS", f"{channel.prefix}_COMPLETION")
        await bench.run(pair[:1])
        await bench.control.wait(500)
        assert not await bench.control.read("IRQ_STATUS") & bit, "the first of two records has an interrupt"
        await bench.run(pair[1:])
        assert await bench.control.sets("IRQ_STATUS", bit, 500), "two records have no interrupt"
        await bench.control.write("IRQ_STATUS", bit)
        await ring.disable()
        await bench.compare()


@cocotb.test()
async def interrupts_of_records(dut: Any) -> None:
    """A driver that looks for records only after a pulse, and clears causes first, misses none; with coalescing there
    are no more pulses than the count and the time allow."""
    bench = await ready(dut)
    for count, time in ((1, 0), (4, 20_000)):
        bench.clear()
        await bench.behave(Behaviour(latency=int(bench.rng.integers(40))))
        rings = bench.write_back(32)
        descriptors = [each for _ in range(5 + share(30)) for each in right_pair(bench, 2)]
        await bench.load()
        for ring in rings.values():
            await ring.enable(count, time)
        await bench.control.write("IRQ_ENABLE", _ALL_CAUSES)
        left = {operation: [each for each in descriptors if each.operation == operation] for operation in Operation}
        # Records without the flag are found with the others behind them: the last one has it.
        seen: list[int] = []
        began = get_sim_time("ns")
        feeders = [cocotb.start_soon(channel.feed([*left[operation]]))
                   for operation, channel in bench.control.channels.items()]

        async def watch(log: list[int] = seen) -> None:
            while True:
                await RisingEdge(dut.irq_pulse)
                log.append(1)

        watcher = cocotb.start_soon(watch())
        handled = 0
        flagged = [sum(each.interrupt for each in own) for own in left.values()]
        while any(any(each.interrupt for each in waiting) for waiting in left.values()):
            patience = 40 * bench.patience(descriptors[0])
            while handled == len(seen):
                await with_timeout(RisingEdge(dut.irq_pulse), patience * CLOCK_NS, "ns")
                await bench.control.wait(2)
            handled = len(seen)
            await bench.control.write("IRQ_STATUS", _ALL_CAUSES)
            for operation, ring in rings.items():
                while left[operation] and (done := await ring.take()) is not None:
                    bench.scoreboard.judge(left[operation].pop(0), done)
        for feeder in feeders:
            await feeder
        for waiting in left.values():
            for descriptor in waiting:
                await bench.completed(descriptor)
        watcher.cancel()
        cycles = round(get_sim_time("ns") - began) // CLOCK_NS
        reports = sum(each // count + (cycles // time if time else 0) for each in flagged)
        # An event in the cycle in which its bit is cleared may make a second pulse.
        assert len(seen) <= 2 * reports, f"{len(seen)} pulses, {reports} reports at most"
        await bench.control.write("IRQ_STATUS", _ALL_CAUSES)
        await bench.control.write("IRQ_ENABLE", 0)
        await _stop(rings)
        await bench.compare()


@cocotb.test()
async def records_that_cannot_be_written(dut: Any) -> None:
    """An error stops that ring alone; its completion and those behind it are in the window, and nothing is lost."""
    bench = await ready(dut)
    for operation, channel in bench.control.channels.items():
        bench.clear()
        await bench.behave(random_behaviour(bench.rng))
        rings = bench.write_back(8)
        descriptors = [each for _ in range(7) for each in right_pair(bench, 2)]
        await bench.load()
        bad = int(bench.rng.integers(1, 6))
        place = rings[operation].address + bad * RECORD_BYTES
        await bench.link.fail(place, place + RECORD_BYTES - 1, _SLVERR, reads=False)
        for ring in rings.values():
            await ring.enable()
        own = [each for each in descriptors if each.operation == operation]
        others = cocotb.start_soon(bench.run([each for each in descriptors if each.operation != operation]))
        await channel.feed(own)
        for descriptor in own[:bad]:
            await bench.completed(descriptor)
        assert await _failed(channel, bench, bench.patience(own[bad])), "no cause says that a record failed"
        # Responses to records behind it may be outstanding.
        await rings[operation].disable()
        assert await rings[operation].read("TAIL") == bad
        for descriptor in own[bad:]:
            await bench.completed(descriptor)
        await others
        await bench.link.heal()
        await rings[operation].accept()
        await _stop({each: ring for each, ring in rings.items() if each is not operation})
        await bench.control.write("IRQ_STATUS", _ALL_CAUSES)
        await goes_on(bench)


@cocotb.test()
async def links_that_do_not_answer(dut: Any) -> None:
    """Each write channel of the link stops: the ring is disabled within the time limit, and the completion is in the
    window. When the port is back, rings work."""
    bench = await ready(dut)
    await limit_ports(bench)
    for operation, channel in bench.control.channels.items():
        for silent in WRITE:
            bench.clear()
            await bench.behave(random_behaviour(bench.rng))
            rings = bench.write_back(4)
            asked = right_pair(bench, 2)[operation - 1]
            await bench.load()
            await rings[operation].enable()
            await bench.link.silence((silent,))
            if operation is Operation.OFFLOAD:
                bench.scoreboard.silence(Silence(Status.LINK_WRITE_TIMEOUT, 0))
            await channel.push(asked)
            latest = bench.patience(asked) + 4 * longest_silence(bench)
            assert await _failed(channel, bench, latest), "the ring waits for ever"
            assert await rings[operation].read("CONTROL") == 0 and await rings[operation].read("TAIL") == 0
            assert (await bench.control.fields("STATUS"))["LINK_WRITE_ISOLATED"]
            channel.records = None
            await bench.completed(asked)
            await bench.link.silence(())
            await ports_are_back(bench)
            await bench.control.write("IRQ_STATUS", _ALL_CAUSES)
            await rings[operation].accept()
            await rings[operation].enable()
            descriptors = right_pair(bench, 2)
            await bench.load_and_run(descriptors)
            await rings[operation].disable()
            await goes_on(bench)


@cocotb.test()
async def rings_outside(dut: Any) -> None:
    """A ring that ends beyond the last address, or is not inside the link's window, cannot be enabled: its direction
    keeps the register window, and nothing is written."""
    bench = await ready(dut)
    await bench.load()
    for operation, channel in bench.control.channels.items():
        bench.clear()
        ring = bench.write_back(64)[operation]
        size = ring.entries * RECORD_BYTES
        places = [((1 << bench.config.address_bits) - size + RECORD_BYTES, OPEN)]
        if bench.config.address_windows:
            first = bench.link_arena.take(4 * WINDOW_BYTES, align=WINDOW_BYTES)
            windows = Windows(link=Window(first + WINDOW_BYTES, first + 2 * WINDOW_BYTES))
            places += [(address, windows) for address in (first + WINDOW_BYTES - RECORD_BYTES,
                                                          first + 2 * WINDOW_BYTES - size + RECORD_BYTES)]
        for address, windows in places:
            if bench.config.address_windows:
                await bench.confine(windows)
            ring.address = address
            await ring.place()
            await refused(ring.write("CONTROL", 1), f"a write-back ring at {address:#x}")
            assert await ring.read("CONTROL") == 0
            assert (await channel.fields("REFUSED"))["WRITE_BACK"] == 1
            await channel.write("REFUSED", 0xF)
        if bench.config.address_windows:
            await bench.confine(OPEN)
        await goes_on(bench)


@cocotb.test()
async def resets_among_records(dut: Any) -> None:
    """A soft reset at any moment leaves no burst open, and rings set up anew work."""
    bench = await ready(dut)
    async for _ in rounds(bench, 2 + share(20)):
        rings = bench.write_back(4)
        descriptors = [each for _ in range(3) for each in right_pair(bench, bench.config.lanes)]
        await bench.load()
        for ring in rings.values():
            await ring.enable()
        await reset_softly(bench, descriptors)
        for ring in rings.values():
            await ring.accept()
            await ring.enable()
        await bench.compare()
        descriptors = right_pair(bench, 2)
        await bench.load_and_run(descriptors)
        await _stop(rings)
