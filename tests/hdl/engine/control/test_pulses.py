"""The interrupt as single cycles: none is lost, and each is seen as one."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from amaranth.hdl import Module, Signal

from cdma.hdl.engine.control.write_back_rings import pulses
from tests.hdl.bench import clocked


@pytest.mark.parametrize("often", [0.02, 0.3, 0.9])
def test_every_event_has_a_pulse(often: float) -> None:
    """After each event that is enabled, and each write that leaves one, there is a pulse within two cycles; none comes
    without a cause, and none lasts two cycles."""
    rng = random.Random(often)
    m = Module()
    happened, status, enable = (Signal(4, name=name) for name in ("happened", "status", "enable"))
    touched, pulse = Signal(), Signal()
    m.d.sync += pulse.eq(pulses(m, happened, status, enable, touched, pulse))

    async def process(ctx: Any) -> None:
        causes, seen = [], []
        written = False
        for cycle in range(2000):
            shown, enabled = (rng.getrandbits(4) & rng.getrandbits(4) for _ in range(2))
            events = rng.getrandbits(4) if rng.random() < often else 0
            writes = rng.random() < often / 2
            for signal, value in ((status, shown), (enable, enabled), (happened, events), (touched, writes)):
                ctx.set(signal, value)
            # The registers show what was written one cycle later.
            if events & enabled or (written and shown & enabled):
                causes.append(cycle)
            written = writes
            _, _, high = await ctx.tick().sample(pulse)
            if high:
                seen.append(cycle)
        assert causes and all(later - earlier > 1 for earlier, later in pairwise(seen))
        for cause in causes[:-2]:
            assert {cause + 1, cause + 2} & {*seen}, f"no pulse after cycle {cause}"
        for cycle in seen:
            assert {cycle - 1, cycle - 2} & {*causes}, f"a pulse without a cause in cycle {cycle}"

    clocked(m, process)
