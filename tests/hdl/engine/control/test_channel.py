"""A channel: descriptors in, transfers run in order, completions out, against golden and docs/errors.md."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from cdma.golden.engine import Completion, Status
from cdma.hdl.engine.control.descriptor import Operation
from tests.hdl.bench import pulse
from tests.hdl.engine.control.bench import good
from tests.hdl.engine.control.channel_bench import CONFIG, DEPTH, ChannelBench, account, any_descriptor, completed, runs


@pytest.mark.parametrize(("operation", "in_flight"), [
    (Operation.OFFLOAD, 4), (Operation.PREFETCH, 4), (Operation.OFFLOAD, 1), (Operation.PREFETCH, 3)])
def test_descriptors_of_all_kinds_in_order(operation: Operation, in_flight: int) -> None:
    bench = ChannelBench(operation, 5, in_flight)
    bench.slow = 150
    asked = [any_descriptor(bench, tag) for tag in range(40)]
    ran = [each for each in asked if runs(bench, each)]
    bench.outcomes = [each.outcome for each in ran]

    async def process(ctx: Any) -> None:
        for each in asked:
            await bench.push(ctx, each.descriptor, each.unread)
            for _ in range(bench.rng.choice([0, 0, 100])):
                await ctx.tick()
        await completed(ctx, bench, len(asked))
        assert not ctx.get(bench.dut.unread_waits)
        assert (ctx.get(bench.dut.level), ctx.get(bench.dut.completions), ctx.get(bench.dut.busy)) == (0, 0, 0)

    bench.run(process)
    seen = bench.seen
    assert seen.completions == [each.outcome for each in asked]
    assert len(seen.requests) == len(ran) > 15
    for request, each in zip(seen.requests, ran, strict=True):
        wanted = each.descriptor
        assert request == {
            "source": wanted.source, "destination": wanted.destination, "element": wanted.coding & 15,
            "exponents": 0, "fallback": 1, "leave_raw": 0, "narrow": 0, "raw_bytes": wanted.raw_bytes,
            "capacity": wanted.capacity, "packed_bytes": wanted.packed_bytes, "check_crc": 0, "crc": 0}
    # IRQ_STATUS: a completion with the flag, with any status; a status other than OK. One cycle for each.
    causes = [(each.descriptor.interrupt, each.outcome.status != Status.OK) for each in asked]
    assert seen.causes == [(int(flag), int(error)) for flag, error in causes if flag or error]
    assert seen.accounts == [account(bench, each) for each in ran if each.outcome.status == Status.OK]
    assert seen.most == in_flight
    # The cycles of a completion are those of its transfer, of the work before it and of the completion before it.
    cycles = [each.cycles for each, kind in zip(seen.completions, asked, strict=True) if runs(bench, kind)]
    assert all(taken + 20 <= found <= taken + 100 for taken, found in zip(seen.ran, cycles, strict=True))


def test_nothing_starts_while_the_completions_are_not_read() -> None:
    bench = ChannelBench(Operation.PREFETCH, 6)
    asked = [any_descriptor(bench, tag) for tag in range(30)]
    asked = [each for each in asked if not each.unread][:2 * DEPTH]
    bench.outcomes = [each.outcome for each in asked if runs(bench, each)]
    bench.pops = False

    async def process(ctx: Any) -> None:
        dut = bench.dut
        for each in asked:
            assert not ctx.get(dut.blocked)
            await bench.push(ctx, each.descriptor)
        for _ in range(1500):
            await ctx.tick()
        assert (ctx.get(dut.completions), ctx.get(dut.level)) == (DEPTH, len(asked) - DEPTH)
        assert (ctx.get(dut.blocked), ctx.get(dut.busy), ctx.get(dut.request.valid)) == (1, 0, 0)
        bench.pops = True
        await completed(ctx, bench, len(asked))
        assert not ctx.get(dut.blocked)

    bench.run(process)
    assert bench.seen.completions == [each.outcome for each in asked]


def test_aborts_and_holds() -> None:
    bench = ChannelBench(Operation.OFFLOAD, 7)
    count = 6
    descriptors = [good(1, tag=tag, raw_bytes=512) for tag in range(count)]
    done = Completion(tag=0, status=Status.OK, operation=1, bytes_written=40)
    bench.outcomes = [replace(done, tag=tag) for tag in range(count)]

    async def process(ctx: Any) -> None:
        dut, seen = bench.dut, bench.seen

        # An abort while nothing runs has no effect on what comes after it.
        await pulse(ctx, dut.abort)
        assert not ctx.get(dut.aborting)
        await bench.push(ctx, descriptors[0])
        await completed(ctx, bench, 1)
        # An abort ends the transfer that runs, and none of those that wait.
        bench.slow = 100_000
        for each in descriptors[1:3]:
            await bench.push(ctx, each)
        while len(seen.requests) < 2:
            await ctx.tick()
        bench.slow = 12
        await pulse(ctx, dut.abort)
        assert ctx.get(dut.aborting)
        await completed(ctx, bench, 3)
        # While the channel is held, what runs is aborted and nothing starts.
        bench.slow = 100_000
        for each in descriptors[3:5]:
            await bench.push(ctx, each)
        while len(seen.requests) < 4:
            await ctx.tick()
        bench.slow = 12
        ctx.set(dut.hold, 1)
        await completed(ctx, bench, 4)
        await bench.push(ctx, descriptors[5])
        for _ in range(200):
            await ctx.tick()
        assert (ctx.get(dut.level), ctx.get(dut.busy), len(seen.requests)) == (2, 0, 4)
        ctx.set(dut.hold, 0)
        await completed(ctx, bench, count)

    bench.run(process)
    found = [each.status for each in bench.seen.completions]
    assert found == [Status.OK, Status.ABORTED, Status.OK, Status.ABORTED, Status.OK, Status.OK]
    assert [each.bytes_written for each in bench.seen.completions] == [40, 0, 40, 0, 40, 40]
    assert bench.seen.accounts == 4 * [(512, 40)]


def test_an_abort_is_that_of_the_oldest() -> None:
    bench = ChannelBench(Operation.OFFLOAD, 8)
    done = Completion(tag=0, status=Status.OK, operation=1, bytes_written=40)
    bench.outcomes = [replace(done, tag=tag) for tag in range(5)]

    async def process(ctx: Any) -> None:
        dut, seen = bench.dut, bench.seen
        bench.slow = 100_000
        for tag in range(3):
            await bench.push(ctx, good(1, tag=tag, raw_bytes=512))
        while len(seen.requests) < 3:
            await ctx.tick()
        bench.slow = 12
        await pulse(ctx, dut.abort)
        await completed(ctx, bench, 3)
        bench.slow = 100_000
        for tag in (3, 4):
            await bench.push(ctx, good(1, tag=tag, raw_bytes=512))
        # One more is being checked, and is refused: the abort is not its.
        await bench.push(ctx, good(1, tag=5, raw_bytes=0))
        while len(seen.requests) < 5:
            await ctx.tick()
        for _ in range(60):
            await ctx.tick()
        ctx.set(dut.hold, 1)
        await completed(ctx, bench, 6)
        assert not ctx.get(dut.busy)

    bench.run(process)
    found = [(each.tag, each.status) for each in bench.seen.completions]
    assert found == [(0, Status.ABORTED), (1, Status.OK), (2, Status.OK), (3, Status.ABORTED), (4, Status.ABORTED),
                     (5, Status.BAD_RAW_BYTES)]


def test_an_abort_while_the_completion_before_is_written() -> None:
    """It is that of the transfer behind it, which has no result yet."""
    bench = ChannelBench(Operation.OFFLOAD, 9, in_flight=2)
    done = Completion(tag=0, status=Status.OK, operation=1, bytes_written=40)
    bench.outcomes = [replace(done, tag=tag) for tag in range(2)]

    async def process(ctx: Any) -> None:
        dut = bench.dut
        bench.slow = 1000
        for tag in range(2):
            await bench.push(ctx, good(1, tag=tag, raw_bytes=512))
        while len(bench.seen.requests) < 2:
            await ctx.tick()
        await ctx.tick().until(dut.result.valid)
        bench.ahead = True
        await ctx.tick().repeat(3)
        assert not ctx.get(dut.completions)
        await pulse(ctx, dut.abort)
        assert ctx.get(dut.aborting)
        await completed(ctx, bench, 2)

    bench.run(process)
    assert bench.seen.aborted == 1
    assert [each.status for each in bench.seen.completions] == [Status.OK, Status.ABORTED]


@pytest.mark.parametrize("operation", Operation, ids=lambda operation: operation.name.lower())
def test_pages_that_a_stream_takes(operation: Operation) -> None:
    """Streams that end with a page, 4 bytes before it, 4 bytes behind it; none are told of one that fails."""
    bench = ChannelBench(operation, 10, config=CONFIG.replace(page_lists=True))
    asked, right = [], []
    for tag, (page_size, pages, surplus) in enumerate(product((12, 13, 17, 21), (1, 2, 77), (-4, 0, 4))):
        size = (pages << page_size) + surplus
        what = good(operation.value, tag=tag, page_list=True, pages=100, page_size=page_size, capacity=1 << 32,
                    packed_bytes=0 if operation is Operation.OFFLOAD else size)
        fine = Completion(tag=tag, status=Status.OK, operation=operation.value,
                          bytes_written=size if operation is Operation.OFFLOAD else what.raw_bytes)
        bench.outcomes.append(fine if tag % 5 else replace(fine, status=Status.LINK_READ_TIMEOUT, bytes_written=0))
        asked.append(what)
        right.append(replace(bench.outcomes[-1], pages=pages + (surplus > 0) if tag % 5 else 0))

    async def process(ctx: Any) -> None:
        for each in asked:
            await bench.push(ctx, each)
        await completed(ctx, bench, len(asked))

    bench.run(process)
    assert [replace(each, cycles=0) for each in bench.seen.completions] == right
