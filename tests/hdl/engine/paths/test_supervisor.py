"""The supervisor: every end of a transfer gives one result, and the path is stopped, drained and cleared before it."""

from __future__ import annotations

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
        ctx.set(dut.idle, cycle > busy)
        if ctx.get(dut.clear):
            assert cycle > busy
            assert ctx.get(dut.stop)
            cleared += 1
        if ctx.get(dut.result.valid):
            break
        await ctx.tick()
    assert cleared == 1
    result = ctx.get(dut.result.payload)
    ctx.set(dut.result.ready, 1)
    await ctx.tick()
    ctx.set(dut.result.ready, 0)
    ctx.set(dut.idle, 0)
    assert not ctx.get(dut.result.valid)
    return result


@pytest.mark.parametrize(("raw_bytes", "last_block", "tail"), [
    (1, 0, 1), (4095, 0, 4095), (4096, 0, 4096), (4097, 1, 1), (3 * 4096 + 5, 3, 5)])
def test_a_transfer_that_succeeds(raw_bytes: int, last_block: int, tail: int) -> None:
    dut = Supervisor(_CONFIG, "source")

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
    dut = Supervisor(_CONFIG, "source")

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
