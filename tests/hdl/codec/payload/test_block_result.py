# amaranth: UnusedElaboratable=no
"""The result of a block against the order of the format, for every order in which its faults may come."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest

from cdma.hdl.codec.payload.block_result import BlockResult
from cdma.hdl.codec.payload.unpacking import PayloadError
from tests.hdl.bench import clocked

_LINE = 128
_LINES = 16


@dataclass(frozen=True)
class _Block:
    """A block of so many beats, and what is wrong with it."""

    beats: int
    known: PayloadError = PayloadError.OK
    """Known before; the block ends in the line at fault."""
    spoiled: frozenset[int] = frozenset()
    """Lines whose record is bad."""
    bad_tag: bool = False
    """The last line has a 1 for a missing element."""
    truncated: int | None = None
    """The first beat whose data are not there."""
    surplus: bool = False
    """Data are left over."""

    def result(self, each: int) -> tuple[PayloadError, int | None]:
        """The first fault, and its line; ``each``: beats of a line."""
        last = (self.beats - 1) // each
        if self.known is not PayloadError.OK:
            return self.known, last
        for line in range(last + 1):
            if line in self.spoiled:
                return PayloadError.BAD_FACTS, line
            if line == last and self.bad_tag:
                return PayloadError.BAD_TAG, line
            if self.truncated is not None and self.truncated // each == line:
                return PayloadError.TRUNCATED_DATA, line
        return (PayloadError.TRAILING_BYTES, last) if self.surplus else (PayloadError.OK, None)


def _directed(each: int) -> list[_Block]:
    """Two lines and a beat: every pair of a bad record and data that end, with and without a bad tag and a surplus."""
    beats = 2 * each + 1
    return [_Block(beats, PayloadError.OK, frozenset(() if line is None else (line,)), bad_tag, cut, surplus)
            for line in (None, 0, 1, 2) for bad_tag in (False, True) for cut in (None, *range(beats))
            for surplus in (False, True)]


def _random(rng: random.Random, each: int) -> _Block:
    """A block of any length, with few faults or many."""
    beats = rng.choice([1, each, _LINES * each, rng.randrange(1, _LINES * each + 1)])
    share = rng.choice([0, 0.1, 0.4])
    if rng.random() < 0.2:
        known = rng.choice([error for error in PayloadError if error is not PayloadError.OK])
        return _Block(rng.randrange(_LINES) * each + 1, known)
    return _Block(beats, PayloadError.OK, frozenset(line for line in range(_LINES) if rng.random() < share),
                  rng.random() < share, rng.randrange(beats) if rng.random() < share else None,
                  rng.random() < 0.5)


@pytest.mark.parametrize(("size", "going"), [(16, 1.0), (32, 1.0), (32, 0.6), (64, 0.6)])
def test_the_first_fault_counts(size: int, going: float) -> None:
    rng = random.Random(f"{size} {going}")
    dut = BlockResult(size, _LINE * _LINES)
    each = _LINE // size
    blocks = [*_directed(each), *(_Block(each + 1, error) for error in PayloadError if error is not PayloadError.OK),
              *(_random(rng, each) for _ in range(60))]
    rng.shuffle(blocks)

    def beat(ctx: Any, block: _Block, number: int) -> None:
        """Sets a beat that is there, whether it leaves or not; what counts with the last one only is noise before."""
        last = number == block.beats - 1
        truncated = block.truncated is not None and number >= block.truncated
        ctx.set(dut.last, last)
        ctx.set(dut.known, block.known if last else rng.choice(list(PayloadError)))
        ctx.set(dut.bad_facts, number // each in block.spoiled)
        ctx.set(dut.bad_tag, block.bad_tag if last else rng.getrandbits(1))
        ctx.set(dut.truncated, truncated)
        ctx.set(dut.surplus, block.surplus if last and not truncated else rng.getrandbits(1))

    def nothing(ctx: Any) -> None:
        """Noise, as where no beat is there."""
        ctx.set(dut.known, rng.choice(list(PayloadError)))
        for port in (dut.last, dut.bad_facts, dut.bad_tag, dut.truncated, dut.surplus):
            ctx.set(port, rng.getrandbits(1))

    async def process(ctx: Any) -> None:
        for block in blocks:
            for number in range(block.beats):
                while rng.random() >= going:
                    ctx.set(dut.goes, 0)
                    nothing(ctx)
                    await ctx.tick()
                ctx.set(dut.goes, 1)
                beat(ctx, block, number)
                if number == block.beats - 1:
                    code, line = block.result(each)
                    found = ctx.get(dut.o)
                    assert found.code == code, f"{found.code} instead of {code}: {block}"
                    assert line is None or found.line == line, f"line {found.line} instead of {line}: {block}"
                await ctx.tick()

    clocked(dut, process, cycles=30_000)
    assert {block.result(each)[0] for block in blocks} == set(PayloadError)
