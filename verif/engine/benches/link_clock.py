"""A link with a clock of its own: any frequencies, resets of the link in mid-transfer, a clock that stands, and the
rate."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from cdma.golden.engine import Descriptor, Operation, Silence, Status
from cdma.hdl.engine.axi.bursts import burst_beats
from cdma.verif.engine.link_clock import TURN, LinkClock
from cdma.verif.engine.memory import ANSWER, Behaviour
from cdma.verif.engine.recovery import failing, faults, goes_on, ports_are_back, right_pair, tries
from cdma.verif.engine.stimulus import RawTensor, codings, random_behaviour, random_tensor
from cdma.verif.engine.testbench import EngineTestbench, ready, share

_RATIOS = (0.25, 0.61, 1.0, 1.37, 4.0)
_LIMIT = 13
_LONGEST_SILENCE = 2 << _LIMIT
_LOST = {Status.LINK_READ_ERROR, Status.LINK_WRITE_ERROR, Status.PAGE_LIST_READ_ERROR}
_SILENT = {Status.LINK_READ_TIMEOUT, Status.LINK_WRITE_TIMEOUT, Status.PAGE_LIST_READ_TIMEOUT}
_SLVERR = 2
_LATE = 2000        # cycles until a memory answers, so that a transfer is at work when the link is reset


def _clock(bench: EngineTestbench) -> LinkClock:
    assert bench.link_clock is not None
    return bench.link_clock


async def _ends(bench: EngineTestbench, descriptor: Descriptor, others: set[Status]) -> Status:
    """The status of a transfer that succeeds, or has one of the others; what it wrote then is unknown."""
    channel = bench.control.channels[Operation(descriptor.operation)]
    seen = await channel.completion(bench.patience(descriptor) + 4 * _LONGEST_SILENCE)
    if seen.status not in others:
        bench.scoreboard.judge(descriptor, seen)
        return seen.status
    assert (seen.tag, seen.operation) == (descriptor.tag, descriptor.operation), seen
    assert seen.status not in _LOST or seen.response == _SLVERR, seen
    bench.scoreboard.lost(descriptor)
    return seen.status


@cocotb.test()
async def any_frequencies(dut: Any) -> None:
    """Tensors there and back, with the link's clock slower and faster, and changing in mid-transfer."""
    bench = await ready(dut)
    for ratio in _RATIOS:
        _clock(bench).ratio = ratio
        await bench.behave(random_behaviour(bench.rng), random_behaviour(bench.rng))
        await bench.there_and_back([random_tensor(bench.rng, bench.config) for _ in range(share(12))])

    async def change() -> None:
        while True:
            await ClockCycles(dut.aclk, int(bench.rng.integers(1, 200)))
            _clock(bench).ratio = float(bench.rng.choice(_RATIOS))

    changing = cocotb.start_soon(change())
    await bench.there_and_back([random_tensor(bench.rng, bench.config) for _ in range(share(12))])
    changing.cancel()


@cocotb.test()
async def resets_of_the_link(dut: Any) -> None:
    """In mid-transfer, short and long: transfers succeed or end with an error of the link, without a time limit, and
    those after it succeed without a reset of the engine."""
    bench = await ready(dut)
    clock = _clock(bench)
    failed: list[Status] = []
    for _ in tries(share(30), failed):
        clock.ratio = float(bench.rng.choice(_RATIOS))
        await bench.behave(random_behaviour(bench.rng))
        bench.clear()
        descriptors = right_pair(bench, 4 * bench.config.lanes)
        await bench.load()
        await bench.push(descriptors)
        await bench.control.wait(int(bench.rng.integers(1, 1500)))
        for _ in range(int(bench.rng.integers(1, 4))):
            await clock.reset(int(bench.rng.choice((1, 1, 3, 100, 1000))))
            await bench.control.wait(int(bench.rng.integers(1, 200)))
        ended = [await _ends(bench, each, _LOST) for each in descriptors]
        failed += [each for each in ended if each is not Status.OK]
        await clock.opened()
        await goes_on(bench)
    assert failed, "no transfer met a reset"


@cocotb.test()
async def a_reset_while_most_reads_are_owed(dut: Any) -> None:
    """All bursts that the reader may have open are lost together: every beat is answered, and the transfer ends."""
    bench = await ready(dut)
    config = bench.config
    await bench.behave(Behaviour(), Behaviour(latency=_LATE))
    bench.page_share = 0
    longest = config.link_reads * burst_beats(config.link_beat_bytes, config.burst_beats) * config.link_beat_bytes
    size = max(1, min(longest, bench.link_arena.size // 4) // config.block_bytes) * config.block_bytes
    tensor = RawTensor(bench.rng.integers(1, 256, size, dtype=np.uint8), codings(config)[0])
    descriptor = bench.prefetch(bench.stream(tensor), tensor)
    await bench.load()
    await bench.push([descriptor])
    await bench.control.wait(_LATE // 2)
    await _clock(bench).reset(3)
    assert await _ends(bench, descriptor, _LOST) in _LOST
    await _clock(bench).opened()
    await goes_on(bench)


async def _spoilt(bench: EngineTestbench, operation: Operation, status: Status) -> Descriptor:
    """A transfer that will end with a status, unless that is an abort."""
    coding = codings(bench.config)[0]
    if (operation, status) in faults(bench):
        descriptor, fault = failing(bench, operation, status, coding)
        if fault is not None:
            memory, address = fault
            await bench.fail(memory, address, address, _SLVERR)
        return descriptor
    size = bench.config.lanes * bench.config.block_bytes
    if status is Status.BUFFER_PARITY:
        await bench.control.write("BUFFER_INJECT", 1 << 31 | (0 if operation is Operation.OFFLOAD else 8) << 8)
        # Blocks with payloads: without, the error would wait for the next transfer.
        return bench.move(operation, RawTensor(bench.rng.integers(1, 256, size, dtype=np.uint8), coding))
    if status is not Status.ABORTED:
        await bench.device.silence(("r", "b"))
    return bench.move(operation, random_tensor(bench.rng, bench.config, size, coding))


@cocotb.test()
async def resets_beside_other_faults(dut: Any) -> None:
    """The link is reset while a transfer is at work that fails for another reason: it ends with that status or with an
    error of the link, and those after it succeed."""
    bench = await ready(dut)
    await bench.control.write("TIME_LIMIT", _LIMIT << 8 | _LIMIT)
    others = {Status.LANE_READ_TIMEOUT, Status.LANE_WRITE_TIMEOUT, Status.ABORTED}
    others |= {Status.BUFFER_PARITY} if bench.config.buffer_parity else set()
    known = [*faults(bench), *((operation, status) for operation in Operation for status in sorted(others)
                               if status is not Status.LANE_READ_TIMEOUT)]
    for operation, status in known:
        bench.clear()
        # A prefetch has no writes open when a page turns out to be wrong, but reads.
        late_link = operation is Operation.PREFETCH and status.name.startswith("PAGE_")
        late, prompt = Behaviour(latency=_LATE), Behaviour()
        await bench.behave(prompt if late_link else late, late if late_link else prompt)
        descriptor = await _spoilt(bench, operation, status)
        await bench.load()
        await bench.push([descriptor])
        await bench.control.wait(_LATE // 2 + _LATE * late_link)
        await _clock(bench).reset(3)
        if status is Status.ABORTED:
            await bench.control.channels[operation].abort()
        await _ends(bench, descriptor, _LOST | (set() if (operation, status) in faults(bench) else others))
        await bench.device.silence(())
        await ports_are_back(bench)
        await bench.heal()
        await _clock(bench).opened()
        await goes_on(bench)


@cocotb.test()
async def requests_while_the_link_is_in_reset(dut: Any) -> None:
    """They end at once, and registers and lanes go on."""
    bench = await ready(dut)
    clock = _clock(bench)
    for stands in (False, True):
        bench.clear()
        await bench.behave(Behaviour())
        descriptors = right_pair(bench, 4 * bench.config.lanes)
        await bench.load()
        clock.stands = stands
        dut.link_aresetn.value = 0
        await ClockCycles(dut.aclk, 10)
        await bench.push(descriptors)
        for descriptor in descriptors:
            assert await _ends(bench, descriptor, _LOST) in _LOST
        clock.stands = False
        await clock.reset(2)
        await clock.opened()
        await goes_on(bench)


@cocotb.test()
async def a_clock_that_stands(dut: Any) -> None:
    """Transfers end with a timeout; when the clock runs again, or the link was reset meanwhile, the port is used
    again."""
    bench = await ready(dut)
    await bench.control.write("TIME_LIMIT", _LIMIT << 8 | _LIMIT)
    clock = _clock(bench)
    found: set[Status] = set()
    for number in tries(share(20), found):
        clock.ratio = float(bench.rng.choice(_RATIOS))
        await bench.behave(random_behaviour(bench.rng))
        bench.clear()
        descriptors = right_pair(bench, 8 * bench.config.lanes)
        await bench.load()
        await bench.push(descriptors)
        await bench.control.wait(int(bench.rng.integers(1, 1000)))
        bench.scoreboard.silence(Silence(Status.LINK_READ_TIMEOUT), Silence(Status.LINK_WRITE_TIMEOUT))
        clock.stands = True
        found |= {await _ends(bench, descriptor, _SILENT) for descriptor in descriptors} & _SILENT
        if number % 2:
            # Its level alone frees the port.
            dut.link_aresetn.value = 0
            await ports_are_back(bench)
            clock.stands = False
            await clock.reset(3)
            await clock.opened()
        else:
            clock.stands = False
        await ports_are_back(bench)
        await goes_on(bench)
    assert found, "no transfer met a clock that stands"


@cocotb.test()
async def the_rate_of_the_slower_side(dut: Any) -> None:
    """With memories that answer at once, a raw tensor takes a beat in nearly every cycle that the slowest side has.

    With few bursts outstanding, the engine waits for their responses through the crossing; with safe writes each is
    collected before it is sent, too. A lane with one burst outstanding waits for its memory.
    """
    bench = await ready(dut)
    config = bench.config
    beats = burst_beats(config.link_beat_bytes, config.burst_beats)
    for ratio in _RATIOS:
        _clock(bench).ratio = ratio
        await bench.behave(Behaviour())
        bench.clear()
        coding = codings(config)[-1]
        size = (1 << 17) // config.block_bytes * config.block_bytes
        tensor = RawTensor(bench.rng.integers(1, 256, size, dtype=np.uint8), coding)
        stream = bench.stream(tensor, leave_raw=True)
        offload = bench.offload(tensor, leave_raw=True)
        prefetch = bench.prefetch(stream, tensor)
        await bench.load()
        for descriptor in (offload, prefetch):
            (seen,) = await bench.run([descriptor])
            lane = size / config.beat_bytes
            if config.outstanding_reads == 1:
                lane += ANSWER * size / min(config.block_bytes, config.beat_bytes * burst_beats(
                    config.beat_bytes, config.burst_beats))
            least = max(stream.size / config.link_beat_bytes / min(ratio, 1.0), lane / config.lanes)
            # A burst is outstanding from its first beat that is collected to its response.
            sent = beats / min(ratio, 1.0)
            whole = sent + TURN / min(ratio, 1.0) + (beats if config.safe_writes and descriptor is offload else 0)
            outstanding = config.link_reads if descriptor is prefetch else config.outstanding_reads
            least += stream.size / (config.link_beat_bytes * beats) * max(0, whole / outstanding - sent)
            dut._log.info(f"{Operation(descriptor.operation).name} at {ratio}: {seen.cycles} cycles, {least:.0f} least")
            # A block is collected before it is sent.
            begins = 700 + config.block_bytes / config.beat_bytes
            assert seen.cycles <= 1.03 * least + begins, (ratio, descriptor.operation, seen.cycles, least)
        await bench.compare()
