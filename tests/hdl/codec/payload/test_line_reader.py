# amaranth: UnusedElaboratable=no
"""The reader of facts against headers, bases and widths: the record of every line, and in which cycles they come."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from cdma.hdl.codec.payload.line_reader import LineReader, Section
from cdma.hdl.codec.payload.metadata_memory import WORDS
from tests.hdl.bench import clocked

_LINES = 32
_ZERO = 0xFF


class _Memory:
    """Both slots as bytes; reads are given at random, one per cycle, and a word comes in the next one."""

    def __init__(self, size: int, rows: int, rng: random.Random, giving: float):
        self.each, self._rng, self._giving = size // WORDS, rng, giving
        self.slots = [bytearray(rng.randbytes(rows * size)) for _ in range(2)]
        self._word: int | None = None

    def offer(self, ctx: Any, word: Any) -> None:
        """Sets the word that was read, or noise."""
        ctx.set(word, self._rng.getrandbits(8 * self.each) if self._word is None else self._word)

    def settle(self, ctx: Any, reads: Sequence[Any]) -> int | None:
        """Gives the first one of the reads, or none; its number."""
        served = None
        self._word = None
        for number, read in enumerate(reads):
            given = bool(ctx.get(read.want)) and served is None and self._rng.random() < self._giving
            ctx.set(read.given, given)
            if given:
                at = ctx.get(read.at)
                word = self.slots[at.slot][at.word * self.each:][:self.each]
                served, self._word = number, int.from_bytes(word, "little")
        return served


@pytest.mark.parametrize(("size", "rows"), [(32, 3), (64, 2)])
@pytest.mark.parametrize("busy", [1.0, 0.6])
def test_sections(size: int, rows: int, busy: float) -> None:
    """Bytes from any place on; a new section may begin at any time, and nothing comes of the one before."""
    rng = random.Random(f"{size} {rows} {busy}")
    dut = Section(size, rows)
    memory = _Memory(size, rows, rng, busy)
    whole, each = rows * size, size // WORDS

    async def section(ctx: Any, length: int) -> None:
        """Loads a section, and takes this many bytes of it."""
        start, slot = rng.randrange(whole - length + 1), rng.getrandbits(1)
        at, cycles = start, -1
        loads = True
        while at < start + length or loads:
            ctx.set(dut.load, loads)
            ctx.set(dut.start, start if loads else rng.randrange(whole))
            ctx.set(dut.slot, slot if loads else rng.getrandbits(1))
            wanted = rng.random() < busy
            ctx.set(dut.wanted, wanted)
            memory.offer(ctx, dut.word)
            takes = ctx.get(dut.valid) and rng.random() < busy
            if takes and not loads:
                assert ctx.get(dut.byte) == memory.slots[slot][at]
                at += 1
            ctx.set(dut.take, takes)
            assert wanted or not ctx.get(dut.read.want)
            memory.settle(ctx, [dut.read])
            await ctx.tick()
            loads = False
            cycles += 1
        # A word takes 3 cycles, the first one and each one behind it.
        words = (start + length - 1) // each - start // each + 1 if length else 0
        assert busy < 1 or cycles == length + 2 * words

    async def process(ctx: Any) -> None:
        for _ in range(40):
            await section(ctx, rng.choice([0, 1, 2, rng.randrange(whole + 1), whole]))

    clocked(dut, process, cycles=20_000)


def _headers(rng: random.Random) -> list[int]:
    """Line headers of a block: none that is checked for elsewhere, width 7 with one of bits 5 to 7."""
    kinds = rng.choice([(0x1F,), (0x3F, _ZERO), (0xFF,), (0xFF, 0x7F, 0xBF)])
    count = rng.choice([1, 2, rng.randrange(1, _LINES + 1), _LINES])
    drawn = [_ZERO if rng.random() < 0.1 else rng.randrange(256) & rng.choice(kinds) for _ in range(count)]
    return [header & 0x1F if header & 7 == 7 and header != _ZERO else header for header in drawn]


class _Facts:
    """The facts of a block, and what is to be said of its lines."""

    def __init__(self, rng: random.Random, headers: list[int]):
        self.count = len(headers)
        coded = [header for header in headers if header != _ZERO]
        bases = rng.randbytes(sum(header >> 7 for header in coded))
        widths = bytes(rng.randrange(256) & rng.choice([0x55, 0x11, 0xFF])
                       for _ in range(sum(header >> 6 & 1 for header in coded)))
        self.widths_at = self.count + len(bases)
        self.stored = bytes(headers) + bases + widths
        self.lines: list[dict[str, Any]] = []
        base, next_base, next_widths = 0, iter(bases), iter(widths)
        for header in headers:
            if header == _ZERO:
                self.lines.append({"zero": 1, "bad": 0})
                continue
            base = next(next_base) if header & 0x80 else base
            less = next(next_widths) if header & 0x40 else 0
            lesses = [less >> 2 * group & 3 for group in range(4)]
            width, whole = header & 7, header & 7 == 7
            bad = any(each > width for each in lesses)
            self.lines.append({
                "zero": 0, "bad": int(bad), "signs": header >> 3 & 1, "dense": header >> 4 & 1,
                "escape": header >> 5 & 1, "base": 255 if whole else base, "width": 8 if whole else width,
                **({} if bad else {"less": lesses})})


class _Lines:
    """The reader of lines, the memory, and the lines that are to come."""

    def __init__(self, dut: Any, size: int, rows: int, rng: random.Random, giving: float, ready: float):
        self.dut, self._rng, self._ready = dut, rng, ready
        self.memory = _Memory(size, rows, rng, giving)
        self.left: list[dict[str, Any]] = []
        self.came: list[int] = []                   # cycles in which lines were taken
        self.served: list[int | None] = []          # in each cycle, the reader that was served
        self._slot = 0
        self._held = False

    async def step(self, ctx: Any, facts: _Facts | None) -> bool:
        """A cycle, in which this block is loaded if it may be; whether it was."""
        dut, rng = self.dut, self._rng
        self.memory.offer(ctx, dut.word)
        # What is read is a function of registers.
        wants = []
        for ready in (0, 1, int(rng.random() < self._ready)):
            ctx.set(dut.lines.ready, ready)
            wants.append([ctx.get(read.want) for read in dut.reads])
        assert wants[0] == wants[1]
        served = self.memory.settle(ctx, dut.reads)
        takes = self._compare(ctx) and ctx.get(dut.lines.ready)
        loads = facts is not None and bool(ctx.get(dut.ends))
        assert ctx.get(dut.ends) or self.left, "it does not end"
        if facts is not None and loads:
            self._slot ^= 1
            other = self.memory.slots[self._slot]
            other[:] = facts.stored + rng.randbytes(len(other) - len(facts.stored))
            ctx.set(dut.count, facts.count)
            ctx.set(dut.widths_at, facts.widths_at)
            ctx.set(dut.slot, self._slot)
        else:
            for port in (dut.count, dut.widths_at, dut.slot):
                ctx.set(port, rng.getrandbits(len(port)))
        ctx.set(dut.load, loads)
        await ctx.tick()
        self.served.append(served)
        if takes:
            self.left.pop(0)
            self.came.append(len(self.served) - 1)
        if facts is not None and loads:
            # Lines of the block before may still be in a skid buffer, but none of them is to be read any more.
            assert len(self.left) <= 4, "lines are left over"
            self.left += facts.lines
            self.memory.slots[self._slot ^ 1][:] = rng.randbytes(len(self.memory.slots[0]))
        return loads

    def _compare(self, ctx: Any) -> bool:
        """Holds the line that is there against the one that is to come; whether there is one."""
        if not ctx.get(self.dut.lines.valid):
            assert not self._held, "what was offered is gone, and was not taken"
            return False
        assert self.left, "more lines come than there are"
        shown, expected = ctx.get(self.dut.lines.payload), self.left[0]
        for name, value in expected.items():
            found = shown.bad if name == "bad" else getattr(shown.record, name)
            found = list(found) if name == "less" else found
            assert found == value, f"{name} is {found}, not {value}, {len(self.left)} lines before the end"
        self._held = not ctx.get(self.dut.lines.ready)
        return True


@pytest.mark.parametrize(("size", "rows"), [(32, 3), (64, 2)])
@pytest.mark.parametrize(("giving", "ready"), [(1.0, 1.0), (0.4, 1.0), (1.0, 0.4), (0.7, 0.7)])
def test_lines(size: int, rows: int, giving: float, ready: float) -> None:
    rng = random.Random(f"{size} {giving} {ready}")
    dut = LineReader(size, 128 * _LINES, rows)
    blocks = [_Facts(rng, _headers(rng)) for _ in range(20)]
    blocks += [_Facts(rng, [header]) for header in (0xFF, 0x17, 0x00, 0x80, 0x40, 0xC6)]
    reader = _Lines(dut, size, rows, rng, giving, ready)

    async def process(ctx: Any) -> None:
        for facts in blocks:
            may = 0.0
            while not await reader.step(ctx, facts if rng.random() < may else None):
                may = 0.8
        while reader.left:
            await reader.step(ctx, None)
        for _ in range(5):
            await reader.step(ctx, None)

    clocked(dut, process, cycles=20_000)
    kinds = {(line["zero"], line["bad"]) for facts in blocks for line in facts.lines}
    assert kinds == {(0, 0), (0, 1), (1, 0)}


@pytest.mark.parametrize("size", [32, 64])
def test_cycles(size: int) -> None:
    """The table of the docstring; and lines come one per cycle, but for two cycles whenever a new word is needed."""
    rng = random.Random(size)
    dut = LineReader(size, 128 * _LINES, 4)
    reader = _Lines(dut, size, 4, rng, 1.0, 1.0)
    more = size == 64

    async def play(ctx: Any, headers: list[int]) -> None:
        """Plays a block alone."""
        reader.served, reader.came = [], []
        await reader.step(ctx, _Facts(rng, headers))
        while reader.left:
            await reader.step(ctx, None)

    async def process(ctx: Any) -> None:
        await play(ctx, [0x90, 0x90])
        assert reader.served[:6] == [None, 0, None, 1, 2, None]
        assert reader.came == [6 + more, 7 + more]
        await play(ctx, [0x10] * _LINES)
        each = size // WORDS
        assert reader.came == [4 + more + line + 2 * (line // each) for line in range(_LINES)]

    clocked(dut, process, cycles=500)
