"""Memories with parity: every changed bit is found, none is found where nothing changed, and one can be injected."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Signal

from cdma.hdl.common.protected import ParityCheck, ProtectedFifo, ProtectedMemory
from cdma.hdl.common.row_fifo import RowFifo
from tests.hdl.bench import Bench, clocked, pulse
from tests.hdl.memories import WrongCollisions


@pytest.mark.parametrize(("width", "parts"), [(256, 1), (37, 1), (256, 4), (32, 8), (12, 3)])
def test_a_memory_finds_what_was_changed_and_nothing_else(width: int, parts: int) -> None:
    """Rows that are written in parts; an error waits for the next row of which a part is used."""
    rng = random.Random(f"{width} {parts}")
    memory = ProtectedMemory(width, 4, parts)
    size = width // parts
    lowest = sum(1 << size * part for part in range(parts))
    rows: dict[int, list[int]] = {}

    async def process(ctx: Any) -> None:
        waits = False
        for turn in range(200):
            row = rng.randrange(4)
            chosen = [row not in rows or rng.random() < 0.5 for _ in range(parts)]
            kept = rows.setdefault(row, [0] * parts)
            for part in (part for part in range(parts) if chosen[part]):
                kept[part] = rng.getrandbits(size)
            ctx.set(memory.write.en, sum(each << part for part, each in enumerate(chosen)))
            ctx.set(memory.write.addr, row)
            ctx.set(memory.write.data, sum(value << size * part for part, value in enumerate(kept)))
            await ctx.tick()
            ctx.set(memory.write.en, 0)
            if turn % 3 == 0:
                await pulse(ctx, memory.inject)
                waits = True

            row = rng.choice(list(rows))
            ctx.set(memory.read.addr, row)
            await pulse(ctx, memory.read.en)
            stored = sum(value << size * part for part, value in enumerate(rows[row]))
            used = rng.choice([0, rng.getrandbits(parts), (1 << parts) - 1])
            ctx.set(memory.check, used)
            cycles = rng.randrange(1, 3)
            for cycle in range(cycles):
                # What was read stays. Another error that is asked for now waits for the next row.
                assert ctx.get(memory.read.data) == stored ^ (lowest if waits else 0)
                ctx.set(memory.inject, asks := cycle == cycles - 1 and rng.random() < 0.3)
                await ctx.tick()
                assert ctx.get(memory.bad) == (waits and used != 0)
            ctx.set(memory.check, 0)
            ctx.set(memory.inject, 0)
            waits = asks or (waits and not used)
            await ctx.tick()
            assert not ctx.get(memory.bad)

    clocked(memory, process)


@pytest.mark.parametrize(("part", "parts"), [(64, 1), (264, 1), (8, 4), (33, 2)])
def test_each_bit_and_each_pair_of_neighbours_is_found(part: int, parts: int) -> None:
    """Even parity: bit k of n is the sum of bits k, k + n, k + 2 n ... of its part."""
    rng = random.Random(f"{part} {parts}")
    check = ParityCheck(part * parts, parts)
    count = -(-part // 32)
    mask = (1 << part) - 1

    def parity(value: int) -> int:
        return sum(((value >> k) & sum(1 << bit for bit in range(0, part, count))).bit_count() % 2 << k
                   for k in range(count))

    pairs = [3 << bit for bit in range(part - 1)] if count > 1 else []

    async def process(ctx: Any) -> None:
        for flip in (0, *(1 << bit for bit in range(part)), *pairs):
            values = [rng.getrandbits(part) for _ in range(parts)]
            hit = rng.randrange(parts)
            ctx.set(check.parity, sum(parity(value) << count * number for number, value in enumerate(values)))
            values[hit] ^= flip
            assert values[hit] & mask == values[hit]
            ctx.set(check.data, sum(value << part * number for number, value in enumerate(values)))
            ctx.set(check.check, 1 << hit)
            await ctx.tick()
            assert ctx.get(check.bad) == (flip != 0), f"{flip:#x}"
        # A bit of the parity itself; and a part that is not used.
        ctx.set(check.data, 0)
        ctx.set(check.parity, 1 << count * (parts - 1))
        ctx.set(check.check, 1 << parts - 1)
        await ctx.tick()
        assert ctx.get(check.bad)
        ctx.set(check.check, ((1 << parts) - 1) >> 1)
        await ctx.tick()
        assert not ctx.get(check.bad)

    clocked(check, process)


async def _write_to_memory(ctx: Any, dut: ProtectedMemory) -> None:
    ctx.set(dut.write.data, 0x0123_4567_89AB_CDEF)
    await pulse(ctx, dut.write.en)
    await pulse(ctx, dut.read.en)
    ctx.set(dut.check, 1)


async def _write_to_fifo(ctx: Any, dut: ProtectedFifo) -> None:
    ctx.set(dut.i.payload, 0x89_ABCD_EF01)
    await pulse(ctx, dut.i.valid)
    await ctx.tick().until(dut.o.valid)


async def _write_to_rows(ctx: Any, dut: RowFifo) -> None:
    ctx.set(dut.data, 0x4567_89AB)
    ctx.set(dut.enable, 15)
    await pulse(ctx, dut.commit)
    ctx.set(dut.enable, 0)
    await ctx.tick().until(dut.o.valid)


@pytest.mark.parametrize(("dut", "write", "width"), [
    (ProtectedMemory(64, 4), _write_to_memory, 66), (ProtectedFifo(40, 6), _write_to_fifo, 42),
    (RowFifo(32, 4, 4, protected=True), _write_to_rows, 36)], ids=["memory", "fifo", "rows"])
def test_a_bit_that_changes_while_it_is_stored_is_found(dut: Any, write: Any, width: int) -> None:
    """Each bit of a row, and of its parity; an injected error is put behind the memory, this one is in it."""
    flips = Signal(width)
    bench = Bench(dut, WrongCollisions({width: iter([flips])}))

    async def process(ctx: Any) -> None:
        await write(ctx, dut)
        for bit in (None, *range(width)):
            ctx.set(flips, 0 if bit is None else 1 << bit)
            await ctx.tick()
            assert ctx.get(dut.bad) == (bit is not None), f"bit {bit}"

    bench.run(process)


@pytest.mark.parametrize("ready", [0.2, 0.9])
@pytest.mark.parametrize("busy", [0.3, 1.0])
def test_a_fifo_finds_the_transfer_that_was_changed(busy: float, ready: float) -> None:
    rng = random.Random(f"{busy} {ready}")
    fifo = ProtectedFifo(40, 6)
    sent = [rng.getrandbits(40) for _ in range(200)]
    asked = [5, 40, 60, 99, 150]
    wrong: list[int] = []

    async def feed(ctx: Any) -> None:
        for value in sent:
            while rng.random() >= busy:
                await ctx.tick()
            ctx.set(fifo.i.payload, value)
            ctx.set(fifo.i.valid, 1)
            await ctx.tick().until(fifo.i.ready)
            ctx.set(fifo.i.valid, 0)

    async def process(ctx: Any) -> None:
        taken, shown = 0, None
        while taken < len(sent):
            takes = rng.random() < ready
            ctx.set(fifo.o.ready, takes)
            injects = bool(asked) and taken >= asked[0]
            ctx.set(fifo.inject, injects)
            if injects:
                asked.pop(0)
            valid, value = ctx.get(fifo.o.valid), ctx.get(fifo.o.payload)
            assert shown is None or (valid and value == shown), "what waits has changed"
            await ctx.tick()
            bad = ctx.get(fifo.bad)
            if valid:
                assert bad == (value != sent[taken])
                assert value ^ sent[taken] in (0, 1)
            else:
                assert not bad, "an error without a transfer"
            shown = value if valid and not takes else None
            if valid and takes:
                wrong.extend([taken] if bad else [])
                taken += 1

    clocked(fifo, process, feed)
    assert len(wrong) == 5


def test_a_row_that_is_written_in_parts_is_good_in_all_of_them() -> None:
    """Parts of a row that are never written hold anything; they are no error."""
    rng = random.Random(5)
    fifo = RowFifo(32, 4, 4, protected=True)
    found: list[bool] = []

    async def process(ctx: Any) -> None:
        for number in range(60):
            if injects := number % 10 == 9:
                await pulse(ctx, fifo.inject)
            for part in rng.sample(range(4), rng.randrange(1, 4)):
                ctx.set(fifo.enable, 1 << part)
                ctx.set(fifo.data, rng.getrandbits(32))
                await ctx.tick()
            ctx.set(fifo.enable, 0)
            await pulse(ctx, fifo.commit)
            await ctx.tick().until(fifo.o.valid)
            ctx.set(fifo.o.ready, 1)
            await ctx.tick()
            ctx.set(fifo.o.ready, 0)
            found.append(bool(ctx.get(fifo.bad)))
            assert found[-1] == injects
            await ctx.tick()

    clocked(fifo, process)
    assert len(found) == 60
