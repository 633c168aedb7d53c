"""A distributor that is played a stream, and what the golden model says must come out."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from cdma.hdl.codec.coding import CODINGS
from cdma.hdl.codec.narrowing.rounding import Narrowing
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.link.distributor import Distributor
from cdma.hdl.engine.transfer.records import Status
from tests.hdl.bench import Bench
from tests.hdl.engine.link.streams import expected

__all__ = ["DistributorBench", "Seen", "distributor_config"]

_ADDRESS = 5 << 20


@dataclass
class Seen:
    """What came out for one lane, and when."""

    blocks: list[tuple[Any, bytes]] = field(default_factory=list)
    open: Any = None
    rows: list[int] = field(default_factory=list)


class DistributorBench:
    """A distributor, its stream, and lanes that take what comes; ``raw_bytes`` is the length in the stream, after
    narrowing."""

    def __init__(self, config: EngineConfig, stream: bytes, raw_bytes: int, coding: int, *, narrow: int = 0,
                 first_lane: int = 0, busy: float = 1.0, willing: float = 1.0, seed: int = 0):
        self.config, self.stream, self.raw_bytes, self.coding = config, stream, raw_bytes, coding
        self.narrow, self.first_lane, self.busy, self.willing = narrow, first_lane, busy, willing
        self.block_bytes = config.block_bytes // (2 if narrow else 1)
        self.rng = random.Random(seed)
        self.dut, self.bench = _prepared(config)
        self.seen = [Seen() for _ in range(config.lanes)]
        self.fault: tuple[Status, int] | None = None
        self.done = False
        self.raw_blocks = 0
        self.taken: list[int] = []

    def run(self) -> DistributorBench:
        """Plays the stream to its end."""
        self.bench.run(self._process)
        return self

    async def _process(self, ctx: Any) -> None:
        dut, rng, size = self.dut, self.rng, self.config.link_beat_bytes
        beats = [self.stream[at:at + size] for at in range(0, len(self.stream), size)]
        ctx.set(dut.start.payload, {
            "first_lane": self.first_lane, "address": _ADDRESS, "raw_bytes": self.raw_bytes * (2 if self.narrow else 1),
            "element": self.coding & 15, "exponents": self.coding >> 5 & 1, "narrow": self.narrow})
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
        config, size = self.config, self.block_bytes
        hope = expected(self.stream, size, self.raw_bytes, self.coding)
        assert self.fault == hope.fault
        assert self.done == (hope.fault is None)
        if hope.fault is None:
            assert self.raw_blocks == sum(block.coding == 0 for block in hope.blocks)
        for block in hope.blocks:
            lane = self.seen[(self.first_lane + block.number) % config.lanes]
            facts, content = lane.blocks.pop(0)
            start, length = block.payload_offset, block.payload_bytes
            if block.short:
                # The length field is left out.
                start, length = start + 4, length - 4
            assert (facts.number, facts.payload_bytes, facts.coding) == (block.number, length, block.coding)
            assert facts.narrow == Narrowing(self.narrow)
            assert facts.address == _ADDRESS + block.number * config.block_bytes
            assert facts.raw_bytes == min(size, self.raw_bytes - block.number * size)
            assert content[:length] == self.stream[start:start + length]
            assert len(content) == -(-length // config.link_beat_bytes) * config.link_beat_bytes
        rest = [facts.number for lane in self.seen for facts, _ in lane.blocks]
        if hope.fault is None or hope.fault[0] in (
                Status.BAD_CODING, Status.BAD_SEQUENCE, Status.BAD_LENGTH, Status.TRAILING):
            assert rest == []
        assert all(number >= len(hope.blocks) for number in rest)


@lru_cache(maxsize=4)
def _prepared(config: EngineConfig) -> tuple[Distributor, Bench]:
    dut = Distributor(config)
    return dut, Bench(dut)


def distributor_config(lanes: int, link: int, block_bytes: int, *codings: str, narrowing: bool = False
                       ) -> EngineConfig:
    """An engine with so many lanes of 16 bytes, a link of so many, and these codings, or all."""
    return EngineConfig(lanes=lanes, beat_bytes=16, link_beat_bytes=link, block_bytes=block_bytes,
                        codings=codings or tuple(CODINGS), narrowing=narrowing)
