"""The supervisor: every end of a transfer gives one result, and the path is stopped, drained and cleared before it."""

from __future__ import annotations

import random

import pytest

from hdl.config.engine import EngineConfig
from hdl.engine.paths.supervisor import Supervisor
from hdl.engine.transfer.records import Status
from tests.hdl.bench import clocked

_CONFIG = EngineConfig(lanes=3)


async def _request(ctx, dut: Supervisor, raw_bytes: int, source: int) -> None:
    ctx.set(dut.request.payload, {"raw_bytes": raw_bytes, "source": source})
    ctx.set(dut.request.valid, 1)
    await ctx.tick().until(dut.request.ready)
    ctx.set(dut.request.valid, 0)
    await ctx.tick().until(dut.begin)


async def _end(ctx, dut: Supervisor, busy: int = 7):
    """Lets the path be busy a while; the result."""
    cleared = 0
    for cycle in range(60):
        ctx.set(dut.unit_idle, 3 if cycle > busy else 1)
        if ctx.get(dut.clear):
            assert cycle > busy
            assert ctx.get(dut.stop)
            assert (ctx.get(dut.unit_stop), ctx.get(dut.unit_clear), ctx.get(dut.isolated)) == (3, 3, 0)
            cleared += 1
        if ctx.get(dut.result.valid):
            break
        await ctx.tick()
    assert cleared == 1
    result = ctx.get(dut.result.payload)
    ctx.set(dut.result.ready, 1)
    await ctx.tick()
    ctx.set(dut.result.ready, 0)
    ctx.set(dut.unit_idle, 0)
    assert not ctx.get(dut.result.valid)
    return result


@pytest.mark.parametrize(("raw_bytes", "last_block", "tail"), [
    (1, 0, 1), (4095, 0, 4095), (4096, 0, 4096), (4097, 1, 1), (3 * 4096 + 5, 3, 5)])
def test_a_transfer_that_succeeds(raw_bytes: int, last_block: int, tail: int) -> None:
    dut = Supervisor(_CONFIG, "source", 2)

    async def process(ctx) -> None:
        await _request(ctx, dut, raw_bytes, 5 * 4096)
        assert (ctx.get(dut.last_block), ctx.get(dut.tail_bytes), ctx.get(dut.first_lane)) == (last_block, tail, 2)
        for _ in range(5):
            await ctx.tick()
            assert not ctx.get(dut.stop)
        ctx.set(dut.totals, {"bytes": 12, "nonzero": 3, "raw_blocks": 1, "crc": 0xABCD})
        ctx.set(dut.finished, 1)
        await ctx.tick()
        ctx.set(dut.finished, 0)
        result = await _end(ctx, dut)
        assert result.status == Status.OK
        assert (result.bytes, result.nonzero, result.raw_blocks, result.crc) == (12, 3, 1, 0xABCD)
        assert (result.lane, result.resp, result.place) == (0, 0, 0)

    clocked(dut, process)


def test_faults_and_aborts_do_not_reach_the_next_transfer() -> None:
    dut = Supervisor(_CONFIG, "source", 2)

    async def process(ctx) -> None:
        await _request(ctx, dut, 9000, 0)
        ctx.set(dut.totals, {"bytes": 12, "nonzero": 3, "raw_blocks": 1, "crc": 7})
        ctx.set(dut.fault, {"valid": 1, "status": Status.LANE_READ_ERROR, "lane": 2, "resp": 3, "place": 0x1234})
        ctx.set(dut.finished, 1)
        await ctx.tick()
        ctx.set(dut.fault, {"valid": 0})
        ctx.set(dut.finished, 0)
        result = await _end(ctx, dut)
        assert (result.status, result.lane, result.resp, result.place) == (Status.LANE_READ_ERROR, 2, 3, 0x1234)
        assert (result.bytes, result.nonzero, result.raw_blocks, result.crc) == (0, 0, 0, 0)

        await _request(ctx, dut, 9000, 0)
        ctx.set(dut.abort, 1)
        await ctx.tick()
        result = await _end(ctx, dut)
        ctx.set(dut.abort, 0)
        assert (result.status, result.bytes, result.place) == (Status.ABORTED, 0, 0)

        await _request(ctx, dut, 9000, 0)
        ctx.set(dut.fault, {"valid": 1, "status": Status.CRC_MISMATCH})
        await ctx.tick()
        ctx.set(dut.fault, {"valid": 0})
        result = await _end(ctx, dut)
        assert (result.status, result.crc, result.bytes) == (Status.CRC_MISMATCH, 7, 0)

        await _request(ctx, dut, 9000, 0)
        ctx.set(dut.finished, 1)
        await ctx.tick()
        ctx.set(dut.finished, 0)
        assert (await _end(ctx, dut, busy=0)).status == Status.OK

    clocked(dut, process)


_TIMEOUT = {"valid": 1, "status": Status.LANE_READ_TIMEOUT, "lane": 1}
_SILENT = 2     # unit 1


async def _isolate(ctx, dut: Supervisor) -> None:
    """Runs a transfer until unit 1 is isolated and its timeout reported."""
    await _request(ctx, dut, 9000, 0)
    ctx.set(dut.unit_idle, 0)
    ctx.set(dut.silent, _SILENT)
    ctx.set(dut.fault, _TIMEOUT)
    for _ in range(20):
        await ctx.tick()
        assert not ctx.get(dut.result.valid), "unit 0 is not idle"
    ctx.set(dut.unit_idle, 1)
    result, = await ctx.tick().sample(dut.result.payload).until(dut.result.valid)
    assert (result.status, result.lane) == (Status.LANE_READ_TIMEOUT, 1)
    ctx.set(dut.result.ready, 1)
    await ctx.tick()
    ctx.set(dut.result.ready, 0)
    assert (ctx.get(dut.unit_stop), ctx.get(dut.isolated), ctx.get(dut.clear)) == (2, 2, 1)


async def _comes_back(ctx, dut: Supervisor) -> None:
    """The port of unit 1 finishes what is open: just that unit is reset, and the rest of the path goes on then."""
    ctx.set(dut.silent, 0)
    ctx.set(dut.fault, {"valid": 0})
    ctx.set(dut.unit_idle, 3)
    cleared = []
    while ctx.get(dut.clear):
        await ctx.tick()
        cleared.append(ctx.get(dut.unit_clear))
        assert len(cleared) < 10
    assert sorted(cleared)[-2:] == [0, 2], "it is reset once"
    assert not ctx.get(dut.unit_stop) and not ctx.get(dut.isolated)


def test_a_unit_with_a_silent_port_is_isolated() -> None:
    dut = Supervisor(_CONFIG, "source", 2)

    async def process(ctx) -> None:
        await _isolate(ctx, dut)
        # Later transfers have the same status as long as the port is silent.
        for _ in range(2):
            ctx.set(dut.request.valid, 1)
            await ctx.tick().until(dut.request.ready)
            ctx.set(dut.request.valid, 0)
            for _ in range(60):
                assert not ctx.get(dut.begin)
                if ctx.get(dut.result.valid):
                    break
                await ctx.tick()
            result = ctx.get(dut.result.payload)
            assert (result.status, result.lane, result.bytes, result.crc) == (Status.LANE_READ_TIMEOUT, 1, 0, 0)
            ctx.set(dut.result.ready, 1)
            await ctx.tick()
            ctx.set(dut.result.ready, 0)
        await _comes_back(ctx, dut)
        await _request(ctx, dut, 9000, 0)
        ctx.set(dut.finished, 1)
        await ctx.tick()
        ctx.set(dut.finished, 0)
        assert (await _end(ctx, dut)).status == Status.OK

    clocked(dut, process)


@pytest.mark.parametrize("ending", ["answers", "abort"])
def test_a_transfer_waits_for_an_isolated_unit(ending: str) -> None:
    dut = Supervisor(_CONFIG, "source", 2)
    rng = random.Random(ending)

    async def process(ctx) -> None:
        for _ in range(5):
            await _isolate(ctx, dut)
            ctx.set(dut.silent, 0)      # it answers something, but not all
            ctx.set(dut.fault, {"valid": 0})
            await ctx.tick().repeat(rng.randrange(1, 5))
            ctx.set(dut.request.valid, 1)
            await ctx.tick().until(dut.request.ready)
            ctx.set(dut.request.valid, 0)
            for _ in range(rng.randrange(100)):
                await ctx.tick()
                assert not ctx.get(dut.begin) and not ctx.get(dut.result.valid)
            if ending == "abort":
                ctx.set(dut.abort, 1)
                result, = await ctx.tick().sample(dut.result.payload).until(dut.result.valid)
                ctx.set(dut.abort, 0)
                assert (result.status, result.bytes) == (Status.ABORTED, 0)
                ctx.set(dut.result.ready, 1)
                await ctx.tick()
                ctx.set(dut.result.ready, 0)
                await _comes_back(ctx, dut)
            else:
                ctx.set(dut.unit_idle, 3)
                await ctx.tick().until(dut.begin)
                assert not ctx.get(dut.clear)
                ctx.set(dut.finished, 1)
                await ctx.tick()
                ctx.set(dut.finished, 0)
                assert (await _end(ctx, dut)).status == Status.OK

    clocked(dut, process)
