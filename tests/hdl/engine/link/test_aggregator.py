"""The aggregator against plain concatenation: any blocks, any lanes, any pauses, ends, totals, capacity and speed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.link.aggregator import Aggregator
from tests.hdl.bench import clocked

_CONFIGS = {
    "tiny": EngineConfig(lanes=1, beat_bytes=16, link_beat_bytes=16, block_bytes=1024),
    "two": EngineConfig(lanes=2, beat_bytes=16, link_beat_bytes=16, block_bytes=2048, buffer_bytes=4096),
    "three": EngineConfig(lanes=3, beat_bytes=16, link_beat_bytes=64, block_bytes=8192, buffer_bytes=16384),
    "default": EngineConfig(),
    "five": EngineConfig(lanes=5, link_beat_bytes=32),
    "wide": EngineConfig(lanes=16, link_beat_bytes=64, block_bytes=8192, buffer_bytes=16384),
}


@dataclass
class _Block:
    words: list[int]
    nonzero: int
    raw: bool

    def beats(self, width: int) -> Iterator[dict[str, int]]:
        """What a lane shows of it; facts count on the first beat only, so the others carry wrong ones."""
        for at in range(0, len(self.words), width):
            part = self.words[at:at + width]
            first, last = at == 0, at + width >= len(self.words)
            facts = (len(self.words), self.nonzero, self.raw) if first else (3, 1, 1)
            yield {"data": sum(word << 32 * k for k, word in enumerate(part)), "words": len(part), "first": first,
                   "last": last, **dict(zip(("block_words", "nonzero", "raw"), facts, strict=True))}


@dataclass
class _Run:
    """Drives an aggregator through one transfer, with pauses of the lanes and of the sink."""

    config: EngineConfig
    rng: random.Random
    busy: float = 1.0
    willing: float = 1.0
    beats: list[Any] = field(default_factory=list)
    cycles: list[int] = field(default_factory=list)     # when each beat was taken, from the start on

    async def transfer(self, ctx: Any, dut: Aggregator, blocks: list[_Block], capacity: int, limit: int) -> None:
        lanes, width = self.config.lanes, self.config.link_words
        first_lane = self.rng.randrange(lanes)
        queues: list[list[dict[str, int]]] = [[] for _ in range(lanes)]
        for number, block in enumerate(blocks):
            queues[(first_lane + number) % lanes] += block.beats(width)
        for queue in queues:
            queue.reverse()
        self.beats, self.cycles = [], []
        ctx.set(dut.start.payload, {"first_lane": first_lane, "last_block": len(blocks) - 1, "capacity": capacity})
        ctx.set(dut.start.valid, 1)
        await ctx.tick()
        ctx.set(dut.start.valid, 0)
        shown = [False] * lanes
        ports = [port for lane in dut.lanes for port in (lane.valid, lane.ready)]
        for cycle in range(limit):
            for k, queue in enumerate(queues):
                if not shown[k] and queue and self.rng.random() < self.busy:
                    ctx.set(dut.lanes[k].payload, queue[-1])
                    ctx.set(dut.lanes[k].valid, 1)
                    shown[k] = True
            ctx.set(dut.o.ready, self.rng.random() < self.willing)
            _, _, valid, ready, beat, *handshakes = await ctx.tick().sample(
                dut.o.valid, dut.o.ready, dut.o.payload, *ports)
            if valid and ready:
                self.beats.append(beat)
                self.cycles.append(cycle)
            for k in range(lanes):
                if handshakes[2 * k] and handshakes[2 * k + 1]:
                    queues[k].pop()
                    shown[k] = False
                    ctx.set(dut.lanes[k].valid, 0)
            if ctx.get(dut.done):
                assert not any(queues)
                return

    def words(self) -> list[int]:
        """All words that came out; only a last beat may be short, and is zero behind its words."""
        result = []
        for beat in self.beats:
            assert beat.words == self.config.link_words or (beat.last and beat.words > 0)
            assert beat.data >> 32 * beat.words == 0
            result += [beat.data >> 32 * k & 0xFFFF_FFFF for k in range(beat.words)]
        return result


def _block(config: EngineConfig, rng: random.Random, words: int) -> _Block:
    return _Block([rng.getrandbits(32) for _ in range(words)], rng.randint(0, config.block_bytes), rng.random() < 0.3)


def _lengths(config: EngineConfig, rng: random.Random, kind: str, count: int) -> list[int]:
    width = config.link_words
    return [{
        "single": lambda: rng.randint(1, width),
        "short": lambda: rng.randint(1, 4 * width),
        "whole": lambda: width * rng.randint(1, 3),
        "mixed": lambda: rng.choice([1, 2, width - 1, width, width + 1, 2 * width + 1, rng.randint(1, 9 * width)]),
    }[kind]() for _ in range(count)]


@pytest.mark.parametrize("kind", ["single", "short", "whole", "mixed"])
@pytest.mark.parametrize("name", _CONFIGS)
def test_joins_blocks_without_gaps(name: str, kind: str) -> None:
    """Several transfers, one after another, each with pauses of its own."""
    config = _CONFIGS[name]
    rng = random.Random(f"{name} {kind}")
    dut = Aggregator(config)

    async def process(ctx: Any) -> None:
        assert not ctx.get(dut.done)
        for count in (1, 2, 3, 7, 25):
            run = _Run(config, rng, rng.choice([0.3, 0.8, 1.0]), rng.choice([0.3, 0.8, 1.0]))
            blocks = [_block(config, rng, words) for words in _lengths(config, rng, kind, count)]
            total = sum(len(block.words) for block in blocks)
            await run.transfer(ctx, dut, blocks, 4 * total + rng.choice([0, 1, 100, 1 << 38]), 4000)
            assert run.words() == [word for block in blocks for word in block.words]
            assert [beat.last for beat in run.beats] == [0] * (len(run.beats) - 1) + [1]
            assert ctx.get(dut.bytes) == 4 * total
            assert ctx.get(dut.nonzero) == sum(block.nonzero for block in blocks)
            assert ctx.get(dut.raw_blocks) == sum(block.raw for block in blocks)
            for _ in range(rng.randrange(5)):
                await ctx.tick()
                assert not (ctx.get(dut.done) or ctx.get(dut.o.valid) or ctx.get(dut.overflow.valid))

    clocked(dut, process)


@pytest.mark.parametrize("name", ["tiny", "two", "three", "wide"])
def test_transfers_one_behind_the_other(name: str) -> None:
    """Blocks of later transfers wait in the lanes: each transfer has its own totals, and few cycles are lost."""
    config = _CONFIGS[name]
    rng = random.Random(name)
    lanes, width = config.lanes, config.link_words
    dut = Aggregator(config)
    asked, queues = [], [[] for _ in range(lanes)]
    for count in (3, 1, 1, 64, 2, 1, 150, 65, 33):
        words = _lengths(config, rng, "whole" if count > 60 else "mixed", count)
        first_lane = rng.randrange(lanes)
        asked.append((first_lane, [_block(config, rng, each) for each in words]))
        for number, block in enumerate(asked[-1][1]):
            queues[(first_lane + number) % lanes] += block.beats(width)
    beats, ended = [], []
    waits = 0

    async def starts(ctx: Any) -> None:
        for first_lane, blocks in asked:
            ctx.set(dut.start.payload, {"first_lane": first_lane, "last_block": len(blocks) - 1, "capacity": 1 << 30})
            ctx.set(dut.start.valid, 1)
            await ctx.tick().until(dut.start.ready)
        ctx.set(dut.start.valid, 0)

    async def process(ctx: Any) -> None:
        nonlocal waits
        for queue in queues:
            queue.reverse()
        ports = [port for lane in dut.lanes for port in (lane.valid, lane.ready)]
        ctx.set(dut.o.ready, 1)
        while len(ended) < len(asked):
            for k, queue in enumerate(queues):
                ctx.set(dut.lanes[k].valid, bool(queue))
                if queue:
                    ctx.set(dut.lanes[k].payload, queue[-1])
            _, _, valid, beat, done, *rest = await ctx.tick().sample(
                dut.o.valid, dut.o.payload, dut.done, dut.bytes, dut.nonzero, dut.raw_blocks, *ports)
            totals, handshakes = rest[:3], rest[3:]
            waits += not valid
            if valid:
                beats.append(beat)
            if done:
                ended.append(tuple(totals))
            for k, queue in enumerate(queues):
                if handshakes[2 * k] and handshakes[2 * k + 1]:
                    queue.pop()

    clocked(dut, process, starts)
    assert ended == [(4 * sum(len(block.words) for block in blocks), sum(block.nonzero for block in blocks),
                      sum(block.raw for block in blocks)) for _, blocks in asked]
    found = [[]]
    for beat in beats:
        found[-1] += [beat.data >> 32 * k & 0xFFFF_FFFF for k in range(beat.words)]
        if beat.last:
            found.append([])
    assert found == [*([word for block in blocks for word in block.words] for _, blocks in asked), []]
    if lanes > 1:
        assert waits <= 4 * len(asked) + 12     # blocks shorter than a beat fill a row slowly


@pytest.mark.parametrize("name", _CONFIGS)
def test_a_beat_in_every_cycle(name: str) -> None:
    """Lanes that always have data: all cycles but a few in a thousand bring a full beat; a single lane loses at most
    one per block."""
    config = _CONFIGS[name]
    rng = random.Random(name)
    run = _Run(config, rng)
    width = config.link_words
    most = min(130, (config.largest_payload // 4 + 1) // width)
    blocks = [_block(config, rng, rng.randint(4 * width + 1, most * width)) for _ in range(24)]
    edges = (5 * width, 5 * width + 1, 5 * width - 1, 6 * width, 4 * width + 1)
    blocks += [_block(config, rng, words) for words in edges]
    words = sum(len(block.words) for block in blocks)
    dut = Aggregator(config)

    async def process(ctx: Any) -> None:
        await run.transfer(ctx, dut, blocks, 4 * words, 4000)
        assert len(run.words()) == words

    clocked(dut, process)
    beats = -(-words // width)
    assert len(run.cycles) == beats
    assert run.cycles[0] == 2
    elapsed = run.cycles[-1] - run.cycles[0] + 1
    if config.lanes > 1:
        assert beats / elapsed >= 0.995
    assert elapsed <= beats + (len(blocks) if config.lanes == 1 else 0)


@pytest.mark.parametrize("name", ["tiny", "three", "default"])
@pytest.mark.parametrize("missing", [1, 4, 5, 9, 64, 401])
def test_nothing_of_a_block_that_does_not_fit(name: str, missing: int) -> None:
    """Bytes that are missing at the end of the transfer, or a little before."""
    config = _CONFIGS[name]
    rng = random.Random(f"{name} {missing}")
    dut = Aggregator(config)
    blocks = [_block(config, rng, words) for words in _lengths(config, rng, "mixed", 12)]
    words = [word for block in blocks for word in block.words]
    capacity = max(0, 4 * len(words) - missing)
    ends = [sum(len(block.words) for block in blocks[:k + 1]) for k in range(len(blocks))]
    fitting = sum(4 * end <= capacity for end in ends)
    run = _Run(config, rng, 0.8, 0.8)

    async def process(ctx: Any) -> None:
        await run.transfer(ctx, dut, blocks, capacity, 2000)
        assert (ctx.get(dut.overflow.valid), ctx.get(dut.overflow.block)) == (1, fitting)
        assert not ctx.get(dut.done)

    clocked(dut, process)
    # All whole beats of the blocks that fit come out, and no end.
    width = config.link_words
    before = ends[fitting - 1] if fitting else 0
    assert run.words() == words[:before // width * width]
    assert not any(beat.last for beat in run.beats)
