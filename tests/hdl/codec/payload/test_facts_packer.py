"""The bytes of lines, joined by sections, against plain joined bytes: blocks of any number of lines, with and without
bases and widths."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from hdl.codec.payload.facts_packer import SECTIONS, FactsPacker
from tests.hdl.bench import Bench
from tests.hdl.codec.payload.payloads import LINE
from tests.hdl.ports import Sink

_SIZES = [(32, 1024), (32, 4096), (64, 4096)]
"""Bytes of a beat, and of a block at most."""

_READ, _BEFORE_READ = 5, 2
"""The first line of a block ends so many cycles after the block so many before it is joined, at the earliest."""

Block = list[list[int | None]]
"""For each line, the byte of each section if there is one."""


def _joined(block: Block) -> bytes:
    """Its sections one behind the other."""
    return bytes(line[section] or 0 for section in range(SECTIONS) for line in block if line[section] is not None)


def _rows(blocks: Sequence[Block], size: int) -> list[bytes]:
    """What counts of each row: up to the word of the block's last byte, which ends with zeros."""
    rows = []
    for block in blocks:
        joined = _joined(block)
        joined += bytes(-len(joined) % (size // 8))
        rows += [joined[at:at + size] for at in range(0, len(joined), size)]
    return rows


def _block(rng: random.Random, lines: int, shares: Sequence[float]) -> Block:
    """Lines which have the byte of each section at these shares."""
    return [[rng.getrandbits(8) if rng.random() < share else None for share in shares] for _ in range(lines)]


@dataclass
class _Play:
    """Lines into a packer; what has been seen of it."""

    size: int
    block_bytes: int

    def __post_init__(self) -> None:
        self.dut = FactsPacker(self.size, self.block_bytes)
        self._bench = Bench(self.dut)

    def __call__(self, blocks: Sequence[Block], rng: random.Random, busy: float = 1.0, ready: float = 1.0) -> None:
        """Sends the blocks, with pauses between their lines, and compares all rows."""
        dut, beats = self.dut, LINE // self.size
        self.ended: list[int] = []
        self.joined: list[int] = []
        self.came: list[int] = []
        self.waited = 0
        cycle = 0
        expected = _rows(blocks, self.size)

        def read(ctx: Any) -> bytes:
            return ctx.get(dut.o.payload).to_bytes(self.size, "little")[:len(sink.left[0])]

        sink = Sink(dut.o, expected, read, rng, ready)

        async def step(ctx: Any) -> None:
            nonlocal cycle
            sink.offer(ctx)
            sink.settle(ctx)
            if ctx.get(dut.joined):
                self.joined.append(cycle)
            if ctx.get(dut.o.valid):
                self.came.append(cycle)
            await ctx.tick()
            cycle += 1

        async def pause(ctx: Any) -> None:
            ctx.set(dut.done, 0)
            for port in (dut.there, dut.final):
                ctx.set(port, rng.getrandbits(len(port)))
            ctx.set(dut.bytes, [rng.getrandbits(8) for _ in range(SECTIONS)])
            await step(ctx)

        async def process(ctx: Any) -> None:
            for number, block in enumerate(blocks):
                before = number - _BEFORE_READ
                while before >= 0 and (len(self.joined) <= before or cycle < self.joined[before] + _READ):
                    self.waited += 1
                    await pause(ctx)
                for k, line in enumerate(block):
                    while rng.random() >= busy:
                        await pause(ctx)
                    ctx.set(dut.there, sum(1 << section for section in range(SECTIONS) if line[section] is not None))
                    ctx.set(dut.bytes, [rng.getrandbits(8) if byte is None else byte for byte in line])
                    for beat in range(beats):
                        ctx.set(dut.done, not beat)
                        ctx.set(dut.final, rng.getrandbits(1) if beat else k == len(block) - 1)
                        if not beat and k == len(block) - 1:
                            self.ended.append(cycle)
                        await step(ctx)
            while sink.left or len(self.joined) < len(blocks):
                await pause(ctx)
            # Nothing comes behind it.
            for _ in range(20):
                await pause(ctx)

        self._bench.run(process, cycles=10_000)
        assert len(self.joined) == len(blocks)


@cache
def _play(size: int, block_bytes: int) -> _Play:
    return _Play(size, block_bytes)


def _blocks(rng: random.Random, most: int, count: int) -> list[Block]:
    """Blocks of one line to the most there may be, whose lines have bases and widths always, at times or never."""
    shares = [0.0, 0.1, 0.5, 1.0]
    blocks = [_block(rng, rng.choice([1, 2, 3, most - 1, most, rng.randrange(1, most + 1)]),
                     [1.0, rng.choice(shares), rng.choice(shares)]) for _ in range(count)]
    # A block without a byte, as one that begins with a beat without an element; and sections of any length.
    blocks += [_block(rng, 1, [0.0] * SECTIONS) for _ in range(3)]
    blocks += [_block(rng, rng.randrange(1, most + 1), [rng.choice(shares) for _ in range(SECTIONS)])
               for _ in range(count // 4)]
    rng.shuffle(blocks)
    return blocks


@pytest.mark.parametrize(("size", "block_bytes"), _SIZES)
@pytest.mark.parametrize(("busy", "ready"), [(1.0, 1.0), (0.7, 0.5), (1.0, 0.02)])
def test_blocks(size: int, block_bytes: int, busy: float, ready: float) -> None:
    """Back to back, and with a reader that is slow."""
    rng = random.Random(f"{size} {block_bytes} {ready}")
    play = _play(size, block_bytes)
    play(_blocks(rng, block_bytes // LINE, 24 if ready > 0.1 else 12), rng, busy, ready)
    if ready < 0.1 and block_bytes > 1024:
        assert play.waited, "the reader is not slow enough to make blocks wait"


@pytest.mark.parametrize(("size", "block_bytes"), _SIZES)
def test_every_number_of_lines(size: int, block_bytes: int) -> None:
    """Each with all bytes, and with headers only."""
    rng = random.Random(f"lines {size} {block_bytes}")
    blocks = [_block(rng, lines, [1.0, share, share]) for lines in range(1, 18) for share in (0.0, 1.0)
              if lines <= block_bytes // LINE]
    _play(size, block_bytes)(blocks, rng)


@pytest.mark.parametrize(("size", "block_bytes"), _SIZES)
def test_whole_blocks_do_not_wait(size: int, block_bytes: int) -> None:
    """Lines with all bytes, one for each time of its beats: the packer keeps up."""
    rng = random.Random(f"whole {size} {block_bytes}")
    play = _play(size, block_bytes)
    play([_block(rng, block_bytes // LINE, [1.0] * SECTIONS) for _ in range(6)], rng)
    assert play.waited == 0


def test_when_rows_come() -> None:
    """The table of cycles."""
    rng = random.Random(0)
    play = _play(32, 4096)
    play([_block(rng, 32, [1.0] * SECTIONS)], rng)
    assert play.came[0] - play.ended[0] == 13
    assert play.joined[0] - play.ended[0] == 27
    play([_block(rng, 4, [1.0] * SECTIONS)], rng)
    assert play.joined[0] - play.ended[0] == 3
