"""Errors of parity in the lanes' memories: the transfer that meets one ends, those beside it do not."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Const, Module, Signal

from cdma.golden.engine import Descriptor, Operation, Status
from cdma.hdl.engine.transfer.buffers import LaneMemory
from tests.hdl.bench import clocked
from tests.hdl.engine.axi.memory import SIZE
from tests.hdl.engine.link.streams import sparse
from tests.hdl.engine.paths.bench import LEAN, PathBench, both, path

_PARITY = LEAN.replace(buffer_parity=True, safe_writes=True)
_MEMORIES = {
    Operation.OFFLOAD: [LaneMemory.RAW_BEATS, LaneMemory.DATA_ROWS, LaneMemory.TAG_ROWS, LaneMemory.FRAMED_ROWS],
    Operation.PREFETCH: [LaneMemory.PAYLOAD_ROWS, LaneMemory.METADATA_WORDS, LaneMemory.BURST_BEATS]}


def _parity(operation: Operation, seed: int) -> tuple[PathBench, Callable[..., Descriptor]]:
    """A bench, and its transfers of six blocks. Every block has zeros and others, so all memories of its coding are
    used; what transfers of other numbers read and write is elsewhere."""
    raw = sparse(random.Random(seed), SIZE)
    bench = PathBench(_PARITY, operation, seed=seed, pauses=0.2, device=raw)

    def asked(number: int = 0) -> Descriptor:
        if operation is Operation.OFFLOAD:
            return bench.asked(6 * 512 - 12, place=4096 * number, capacity=4096)
        return bench.asked(raw=raw[:6 * 512 - 12], place=4096 * number, device=8192 + 4096 * number)

    return bench, asked


@both
def test_an_error_in_a_lane_ends_the_transfer_that_meets_it(operation: Operation) -> None:
    """It is counted, and each byte of the destination is the old one or the right one."""
    bench, asked = _parity(operation, 3)

    async def process(ctx: Any) -> None:
        for memory in _MEMORIES[operation]:
            for lane in range(_PARITY.lanes):
                each, before, count = asked(), bytes(bench.lanes[0].content), bench.buffer_errors
                await bench.spoil(ctx, lane, memory.value % 8)
                found = await bench.transfer(ctx, each)
                assert (found.status, found.lane) == (Status.BUFFER_PARITY, lane), f"{memory.name} of lane {lane}"
                assert found.crc == found.bytes_written == 0
                assert bench.buffer_errors == count + 1
                if operation is Operation.PREFETCH:
                    for at in range(each.raw_bytes):
                        seen, place = bench.lanes[0].content[each.destination + at], each.destination + at
                        assert seen in (before[place], bench.golden.device.image[at]), f"byte {at} is wrong"
                bench.mend()
                await bench.once(ctx, each)

    bench.run(process)


@pytest.mark.parametrize("lanes", [1, 4, 5])
def test_errors_that_lanes_find_together_are_all_counted(lanes: int) -> None:
    """Each once, however long it is shown."""
    dut, m = path(_PARITY.replace(lanes=lanes), Operation.OFFLOAD), Module()
    dut._MustUse__silence = True        # Amaranth complains of components that are not elaborated
    shown = Signal(lanes)
    dut._protect(m, [SimpleNamespace(spoiled=bit, inject=Signal(8)) for bit in shown])

    async def process(ctx: Any) -> None:
        rng, before = random.Random(1), 0
        for _ in range(200):
            now = rng.getrandbits(lanes)
            ctx.set(shown, now)
            await ctx.tick()
            assert ctx.get(dut.events.buffer_errors) == (now & ~before).bit_count()
            before = now

    clocked(m, process)


@pytest.mark.parametrize("lanes", [1, 4, 5])
def test_lanes_that_wait_together_are_all_counted(lanes: int) -> None:
    dut, m = path(LEAN.replace(lanes=lanes), Operation.OFFLOAD), Module()
    dut._MustUse__silence = True        # Amaranth complains of components that are not elaborated
    memory, buffer = Signal(lanes), Signal(lanes)
    dut._count(m, Const(0), list(memory), list(buffer))

    async def process(ctx: Any) -> None:
        rng = random.Random(2)
        for _ in range(50):
            slow, empty = rng.getrandbits(lanes), rng.getrandbits(lanes)
            ctx.set(memory, slow)
            ctx.set(buffer, empty)
            await ctx.tick()
            assert ctx.get(dut.events.memory_stalls) == slow.bit_count()
            assert ctx.get(dut.events.buffer_stalls) == empty.bit_count()

    clocked(m, process)


@both
def test_an_error_in_a_lane_at_any_time(operation: Operation) -> None:
    """What ends with OK is right: from memories that answer at once too, with the error in the last beats."""
    bench = PathBench(_PARITY, operation, seed=5, pauses=0.0)
    for memory in bench.lanes:
        memory.latency = 0
    seen = set()

    async def process(ctx: Any) -> None:
        for memory in _MEMORIES[operation]:
            for wait in range(10, 150, 28):
                for injected in (True, False):      # a transfer behind it meets what was not read
                    asked = bench.asked(2 * 512, device=512 * bench.rng.randrange(100), place=0)
                    bench.golden.outcomes(asked)
                    await bench.begin(ctx, asked)
                    for _ in range(wait if injected else 0):
                        await ctx.tick()
                    ctx.set(bench.dut.inject, {"lane": wait % 2, "memories": injected << memory.value % 8})
                    await ctx.tick()
                    ctx.set(bench.dut.inject, {"lane": 0, "memories": 0})
                    found = await bench.result(ctx)
                    seen.add((injected, found.status))
                    bench.compare(asked, found.status is Status.OK)

    bench.run(process)
    assert seen == {(injected, status) for injected in (True, False) for status in (Status.OK, Status.BUFFER_PARITY)}


@both
def test_transfers_that_overlap_are_repeated_after_an_error_in_a_lane(operation: Operation) -> None:
    bench, asked = _parity(operation, 4)

    async def process(ctx: Any) -> None:
        for number, memory in enumerate(_MEMORIES[operation]):
            row = [asked(place) for place in range(5)]
            await bench.spoil(ctx, number % _PARITY.lanes, memory.value % 8)
            found = await bench.several(ctx, row)
            assert [each.status for each in found].count(Status.OK) >= 4
            assert bench.buffer_errors == number + 1
            bench.mend()

    bench.run(process)
    assert bench.most > 2
