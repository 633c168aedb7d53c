"""Answers in the place of a lost port: what is owed, what is refused, what waits; cycle by cycle, and at random."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.engine.axi.isolation import AxiIsolation
from cdma.hdl.engine.axi.signature import axi_full
from tests.hdl.bench import clocked

_OUTSTANDING, _MOST = 3, 4
_SLVERR = 2


def _isolation() -> AxiIsolation:
    return AxiIsolation(axi_full(32, 16), _OUTSTANDING, _MOST)


def test_while_open_all_channels_pass() -> None:
    dut = _isolation()

    async def process(ctx: Any) -> None:
        rng = random.Random(1)
        ctx.set(dut.open, 1)
        for name, member in dut.o.signature.members.items():
            near, far = getattr(dut.i, name), getattr(dut.o, name)
            source, sink = (near, far) if member.flow.value == "Out" else (far, near)
            ctx.set(source, rng.getrandbits(len(source)) | 1)
            assert ctx.get(sink) == ctx.get(source), name
            ctx.set(source, 0)
        await ctx.tick()

    clocked(dut, process)


async def _moves(ctx: Any, dut: AxiIsolation, channel: str, cycles: int = 3, **payload: int) -> bool:
    """Offers a transfer of the master until it is taken, or for some cycles."""
    for name, value in payload.items():
        ctx.set(getattr(dut.i, name), value)
    ctx.set(getattr(dut.i, f"{channel}valid"), 1)
    taken = False
    for _ in range(cycles):
        _, _, taken = await ctx.tick().sample(getattr(dut.i, f"{channel}ready"))
        if taken:
            break
    ctx.set(getattr(dut.i, f"{channel}valid"), 0)
    return bool(taken)


async def _answers(ctx: Any, dut: AxiIsolation, channel: str, cycles: int = 20) -> list[int]:
    """The responses that come in so many cycles."""
    found = []
    ctx.set(getattr(dut.i, f"{channel}ready"), 1)
    for _ in range(cycles):
        _, _, valid, resp = await ctx.tick().sample(getattr(dut.i, f"{channel}valid"), getattr(dut.i, f"{channel}resp"))
        if valid:
            found.append(int(resp))
    ctx.set(getattr(dut.i, f"{channel}ready"), 0)
    return found


async def _drained(ctx: Any, dut: AxiIsolation) -> bool:
    await ctx.tick()
    return bool(ctx.get(dut.drained))


@pytest.mark.parametrize("lost", [0, 1])
def test_what_is_owed_is_answered(lost: int) -> None:
    """Reads by beats; a write burst that has begun, with its address or with data, is taken whole."""
    dut = _isolation()

    async def process(ctx: Any) -> None:
        ctx.set(dut.open, 1)
        for ready in (dut.o.arready, dut.o.awready, dut.o.wready):
            ctx.set(ready, 1)
        assert await _moves(ctx, dut, "ar", arlen=2) and await _moves(ctx, dut, "ar", arlen=0)
        ctx.set(dut.o.rvalid, 1)
        assert await _answers(ctx, dut, "r", 1) == [0]
        ctx.set(dut.o.rvalid, 0)
        assert await _moves(ctx, dut, "aw") and await _moves(ctx, dut, "w", wlast=0)
        assert not await _drained(ctx, dut)
        ctx.set(dut.open, 0)
        ctx.set(dut.lost, lost)
        assert await _answers(ctx, dut, "r") == [_SLVERR] * 3
        assert await _answers(ctx, dut, "b") == []
        assert await _moves(ctx, dut, "w", wlast=1)
        assert await _answers(ctx, dut, "b") == [_SLVERR]
        assert await _drained(ctx, dut)

        # Data before their address.
        ctx.set(dut.open, 1)
        assert await _moves(ctx, dut, "w", wlast=0)
        ctx.set(dut.open, 0)
        assert not await _drained(ctx, dut)
        assert await _moves(ctx, dut, "w", wlast=1) and await _answers(ctx, dut, "b") == []
        assert await _moves(ctx, dut, "aw")
        assert await _answers(ctx, dut, "b") == [_SLVERR] and await _drained(ctx, dut)

        # The address in the middle of its data.
        ctx.set(dut.open, 1)
        assert await _moves(ctx, dut, "w", wlast=0)
        ctx.set(dut.open, 0)
        assert await _moves(ctx, dut, "aw") and await _moves(ctx, dut, "w", wlast=1)
        assert await _answers(ctx, dut, "b") == [_SLVERR] and await _drained(ctx, dut)

    clocked(dut, process)


def test_what_is_new_waits_or_is_refused() -> None:
    dut = _isolation()

    async def process(ctx: Any) -> None:
        for channel in ("ar", "aw", "w"):
            assert not await _moves(ctx, dut, channel, arlen=1, wlast=1)
        assert await _drained(ctx, dut)
        ctx.set(dut.lost, 1)
        assert await _moves(ctx, dut, "ar", arlen=1) and await _answers(ctx, dut, "r") == [_SLVERR] * 2
        assert await _moves(ctx, dut, "w", wlast=1) and await _moves(ctx, dut, "aw")
        assert await _answers(ctx, dut, "b") == [_SLVERR] and await _drained(ctx, dut)
        assert not any(ctx.get(valid) for valid in (dut.o.arvalid, dut.o.awvalid, dut.o.wvalid))

    clocked(dut, process)


def test_as_many_bursts_as_there_may_be() -> None:
    """The counters hold all that may be outstanding."""
    dut = _isolation()

    async def process(ctx: Any) -> None:
        ctx.set(dut.open, 1)
        for ready in (dut.o.arready, dut.o.awready, dut.o.wready):
            ctx.set(ready, 1)
        for _ in range(_OUTSTANDING):
            assert await _moves(ctx, dut, "ar", arlen=_MOST - 1) and await _moves(ctx, dut, "aw")
            assert await _moves(ctx, dut, "w", wlast=1)
        ctx.set(dut.open, 0)
        assert await _answers(ctx, dut, "r", 40) == [_SLVERR] * _OUTSTANDING * _MOST
        assert await _answers(ctx, dut, "b") == [_SLVERR] * _OUTSTANDING
        assert await _drained(ctx, dut)

    clocked(dut, process)
