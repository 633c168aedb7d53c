"""Both paths from request to result, against golden: streams, lengths, silent ports."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cdma.golden.engine import Operation, Status
from cdma.hdl.config.engine import EngineConfig
from tests.hdl.engine.axi.masters import bursts
from tests.hdl.engine.paths.bench import CONFIG, LEAN, SINGLE, UNEVEN, PathBench, both

_LANE_TIMEOUT = {Operation.OFFLOAD: Status.LANE_READ_TIMEOUT, Operation.PREFETCH: Status.LANE_WRITE_TIMEOUT}


@both
@pytest.mark.parametrize(("config", "pauses"), [(CONFIG, 0.3), (UNEVEN, 0.0), (SINGLE, 0.0)])
def test_transfers(config: EngineConfig, pauses: float, operation: Operation) -> None:
    bench = PathBench(config, operation, seed=1, pauses=pauses)
    block, element = config.block_bytes, config.element_bytes[0]
    cases: list[dict[str, Any]] = [
        {}, {"raw_bytes": element}, {"raw_bytes": block, "device": 0, "place": 0},
        {"raw_bytes": 2 * block + 4, "place": 8192}, {"device": 3 * block}, {"device": 4 * block}]
    if operation is Operation.OFFLOAD:
        cases += [{"raw_bytes": element, "capacity": 16}, {"fallback": False}]
        cases += [{"form": 2, "fallback": False}] if config.narrowing else [{"leave_raw": True, "capacity": 4096}]
    else:
        cases += [{"device": 4 * block, "check_crc": False}]
    if config.narrowing:
        cases += [{"form": 1, "raw_bytes": 4 * block + 4}, {"form": 2, "raw_bytes": 3 * block + 4}]

    async def process(ctx: Any) -> None:
        for case in cases:
            await bench.once(ctx, bench.asked(**case))
        await ctx.tick().repeat(2)
        assert bench.beats == bench.busy
        assert (bench.memory_stalls if operation is Operation.OFFLOAD else bench.buffer_stalls) > 0
        # Nothing waits while there is nothing to do.
        before = bench.memory_stalls, bench.buffer_stalls
        await ctx.tick().repeat(50)
        assert before == (bench.memory_stalls, bench.buffer_stalls)

    bench.run(process)


def test_a_crc_is_compared_if_its_own_stream_asks_for_it() -> None:
    """Streams of all lengths of their last beat; one that does not ask for it follows each that does, at once."""
    bench = PathBench(CONFIG, Operation.PREFETCH, seed=13, pauses=0.0)

    async def process(ctx: Any) -> None:
        asked = []
        for number in range(20):
            raw = bytes([1] * 4 * (number // 2 + 1)).ljust(512, b"\0")
            asked.append(bench.asked(raw=raw, coding=0x14, place=1024 * number, device=512 * number))
            wrong = number % 2 == 0
            asked[-1] = replace(asked[-1], check_crc=wrong, crc=asked[-1].crc ^ wrong)
        found = await bench.several(ctx, asked)
        assert [each.status for each in found] == [Status.CRC_MISMATCH, Status.OK] * 10
        assert len({each.packed_bytes % bench.config.link_beat_bytes for each in asked}) == 8

    bench.run(process)


def test_short_streams_wait_until_the_totals_before_them_are_kept() -> None:
    """Four lanes with marks of seven bits: totals are kept in five words, and a stream of one beat is over sooner."""
    bench = PathBench(LEAN.replace(lanes=4, burst_beats=16), Operation.PREFETCH, seed=15, pauses=0.0)
    asked = [bench.asked(raw=b"cDMA" * words, place=1024 * number, device=512 * number)
             for number, words in enumerate([7, 1, 1, 127, 1, 31, 1, 1, 95, 1, 63, 1])]

    async def process(ctx: Any) -> None:
        assert all(each.status is Status.OK for each in await bench.several(ctx, asked))

    bench.run(process, cycles=2000)


@both
def test_lengths_beyond_four_gibibytes(operation: Operation) -> None:
    """Their lowest 32 bits say one beat of the link, and no path ends with it."""
    bench = PathBench(CONFIG.replace(address_bits=40), operation, seed=12, pauses=0.0)

    async def process(ctx: Any) -> None:
        asked = bench.asked(16 * 512, device=0)
        far, beat = 1 << 32, bench.config.link_beat_bytes
        length = {"raw_bytes": far + beat, "capacity": far + beat, "packed_bytes": far + beat}
        await bench.begin(ctx, replace(asked, **length))
        while bench.beats < 20:
            assert not ctx.get(bench.dut.result.valid)
            await ctx.tick()
        ctx.set(bench.dut.abort, 1)
        assert (await bench.result(ctx)).status is Status.ABORTED
        ctx.set(bench.dut.abort, 0)

    bench.run(process)


@pytest.mark.parametrize(("operation", "port", "status"), [
    (Operation.OFFLOAD, 1, Status.LANE_READ_TIMEOUT), (Operation.OFFLOAD, 2, Status.LINK_WRITE_TIMEOUT),
    (Operation.PREFETCH, 1, Status.LANE_WRITE_TIMEOUT), (Operation.PREFETCH, 2, Status.LINK_READ_TIMEOUT)])
def test_a_port_that_does_not_answer(operation: Operation, port: int, status: Status) -> None:
    bench = PathBench(CONFIG, operation, seed=4, pauses=0.1)
    bench.answers[port] = False

    asked = bench.asked()

    async def process(ctx: Any) -> None:
        await bench.unanswered(ctx, asked, port, status)

    bench.run(process)
    if (operation, port) == (Operation.PREFETCH, 2):
        # The request that was shown, and those of the transfer that succeeds: none of an isolated port.
        assert len(bench.link.bursts) == 1 + len(bursts(asked.source, asked.packed_bytes, 32, CONFIG.burst_beats)) == 3


def test_a_port_of_lists_that_does_not_answer() -> None:
    """Of a list of three requests, that which was shown is the only one before the port answers."""
    config = LEAN.replace(page_lists=True)
    bench = PathBench(config, Operation.OFFLOAD, seed=8, pauses=0.1)
    port = config.lanes + 1
    bench.answers[port] = False
    asked = bench.asked(600, pages=[4096 * (1 + number % 12) for number in range(40)])

    async def process(ctx: Any) -> None:
        await bench.unanswered(ctx, asked, port, Status.PAGE_LIST_READ_TIMEOUT)

    bench.run(process)
    assert len(bench.lists[0].bursts) == 1 + 2


@both
def test_of_ports_that_fall_silent_together_the_first_is_told(operation: Operation) -> None:
    bench = PathBench(CONFIG, operation, seed=6, pauses=0.0)
    bench.answers = [True, False, False]

    async def process(ctx: Any) -> None:
        await bench.begin(ctx, bench.asked())
        await ctx.tick().repeat(60)
        ctx.set(bench.dut.silent, 0b110)
        found = await bench.result(ctx)
        assert (found.status, found.lane) == (_LANE_TIMEOUT[operation], 1)

    bench.run(process)


@both
def test_a_port_that_is_silent_for_others(operation: Operation) -> None:
    """A transfer that has nothing open at the link goes on, while a record or an entry there is not answered."""
    bench = PathBench(LEAN, operation, seed=2, pauses=0.0)
    for lane in bench.lanes:
        lane.latency = 600
    asked = bench.asked(1024)

    async def process(ctx: Any) -> None:
        await bench.begin(ctx, asked)
        if operation is Operation.PREFETCH:
            while not bench.link.bursts or bench.link.open:
                await ctx.tick()
        ctx.set(bench.dut.silent, 1 << LEAN.lanes)
        await ctx.tick().repeat(200)
        assert not ctx.get(bench.dut.result.valid)
        ctx.set(bench.dut.silent, 0)
        assert (await bench.result(ctx)).status is Status.OK

    bench.run(process)
