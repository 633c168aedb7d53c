"""The offload path from request to result, against golden: streams, faults, aborts, and ports that do not answer."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest

from cdma.golden.engine import Descriptor, Operation, Response, Status
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.paths.offload import OffloadPath
from tests.hdl.bench import Bench
from tests.hdl.engine.paths.bench import CONFIG, LEAN, SINGLE, UNEVEN, PathBench


@lru_cache(maxsize=4)
def _prepared(config: EngineConfig) -> tuple[OffloadPath, Bench]:
    dut = OffloadPath(config)
    return dut, Bench(dut)


def _bench(config: EngineConfig, seed: int, pauses: float) -> PathBench:
    return PathBench(*_prepared(config), config, Operation.OFFLOAD, seed=seed, pauses=pauses)


def _asked(config: EngineConfig, **changes: Any) -> Descriptor:
    asked = Descriptor(operation=Operation.OFFLOAD, coding=config.numbers[-1], source=config.block_bytes,
                       destination=4096 - 64, raw_bytes=4 * config.block_bytes - 12, capacity=8192)
    return replace(asked, **changes)


@pytest.mark.parametrize(("config", "pauses"), [(CONFIG, 0.3), (UNEVEN, 0.0), (SINGLE, 0.0)])
def test_transfers(config: EngineConfig, pauses: float) -> None:
    bench = _bench(config, 1, pauses)
    block = config.block_bytes
    cases = [_asked(config), _asked(config, raw_bytes=config.element_bytes[0], capacity=16),
             _asked(config, source=0, raw_bytes=block), _asked(config, raw_bytes=2 * block + 4, destination=8192),
             _asked(config, fallback=False)]
    cases += ([_asked(config, narrow=1, raw_bytes=4 * block + 4), _asked(config, narrow=2, fallback=False)]
              if config.narrowing else
              [_asked(config, source=3 * block), _asked(config, leave_raw=True, capacity=4096)])

    async def process(ctx: Any) -> None:
        for asked in cases:
            assert (await bench.transfer(ctx, asked)).status is Status.OK
        for _ in range(2):
            await ctx.tick()
        assert bench.beats == bench.busy
        assert bench.memory_stalls > 0

    bench.run(process)


def test_faults_and_aborts_end_one_transfer_only() -> None:
    bench = _bench(CONFIG, 2, 0.2)

    async def process(ctx: Any) -> None:
        good = _asked(CONFIG)
        # The block at 1536 is that of lane 1.
        bench.fail_lane(1, 1536 + 16, Response.DECERR)
        found = await bench.transfer(ctx, good)
        assert (found.status, found.lane, found.response, found.place) == (Status.LANE_READ_ERROR, 1, 3, 1536)
        bench.mend()
        await bench.transfer(ctx, good)
        bench.fail_link(good.destination, Response.SLVERR)
        found = await bench.transfer(ctx, good)
        assert (found.status, found.response, found.place) == (Status.LINK_WRITE_ERROR, 2, good.destination)
        bench.mend()
        # The first block that does not fit, with nothing written behind the capacity.
        for capacity in (4, 700):
            found = await bench.transfer(ctx, replace(good, capacity=capacity))
            assert found.status is Status.DESTINATION_TOO_SMALL
        for wait in (0, 30, 120):
            await bench.aborted(ctx, good, wait)
        assert (await bench.transfer(ctx, good)).status is Status.OK

    bench.run(process)


def _row(config: EngineConfig, count: int) -> list[Descriptor]:
    """Transfers of different lengths from places that overlap; what they write lies in different pages."""
    block = config.block_bytes
    sizes = [3 * block, 4, block, 2 * block + 12, 64, 4 * block - 8, 16, block + 4]
    return [_asked(config, source=block * (1 + number % 5), raw_bytes=sizes[number % len(sizes)],
                   destination=4096 * (number % 16) - 32 * (number % 16 > 0), capacity=4000) for number in range(count)]


@pytest.mark.parametrize(("config", "pauses"), [(LEAN, 0.2), (UNEVEN, 0.0), (SINGLE, 0.3)])
def test_transfers_overlap(config: EngineConfig, pauses: float) -> None:
    bench = _bench(config, 5, pauses)
    asked = _row(config, 9)
    if config.narrowing:
        asked[2::3] = [replace(each, coding=0x12, narrow=1 + number % 2) for number, each in enumerate(asked[2::3])]

    async def process(ctx: Any) -> None:
        assert all(each.status is Status.OK for each in await bench.several(ctx, asked))

    bench.run(process)
    assert bench.most == min(config.transfers_in_flight + 1, len(asked))


def test_faults_and_aborts_among_transfers_that_overlap() -> None:
    """Errors of both memories, a small destination and an abort hit one transfer, and none of those around it."""
    bench = _bench(LEAN, 10, 0.1)
    asked = _row(LEAN, 7)
    asked[2] = replace(asked[2], capacity=8)
    bench.fail_link(asked[5].destination, Response.SLVERR)

    async def process(ctx: Any) -> None:
        found = await bench.several(ctx, asked)
        assert [each.status for each in found].count(Status.OK) == 5
        bench.mend()
        bench.fail_lane(0, 5 * 512, Response.DECERR)
        bench.fail_lane(1, 5 * 512, Response.DECERR)
        found = await bench.several(ctx, asked)
        assert Status.LANE_READ_ERROR in {each.status for each in found}
        bench.mend()
        first, *others = await bench.several(ctx, [asked[0], *asked[3:6]], aborts=0)
        assert first.status is Status.ABORTED
        assert all(each.status is Status.OK for each in others)

    bench.run(process)
    assert bench.most > 2


@pytest.mark.parametrize(("port", "status"), [(1, Status.LANE_READ_TIMEOUT), (2, Status.LINK_WRITE_TIMEOUT)])
def test_a_port_that_does_not_answer(port: int, status: Status) -> None:
    bench = _bench(CONFIG, 4, 0.1)
    bench.answers[port] = False

    async def process(ctx: Any) -> None:
        await bench.unanswered(ctx, _asked(CONFIG), port, status)

    bench.run(process)
