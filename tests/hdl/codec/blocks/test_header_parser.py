"""The header parser against a list of blocks: what every beat is to the blocks in it, and how the stream ends."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from cdma.hdl.codec.blocks.header_parser import HeaderParser
from tests.hdl.bench import Bench, clocked


@dataclass
class Step:
    """What is said of a beat at once: of the open block's words in it, and of one header; at the end, of the stream."""

    beat: int
    tail: tuple[int, int] | None        # whether the open block ends in it, and leaves words for one more row
    head: tuple[int, int, int, int, int] | None     # length, coding, sequence; ends in it; the next header's place
    carried: int                        # of the block that is open
    heads: int                          # headers before
    leaves: bool                        # the beat is done
    moves: bool = False                 # the next header has a length field
    field: int | None = None            # that length field; -1 where the stream ends in front of it
    end: str = ""                       # whole, torn or more


def _stream(rng: random.Random, words: int, blocks: int, short: bool = False
            ) -> tuple[list[int], list[tuple[int, int]]]:
    """The words of a stream, and of every header its place and the words of its payload; with ``short``, the last block
    has a length field."""
    content: list[int] = []
    heads = []
    for number in range(blocks):
        length = rng.choice([1, 4, 4 * rng.randrange(1, 2 * words), rng.randrange(1, 20 * words)])
        coding = rng.choice([0, 0x11, 0x12, 0x14, 0x22, 0x24])
        if short and number == blocks - 1:
            length, coding = length + 4, coding | 0x80
        size = -(-length // 4)
        heads.append((len(content), size))
        content.append(length | coding << 16 | number % 256 << 24)
        content += [rng.getrandbits(32) for _ in range(size)]
    return content, heads


def _steps(content: list[int], heads: list[tuple[int, int]], words: int, end: str) -> list[Step]:
    found = []
    ends = {place: place + size for place, size in heads}
    # A header with a length field is reported with the field, unless the stream ends in front of it.
    flagged = heads[-1][0] if content[heads[-1][0]] >> 16 & 0x80 else None
    field = None
    if flagged is not None:
        crosses = flagged % words == words - 1
        field = flagged if crosses and flagged + 1 == len(content) else flagged + 1
        ends[field] = ends[flagged]
        heads = [*heads[:-1], (field, heads[-1][1])]
    for at in range(0, len(content), words):
        part = content[at:at + words]
        beat = sum(word << 32 * k for k, word in enumerate(part))
        before = [place for place, _ in heads if place < at]
        inside = [place for place, _ in heads if at <= place < at + words]
        tail, carried = None, 0
        if before and ends[before[-1]] >= at:
            place, stop = before[-1], ends[before[-1]]
            carried = (1 << words - 1 - place % words) - 1
            rows = at // words - place // words
            tail = int(stop < at + words), int(-(-(stop - place) // words) > rows)
        steps = inside or [None]
        if flagged is not None and field not in inside and at <= flagged < at + words:
            steps = [*inside, None]
        for number, head in enumerate(steps):
            said = None
            if flagged is not None and at <= flagged < at + words and head in (None, field):
                found.append(Step(beat, tail if number == 0 else None, None, carried, len(before) + number,
                                  head is None, moves=True))
                tail = None
                if head is None:
                    continue
            if head is not None:
                if flagged is not None and head == field:
                    read = content[head] if flagged < head < len(content) else -1
                    found.append(Step(beat, None, None, carried, len(before) + number, False, field=read))
                    word = content[flagged] - 4
                else:
                    word = content[head]
                stop = ends[head]
                said = (word & 0xFFFF, word >> 16 & 0xFF, word >> 24, int(stop < at + words), (stop + 1) % words)
            found.append(Step(beat, tail if number == 0 else None, said, carried,
                              len(before) + number, number >= len(steps) - 1))
        if inside and at + words >= len(content) and ends[inside[-1]] + 1 < at + words:
            # The stream ends inside its last beat, where a header may still come: that takes a step of its own.
            found[-1].leaves = False
            found.append(Step(beat, None, None, 0, len(heads), True))
    found[-1].end = end
    return found


@pytest.mark.parametrize("words", [4, 8, 16])
@pytest.mark.parametrize(("busy", "going"), [(1.0, 1.0), (0.4, 1.0), (1.0, 0.4), (0.6, 0.6)])
def test_streams(words: int, busy: float, going: float) -> None:
    rng = random.Random(f"{words} {busy} {going}")
    for _ in range(6):
        blocks = rng.randrange(1, 30)
        content, heads = _stream(rng, words, blocks, rng.random() < 0.6)
        # A stream that is cut ends inside its last block; one that goes on has words behind it.
        end = rng.choice(["whole", "whole", "torn"])
        if end == "torn":
            content = content[:heads[-1][0] + 1 + rng.randrange(heads[-1][1])]
        _play(rng, words, content, _steps(content, heads, words, end), blocks, busy, going)


@pytest.mark.parametrize("words", [4, 8, 16])
def test_a_length_field_at_every_place_of_a_beat(words: int) -> None:
    rng = random.Random(f"field {words}")
    for place in range(words):
        for length in (1, 4 * rng.randrange(1, words), 4 * (words - 1), 4 * words, 9 * words):
            # A block fills the beat up to the header.
            before = 4 * ((place - 2) % words + 1)
            content = [before | 0x12 << 16, *(rng.getrandbits(32) for _ in range(before // 4))]
            heads = [(0, before // 4), (len(content), -(-length // 4) + 1)]
            assert heads[1][0] % words == place
            content += [length + 4 | 0x92 << 16 | 1 << 24, *(rng.getrandbits(32) for _ in range(heads[1][1]))]
            _play(rng, words, content, _steps(content, heads, words, "whole"), 2, 1.0, 1.0)
            content = content[:heads[1][0] + rng.choice([1, 2, rng.randrange(1, heads[1][1] + 1)])]
            if len(content) < sum(heads[1]) + 1:
                _play(rng, words, content, _steps(content, heads, words, "torn"), 2, 1.0, 0.7)


@pytest.mark.parametrize("words", [4, 8])
def test_what_comes_behind_the_last_block_is_told(words: int) -> None:
    rng = random.Random(words)
    for _ in range(10):
        content, _ = _stream(rng, words, 3, rng.random() < 0.5)
        assert any(_told_more(words, content + [7] * rng.randrange(1, 2 * words)))
        assert not any(_told_more(words, content))


@pytest.mark.parametrize("words", [4, 16])
def test_no_beat_is_taken_before_run_and_none_counts_after_drop(words: int) -> None:
    rng = random.Random(words)
    told = ("tail", "head", "moves", "field", "whole", "torn", "more")
    for cycles in (1, 2, 5, 9):
        parser = HeaderParser(words, 20 * words)
        content, _ = _stream(rng, words, 8)
        beats = [content[at:at + words] for at in range(0, len(content), words)]

        async def process(ctx: Any, parser: HeaderParser = parser, beats: list[list[int]] = beats,
                          cycles: int = cycles) -> None:
            left = list(beats)

            async def step() -> bool:
                """Offers the next beat for a cycle; whether it is taken."""
                ctx.set(parser.i.valid, bool(left))
                if left:
                    ctx.set(parser.i.payload.data, sum(word << 32 * k for k, word in enumerate(left[0])))
                    ctx.set(parser.i.payload.keep, (1 << 4 * len(left[0])) - 1)
                    ctx.set(parser.i.payload.last, len(left) == 1)
                taken = bool(left) and bool(ctx.get(parser.i.ready))
                await ctx.tick()
                if taken:
                    left.pop(0)
                return taken

            ctx.set(parser.go, 1)
            for _ in range(cycles):
                assert not await step(), "a beat is taken before run"
                assert not any(ctx.get(getattr(parser, name)) for name in told)
            ctx.set(parser.run, 1)
            assert await step(), "the first beat waits after run"
            assert ctx.get(parser.head)
            ctx.set(parser.go, rng.getrandbits(1))
            for _ in range(rng.randrange(3)):
                await step()
            # Whatever is held is forgotten, what comes is taken at once, and nothing is told any more.
            ctx.set(parser.drop, 1)
            ctx.set(parser.run, rng.getrandbits(1))
            for _ in range(len(left) + 2):
                ctx.set(parser.go, rng.getrandbits(1))
                assert not any(ctx.get(getattr(parser, name)) for name in told)
                assert ctx.get(parser.i.ready)
                await step()
            assert not left
            ctx.set(parser.drop, 0)
            assert not any(ctx.get(getattr(parser, name)) for name in told), "a dropped beat is still held"

        clocked(parser, process, cycles=2000)


def _told_more(words: int, content: list[int]) -> list[int]:
    """What ``more`` says in every cycle of a stream of three blocks."""
    parser = HeaderParser(words, 20 * words)
    told = []

    async def process(ctx: Any) -> None:
        ctx.set(parser.run, 1)
        ctx.set(parser.go, 1)
        heads, left = 0, list(content)
        for _ in range(len(content) + 10):
            ctx.set(parser.i.valid, bool(left))
            ctx.set(parser.i.payload.data, sum(word << 32 * k for k, word in enumerate(left[:words])))
            ctx.set(parser.i.payload.keep, (1 << 4 * min(words, len(left))) - 1)
            ctx.set(parser.i.payload.last, len(left) <= words)
            ctx.set(parser.final, heads == 2)
            told.append(ctx.get(parser.more))
            taken = bool(left) and ctx.get(parser.i.ready)
            heads += ctx.get(parser.head)
            await ctx.tick()
            left = left[words:] if taken else left

    clocked(parser, process)
    return told


@cache
def _prepared(words: int) -> tuple[HeaderParser, Bench]:
    parser = HeaderParser(words, 20 * words)
    return parser, Bench(parser)


def _play(rng: random.Random, words: int, content: list[int], steps: list[Step], blocks: int, busy: float,
          going: float) -> None:
    parser, bench = _prepared(words)
    beats = [content[at:at + words] for at in range(0, len(content), words)]

    async def process(ctx: Any) -> None:
        ctx.set(parser.run, 1)
        left, coming, held, offered = list(steps), list(beats), False, False
        while left or held:
            step = left[0] if left else None
            if not offered:
                offered = bool(coming) and rng.random() < busy
            part = coming[0] if coming else []
            # Bytes that do not count are noise.
            data = [*part, *(rng.getrandbits(32) for _ in range(words - len(part)))]
            ctx.set(parser.i.valid, offered)
            ctx.set(parser.i.payload.data, sum(word << 32 * k for k, word in enumerate(data)))
            ctx.set(parser.i.payload.keep, (1 << 4 * len(part)) - 1)
            ctx.set(parser.i.payload.last, len(coming) == 1)
            go = rng.random() < going
            ctx.set(parser.go, go)
            heads = step.heads if step else blocks
            ctx.set(parser.final, heads == blocks - 1)
            ctx.set(parser.carried, step.carried if step else 0)
            if held:
                assert step is not None
                _compare(ctx, parser, step)
            else:
                assert not any(ctx.get(signal) for signal in (
                    parser.tail, parser.head, parser.moves, parser.field, parser.whole, parser.torn, parser.more))
            leaves = held and go and step is not None and step.leaves
            assert ctx.get(parser.i.ready) == (not held or leaves)
            taken = offered and (not held or leaves)
            await ctx.tick()
            if held and go:
                left.pop(0)
            held = taken or (held and not leaves)
            if taken:
                coming.pop(0)
                offered = False
        assert ctx.get(parser.over)

    bench.run(process)


def _compare(ctx: Any, parser: HeaderParser, step: Step) -> None:
    assert ctx.get(parser.beat) == step.beat
    assert ctx.get(parser.tail) == (step.tail is not None)
    if step.tail:
        assert ctx.get(parser.tail_ends) == step.tail[0]
        assert not step.tail[0] or ctx.get(parser.tail_spills) == step.tail[1]
    assert ctx.get(parser.moves) == step.moves
    assert ctx.get(parser.field) == (step.field is not None)
    if step.field not in (None, -1):
        assert ctx.get(parser.length) == step.field
    assert ctx.get(parser.head) == (step.head is not None)
    if step.head:
        header = ctx.get(parser.header)
        assert (header.payload_bytes, header.coding, header.sequence) == step.head[:3]
        assert ctx.get(parser.head_ends) == step.head[3]
        assert ctx.get(parser.place) == step.head[4]
    assert [name for name in ("whole", "torn", "more") if ctx.get(getattr(parser, name))] == (
        [step.end] if step.end else [])
