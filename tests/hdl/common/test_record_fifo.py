"""Records that are kept in order, and one that is not stored."""

from __future__ import annotations

import random

import pytest
from amaranth.lib import data

from cdma.hdl.common.record_fifo import RecordFifo
from tests.hdl.bench import clocked


@pytest.mark.parametrize(("most", "bits"), [(1, 8), (2, 8), (5, 32), (3, 33), (9, 121), (6, 250), (20, 250), (33, 121)])
def test_keeps_as_many_as_it_says(most: int, bits: int) -> None:
    """Records come out in order, as often as many are kept as may be; none changes before it was taken."""
    rng = random.Random(most)
    dut = RecordFifo(data.StructLayout({"number": bits}), most)
    records = [rng.getrandbits(bits) for _ in range(80)]

    async def process(ctx) -> None:
        given = taken = full = 0
        gives = False
        while taken < len(records):
            # In turn more come than go, and more go than come.
            fills = taken // 10 % 2
            if not gives and given - taken < most and given < len(records) and rng.random() < (0.3, 0.9)[fills]:
                ctx.set(dut.i.payload, {"number": records[given]})
                gives = True
            ctx.set(dut.i.valid, gives)
            takes = ctx.get(dut.o.valid) and rng.random() < (0.5, 0.05)[fills]
            if ctx.get(dut.o.valid):
                assert ctx.get(dut.o.payload).number == records[taken]
            ctx.set(dut.o.ready, takes)
            _, _, stored = await ctx.tick().sample(dut.i.ready)
            if gives and stored:
                given += 1
                gives = False
            taken += bool(takes)
            full += given - taken == most
            if takes and rng.random() < 0.3:
                ctx.set(dut.keep, 1)
                ctx.set(dut.o.ready, 0)
                ctx.set(dut.i.valid, gives)
                for _ in range(10):
                    assert most == 1 or ctx.get(dut.o.payload).number == records[taken - 1]
                    _, _, stored = await ctx.tick().sample(dut.i.ready)
                    if gives and stored:
                        given += 1
                        gives = False
                        ctx.set(dut.i.valid, 0)
                    assert not ctx.get(dut.o.valid)
                ctx.set(dut.keep, 0)

        assert full > 5

    clocked(dut, process)


@pytest.mark.parametrize("before", [0, 1, 3])
def test_an_only_record_passes_at_once_and_others_wait_for_words(before: int) -> None:
    """Of records of four words, the only one is there in the next cycle, and the next one six cycles after a take."""
    dut = RecordFifo(data.StructLayout({"number": 121}), 6)

    async def process(ctx) -> None:
        for number in range(before + 1):
            ctx.set(dut.i.payload, {"number": number})
            ctx.set(dut.i.valid, 1)
            cycles = 1
            while not ctx.get(dut.i.ready):
                await ctx.tick()
                cycles += 1
            await ctx.tick()
            assert cycles == (4 if number else 1)
            ctx.set(dut.i.valid, 0)
            assert ctx.get(dut.o.valid)
        for number in range(before + 1):
            assert (ctx.get(dut.o.valid), ctx.get(dut.o.payload).number) == (1, number)
            ctx.set(dut.o.ready, 1)
            await ctx.tick()
            ctx.set(dut.o.ready, 0)
            for cycle in range(1, 6):
                assert not ctx.get(dut.o.valid), cycle
                await ctx.tick()

    clocked(dut, process)
