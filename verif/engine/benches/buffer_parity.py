"""Errors in the buffers of lanes: each ends its transfer with a status and is counted, and the next transfer works.

Transfers that are alone in their direction fail. Where several are at work, they are repeated one at a time, and all
succeed: an error that is injected does not come again.
"""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from cdma.golden.codec.coding import Coding
from cdma.golden.engine import Completion, Descriptor, Operation, Status
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.transfer.buffers import LaneMemory
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.recovery import goes_on, rounds
from cdma.verif.engine.stimulus import RawTensor, codings, random_behaviour
from cdma.verif.engine.testbench import EngineTestbench, ready, share

_PREFETCH = 8       # the first memory of prefetch
_NOT_BUILT = 7      # no memory has this number
_OF_EXPONENTS = (LaneMemory.LINE_RECORDS, LaneMemory.FACT_BYTES, LaneMemory.METADATA_ROWS)


def _memories(config: EngineConfig) -> list[LaneMemory]:
    """The memories that an engine has."""
    return [each for each in LaneMemory
            if (each not in _OF_EXPONENTS or config.exponents)
            and (each is not LaneMemory.BURST_BEATS or config.safe_writes)]


def _operation(memory: LaneMemory) -> Operation:
    """The direction whose lanes have the memory."""
    return Operation.PREFETCH if memory.value >= _PREFETCH else Operation.OFFLOAD


def _tensor(bench: EngineTestbench, memory: LaneMemory, blocks: int, coding: Coding | None = None) -> RawTensor:
    """Blocks that are all coded and have zeros and others, so that each needs all memories of its coding."""
    built = codings(bench.config)
    if memory in _OF_EXPONENTS:
        built = tuple(each for each in built if each.exponents)
    coding = coding or Coding(int(bench.rng.choice(built)))
    count = blocks * bench.config.block_bytes // coding.element_bytes
    values = bench.rng.normal(0, 1, count).astype(np.float32)
    raw = {4: values, 2: (values.view(np.uint32) >> 16).astype(np.uint16),
           1: bench.rng.integers(1, 256, count, dtype=np.uint8)}[coding.element_bytes]
    raw[bench.rng.random(count) < 0.5] = 0
    return RawTensor(np.ascontiguousarray(raw).view(np.uint8), coding)


def _asked(bench: EngineTestbench, memory: LaneMemory, blocks: int) -> Descriptor:
    return bench.move(_operation(memory), _tensor(bench, memory, blocks))


async def _inject(bench: EngineTestbench, lane: int, memory: int) -> None:
    await bench.control.write("BUFFER_INJECT", 1 << 31 | memory << 8 | lane)


async def _count(bench: EngineTestbench, operation: Operation) -> int:
    return (await bench.control.fields("BUFFER_ERRORS"))[operation.name]


async def _alone(bench: EngineTestbench, memory: LaneMemory, lane: int, wait: int) -> Completion:
    """Run a transfer, and inject an error ``wait`` cycles after its start, or before it if that is 0."""
    descriptor = _asked(bench, memory, 3 * bench.config.lanes)
    await bench.load()
    channel = bench.control.channels[_operation(memory)]
    if not wait:
        await _inject(bench, lane, memory.value)
    await channel.push(descriptor)
    if wait:
        await bench.control.wait(wait)
        await _inject(bench, lane, memory.value)
    return await bench.completed(descriptor)


@cocotb.test()
async def errors_in_each_memory(dut: Any) -> None:
    """In every lane and memory, before a transfer and while it runs, under all behaviours of the memories."""
    bench = await ready(dut)
    for memory in _memories(bench.config):
        operation = _operation(memory)
        lanes = bench.rng.permutation(bench.config.lanes)[:share(4 * bench.config.lanes)]
        for number, lane in enumerate(map(int, lanes)):
            await bench.behave(*(random_behaviour(bench.rng) if number else Behaviour() for _ in range(2)))
            bench.scoreboard.spoil((operation, lane))
            before = await _count(bench, operation)
            wait = 0 if number % 2 == 0 else int(bench.rng.integers(1, 600))
            seen = await _alone(bench, memory, lane, wait)
            if seen.status is Status.OK and wait:
                # The transfer had read the memory for the last time: the error waits for the next one.
                bench.clear()
                seen = await _alone(bench, memory, lane, 0)
            assert seen.status is Status.BUFFER_PARITY, f"an error in {memory.name} of lane {lane} was not found"
            assert seen.lane == lane
            count = await _count(bench, operation)
            assert count == before + 1, f"BUFFER_ERRORS counts {count - before} errors, not 1"
            bench.scoreboard.spoil()
            await goes_on(bench)


@cocotb.test()
async def errors_among_transfers_that_overlap(dut: Any) -> None:
    """Both directions at work with several transfers: each succeeds, or one fails; no byte is wrong."""
    bench = await ready(dut)
    memories = _memories(bench.config)
    both = [[each for each in memories if _operation(each) is operation] for operation in Operation]
    async for _ in rounds(bench, share(12), 2):
        hit = [(own[int(bench.rng.integers(len(own)))], int(bench.rng.integers(bench.config.lanes))) for own in both]
        descriptors = [_asked(bench, memory, bench.config.lanes + int(bench.rng.integers(3)))
                       for _ in range(5) for memory, _ in hit]
        await bench.load()
        bench.scoreboard.spoil(*((_operation(memory), lane) for memory, lane in hit))
        before = [await _count(bench, operation) for operation in Operation]
        for memory, lane in hit:
            await _inject(bench, lane, memory.value)
        seen = await bench.run(descriptors)
        for number, operation in enumerate(Operation):
            failed = [each for each in seen if each.operation == operation and each.status is not Status.OK]
            assert len(failed) <= 1
            assert await _count(bench, operation) == before[number] + 1
        bench.scoreboard.spoil()
        await bench.compare()
        await bench.counters()


@cocotb.test()
async def errors_that_are_not_injected(dut: Any) -> None:
    """Lanes and memories that are not there, and writes without the bit, change nothing. A soft reset clears counts."""
    bench = await ready(dut)
    await bench.load()
    others = [(lane, memory) for lane in range(bench.config.lanes, 16) for memory in (0, _PREFETCH)]
    for lane, memory in (*others, (0, _NOT_BUILT), (0, 15)):
        await _inject(bench, lane, memory)
    await goes_on(bench)
    await bench.control.write("BUFFER_INJECT", 0)
    await bench.control.write("BUFFER_INJECT", _PREFETCH << 8)
    await goes_on(bench)
    assert await bench.control.read("BUFFER_INJECT") == 0
    assert await bench.control.read("BUFFER_ERRORS") == 0
    bench.scoreboard.spoil((Operation.OFFLOAD, 0))
    seen = await _alone(bench, LaneMemory.RAW_BEATS, 0, 0)
    assert seen.status is Status.BUFFER_PARITY
    assert await _count(bench, Operation.OFFLOAD) == 1
    bench.scoreboard.spoil()
    await bench.control.soft_reset()
    assert await bench.control.read("BUFFER_ERRORS") == 0
    await goes_on(bench)


@cocotb.test()
async def errors_in_every_coding(dut: Any) -> None:
    """An error in each coding, in the first, the second or the last of three transfers, each of which is handed over
    when the one before it has ended, but before its completion is taken."""
    bench = await ready(dut)
    built = codings(bench.config)
    for memory in (LaneMemory.FRAMED_ROWS, LaneMemory.PAYLOAD_ROWS):
        operation = _operation(memory)
        async for number in rounds(bench, max(3, len(built))):
            bench.page_share = number % 2
            descriptors = [bench.move(operation, _tensor(bench, memory, bench.config.lanes, built[number % len(built)]))
                           for _ in range(3)]
            await bench.load()
            bench.scoreboard.spoil((operation, 0))
            seen: list[Status] = []
            for place, descriptor in enumerate(descriptors):
                if place == number % 3:
                    await _inject(bench, 0, memory.value)
                await bench.push([descriptor])
                if place:
                    seen.append((await bench.completed(descriptors[place - 1])).status)
                await bench.control.sets(f"{operation.name}_COMPLETIONS", "COUNT", bench.patience(descriptor))
            seen.append((await bench.completed(descriptors[-1])).status)
            assert seen == [Status.BUFFER_PARITY if place == number % 3 else Status.OK for place in range(3)], seen
            bench.scoreboard.spoil()
