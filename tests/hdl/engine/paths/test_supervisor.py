"""The supervisor: every end of a transfer gives one result, and the path is stopped, drained and cleared before it."""

from __future__ import annotations

import random

import pytest
from amaranth.lib import stream

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.paths.supervisor import Supervisor
from cdma.hdl.engine.transfer.records import Status
from tests.hdl.bench import clocked, pulse

_CONFIG = EngineConfig(lanes=3)


async def _request(ctx, dut: Supervisor, raw_bytes: int, source: int) -> None:
    ctx.set(dut.request.payload, {"raw_bytes": raw_bytes, "source": source, "destination": 3 * source + raw_bytes,
                                  "capacity": raw_bytes << 20})
    ctx.set(dut.request.valid, 1)
    await ctx.tick().until(dut.request.ready)
    ctx.set(dut.request.valid, 0)
    # What comes after a request is no part of it.
    ctx.set(dut.request.payload, {"raw_bytes": 77, "source": 55 * 4096})


async def _taken(ctx, transfers: stream.Interface):
    """The next transfer of ``launch`` or ``follow``."""
    ctx.set(transfers.ready, 1)
    payload, = await ctx.tick().sample(transfers.payload).until(transfers.valid)
    ctx.set(transfers.ready, 0)
    return payload


async def _begin(ctx, dut: Supervisor, raw_bytes: int, source: int):
    await _request(ctx, dut, raw_bytes, source)
    return await _taken(ctx, dut.launch)


async def _complete(ctx, dut: Supervisor, **totals: int) -> None:
    ctx.set(dut.totals.payload, {"bytes": 12, "nonzero": 3, "raw_blocks": 1, "crc": 0xABCD, **totals})
    ctx.set(dut.totals.valid, 1)
    await ctx.tick().until(dut.totals.ready)
    ctx.set(dut.totals.valid, 0)


async def _result(ctx, dut: Supervisor):
    result, = await ctx.tick().sample(dut.result.payload).until(dut.result.valid)
    await pulse(ctx, dut.result.ready)
    assert not ctx.get(dut.result.valid)
    return result


async def _succeeds(ctx, dut: Supervisor) -> None:
    await _complete(ctx, dut)
    assert (await _result(ctx, dut)).status == Status.OK


async def _fails(ctx, dut: Supervisor, fault: dict | None, busy: int = 7) -> None:
    """A fault, or an abort, which lasts until the path is cleared; that is once, when the path is not busy any more."""
    ctx.set(dut.fault, fault or {})
    ctx.set(dut.abort, not fault)
    cleared = 0
    for cycle in range(30):
        ctx.set(dut.unit_idle, 3 if cycle > busy else 1)
        assert not ctx.get(dut.isolated), "nothing was told yet"
        if ctx.get(dut.clear):
            assert cycle > busy
            assert ctx.get(dut.stop)
            assert (ctx.get(dut.unit_stop), ctx.get(dut.unit_clear)) == (3, 3)
            ctx.set(dut.fault, {"valid": 0})
            cleared += 1
        await ctx.tick()
        if cleared:
            ctx.set(dut.abort, 0)
            break
    assert cleared == 1
    ctx.set(dut.unit_idle, 0)


@pytest.mark.parametrize(("raw_bytes", "last_block", "tail"), [
    (1, 0, 1), (4095, 0, 4095), (4096, 0, 4096), (4097, 1, 1), (3 * 4096 + 5, 3, 5)])
def test_a_transfer_that_succeeds(raw_bytes: int, last_block: int, tail: int) -> None:
    dut = Supervisor(_CONFIG, "source", 2)

    async def process(ctx) -> None:
        launched = await _begin(ctx, dut, raw_bytes, 5 * 4096)
        followed = await _taken(ctx, dut.follow)
        for each in (launched, followed):
            assert (each.last_block, each.first_lane) == (last_block, 2)
        assert (launched.tail_bytes, launched.transfer.source) == (tail, 5 * 4096)
        assert (followed.transfer.destination, followed.transfer.capacity) == (15 * 4096 + raw_bytes, raw_bytes << 20)
        most = {"bytes": (1 << 40) - 1, "nonzero": (1 << 40) - 2, "raw_blocks": 1 << 31, "crc": (1 << 32) - 3}
        await _complete(ctx, dut, **most)
        result = await _result(ctx, dut)
        assert result.status == Status.OK
        assert {name: getattr(result, name) for name in most} == most
        assert (result.lane, result.resp, result.place) == (0, 0, 0)
        assert not ctx.get(dut.stop) and not ctx.get(dut.clear)

    clocked(dut, process)


@pytest.mark.parametrize("in_flight", [1, 4])
def test_faults_and_aborts_do_not_reach_the_next_transfer(in_flight: int) -> None:
    dut = Supervisor(_CONFIG.replace(lanes=16, transfers_in_flight=in_flight), "source", 2)

    async def process(ctx) -> None:
        await _begin(ctx, dut, 9000, 0)
        await _fails(ctx, dut, {"valid": 1, "status": Status.LANE_READ_ERROR, "lane": 15, "resp": 3, "place": 0x1234})
        result = await _result(ctx, dut)
        assert (result.status, result.lane, result.resp, result.place) == (Status.LANE_READ_ERROR, 15, 3, 0x1234)
        assert (result.bytes, result.nonzero, result.raw_blocks, result.crc) == (0, 0, 0, 0)

        await _begin(ctx, dut, 9000, 0)
        await _fails(ctx, dut, None)
        result = await _result(ctx, dut)
        assert (result.status, result.bytes, result.place) == (Status.ABORTED, 0, 0)

        await _begin(ctx, dut, 9000, 0)
        await _taken(ctx, dut.follow)
        await _complete(ctx, dut, mismatch=1)
        result = await _result(ctx, dut)
        assert (result.status, result.crc, result.bytes) == (Status.CRC_MISMATCH, 0xABCD, 0)

        await _begin(ctx, dut, 9000, 0)
        await _taken(ctx, dut.follow)
        await _succeeds(ctx, dut)

    clocked(dut, process)


def test_transfers_overlap_up_to_their_number() -> None:
    dut = Supervisor(_CONFIG.replace(transfers_in_flight=3), "source", 2)
    rng = random.Random(1)

    async def process(ctx) -> None:
        for number in range(3):
            assert (await _begin(ctx, dut, 100 + number, 4096 * number)).tail_bytes == 100 + number
        ctx.set(dut.request.valid, 1)
        for _ in range(20):
            await ctx.tick()
            assert not ctx.get(dut.request.ready)
        ctx.set(dut.request.valid, 0)
        taken = 0
        for number in range(3, 30):
            while taken < number and (taken < number - 2 or rng.random() < 0.5):
                followed = await _taken(ctx, dut.follow)
                assert (followed.transfer.capacity >> 20, followed.first_lane) == (100 + taken, taken % 3)
                taken += 1
            await _complete(ctx, dut, bytes=number)
            assert (await _result(ctx, dut)).bytes == number
            launched = await _begin(ctx, dut, 100 + number, 4096 * number)
            assert (launched.tail_bytes, launched.first_lane) == (100 + number, number % 3)

    clocked(dut, process)


def test_after_a_fault_transfers_are_run_one_at_a_time() -> None:
    """Three transfers: the first fault is of any of them; run again, the first succeeds, the second fails alone."""
    dut = Supervisor(_CONFIG, "source", 2)
    fault = {"valid": 1, "status": Status.LANE_READ_ERROR, "lane": 1, "resp": 2, "place": 0x99}

    async def process(ctx) -> None:
        async def alone() -> None:
            ctx.set(dut.launch.ready, 1)
            for _ in range(40):
                await ctx.tick()
                assert not ctx.get(dut.launch.valid)
            ctx.set(dut.launch.ready, 0)

        for number in range(3):
            await _begin(ctx, dut, 100 + number, 4096 * number)
        await _taken(ctx, dut.follow)
        await _fails(ctx, dut, fault)
        assert not ctx.get(dut.result.valid)
        for number in range(2):
            launched = await _taken(ctx, dut.launch)
            assert (launched.tail_bytes, launched.first_lane) == (100 + number, number)
            assert (await _taken(ctx, dut.follow)).transfer.capacity >> 20 == 100 + number
            await alone()
            if number == 0:
                await _succeeds(ctx, dut)
        await _fails(ctx, dut, fault)
        result = await _result(ctx, dut)
        assert (result.status, result.place) == (Status.LANE_READ_ERROR, 0x99)
        # From here on they overlap again.
        for number in range(2, 5):
            if number > 2:
                await _request(ctx, dut, 100 + number, 4096 * number)
            assert (await _taken(ctx, dut.launch)).tail_bytes == 100 + number
        for number in range(2, 5):
            assert (await _taken(ctx, dut.follow)).transfer.capacity >> 20 == 100 + number

    clocked(dut, process)


def test_a_fault_beside_a_list_that_is_read_ahead() -> None:
    """It may be one of the transfer behind, so the oldest is run again, and reported if it fails alone."""
    dut = Supervisor(_CONFIG.replace(page_lists=True), "source", 2)
    fault = {"valid": 1, "status": Status.LINK_WRITE_ERROR, "resp": 2}

    async def process(ctx) -> None:
        await _request(ctx, dut, 100, 0)
        for ahead in (1, 0):
            assert (await _taken(ctx, dut.launch)).tail_bytes == 100
            ctx.set(dut.ahead, ahead)
            await _fails(ctx, dut, fault)
            for _ in range(10):
                assert not (ahead and ctx.get(dut.result.valid))
                await ctx.tick()
        assert (await _result(ctx, dut)).status == Status.LINK_WRITE_ERROR

    clocked(dut, process)


@pytest.mark.parametrize("cause", [None, {"valid": 1, "status": Status.LINK_WRITE_TIMEOUT}])
def test_aborts_and_timeouts_are_those_of_the_oldest(cause: dict | None) -> None:
    dut = Supervisor(_CONFIG, "source", 2)

    async def process(ctx) -> None:
        for number in range(3):
            await _begin(ctx, dut, 100 + number, 4096 * number)
        # A result that waits keeps an abort away from the next transfer.
        await _complete(ctx, dut)
        if not cause:
            ctx.set(dut.abort, 1)
            for _ in range(10):
                await ctx.tick()
                assert not ctx.get(dut.stop)
            ctx.set(dut.abort, 0)
        assert (await _result(ctx, dut)).status == Status.OK
        await _fails(ctx, dut, cause)
        result = await _result(ctx, dut)
        assert result.status == (Status.LINK_WRITE_TIMEOUT if cause else Status.ABORTED)
        launched = await _taken(ctx, dut.launch)
        assert (launched.tail_bytes, launched.first_lane) == (102, 2)
        assert (await _taken(ctx, dut.follow)).transfer.capacity >> 20 == 102
        await _succeeds(ctx, dut)

    clocked(dut, process)


_TIMEOUT = {"valid": 1, "status": Status.LANE_READ_TIMEOUT, "lane": 1}
_SILENT = 2     # unit 1


async def _isolate(ctx, dut: Supervisor) -> None:
    """Runs a transfer until unit 1 is isolated and its timeout reported."""
    await _begin(ctx, dut, 9000, 0)
    ctx.set(dut.unit_idle, 0)
    ctx.set(dut.silent, _SILENT)
    ctx.set(dut.fault, _TIMEOUT)
    for _ in range(20):
        await ctx.tick()
        assert not ctx.get(dut.result.valid), "unit 0 is not idle"
        assert not ctx.get(dut.isolated), "nothing was told yet"
    ctx.set(dut.unit_idle, 1)
    result = await _result(ctx, dut)
    assert (result.status, result.lane) == (Status.LANE_READ_TIMEOUT, 1)
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
            taken = False
            while not taken:
                _, _, taken, told = await ctx.tick().sample(dut.request.ready, dut.result.valid)
                assert not told, "a result before its request was taken"
            ctx.set(dut.request.valid, 0)
            for _ in range(60):
                assert not ctx.get(dut.launch.valid)
                if ctx.get(dut.result.valid):
                    break
                await ctx.tick()
            result = ctx.get(dut.result.payload)
            assert (result.status, result.lane, result.bytes, result.crc) == (Status.LANE_READ_TIMEOUT, 1, 0, 0)
            await pulse(ctx, dut.result.ready)
        await _comes_back(ctx, dut)
        await _begin(ctx, dut, 9000, 0)
        assert (await _taken(ctx, dut.follow)).transfer.capacity >> 20 == 9000
        await _succeeds(ctx, dut)

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
                assert not ctx.get(dut.launch.valid) and not ctx.get(dut.result.valid)
            if ending == "abort":
                ctx.set(dut.abort, 1)
                result = await _result(ctx, dut)
                ctx.set(dut.abort, 0)
                assert (result.status, result.bytes) == (Status.ABORTED, 0)
                await _comes_back(ctx, dut)
            else:
                ctx.set(dut.unit_idle, 3)
                await _taken(ctx, dut.launch)
                assert not ctx.get(dut.clear)
                await _succeeds(ctx, dut)

    clocked(dut, process)
