"""An AXI4 port in another clock domain: bytes, rate, whole bursts, and resets of the far side in mid-transfer."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest
from amaranth.hdl import Elaboratable, Module, ResetInserter, Signal
from amaranth.lib.wiring import Out

from cdma.hdl.engine.axi.crossing import AxiCrossing
from cdma.hdl.engine.axi.reader import AxiReader
from cdma.hdl.engine.axi.writer import AxiWriter
from tests.hdl.bench import Bench
from tests.hdl.clocks import RATIOS, FarClock, LateBits, TwoClocks
from tests.hdl.engine.axi.masters import never_waits
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.axi.traffic import beats_of
from tests.hdl.ports import Source

_OUTSTANDING = 4
_BEAT_BYTES = 16
_SLVERR = 2
_RESET = 20e-6
_RESETS = 8


class _Done(NamedTuple):
    """Of a read and a write that ran together: whether each succeeded, the responses of the faults, the cycles."""

    read: bool
    written: bool
    responses: set[int]
    cycles: int

    @property
    def good(self) -> bool:
        return self.read and self.written


class _Link(Elaboratable):
    """A reader and a writer, as the engine has them, the crossing, and a memory on the other side."""

    def __init__(self, ratio: float, *, seed: str, most_beats: int = 32, whole: bool = False,
                 outstanding: int = _OUTSTANDING, **memory: Any):
        self.rng = random.Random(f"{ratio} {seed}")
        self.dut = AxiCrossing(32, _BEAT_BYTES, outstanding, most_beats, whole=most_beats * whole)
        self.reader = AxiReader(32, _BEAT_BYTES, 16, outstanding, most_beats)
        self.writer = AxiWriter(32, _BEAT_BYTES, 16, outstanding, most_beats, most_beats * whole)
        self._clear = Signal()
        self.design = TwoClocks(self)
        self.clock = FarClock(self.design, ratio, self.rng)
        self.memory = Memory(self.dut.o, _BEAT_BYTES, self.rng, most_beats=most_beats, domain="link",
                             content=bytearray(self.rng.randbytes(SIZE)), **memory)
        self._platform = LateBits(f"{ratio} {seed}")
        self._whole = whole
        self.far_resets = 0

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.dut = self.dut
        for master in (self.reader, self.writer):
            m.submodules += ResetInserter(self._clear)(master)
            for name, member in master.axi.signature.members.items():
                outside, inside = getattr(self.dut.i, name), getattr(master.axi, name)
                m.d.comb += outside.eq(inside) if member.flow is Out else inside.eq(outside)
        return m

    async def _low_in_reset(self, ctx: Any) -> None:
        """From the second edge of a reset on, the port is silent."""
        axi, before = self.dut.o, False
        while True:
            _, reset, *valid = await ctx.tick("link").sample(axi.arvalid, axi.awvalid, axi.wvalid)
            assert not (before and any(valid)), "something is valid in reset"
            before = bool(reset)

    async def reset_far(self, ctx: Any, cycles: int) -> None:
        """Resets the far side for cycles of its clock."""
        ctx.set(self.design.far.rst, 1)
        for _ in range(cycles):
            await ctx.tick("link")
        ctx.set(self.design.far.rst, 0)
        self.far_resets += 1

    def run(self, process: Any, *background: Any) -> None:
        async def start(ctx: Any) -> None:
            for domain in (self.design.near, self.design.far):
                ctx.set(domain.rst, 1)
            await ctx.delay(_RESET)
            for domain in (self.design.near, self.design.far):
                ctx.set(domain.rst, 0)
            await ctx.delay(_RESET)
            await process(ctx)

        watches = [self._low_in_reset, *([never_waits(self.dut.o, "link")] if self._whole else [])]
        Bench(self.design, self._platform).run(
            start, self.clock.run, self.memory.read, self.memory.write, *watches, *background)

    async def transfer(self, ctx: Any, busy: float = 1.0, bytes_: int | None = None, stop: int | None = None) -> _Done:
        """A read of the lower half of the memory and a write to the upper half at the same time; checks what came and
        what is there. When both are done or have failed, or after so many cycles, the masters are stopped and, when
        they are idle, cleared."""
        reader, writer, rng, memory, half = self.reader, self.writer, self.rng, self.memory, SIZE // 2
        size = bytes_ or rng.choice((1, _BEAT_BYTES, 700, rng.randint(1, 4000)))
        source = rng.randrange(0, half - 8192, _BEAT_BYTES)
        target = half + rng.randrange(0, half - 8192, _BEAT_BYTES)
        data, before = rng.randbytes(size), bytes(memory.content)
        sources = [Source(reader.i, [{"address": source, "bytes": size}], rng, busy),
                   Source(writer.i, [{"address": target, "bytes": size}], rng, busy),
                   Source(writer.data, beats_of(data, _BEAT_BYTES), rng, busy)]
        found, cycles, ended, written, stopped = b"", 0, False, False, False
        faults: dict[Any, int] = {}
        while not stopped:
            for each in sources:
                each.offer(ctx)
            ctx.set(reader.o.ready, rng.random() < busy)
            for each in sources:
                each.settle(ctx)
            if ctx.get(reader.o.valid) and ctx.get(reader.o.ready):
                beat = ctx.get(reader.o.payload)
                found += beat.data.to_bytes(_BEAT_BYTES, "little")[:beat.keep.bit_count()]
                ended = ended or bool(beat.last)
            faults |= {unit: ctx.get(unit.fault.resp) for unit in (reader, writer) if ctx.get(unit.fault.valid)}
            written = not sources[1].left and not sources[2].left and bool(ctx.get(writer.idle))
            stopped = cycles == stop or ((ended or reader in faults) and (written or writer in faults))
            await ctx.tick()
            cycles += 1
        for each in sources:
            ctx.set(each.port.valid, 0)
        for level in (1, 0):
            ctx.set(reader.stop, level)
            ctx.set(writer.stop, level)
            await ctx.tick()
            while level and not (ctx.get(reader.idle) and ctx.get(writer.idle)):
                await ctx.tick()
            ctx.set(self._clear, level)
        done = _Done(ended and reader not in faults, written and writer not in faults, {*faults.values()}, cycles)
        assert not done.read or found == before[source:source + size]
        assert not done.written or memory.content[target:target + size] == data
        assert memory.content[:target] == before[:target]
        assert memory.content[target + size:] == before[target + size:]
        return done


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(("most_beats", "busy", "bytes_", "memory"), [
    pytest.param(32, 1.0, None, {"early": True}, id="at once"),
    pytest.param(32, 0.6, None, {"latency": 40, "pauses": 0.4, "stretch": 10}, id="late"),
    pytest.param(2, 1.0, 640, {"pauses": 0.5, "stretch": 20, "early": True}, id="beats before the address")])
@pytest.mark.parametrize("ratio", RATIOS)
def test_any_transfer_at_any_pace(ratio: float, most_beats: int, busy: float, bytes_: int | None,
                                  memory: dict[str, Any], whole: bool) -> None:
    """Beats of the next burst wait for its address, also when the far side has taken all beats of a burst and not yet
    its address: the memory watches."""
    link = _Link(ratio, seed=f"{most_beats} {busy} {whole}", most_beats=most_beats, whole=whole,
                 **{"early": not whole, **memory})

    async def process(ctx: Any) -> None:
        for _ in range(6 if bytes_ is None else 3):
            assert (await link.transfer(ctx, busy, bytes_)).good
            assert link.memory.open == 0

    link.run(process)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("ratio", RATIOS)
def test_the_slower_clock_sets_the_rate(ratio: float, whole: bool) -> None:
    """A beat in each of its cycles, both ways at the same time; what it takes to begin and to end comes on top."""
    link = _Link(ratio, seed="rate", whole=whole, early=True)
    beats = 300

    async def process(ctx: Any) -> None:
        await link.transfer(ctx)
        done = await link.transfer(ctx, bytes_=beats * _BEAT_BYTES)
        slow = max(1.0, 1 / ratio)
        extra = 40 + (32 if whole else 0)
        assert done.cycles <= (1.02 * beats + extra) * slow + extra

    link.run(process)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("ratio", RATIOS)
def test_resets_of_the_far_side(ratio: float, whole: bool) -> None:
    """Transfers end with SLVERR, whether the reset is short or long; after it they succeed, and nothing of before it
    comes."""
    link = _Link(ratio, seed=f"resets {whole}", whole=whole, latency=20, pauses=0.2, stretch=4, early=not whole)
    calm = [False]
    found: list[Any] = []

    async def resets(ctx: Any) -> None:
        await ctx.delay(200e-6)
        for _ in range(_RESETS):
            await ctx.delay(link.rng.random() * 300e-6 * max(1.0, 1 / ratio))
            await link.reset_far(ctx, link.rng.choice((1, 1, 2, 40)))
        calm[0] = True

    async def process(ctx: Any) -> None:
        while not calm[0]:
            found.append(await link.transfer(ctx, 0.8))
        for _ in range(2):
            await link.transfer(ctx, 0.8)
        assert (await link.transfer(ctx, 0.8)).good

    link.run(process, resets)
    failed = [each for each in found if each.responses]
    assert link.far_resets == _RESETS and len(failed) > 2 and any(not each.responses for each in found)
    assert {response for each in failed for response in each.responses} == {_SLVERR}


def test_a_clock_that_stands() -> None:
    """Nothing is lost; with a reset meanwhile, open bursts are answered."""
    link = _Link(1.31, seed="stands", latency=10)
    over = [False]

    async def stop(ctx: Any) -> None:
        await ctx.delay(120e-6)
        link.clock.stands = True
        await ctx.delay(500e-6)
        over[0] = True
        link.clock.stands = False

    async def process(ctx: Any) -> None:
        while not over[0]:
            assert (await link.transfer(ctx, bytes_=3000)).good
        link.clock.stands = True
        ctx.set(link.design.far.rst, 1)
        done = await link.transfer(ctx)
        assert not done.read and not done.written and done.responses == {_SLVERR}
        ctx.set(link.design.far.rst, 0)
        link.clock.stands = False
        for _ in range(4):
            await ctx.tick("link")
        await link.reset_far(ctx, 2)
        await ctx.delay(5e-6)
        done = await link.transfer(ctx)
        while not done.written:
            done = await link.transfer(ctx)
        assert done.read

    link.run(process, stop)


def test_short_bursts_that_are_whole_while_the_clock_stands() -> None:
    """Their beats all have a place, and only some of their addresses: the others go on with the clock."""
    bursts = 16
    link = _Link(1.31, seed="short", most_beats=16, whole=True, outstanding=bursts)
    writer, data = link.writer, link.rng.randbytes(bursts * _BEAT_BYTES)

    async def process(ctx: Any) -> None:
        requests = [{"address": place, "bytes": _BEAT_BYTES} for place in range(0, len(data), _BEAT_BYTES)]
        sources = [Source(writer.i, requests, link.rng, 1.0),
                   Source(writer.data, beats_of(data, _BEAT_BYTES), link.rng, 1.0)]
        assert (await link.transfer(ctx)).good
        link.clock.stands = True
        for _ in range(200):
            for each in sources:
                each.offer(ctx)
            for each in sources:
                each.settle(ctx)
            await ctx.tick()
        assert not any(each.left for each in sources), "not all bursts were taken"
        link.clock.stands = False
        await ctx.tick().repeat(200)
        assert ctx.get(writer.idle), "bursts are left without an answer"
        assert link.memory.content[:len(data)] == data

    link.run(process)


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_reset_of_the_near_side(ratio: float) -> None:
    """Of an idle port, for a single cycle; and together with the far side at any time."""
    link = _Link(ratio, seed="near")

    async def process(ctx: Any) -> None:
        for number in range(4):
            await link.transfer(ctx, stop=link.rng.randrange(200) if number % 2 else None)
            if number % 2:
                ctx.set(link.design.far.rst, 1)
            ctx.set(link.design.near.rst, 1)
            await ctx.tick()
            if number % 2:
                await ctx.tick("link")
                ctx.set(link.design.far.rst, 0)
            ctx.set(link.design.near.rst, 0)
            await ctx.delay(150e-6 * max(1.0, 1 / ratio))
            assert (await link.transfer(ctx)).good

    link.run(process)
