"""Attributes of requests: a request that waits keeps them, the next one has the new ones."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import PureInterface

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.attributes import AttributeHold, attributes_layout
from cdma.hdl.engine.axi.signature import axi_full
from cdma.hdl.engine.control.control import Control
from cdma.hdl.engine.engine import Engine
from tests.hdl.bench import clocked


def test_a_waiting_request_keeps_its_attributes() -> None:
    """Requests at any pace while the register changes in every cycle."""
    rng = random.Random(1)
    dut = AttributeHold(3)
    names = ("cache", "prot", "qos", "user")

    async def process(ctx: Any) -> None:
        before: tuple[int, ...] | None = None   # of a request that waits
        chosen = (0, 0, 0, 0)
        for cycle in range(400):
            valid, ready = int(before is not None or rng.random() < 0.5), int(rng.random() < 0.3)
            ctx.set(dut.valid, valid)
            ctx.set(dut.ready, ready)
            seen = tuple(int(ctx.get(dut.o[name])) for name in names)
            if cycle:
                assert seen == (chosen if before is None else before)
            before = seen if valid and not ready else None
            chosen = tuple(rng.randrange(1 << bits) for bits in (4, 3, 4, 3))
            for name, value in zip(names, chosen, strict=True):
                ctx.set(dut.i[name], value)
            await ctx.tick()

    clocked(dut, process)


@pytest.mark.parametrize(("waits", "other"), [("ar", "aw"), ("aw", "ar")])
def test_reads_and_writes_of_a_port_hold_their_own(waits: str, other: str) -> None:
    """While a request of one channel waits, the other follows the register, which is that of the port's kind."""
    config = EngineConfig(user_bits=3, attribute_registers=True)
    m, port = Module(), cast(PureInterface, axi_full(config.address_bits, config.beat_bytes, config.user_bits).create())
    kinds = {kind: Signal(attributes_layout(config.user_bits), name=kind) for kind in ("lane", "link")}
    Engine._attribute(cast(Engine, SimpleNamespace(_config=config)), m, "lane12", port,
                      cast(Control, SimpleNamespace(attributes=kinds)))

    async def process(ctx: Any) -> None:
        for value in (5, 9, 3):
            ctx.set(kinds["lane"].qos, value)
            ctx.set(kinds["link"].qos, value ^ 15)
            await ctx.tick().repeat(2)
            assert [ctx.get(getattr(port, f"{channel}qos")) for channel in (waits, other)] == [value, value]
            ctx.set(getattr(port, f"{waits}valid"), 1)
            ctx.set(kinds["lane"].qos, value ^ 1)
            await ctx.tick().repeat(3)
            assert [ctx.get(getattr(port, f"{channel}qos")) for channel in (waits, other)] == [value, value ^ 1]
            ctx.set(getattr(port, f"{waits}valid"), 0)

    clocked(m, process)
