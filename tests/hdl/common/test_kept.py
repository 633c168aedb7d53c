"""Records that are kept in order, and one that is not stored."""

from __future__ import annotations

import random

import pytest
from amaranth.lib import data

from hdl.common.kept import Kept
from tests.hdl.bench import clocked


@pytest.mark.parametrize("most", [1, 2, 5])
def test_keeps_as_many_as_it_says(most: int) -> None:
    rng = random.Random(most)
    dut = Kept(data.StructLayout({"number": 8}), most)

    async def process(ctx) -> None:
        given = taken = 0
        while taken < 60:
            gives = given - taken < most and rng.random() < 0.6
            if gives:
                ctx.set(dut.i.payload, {"number": given})
            ctx.set(dut.i.valid, gives)
            takes = ctx.get(dut.o.valid) and rng.random() < 0.5
            if takes:
                assert ctx.get(dut.o.payload).number == taken
            ctx.set(dut.o.ready, takes)
            await ctx.tick()
            given += gives
            taken += takes

    clocked(dut, process)
