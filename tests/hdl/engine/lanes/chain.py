"""From block stream to memories: a distributor and its lanes, for tests."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Module, ResetInserter
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.golden.codec.coding import Coding
from cdma.hdl.common.beat import beat_stream
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.signature import axi_write
from cdma.hdl.engine.lanes.prefetch import PrefetchLane
from cdma.hdl.engine.link.distributor import Distributor, start_layout
from cdma.hdl.engine.link.verdict import Verdict
from cdma.hdl.engine.transfer.records import Status
from cdma.hdl.engine.transfer.streams import stream_fault_layout
from tests.hdl.bench import Bench
from tests.hdl.engine.axi.memory import Memory
from tests.hdl.engine.link.streams import stream_beats
from tests.hdl.ports import Source

__all__ = ["Chain", "Play", "Stream"]


class Chain(wiring.Component):
    """The distributor, its lanes, and the verdict, wired as in the engine."""

    def __init__(self, config: EngineConfig):
        self._config = config
        self.lanes = [PrefetchLane(config) for _ in range(config.lanes)]
        super().__init__({
            "start": In(stream.Signature(start_layout(config))), "i": In(beat_stream(config.link_beat_bytes)),
            "memories": Out(axi_write(config.address_bits, config.beat_bytes)).array(config.lanes),
            "renew": In(1), "stop": In(1), "idle": Out(1), "done": Out(1), "fault": Out(stream_fault_layout()),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        distributor = Distributor(self._config)
        m.submodules.distributor = ResetInserter(self.renew)(distributor)
        m.submodules.verdict = verdict = Verdict(self._config)
        wiring.connect(m, wiring.flipped(self.start), distributor.start)
        wiring.connect(m, wiring.flipped(self.i), distributor.i)
        for number, lane in enumerate(self.lanes):
            m.submodules[f"lane{number}"] = lane
            wiring.connect(m, distributor.lanes[number], lane.i)
            wiring.connect(m, lane.axi, wiring.flipped(self.memories[number]))
            m.d.comb += [
                lane.stop.eq(self.stop),
                verdict.lanes[number].eq(lane.fault), verdict.settled[number].eq(lane.settled),
            ]
        m.d.comb += [
            verdict.distributor.eq(distributor.fault),
            distributor.stop.eq(verdict.stop | self.stop),
            self.fault.eq(verdict.fault),
            self.idle.eq(Cat(lane.idle for lane in self.lanes).all()),
            self.done.eq(distributor.done),
        ]
        return m


@lru_cache(maxsize=16)
def _prepared(config: EngineConfig) -> tuple[Chain, Bench]:
    dut = Chain(config)
    return dut, Bench(dut)


class Stream(NamedTuple):
    """A stream, and what the distributor is told of it."""

    content: bytes
    raw_bytes: int
    coding: int
    narrow: int = 0
    address: int = 0


class Play:
    """A run of the chain: a stream in, the memories and the verdict out; whole ones come before it through the same
    lanes, which are not reset, as in the engine."""

    def __init__(self, config: EngineConfig, stream: bytes, raw_bytes: int, coding: int, *, narrow: int = 0,
                 address: int = 0, before: Sequence[Stream] = (),
                 busy: float = 1.0, pauses: float = 0.0, latency: int = 0, seed: int = 0,
                 slow: int | None = None, faulty: tuple[int, int] | None = None,
                 stop_at: int | None = None, inject: tuple[int, int, int] | None = None):
        self.config, self.before, self.busy, self.stop_at = config, before, busy, stop_at
        self.stream = Stream(stream, raw_bytes, coding, narrow, address)
        self.rng = random.Random(seed)
        self.dut, bench = _prepared(config)
        self.memories = [Memory(port, config.beat_bytes, self.rng, latency=latency, pauses=pauses,
                                content=bytearray(b"\xa5" * (1 << 16))) for port in self.dut.memories]
        if slow is not None:
            self.memories[slow].pauses, self.memories[slow].stretch = 0.9, 20
        if faulty:
            # This lane's memory answers the burst at this address with an error.
            self.memories[faulty[0]].faulty[faulty[1]] = 3
        # An error for a lane, one of its memories, from a cycle on; and the lane that has found one.
        self.inject = inject
        self.spoiled: int | None = None
        self.fault: tuple[Status, int] | None = None
        self.axi_fault: tuple[int, int, int] | None = None
        self.beats: list[list[int]] = [[] for _ in range(config.lanes)]
        bench.run(self._process, *(memory.write for memory in self.memories))

    async def _process(self, ctx: Any) -> None:
        for each in self.before:
            await self._send(ctx, each)
            ctx.set(self.dut.renew, 1)
            await ctx.tick()
            ctx.set(self.dut.renew, 0)
        await self._send(ctx, self.stream)
        await self._rest(ctx)

    async def _send(self, ctx: Any, stream: Stream) -> None:
        """Sends a stream, until it is over and, if it is the last, all is written, or until the run ends."""
        dut, last = self.dut, stream is self.stream
        beats = stream_beats(stream.content, self.config.link_beat_bytes, self.rng)
        start = {"first_lane": stream.address // self.config.block_bytes % self.config.lanes,
                 "address": stream.address, "raw_bytes": stream.raw_bytes, "element": stream.coding & 7,
                 "exponents": Coding(stream.coding).exponents, "narrow": stream.narrow}
        sources = [Source(dut.start, [start], self.rng, 1.0), Source(dut.i, beats, self.rng, self.busy)]
        cycle, ended = 0, False
        while not ended:
            assert cycle < (40 * len(beats) + stream.raw_bytes) / self.busy + 4000, "hangs"
            for source in sources:
                source.offer(ctx)
            for source in sources:
                source.settle(ctx)
            if self.inject:
                ctx.set(dut.lanes[self.inject[0]].inject[self.inject[1]], cycle == self.inject[2])
            for number, port in enumerate(dut.memories):
                if ctx.get(port.wvalid) and ctx.get(port.wready):
                    self.beats[number].append(cycle)
            await ctx.tick()
            cycle += 1
            fault = ctx.get(dut.fault)
            if fault.valid:
                self.fault = fault.status, fault.block
            else:
                for number, lane in enumerate(dut.lanes):
                    if ctx.get(lane.axi_fault.valid):
                        self.axi_fault = number, ctx.get(lane.axi_fault.resp), ctx.get(lane.axi_fault.address)
                    if self.config.buffer_parity and ctx.get(lane.spoiled):
                        self.spoiled = number
            ended = bool(self.fault or self.axi_fault or self.spoiled is not None or cycle == self.stop_at
                         or (ctx.get(dut.done) and (not last or ctx.get(dut.idle))))

    async def _rest(self, ctx: Any) -> None:
        """Stopped, it comes to rest whatever happened."""
        dut = self.dut
        ctx.set(dut.i.valid, 0)
        if self.spoiled is not None:
            # Of the lane with the error nothing more is written but the beat that waits at the port.
            port, written = dut.memories[self.spoiled], 0
            for _ in range(40):
                written += bool(ctx.get(port.wvalid) and ctx.get(port.wready) and ctx.get(port.wstrb))
                await ctx.tick()
            assert written <= 1
        ctx.set(dut.stop, 1)
        for _ in range(3000):
            await ctx.tick()
            if ctx.get(dut.idle):
                break
        assert ctx.get(dut.idle)
        assert not any(memory.open for memory in self.memories)

    def raw(self, stream: Stream | None = None) -> bytes:
        """The bytes at the destination of a stream, the last if none is given, each block from its lane's memory."""
        stream, size = stream or self.stream, self.config.block_bytes
        begin, end = stream.address, stream.address + stream.raw_bytes
        return b"".join(self._memory(at).content[at:at + min(size, end - at)] for at in range(begin, end, size))

    def untouched(self) -> bool:
        """Whether every byte that is in no destination is as it was."""
        size = self.config.block_bytes
        for memory in self.memories:
            for at in range(0, 1 << 16, size):
                used = max([0, *(min(size, each.address + each.raw_bytes - at) for each in (*self.before, self.stream)
                                 if at >= each.address and memory is self._memory(at))])
                if memory.content[at + used:at + size] != b"\xa5" * (size - used):
                    return False
        return True

    def _memory(self, address: int) -> Memory:
        return self.memories[address // self.config.block_bytes % self.config.lanes]
