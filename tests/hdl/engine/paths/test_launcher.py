"""The launcher: every request is shown to the front and to the units behind it, in order, and again after a stop."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Shape

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.paths.launcher import Launcher
from cdma.hdl.engine.transfer.records import request_layout
from tests.hdl.bench import clocked, pulse

_CONFIG = EngineConfig(lanes=4)


def _requests(config: EngineConfig, rng: random.Random, count: int) -> list[dict[str, int]]:
    """Requests with noise in all fields, of at least one byte."""
    layout = request_layout(config)
    return [{name: rng.randrange(3) if name == "narrow" else rng.getrandbits(Shape.cast(field.shape).width)
             for name, field in layout} | {"raw_bytes": rng.randint(1, (1 << 40) - 1)} for _ in range(count)]


def _shown(config: EngineConfig, device: str, asked: dict[str, int], payload) -> None:
    """Holds what was shown to the request."""
    for name in payload.shape().members:
        if name == "transfer":
            for field in payload.transfer.shape().members:
                found, bits = payload.transfer[field], Shape.cast(payload.transfer.shape()[field].shape).width
                assert getattr(found, "value", found) == asked[field] % (1 << bits), field
    assert payload.first_lane == asked[device] // config.block_bytes % config.lanes
    if device == "source":
        last = asked["raw_bytes"] - 1
        assert payload.last_block == last // config.block_bytes
        if "tail_bytes" in payload.shape().members:
            assert payload.tail_bytes == last % config.block_bytes + 1


@pytest.mark.parametrize("device", ["source", "destination"])
@pytest.mark.parametrize(("address_bits", "in_flight", "crc"), [(64, 6, True), (40, 8, True), (32, 2, False),
                                                                (40, 1, True), (40, 12, True)])
def test_requests_are_shown_in_order_and_again(device: str, address_bits: int, in_flight: int, crc: bool) -> None:
    config = _CONFIG.replace(address_bits=address_bits, transfers_in_flight=in_flight, crc=crc)
    rng = random.Random(f"{device} {address_bits}")
    dut = Launcher(config, device)
    requests = _requests(config, rng, 24)

    async def process(ctx) -> None:
        async def taken(asked: dict[str, int], place: int) -> None:
            ctx.set(dut.next, place)
            ctx.set(dut.request.payload, asked)
            ctx.set(dut.request.valid, 1)
            ctx.set(dut.may_take, 1)
            await ctx.tick().until(dut.took)
            ctx.set(dut.may_take, 0)

        async def shown(stream: Any, asked: dict[str, int], pause: int) -> None:
            for _ in range(pause):
                await ctx.tick()
            ctx.set(dut.may_launch, stream is dut.launch)
            ctx.set(stream.ready, 1)
            payload, = await ctx.tick().sample(stream.payload).until(stream.valid)
            ctx.set(stream.ready, 0)
            ctx.set(dut.may_launch, 0)
            _shown(config, device, asked, payload)

        for start in range(0, len(requests), in_flight):
            batch = requests[start:start + in_flight]
            for place, asked in enumerate(batch):
                await taken(asked, place)
                await shown(dut.launch, asked, rng.randrange(4))
                while ctx.get(dut.writes):
                    await ctx.tick()
                ctx.set(dut.request.valid, 0)
                ctx.set(dut.request.payload, {"source": 99, "raw_bytes": 7})
            for asked in batch[:rng.randint(0, len(batch))]:
                await shown(dut.follow, asked, rng.choice([0, 20]))
            ctx.set(dut.first, 0)
            await pulse(ctx, dut.clear)
            assert not ctx.get(dut.follow.valid)
            if in_flight == 1:
                continue
            for place, asked in enumerate(batch):
                ctx.set(dut.next, place)
                await pulse(ctx, dut.repeats)
                await shown(dut.launch, asked, rng.randrange(4))
            for asked in batch:
                await shown(dut.follow, asked, rng.choice([0, 20]))

    clocked(dut, process)


def test_the_cycles_of_the_table() -> None:
    """``launch`` comes 2 cycles after ``took``, ``follow`` at most 11, and the request is taken with its last word."""
    config = _CONFIG.replace(address_bits=64)
    dut = Launcher(config, "destination")
    asked, = _requests(config, random.Random(1), 1)

    async def process(ctx) -> None:
        ctx.set(dut.request.payload, asked)
        for signal in (dut.request.valid, dut.may_take, dut.may_launch, dut.launch.ready):
            ctx.set(signal, 1)
        seen: dict[str, int] = {}
        for cycle in range(20):
            for name, signal in (("took", dut.took), ("launch", dut.launch.valid), ("follow", dut.follow.valid),
                                 ("request", dut.request.ready)):
                if ctx.get(signal):
                    seen.setdefault(name, cycle)
            await ctx.tick()
            ctx.set(dut.may_take, 0)
            ctx.set(dut.request.valid, "request" not in seen)
        assert seen == {"took": 0, "launch": 2, "request": 8, "follow": 11}

    clocked(dut, process)


@pytest.mark.parametrize("device", ["source", "destination"])
def test_a_clear_while_a_request_is_read(device: str) -> None:
    """In any cycle: it is not shown to the units behind the front before it is launched again, and then right."""
    config = _CONFIG.replace(address_bits=64)
    dut = Launcher(config, device)
    asked, = _requests(config, random.Random(2), 1)

    async def process(ctx) -> None:
        async def steps(count: int) -> None:
            for _ in range(count):
                _, _, taken = await ctx.tick().sample(dut.request.ready)
                if taken:
                    ctx.set(dut.request.valid, 0)

        for wait in range(16):
            for signal, value in ((dut.request.payload, asked), (dut.request.valid, 1), (dut.may_take, 1),
                                  (dut.may_launch, 1), (dut.launch.ready, 1)):
                ctx.set(signal, value)
            await ctx.tick().until(dut.took)
            ctx.set(dut.may_take, 0)
            await steps(wait)
            ctx.set(dut.clear, 1)
            await steps(1)
            ctx.set(dut.clear, 0)
            for _ in range(12):
                assert not ctx.get(dut.follow.valid)
                await steps(1)
            await pulse(ctx, dut.repeats)
            payload, = await ctx.tick().sample(dut.follow.payload).until(dut.follow.valid)
            _shown(config, device, asked, payload)
            await pulse(ctx, dut.follow.ready)
            await ctx.tick().repeat(4)
            assert not ctx.get(dut.follow.valid)
            await pulse(ctx, dut.clear)

    clocked(dut, process)
