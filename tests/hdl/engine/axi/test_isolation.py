"""Answers in the place of a lost port: what is owed, what is refused, what waits; step by step."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.engine.axi.isolation import AxiIsolation
from cdma.hdl.engine.axi.signature import axi_full
from tests.hdl.bench import clocked

_OUTSTANDING, _MOST = 3, 4


def test_while_open_all_channels_pass() -> None:
    dut = AxiIsolation(axi_full(32, 16), _OUTSTANDING, _MOST)

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


async def _moves(ctx: Any, port: Any, channel: str) -> bool:
    """Offers a transfer of the master until it is taken, or for some cycles."""
    ctx.set(getattr(port, f"{channel}valid"), 1)
    taken = False
    for _ in range(3):
        _, _, taken = await ctx.tick().sample(getattr(port, f"{channel}ready"))
        if taken:
            break
    ctx.set(getattr(port, f"{channel}valid"), 0)
    return bool(taken)


async def _answers(ctx: Any, port: Any, channel: str, cycles: int) -> str:
    """The responses that come in so many cycles."""
    found = ""
    ctx.set(getattr(port, f"{channel}ready"), 1)
    for _ in range(cycles):
        _, _, valid, resp = await ctx.tick().sample(getattr(port, f"{channel}valid"), getattr(port, f"{channel}resp"))
        found += str(resp) if valid else ""
    ctx.set(getattr(port, f"{channel}ready"), 0)
    return found


# open, close, lost: the state of the port. arN: a read of so many beats is taken; aw; w; wlast; with "no-": is not.
# beat: one is read. r:, b: these responses come and no more; 2 is SLVERR. busy, drained: whether anything is owed.
_OWED = "open ar3 ar1 beat aw w busy {} r:222 b: wlast b:2 drained"


@pytest.mark.parametrize("steps", [
    pytest.param(_OWED.format("close"), id="beats are owed, and a write that has begun"),
    pytest.param(_OWED.format("lost"), id="the same of a lost port"),
    pytest.param("open w close busy wlast b: aw b:2 drained", id="data before their address"),
    pytest.param("open w close aw wlast b:2 drained", id="the address in the middle of its data"),
    pytest.param("close no-ar2 no-aw no-wlast drained", id="what is new waits"),
    pytest.param("lost ar2 r:22 wlast aw b:2 drained", id="what is new is refused"),
    pytest.param("open " + "ar4 aw wlast " * _OUTSTANDING + "close r:" + "2" * _OUTSTANDING * _MOST + " b:222 drained",
                 id="as many bursts as there may be"),
])
def test_what_is_owed_is_answered(steps: str) -> None:
    dut = AxiIsolation(axi_full(32, 16), _OUTSTANDING, _MOST)

    async def process(ctx: Any) -> None:
        for ready in (dut.o.arready, dut.o.awready, dut.o.wready):
            ctx.set(ready, 1)
        for step in steps.split():
            offer = step.removeprefix("no-")
            if step in ("open", "close", "lost"):
                ctx.set(dut.open, step == "open")
                ctx.set(dut.lost, step == "lost")
            elif step in ("busy", "drained"):
                await ctx.tick()
                assert ctx.get(dut.drained) == (step == "drained")
            elif step == "beat":
                ctx.set(dut.o.rvalid, 1)
                assert await _answers(ctx, dut.i, "r", 1) == "0"
                ctx.set(dut.o.rvalid, 0)
            elif ":" in step:
                channel, hope = step.split(":")
                assert await _answers(ctx, dut.i, channel, 40) == hope, step
            elif offer.startswith("ar"):
                ctx.set(dut.i.arlen, int(offer[2:]) - 1)
                assert await _moves(ctx, dut.i, "ar") == (offer == step), step
            else:
                ctx.set(dut.i.wlast, offer == "wlast")
                assert await _moves(ctx, dut.i, offer.removesuffix("last")) == (offer == step), step
        assert not any(ctx.get(valid) for valid in (dut.o.arvalid, dut.o.awvalid, dut.o.wvalid))

    clocked(dut, process)
