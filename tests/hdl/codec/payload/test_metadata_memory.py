# amaranth: UnusedElaboratable=no
"""The memory of metadata against bytes: words of both slots, rows that change, and which reader is served."""

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


def _write(ctx: Any, dut: Any, slot: int, row: int, content: bytes, *, write: bool = True) -> None:
    """Sets the port that writes."""
    ctx.set(dut.write, write)
    ctx.set(dut.slot, slot)
    if hasattr(dut, "row"):
        ctx.set(dut.row, row)
    ctx.set(dut.data, int.from_bytes(content, "little"))


def test_one_row_needs_no_signal_of_no_width() -> None:
    # Verilog would declare it as [-1:0], two bits wide.
    store = PayloadStore(16, (4,), 512, 34)
    text = rtlil.convert(store)
    assert re.search(r"^ *wire width 1 \\slot$", text, re.MULTILINE)
    assert not re.search(r"^ *wire width 0 ", text, re.MULTILINE)


@pytest.mark.parametrize(("size", "rows", "readers", "beats"), [
    (16, 1, 1, 1), (32, 5, 5, 1), (32, 4, 2, 1), (64, 3, 5, 1), (64, 2, 1, 1), (16, 1, 1, 4), (32, 3, 5, 2)])
@pytest.mark.parametrize("wanting", [0.9, 0.3])
def test_words(size: int, rows: int, readers: int, beats: int, wanting: float) -> None:
    rng = random.Random(f"{size} {rows} {readers} {beats} {wanting}")
    dut = MetadataMemory(size, rows, readers, beats)
    each, words, row_bytes = size // WORDS, beats * WORDS, beats * size
    stored = {(slot, row): rng.randbytes(row_bytes) for slot in range(2) for row in range(rows)}
    served: set[tuple[int, int, int]] = set()

    async def process(ctx: Any) -> None:
        for (slot, row), content in stored.items():
            _write(ctx, dut, slot, row, content)
            await ctx.tick()
        for _ in range(400):
            # What a row holds in the cycle in which it is written does not matter: no reader wants it.
            changed = rng.choice(list(stored))
            content, writes = rng.randbytes(row_bytes), rng.random() < 0.4
            _write(ctx, dut, *changed, content, write=writes)
            first = None
            for read in dut.reads:
                slot, row = rng.choice([place for place in stored if place != changed])
                word = rng.randrange(words)
                wants = rng.random() < wanting
                ctx.set(read.want, wants)
                ctx.set(read.at, {"word": row * words + word, "slot": slot})
                assert ctx.get(read.given) == (wants and first is None)
                if wants and first is None:
                    first = slot, row, word
            if writes:
                stored[changed] = content
            await ctx.tick()
            if first is not None:
                slot, row, word = first
                expected = stored[slot, row][word * each:(word + 1) * each]
                assert ctx.get(dut.word) == int.from_bytes(expected, "little")
                served.add(first)

    clocked(dut, process, cycles=1_000)
    assert len(served) > 8 * rows, "too few places were read"


def test_the_first_reader_is_served() -> None:
    """The cycles of the docstring."""
    dut = MetadataMemory(32, 2, 2)
    content = random.Random(1).randbytes(32)
    words = [int.from_bytes(content[at:at + 4], "little") for at in range(0, 32, 4)]

    async def process(ctx: Any) -> None:
        _write(ctx, dut, 1, 0, content)
        await ctx.tick()
        _write(ctx, dut, 0, 0, bytes(32), write=False)
        ctx.set(dut.reads[1].at, {"word": 7, "slot": 1})
        for word, wants, given in ((2, (1, 0), (1, 0)), (3, (1, 1), (1, 0)), (4, (0, 1), (0, 1))):
            ctx.set(dut.reads[0].at, {"word": word, "slot": 1})
            for read, want in zip(dut.reads, wants, strict=True):
                ctx.set(read.want, want)
            assert tuple(ctx.get(read.given) for read in dut.reads) == given
            await ctx.tick()
            assert ctx.get(dut.word) == words[word if given[0] else 7]

    clocked(dut, process, cycles=10)


@pytest.mark.parametrize(("size", "rows"), [(16, 1), (32, 3)])
def test_only_rows_that_were_written_are_checked(size: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers may look at rows that are not there yet: their parity is wrong here until they are written."""
    monkeypatch.setattr(protected, "Memory", lambda shape, depth, init: Memory(shape=shape, depth=depth,
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
            _write(ctx, dut, *place, rng.randbytes(size))
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
