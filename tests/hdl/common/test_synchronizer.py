"""Levels that come from another domain: when they arrive, and what is there in reset."""

from __future__ import annotations

import re
from typing import Any

import pytest

from cdma.hdl.common.dual_clock_fifo import DualClockFifo
from cdma.hdl.common.synchronizer import Synchronizer
from cdma.hdl.generate.backend import verilog_text
from tests.hdl.bench import Bench, clocked
from tests.hdl.clocks import TwoClocks


def test_a_level_takes_two_cycles() -> None:
    synchronizer = Synchronizer("sync", 3)

    async def process(ctx: Any) -> None:
        ctx.set(synchronizer.i, 0)
        await ctx.tick().repeat(3)
        ctx.set(synchronizer.i, 5)
        found = []
        for _ in range(4):
            found.append(ctx.get(synchronizer.o))
            await ctx.tick()
        assert found == [0, 0, 5, 5]

    clocked(synchronizer, process)


@pytest.mark.parametrize("init", [0, 1])
def test_in_reset_it_has_its_value(init: int) -> None:
    synchronizer = Synchronizer("sync", init=init)
    design = TwoClocks(synchronizer)

    async def process(ctx: Any) -> None:
        ctx.set(synchronizer.i, 1 - init)
        await ctx.tick().repeat(3)
        assert ctx.get(synchronizer.o) == 1 - init
        ctx.set(design.near.rst, 1)
        await ctx.tick()
        ctx.set(design.near.rst, 0)
        found = []
        for _ in range(3):
            found.append(ctx.get(synchronizer.o))
            await ctx.tick()
        assert found == [init, init, 1 - init]

    Bench(design).run(process)


def test_its_registers_have_names_and_an_attribute() -> None:
    """Constraints and tools find them."""
    fifo = DualClockFifo(8, 4, writes="sync", reads="sync")
    text = verilog_text(fifo, "fifo")
    for name in ("to_read", "to_write"):
        module = re.findall(rf"^module \\fifo\.{name} .*?^endmodule", text, re.MULTILINE | re.DOTALL)[0]
        for stage in ("stage0", "stage1"):
            assert f"{stage} <=" in module
            assert re.search(rf'\(\* ASYNC_REG = "TRUE" \*\)\n  (reg|output) \[2:0\] {stage};', module)
