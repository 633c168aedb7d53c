"""The distributor against the golden model: every block comes to its lane, and every fault has its name."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from golden.codec import blocks
from hdl.config.engine import EngineConfig
from hdl.engine.link.distributor import Distributor
from hdl.engine.transfer.records import Status
from tests.hdl.bench import clocked
from tests.hdl.engine.link.streams import activations, damage, expected, packed

_ADDRESS = 5 << 20


@dataclass
class Seen:
    """What came out for one lane, and when."""

    blocks: list[tuple[Any, bytes]] = field(default_factory=list)
    open: Any = None
    rows: list[int] = field(default_factory=list)


class Bench:
    """A distributor, its stream, and lanes that take what comes."""

    def __init__(self, config: EngineConfig, stream: bytes, raw_bytes: int, element: int, *, first_lane: int = 0,
                 busy: float = 1.0, willing: float = 1.0, seed: int = 0):
        self.config, self.stream, self.raw_bytes, self.element = config, stream, raw_bytes, element
        self.first_lane, self.busy, self.willing = first_lane, busy, willing
        self.rng = random.Random(seed)
        self.dut = Distributor(config)
        self.seen = [Seen() for _ in range(config.lanes)]
        self.fault: tuple[Status, int] | None = None
        self.done = False
        self.raw_blocks = 0
        self.taken: list[int] = []

    def run(self) -> Bench:
        clocked(self.dut, self._process)
        return self

    async def _process(self, ctx: Any) -> None:
        dut, rng, size = self.dut, self.rng, self.config.link_beat_bytes
        beats = [self.stream[at:at + size] for at in range(0, len(self.stream), size)]
        ctx.set(dut.start.payload, {"first_lane": self.first_lane, "address": _ADDRESS,
                                    "raw_bytes": self.raw_bytes, "element": self.element})
        ctx.set(dut.start.valid, 1)
        await ctx.tick()
        ctx.set(dut.start.valid, 0)
        sent = quiet = cycle = 0
        offered = False
        while quiet < 12:
            assert cycle < 40 * (len(beats) + 20) / self.busy / self.willing, "hangs"
            if not offered and sent < len(beats) and rng.random() < self.busy:
                offered = True
                beat = beats[sent]
                ctx.set(dut.i.payload, {
                    # Behind the end of the packet anything may be.
                    "data": int.from_bytes(beat + rng.randbytes(size - len(beat)), "little"),
                    "keep": (1 << len(beat)) - 1, "last": sent == len(beats) - 1})
            ctx.set(dut.i.valid, offered)
            for lane in dut.lanes:
                ctx.set(lane.ready, rng.random() < self.willing)
            took = offered and ctx.get(dut.i.ready)
            for number, lane in enumerate(dut.lanes):
                if ctx.get(lane.valid) and ctx.get(lane.ready):
                    self._see(self.seen[number], cycle, ctx.get(lane.payload))
            await ctx.tick()
            cycle += 1
            if took:
                self.taken.append(cycle)
                sent, offered = sent + 1, False
            fault = ctx.get(dut.fault)
            if self.fault is not None:
                assert (fault.status, fault.block) == self.fault, "the fault changed"
            if fault.valid:
                self.fault = fault.status, fault.block
            self.done = bool(ctx.get(dut.done))
            quiet = quiet + 1 if sent == len(beats) and (self.done or self.fault) else 0
            assert not (self.done and self.fault)
        self.raw_blocks = ctx.get(dut.raw_blocks)

    def _see(self, seen: Seen, cycle: int, piece: Any) -> None:
        seen.rows.append(cycle)
        assert piece.first == (seen.open is None)
        if piece.first:
            seen.open = piece.block
            seen.blocks.append((piece.block, b""))
        block, content = seen.blocks[-1]
        seen.blocks[-1] = block, content + piece.data.to_bytes(self.config.link_beat_bytes, "little")
        if piece.last:
            seen.open = None

    def check(self) -> None:
        """Compares with the golden model."""
        config = self.config
        hope = expected(self.stream, config.block_bytes, self.raw_bytes, self.element)
        assert self.fault == hope.fault
        assert self.done == (hope.fault is None)
        if hope.fault is None:
            assert self.raw_blocks == sum(block.coding == 0 for block in hope.blocks)
        for block in hope.blocks:
            lane = self.seen[(self.first_lane + block.number) % config.lanes]
            facts, content = lane.blocks.pop(0)
            assert (facts.number, facts.payload_bytes, facts.raw) == (
                block.number, block.payload_bytes, block.coding == 0)
            assert facts.address == _ADDRESS + block.number * config.block_bytes
            assert facts.raw_bytes == min(config.block_bytes, self.raw_bytes - block.number * config.block_bytes)
            end = block.payload_offset + block.payload_bytes
            assert content[:block.payload_bytes] == self.stream[block.payload_offset:end]
            assert len(content) == -(-block.payload_bytes // config.link_beat_bytes) * config.link_beat_bytes
        rest = [facts.number for lane in self.seen for facts, _ in lane.blocks]
        if hope.fault is None or hope.fault[0] in (
                Status.BAD_CODING, Status.BAD_SEQUENCE, Status.BAD_LENGTH, Status.TRAILING):
            assert rest == []
        assert all(number >= len(hope.blocks) for number in rest)


def _config(lanes: int, beat_bytes: int, link: int, block_bytes: int, element: int) -> EngineConfig:
    return EngineConfig(lanes=lanes, beat_bytes=beat_bytes, link_beat_bytes=link, block_bytes=block_bytes,
                        element_bits=tuple(sorted({8 * element, 32})))


def _random(rng: random.Random) -> tuple[EngineConfig, int, bytes, bytes, dict[str, Any]]:
    """A configuration, an element size, raw bytes, their stream, and how it is to be played."""
    element = rng.choice([1, 2, 4])
    link = rng.choice([16, 32, 64])
    config = _config(rng.randrange(1, 7), 16, link, rng.choice([512, 512, 1024, 4096]), element)
    raw = activations(rng, element * rng.randrange(1, 5 * config.block_bytes // element), element)
    speed = rng.choice([(1.0, 1.0), (1.0, 0.6), (0.5, 1.0), (0.7, 0.7)])
    options = {"first_lane": rng.randrange(config.lanes), "busy": speed[0], "willing": speed[1],
               "seed": rng.getrandbits(32)}
    return config, element, raw, packed(raw, element, config.block_bytes, rng.random() < 0.7), options


@pytest.mark.parametrize("seed", range(15))
def test_every_block_reaches_its_lane(seed: int) -> None:
    config, element, raw, stream, options = _random(random.Random(f"whole {seed}"))
    bench = Bench(config, stream, len(raw), element, **options).run()
    assert bench.fault is None
    bench.check()


@pytest.mark.parametrize("seed", range(60))
def test_every_fault_is_named(seed: int) -> None:
    rng = random.Random(f"damaged {seed}")
    config, element, raw, stream, options = _random(rng)
    Bench(config, damage(rng, stream, config.block_bytes), len(raw), element, **options).run().check()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("element", [1, 2])
@pytest.mark.parametrize("link", [16, 32, 64])
def test_what_is_behind_a_cut_is_no_padding(link: int, element: int, seed: int) -> None:
    config = _config(2, 16, link, 512, element)
    raw = bytes(range(1, element + 1))
    stream = packed(raw, element, 512, False)
    bench = Bench(config, stream[:-4], len(raw), element, seed=seed).run()
    bench.check()
    assert bench.fault == (Status.TRUNCATED, 0)


@pytest.mark.parametrize("byte", [2, 3])
@pytest.mark.parametrize("size", [4, 12, 28, 60])
@pytest.mark.parametrize("link", [16, 32, 64])
def test_a_bad_header_in_the_last_beat_is_not_the_end_of_a_good_stream(link: int, size: int, byte: int) -> None:
    config = _config(2, 16, link, 512, 4)
    raw = bytes(range(1, size + 1))
    stream = bytearray(packed(raw, 4, 512))
    stream[byte] ^= 8
    bench = Bench(config, bytes(stream), len(raw), 4).run()
    bench.check()
    assert bench.fault is not None


@pytest.mark.parametrize("link", [16, 32, 64])
@pytest.mark.parametrize("lanes", [2, 3, 4])
def test_a_beat_in_every_cycle(lanes: int, link: int) -> None:
    config = _config(lanes, 16, link, 512, 4)
    raw = activations(random.Random(lanes * link), 40 * 512, 4)
    bench = Bench(config, packed(raw, 4, 512), len(raw), 4).run()
    bench.check()
    beats = [block.offset // link for block in blocks.headers(bench.stream, 512)]
    # Only a beat with several headers takes longer.
    assert bench.taken[-1] - bench.taken[0] <= len(bench.taken) - 1 + len(beats) - len(set(beats))


@pytest.mark.parametrize("link", [16, 64])
def test_a_single_lane_gets_raw_blocks_without_gaps(link: int) -> None:
    config = _config(1, 16, link, 512, 4)
    raw = random.Random(link).randbytes(40 * 512)
    bench = Bench(config, packed(raw, 4, 512), len(raw), 4).run()
    bench.check()
    assert bench.taken[-1] - bench.taken[0] == len(bench.taken) - 1


def test_stopped_it_takes_all_and_hands_out_nothing() -> None:
    config = _config(2, 16, 32, 512, 4)
    raw = random.Random(1).randbytes(3 * 512)
    stream = packed(raw, 4, 512)
    dut = Distributor(config)

    async def process(ctx: Any) -> None:
        ctx.set(dut.start.payload, {"raw_bytes": len(raw), "element": 4})
        ctx.set(dut.start.valid, 1)
        ctx.set(dut.i.valid, 1)
        sent = 0
        for cycle in range(100):
            ctx.set(dut.i.payload, {"data": int.from_bytes(stream[sent:sent + 32], "little"), "keep": -1, "last": 0})
            ctx.set(dut.stop, cycle > 20)
            sent += 32 * ctx.get(dut.i.ready)
            for lane in dut.lanes:
                ctx.set(lane.ready, cycle < 20)
            await ctx.tick()
            if cycle > 20:
                assert ctx.get(dut.i.ready)
                assert not any(ctx.get(lane.valid) for lane in dut.lanes)
        assert not ctx.get(dut.fault.valid)
        assert not ctx.get(dut.done)

    clocked(dut, process)
