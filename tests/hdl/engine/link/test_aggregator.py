"""The aggregator against plain concatenation: any blocks, any lanes, any pauses, ends, totals, capacity and speed."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.link.aggregator import Aggregator
from cdma.hdl.engine.link.ledger import Ledger
from cdma.hdl.engine.transfer.records import BLOCK_BITS
from cdma.hdl.engine.transfer.streams import stream_fault_layout
from tests.hdl.bench import Bench, clocked
from tests.hdl.ports import Source

PARTS = ["cdma.hdl.engine.link.barrel_shifter.BarrelShifter"]
"""Components whose faults show here; mutants of them were tried."""

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


class _Run:
    """Transfers through an aggregator, with pauses of the lanes and of the sink, and what came of them."""

    def __init__(self, config: EngineConfig, rng: random.Random, busy: float = 1.0, willing: float = 1.0):
        self.config, self.rng, self._busy, self._willing = config, rng, busy, willing
        self.beats: list[Any] = []
        self.cycles: list[int] = []                     # when each beat was taken
        self.ended: list[tuple[int, int, int]] = []     # bytes, nonzero and raw blocks of each transfer
        self.waits = 0

    async def play(self, ctx: Any, dut: Aggregator, asked: list[list[_Block]], capacity: int = 1 << 30,
                   limit: int = 20_000, more: int = 0) -> None:
        """Gives transfers as soon as they are taken; blocks of later ones wait in the lanes. Ends with the last one, or
        at the limit. Each is said to have so many ``more`` blocks than come."""
        lanes = self.config.lanes
        starts: list[dict[str, int]] = []
        queues: list[deque[dict[str, int]]] = [deque() for _ in range(lanes)]
        for blocks in asked:
            first_lane = self.rng.randrange(lanes)
            starts.append({"first_lane": first_lane, "last_block": len(blocks) + more - 1, "capacity": capacity})
            for number, block in enumerate(blocks):
                queues[(first_lane + number) % lanes] += block.beats(self.config.link_words)
        sources = [Source(dut.start, starts, self.rng, 1.0),
                   *(Source(lane, queue, self.rng, self._busy) for lane, queue in zip(dut.lanes, queues, strict=True))]
        for cycle in range(limit):
            for source in sources:
                source.offer(ctx)
            ctx.set(dut.o.ready, self.rng.random() < self._willing)
            for source in sources:
                source.settle(ctx)
            _, _, valid, ready, beat, done, *totals = await ctx.tick().sample(
                dut.o.valid, dut.o.ready, dut.o.payload, dut.done, dut.bytes, dut.nonzero, dut.raw_blocks)
            self.waits += not valid
            if valid and ready:
                self.beats.append(beat)
                self.cycles.append(cycle)
            if done:
                self.ended.append(tuple(totals))
            if len(self.ended) == len(asked):
                assert not any(source.left for source in sources)
                break

    def packets(self) -> list[list[int]]:
        """The words that came out of each transfer, and of one that has not ended; only a last beat may be short, and
        is zero behind its words."""
        found: list[list[int]] = [[]]
        for beat in self.beats:
            assert beat.words == self.config.link_words or (beat.last and beat.words > 0)
            assert beat.data >> 32 * beat.words == 0
            found[-1] += [beat.data >> 32 * k & 0xFFFF_FFFF for k in range(beat.words)]
            if beat.last:
                found.append([])
        return found

    def check(self, asked: list[list[_Block]]) -> None:
        """All words of all blocks have come, and the right totals."""
        assert self.packets() == [*([word for block in blocks for word in block.words] for blocks in asked), []]
        assert self.ended == [(4 * sum(len(block.words) for block in blocks), sum(block.nonzero for block in blocks),
                               sum(block.raw for block in blocks)) for blocks in asked]


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
            await run.play(ctx, dut, [blocks], 4 * total + rng.choice([0, 1, 100, 1 << 38]))
            run.check([blocks])
            for _ in range(rng.randrange(5)):
                await ctx.tick()
                assert not (ctx.get(dut.done) or ctx.get(dut.o.valid) or ctx.get(dut.overflow.valid))

    clocked(dut, process)


@pytest.mark.parametrize("name", ["tiny", "two", "three", "wide"])
def test_transfers_one_behind_the_other(name: str) -> None:
    """Blocks of later transfers wait in the lanes: each transfer has its own totals, and few cycles are lost."""
    config = _CONFIGS[name]
    rng = random.Random(name)
    dut = Aggregator(config)
    asked = [[_block(config, rng, words) for words in _lengths(config, rng, "whole" if count > 60 else "mixed", count)]
             for count in (3, 1, 1, 64, 2, 1, 150, 65, 33)]
    run = _Run(config, rng)
    clocked(dut, lambda ctx: run.play(ctx, dut, asked))
    run.check(asked)
    if config.lanes > 1:
        assert run.waits <= 4 * len(asked) + 12     # blocks shorter than a beat fill a row slowly


@pytest.mark.parametrize("name", _CONFIGS)
def test_a_beat_in_every_cycle(name: str) -> None:
    """Lanes that always have data: all cycles but a few in a thousand bring a full beat; a single lane loses at most
    one per block."""
    config = _CONFIGS[name]
    rng = random.Random(name)
    width = config.link_words
    most = min(130, (config.largest_payload // 4 + 1) // width)
    lengths = [*(rng.randint(4 * width + 1, most * width) for _ in range(24)),
               5 * width, 5 * width + 1, 5 * width - 1, 6 * width, 4 * width + 1]
    blocks = [_block(config, rng, words) for words in lengths]
    dut = Aggregator(config)
    run = _Run(config, rng)
    clocked(dut, lambda ctx: run.play(ctx, dut, [blocks]))
    run.check([blocks])
    beats = -(-sum(lengths) // width)
    assert len(run.cycles) == beats
    assert run.cycles[0] == 3
    elapsed = run.cycles[-1] - run.cycles[0] + 1
    if config.lanes > 1:
        assert beats / elapsed >= 0.995
    assert elapsed <= beats + (len(blocks) if config.lanes == 1 else 0)


@pytest.mark.parametrize("name", ["tiny", "three"])
def test_all_bits_of_the_number_of_blocks_count(name: str) -> None:
    """The transfer goes on behind the blocks that its lowest bits ask for."""
    config, rng = _CONFIGS[name], random.Random(name)
    dut = Aggregator(config)
    bench = Bench(dut)
    blocks = [_block(config, rng, config.link_words) for _ in range(6)]
    for bit in range(BLOCK_BITS):
        run = _Run(config, rng)
        bench.run(lambda ctx, run=run, bit=bit: run.play(ctx, dut, [blocks], limit=40, more=1 << bit))
        assert run.packets() == [[word for block in blocks for word in block.words]], f"bit {bit}"
        assert not run.ended


@pytest.mark.parametrize("bit", [13, 24, 32, 38])
def test_bytes_of_long_transfers(bit: int) -> None:
    """The count goes on from two beats below this bit."""
    config, rng = _CONFIGS["two"], random.Random(bit)
    dut = Aggregator(config)
    bench = Bench(dut)
    beats = bench.register("full_beats")
    before = (1 << bit) // config.link_beat_bytes - 2
    run = _Run(config, rng)

    async def process(ctx: Any) -> None:
        await run.play(ctx, dut, [[_block(config, rng, 6 * config.link_words + 1)]])

    async def long(ctx: Any) -> None:
        await ctx.tick().until(dut.start.valid & dut.start.ready)
        ctx.set(beats, before)

    bench.run(process, long)
    assert [total for total, *_ in run.ended] == [config.link_beat_bytes * (before + 6) + 4]


def test_totals_have_bits_for_the_longest_transfer() -> None:
    """Of 2 ** 40 bytes less one, in blocks of 512."""
    ledger = Ledger(_CONFIGS["default"])
    ledger._MustUse__silence = True        # Amaranth complains of components that are not elaborated
    assert stream_fault_layout()["block"].width == 32
    assert [len(each) for each in (ledger.nonzero, ledger.raw_blocks, ledger.overflow.block)] == [40, 32, 32]


@pytest.mark.parametrize("name", ["tiny", "three", "default"])
@pytest.mark.parametrize("missing", [1, 4, 5, 9, 64, 401])
def test_nothing_of_a_block_that_does_not_fit(name: str, missing: int) -> None:
    """Bytes that are missing at the end of the transfer, or a little before: all whole beats of the blocks that fit
    come out, and no end."""
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
        await run.play(ctx, dut, [blocks], capacity, limit=2000)
        assert (ctx.get(dut.overflow.valid), ctx.get(dut.overflow.block)) == (1, fitting)

    clocked(dut, process)
    before = ends[fitting - 1] if fitting else 0
    assert run.packets() == [words[:before // config.link_words * config.link_words]]
    assert not run.ended
