# amaranth: UnusedElaboratable=no
"""The memory of metadata: its parity, and that no signal of it has no width. Its words are compared with the store."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.lib.memory import Memory

from cdma.hdl.codec.payload.metadata_memory import WORDS, MetadataMemory
from cdma.hdl.codec.payload.payload_store import PayloadStore
from cdma.hdl.common import protected
from tests.hdl.bench import clocked


def test_one_row_needs_no_signal_of_no_width() -> None:
    # Verilog would declare it as [-1:0], two bits wide.
    store = PayloadStore(16, (4,), 512, 34)
    text = rtlil.convert(store)
    assert re.search(r"^ *wire width 1 \\slot$", text, re.MULTILINE)
    assert not re.search(r"^ *wire width 0 ", text, re.MULTILINE)


@pytest.mark.parametrize(("size", "rows"), [(16, 1), (32, 3)])
def test_only_rows_that_were_written_are_checked(size: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers may look at rows that are not there yet: their parity is wrong here until they are written."""
    monkeypatch.setattr(protected, "Memory", lambda shape, depth, init, attrs=None: Memory(shape=shape, depth=depth,
                                                                               init=[1] * depth))
    rng = random.Random(f"{size} {rows}")
    dut = MetadataMemory(size, rows, 1, protected=True)
    written: set[tuple[int, int]] = set()
    places = [(slot, row) for slot in range(2) for row in range(rows)]

    async def read(ctx: Any, slot: int, row: int) -> int:
        """What is found: ``bad`` is high two cycles after the read."""
        ctx.set(dut.reads[0].want, 1)
        ctx.set(dut.reads[0].at, {"word": row * WORDS + rng.randrange(WORDS), "slot": slot})
        await ctx.tick()
        ctx.set(dut.write, 0)
        ctx.set(dut.reads[0].want, 0)
        assert not ctx.get(dut.bad)
        await ctx.tick()
        found = ctx.get(dut.bad)
        await ctx.tick()
        assert not ctx.get(dut.bad)
        return found

    async def process(ctx: Any) -> None:
        for place in sorted(places, key=lambda place: (place[1], place[0])):
            for other in places:
                assert not await read(ctx, *other)
            # Read while it is written, it may show anything.
            ctx.set(dut.write, 1)
            ctx.set(dut.slot, place[0])
            if rows > 1:
                ctx.set(dut.row, place[1])
            ctx.set(dut.data, rng.getrandbits(8 * size))
            assert not await read(ctx, *place)
            written.add(place)
            for other in places:
                ctx.set(dut.inject, 1)
                await ctx.tick()
                ctx.set(dut.inject, 0)
                # The error waits for a row that is checked.
                assert await read(ctx, *other) == (other in written)
                if other not in written:
                    assert await read(ctx, *place)

    clocked(dut, process, cycles=1_000)
