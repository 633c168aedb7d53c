"""Page lists of both paths: pages in any order, and lists that are left over, end early or cannot be read."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from cdma.golden.engine import Operation, Response, Status
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.pages import PAGES_BITS
from tests.hdl.engine.axi.memory import SIZE
from tests.hdl.engine.paths.bench import LEAN, SINGLE, PathBench, both, lane_place


@pytest.mark.parametrize("in_flight", [1, 2])
@both
def test_streams_in_pages(operation: Operation, in_flight: int) -> None:
    """Pages in any order; between them a stream that is not in pages; at last a list with too few entries."""
    config = LEAN.replace(page_lists=True, transfers_in_flight=in_flight)
    bench = PathBench(config, operation, seed=in_flight, pauses=0.1)
    places = [*range(0, 0xE000, 4096)]
    random.Random(in_flight).shuffle(places)
    taken = iter(places)
    asked = []
    for number, (size, count) in enumerate([(7 * 512 + 12, 2), (512, 1), (2000, 0), (15 * 512, 3), (8192, 3)]):
        flat: dict[str, Any] = {} if count else {"place": 0xE000}
        asked.append(bench.asked(size, device=8192 * number, pages=[next(taken) for _ in range(count)], **flat))
    if operation is Operation.OFFLOAD:
        asked[2] = replace(asked[2], capacity=4096)

    async def process(ctx: Any) -> None:
        for each in await bench.several(ctx, asked):
            assert each.status is Status.OK
        assert bench.most == in_flight + 1
        # An error among them: those behind it run again, by their lists.
        for lane in range(2):
            bench.fail_lane(lane, lane_place(asked[3]) + 512, Response.DECERR)
        found = await bench.several(ctx, asked)
        assert [number for number, each in enumerate(found) if each.status is not Status.OK] == [3]
        bench.mend()
        for wait in range(0, 40, 4):
            await bench.aborted(ctx, asked[3], wait)
        if operation is Operation.OFFLOAD:
            # The port of lists is silent for others: nothing is read here.
            ctx.set(bench.dut.silent, 1 << config.lanes + 1)
            await bench.once(ctx, asked[2])
            ctx.set(bench.dut.silent, 0)
        # The list ends before the stream does.
        raw = bench.rng.randbytes(16384)
        short = replace(bench.asked(raw=raw, device=0, pages=[next(taken) for _ in range(5)]), pages=1)
        assert (await bench.transfer(ctx, short)).status is Status.PAGE_LIST_TOO_SHORT
        await bench.once(ctx, asked[1])

    bench.run(process)


class _Once(dict[int, int]):
    """Errors of which each is answered once."""

    def get(self, place: int, default: int = 0) -> int:  # type: ignore[override]
        return self.pop(place, default)


async def _left_over(ctx: Any, bench: PathBench) -> None:
    """Runs a transfer whose list of 64 entries is still being read when it has ended: its stream needs one of them."""
    asked, memory = bench.asked(512, pages=[0x1000]), bench.lists[0]
    await bench.begin(ctx, replace(asked, pages=64))
    while not memory.bursts:
        await ctx.tick()
    memory.latency = 1000
    assert (await bench.result(ctx, alone=False)).status is Status.OK
    await ctx.tick().repeat(20)
    assert memory.open


@pytest.mark.parametrize(("config", "place"), [(LEAN, 0xF000), (SINGLE, 0xEF40)])
@both
def test_a_list_that_is_read_behind_the_result(operation: Operation, config: EngineConfig, place: int) -> None:
    """The path says so until nothing more is read of it, also where its second 16 entries cross 4 KiB, which the reader
    of a path with one list asks for one after the other."""
    bench = PathBench(config.replace(page_lists=True), operation, seed=3, pauses=0.0)
    bench._lists_end = place
    dut, memory = bench.dut, bench.lists[0]

    async def process(ctx: Any) -> None:
        await _left_over(ctx, bench)
        while ctx.get(dut.listing):
            await ctx.tick()
        read = len(memory.bursts)
        for _ in range(300):
            assert not (memory.open or ctx.get(dut.lists.arvalid) or ctx.get(dut.listing))
            await ctx.tick()
        assert len(memory.bursts) == read

    bench.run(process)


@both
def test_a_list_that_is_left_over_at_a_silent_port(operation: Operation) -> None:
    """The port counts as isolated until it answers. A transfer that needs none of it is not ended for it, until another
    one is aborted: then the port's unit is stopped, and transfers wait for it."""
    bench = PathBench(LEAN.replace(page_lists=True), operation, seed=3, pauses=0.0)
    dut, silent = bench.dut, 1 << len(bench.dut.silent) - 1

    async def process(ctx: Any) -> None:
        await _left_over(ctx, bench)
        assert ctx.get(dut.listing) and not ctx.get(dut.isolated)
        ctx.set(dut.silent, silent)
        bench.lists[0].silent = True
        assert ctx.get(dut.listing) and ctx.get(dut.isolated) == silent
        if operation is Operation.OFFLOAD:
            for each in bench.lanes:
                each.latency = 300
            for wanted in (Status.OK, Status.ABORTED, Status.PAGE_LIST_READ_TIMEOUT, Status.PAGE_LIST_READ_TIMEOUT):
                await bench.begin(ctx, bench.asked(1024))
                if wanted is Status.ABORTED:
                    ctx.set(dut.abort, 1)
                found = await bench.result(ctx, alone=False)
                ctx.set(dut.abort, 0)
                assert found.status is wanted
                assert ctx.get(dut.isolated) == silent
        ctx.set(dut.silent, 0)
        bench.lists[0].silent = False
        while bench.lists[0].open:
            await ctx.tick()
        await ctx.tick().repeat(20)
        assert not ctx.get(dut.isolated) and not ctx.get(dut.listing)

    bench.run(process)


@both
def test_all_bits_of_the_length_of_a_list_count(operation: Operation) -> None:
    bench = PathBench(LEAN.replace(page_lists=True), operation, seed=3, pauses=0.0)
    asked = bench.asked(512, pages=[0x1000])

    async def process(ctx: Any) -> None:
        for bit in range(PAGES_BITS):
            await bench.begin(ctx, replace(asked, pages=1 << bit))
            assert (await bench.result(ctx)).status is Status.OK, f"bit {bit}"

    bench.run(process)


def test_a_list_is_given_again_after_an_error() -> None:
    """That of a transfer which meets an error while the list of one behind it is given already, and all run again."""
    config = LEAN.replace(page_lists=True, transfers_in_flight=4)
    bench = PathBench(config, Operation.OFFLOAD, seed=7, pauses=0.0, device=bytes(SIZE))
    asked = [bench.asked(60 * 512, device=0, pages=[0x1000]), bench.asked(512, device=0x8000, place=0x8000),
             bench.asked(512, device=0x9000, pages=[0x3000])]
    # In a run alone the first one would be found to fail; this error is not met again.
    bench.lanes[1].faulty = _Once({15 * 512: Response.DECERR})

    async def process(ctx: Any) -> None:
        assert all(each.status is Status.OK for each in await bench.several(ctx, asked))
        assert not bench.lanes[1].faulty

    bench.run(process)
