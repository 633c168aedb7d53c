"""Attributes of requests: a request that waits keeps them, the next one has the new ones."""

from __future__ import annotations

import random
from typing import Any

from cdma.hdl.engine.axi.attributes import AttributeHold
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
