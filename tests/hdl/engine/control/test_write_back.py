"""The write-back unit: records of both rings in turn, their order, errors, and a link that does not answer."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field
from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.write_back import WriteBack
from tests.hdl.bench import clocked
from tests.hdl.engine.axi.memory import SIZE, Memory

_RECORD = 64
_CONFIG = EngineConfig(lanes=2, beat_bytes=16, link_beat_bytes=32, buffer_bytes=8192, write_back=True)


@dataclass
class _Ring:
    """A ring as the unit sees it, and the completions of its direction; ``begun`` of them are open."""

    base: int
    size: int
    index: int = 0
    phase: int = 1
    begun: int = 0
    enabled: bool = True
    waiting: list[tuple[int, ...]] = field(default_factory=list)

    @property
    def address(self) -> int:
        return self.base + _RECORD * self.index

    def at(self, ahead: int) -> tuple[int, int]:
        """Index and phase of the place so many records behind the oldest one."""
        index = self.index + ahead
        return index % self.size, self.phase ^ (index >= self.size)


class _Bench:
    """The unit between link memory, two rings and two queues of completions."""

    def __init__(self, config: EngineConfig, seed: int, pauses: float, latency: int | None = None) -> None:
        self.rng = rng = random.Random(seed)
        self.dut = WriteBack(config)
        self.memory = Memory(self.dut.axi, config.link_beat_bytes, rng,
                             latency=rng.choice([0, 20]) if latency is None else latency, pauses=pauses,
                             stretch=5, early=rng.random() < 0.5, content=bytearray(rng.randbytes(SIZE)))
        # The lower halves of addresses are added first: the second ring crosses 4 GiB.
        self.rings = [_Ring(0x2000, 8), _Ring((1 << 32) - 3 * _RECORD, 16)]
        self.began: list[int] = []
        self.ends: list[tuple[str, int, bool]] = []
        self.answers = True

    async def link(self, ctx: Any) -> None:
        """Link memory, which does not answer before it may."""
        while not self.answers:
            await ctx.tick()
        await self.memory.write(ctx)

    async def around(self, ctx: Any) -> None:
        """Plays rings and queues: a word is there in the cycle after its number; a failure disables a ring."""
        dut = self.dut
        shown = [0, 0]          # of each queue, the completions that were read
        while True:
            places = [ring.at(ring.begun) for ring in self.rings]
            for number, ring in enumerate(self.rings):
                ctx.set(dut.rings[number], {"base": ring.base // _RECORD, "head": ring.index, "size": ring.size,
                                            "tail": 0, "enable": 1})
                ctx.set(dut.next[number], places[number][0])
            ctx.set(dut.phase, sum(phase << number for number, (_, phase) in enumerate(places)))
            ctx.set(dut.pending, sum((ring.enabled and len(ring.waiting) > ring.begun) << number
                                     for number, ring in enumerate(self.rings)))
            _, _, begin, advance, fail, bad, word, step, back, open_ = await ctx.tick().sample(
                dut.begin, dut.advance, dut.fail, dut.bad, dut.word, dut.step, dut.back, dut.open)
            for number, ring in enumerate(self.rings):
                left = ring.waiting[shown[number]:]
                ctx.set(dut.data[number], left[0][word] if left else self.rng.getrandbits(32))
                shown[number] += step >> number & 1
                if begin >> number & 1:
                    assert ring.enabled and len(ring.waiting) > ring.begun
                    ring.begun += 1
                    self.began.append(number)
                for name, pulse in (("advance", advance), ("fail", fail)):
                    if pulse >> number & 1:
                        assert ring.begun and open_ >> number & 1
                        self.ends.append((name, number, bool(bad)))
                if advance >> number & 1:
                    written = self.memory.content[ring.address % SIZE:ring.address % SIZE + _RECORD]
                    assert struct.unpack("<16I", written) == self.record(ring), "advance, but the record is not there"
                    ring.waiting.pop(0)
                    ring.begun -= 1
                    shown[number] -= 1
                    ring.index, ring.phase = ring.at(1)
                elif fail >> number & 1:
                    ring.enabled = False
                if back >> number & 1:
                    assert not ring.enabled or fail >> number & 1
                    ring.begun = shown[number] = 0
                assert (open_ | begin) >> number & 1 or not ring.begun

    def record(self, ring: _Ring) -> tuple[int, ...]:
        """The record of a ring's oldest completion."""
        return (*ring.waiting[0][:15], ring.phase | ring.index << 16)

    def completions(self, count: int, status: int | None = None) -> list[tuple[int, ...]]:
        """Completions of any content, now and then with the status OK."""
        rows = []
        for _ in range(count):
            row = [self.rng.getrandbits(32) for _ in range(16)]
            given = self.rng.choice([0, 0, 0x10, 0x50]) if status is None else status
            rows.append((row[0], row[1] & ~255 | given, *row[2:]))
        return rows

    async def until(self, ctx: Any, count: int, patience: int = 4000) -> None:
        """Waits for so many records to end, and for the unit to be idle."""
        for _ in range(patience):
            if len(self.ends) == count and ctx.get(self.dut.idle):
                await ctx.tick()
                return
            await ctx.tick()
        raise AssertionError(f"{len(self.ends)} records ended, not {count}")

    @property
    def processes(self) -> list[Any]:
        return [self.link, self.around]


def test_without_records_nothing_is_asked_of_the_port() -> None:
    bench = _Bench(_CONFIG, 9, 0.0)

    async def driver(ctx: Any) -> None:
        for _ in range(30):
            _, _, *asks = await ctx.tick().sample(bench.dut.axi.awvalid, bench.dut.axi.wvalid, bench.dut.axi.bready)
            assert asks == [0, 0, 0]

    clocked(bench.dut, driver, *bench.processes)


@pytest.mark.parametrize("beats", [1, 2])
def test_a_reset_in_mid_burst_gives_the_outputs_of_power_up(beats: int) -> None:
    """All outputs are compared but AWADDR, WDATA and ``bad``, which are read only with a valid signal or a pulse."""
    bench = _Bench(_CONFIG, 11, 0.0)
    bench.answers = False
    dut, axi, clear = bench.dut, bench.dut.axi, Signal()
    outputs = [dut.begin, dut.advance, dut.fail, dut.open, dut.back, *dut.count, dut.word, dut.step, dut.isolated,
               dut.idle, axi.awvalid, axi.awlen, axi.awsize, axi.awburst, axi.wvalid, axi.wlast, axi.wstrb, axi.bready]

    async def process(ctx: Any) -> None:
        first = [ctx.get(each) for each in outputs]
        ring = bench.rings[0]
        ring.waiting = bench.completions(1)
        await ctx.tick().until(axi.wvalid)
        ctx.set(axi.wready, 1)
        await ctx.tick().repeat(beats)
        ctx.set(axi.wready, 0)
        ring.waiting, ring.enabled = [], False
        assert [ctx.get(each) for each in outputs] != first
        ctx.set(clear, 1)
        await ctx.tick()
        ctx.set(clear, 0)
        ring.begun = 0
        for _ in range(5):
            assert [ctx.get(each) for each in outputs] == first
            await ctx.tick()

    clocked(ResetInserter(clear)(dut), process, *bench.processes)


@pytest.mark.parametrize(("link_beat_bytes", "address_bits", "pauses"), [(16, 34, 0.3), (32, 40, 0.0), (64, 64, 0.3)])
def test_records_of_both_rings_in_turn(link_beat_bytes: int, address_bits: int, pauses: float) -> None:
    config = EngineConfig(lanes=2, beat_bytes=16, link_beat_bytes=link_beat_bytes, address_bits=address_bits,
                          buffer_bytes=8192, write_back=True)
    bench = _Bench(config, link_beat_bytes, pauses)
    one, other = bench.rings
    starts = one.address, other.address
    statuses: list[list[bool]] = []

    async def process(ctx: Any) -> None:
        for _ in range(20):
            await ctx.tick()
            assert ctx.get(bench.dut.idle)
        one.waiting, other.waiting = bench.completions(5), bench.completions(7)
        statuses.extend([[bool(each[1] & 255) for each in ring.waiting] for ring in bench.rings])
        await bench.until(ctx, 12)
        # The ring is walked round its end.
        one.waiting = bench.completions(6)
        statuses[0] += [bool(each[1] & 255) for each in one.waiting]
        await bench.until(ctx, 18)
        assert one.phase == 0 and other.phase == 1
        assert bench.memory.open == 0

    clocked(bench.dut, process, *bench.processes)
    assert bench.began[:10] in ([0, 1] * 5, [1, 0] * 5)
    assert bench.ends == [("advance", number, statuses[number].pop(0)) for number in bench.began]
    places = [[start + _RECORD * (k % ring.size) for k in range(count)]
              for ring, start, count in ((one, starts[0], 11), (other, starts[1], 7))]
    assert bench.memory.bursts == [(places[number].pop(0), _RECORD // link_beat_bytes) for number in bench.began]


@pytest.mark.parametrize("link_beat_bytes", [16, 64])
def test_a_record_that_the_link_refuses(link_beat_bytes: int) -> None:
    bench = _Bench(EngineConfig(lanes=2, beat_bytes=16, link_beat_bytes=link_beat_bytes, buffer_bytes=8192,
                                write_back=True), 5, 0.2)
    ring, other = bench.rings

    async def process(ctx: Any) -> None:
        bad = ring.address + _RECORD
        bench.memory.faulty[bad] = 2
        ring.waiting, other.waiting = bench.completions(3, 0), bench.completions(2, 0)
        await bench.until(ctx, 4)
        assert [name for name, number, _ in bench.ends if number == 0] == ["advance", "fail"]
        assert ring.address == bad and len(ring.waiting) == 2
        assert not ctx.get(bench.dut.isolated)
        # Enabled again, the same record is written.
        bench.memory.faulty.clear()
        ring.enabled = True
        await bench.until(ctx, 6)
        assert ring.waiting == [] and other.waiting == []

    clocked(bench.dut, process, *bench.processes)


@pytest.mark.parametrize(("outstanding", "most"), [(1, 1), (4, 4), (32, 7)])
def test_records_do_not_wait_for_each_others_responses(outstanding: int, most: int) -> None:
    config = EngineConfig(lanes=2, beat_bytes=16, link_beat_bytes=32, buffer_bytes=8192, write_back=True,
                          outstanding_reads=outstanding)
    latency = 300
    bench = _Bench(config, 7, 0.0, latency)
    bench.rings[0].size = 16
    took = 0

    async def process(ctx: Any) -> None:
        nonlocal took
        for ring in bench.rings:
            ring.waiting = bench.completions(14)
        while len(bench.ends) < 28:
            await ctx.tick()
            took += 1
        await bench.until(ctx, 28)

    clocked(bench.dut, process, *bench.processes)
    assert bench.memory.most_open == most
    assert [name for name, _, _ in bench.ends] == ["advance"] * 28
    # As many as may be outstanding go together, and each response brings another one.
    assert took <= -(-28 // most) * (latency + 60) + 50


def test_a_record_is_refused_while_others_are_open() -> None:
    """Those of its ring that were begun after it count as not written; the other ring goes on."""
    bench = _Bench(_CONFIG, 8, 0.0, 200)
    ring, other = bench.rings

    async def process(ctx: Any) -> None:
        bench.memory.faulty[ring.address + _RECORD] = 3
        ring.waiting, other.waiting = bench.completions(5, 0), bench.completions(4, 0)
        await bench.until(ctx, 6)
        assert [name for name, number, _ in bench.ends if number == 0] == ["advance", "fail"]
        assert [name for name, number, _ in bench.ends if number == 1] == ["advance"] * 4
        assert bench.began.count(0) > 2 and len(ring.waiting) == 4 and ring.begun == 0
        bench.memory.faulty.clear()
        ring.enabled = True
        await bench.until(ctx, 10)
        assert ring.waiting == []

    clocked(bench.dut, process, *bench.processes)


def test_silence_while_records_are_open() -> None:
    """Records of both rings fail at once. Late responses are discarded; then everything is written again."""
    bench = _Bench(_CONFIG, 9, 0.0, 0)
    bench.memory.silent = True
    ring, other = bench.rings

    async def process(ctx: Any) -> None:
        ring.waiting, other.waiting = bench.completions(3, 0), bench.completions(3, 0)
        while bench.memory.open < 4:
            await ctx.tick()
        ctx.set(bench.dut.silent, 1)
        await bench.until(ctx, 2)
        assert sorted(bench.ends) == [("fail", 0, False), ("fail", 1, False)] and ctx.get(bench.dut.isolated)
        ctx.set(bench.dut.silent, 0)
        ring.enabled = True
        await ctx.tick().repeat(50)
        assert ctx.get(bench.dut.isolated) and bench.memory.open == 4
        bench.memory.silent = False
        await bench.until(ctx, 5)
        other.enabled = True
        await bench.until(ctx, 8)
        assert not ctx.get(bench.dut.isolated) and ring.waiting == other.waiting == []

    clocked(bench.dut, process, *bench.processes)


@pytest.mark.parametrize("link_beat_bytes", [16, 64])
@pytest.mark.parametrize("taken", ["", "aw", "w"])
def test_a_link_that_does_not_answer(taken: str, link_beat_bytes: int) -> None:
    """The port takes nothing, the address, or a beat, and then nothing more for the time limit."""
    bench = _Bench(EngineConfig(lanes=2, beat_bytes=16, link_beat_bytes=link_beat_bytes, buffer_bytes=8192,
                                write_back=True), 6, 0.0)
    bench.answers = False
    bench.memory.early = True
    ring, other = bench.rings

    async def process(ctx: Any) -> None:
        dut, memory = bench.dut, bench.memory
        ring.waiting = bench.completions(2, 0)
        first = bench.record(ring)
        await ctx.tick().until(dut.axi.awvalid)
        before = bytes(memory.content)
        held = ctx.get(dut.axi.awaddr)
        if taken:
            ctx.set(getattr(dut.axi, f"{taken}ready"), 1)
            await ctx.tick()
            ctx.set(getattr(dut.axi, f"{taken}ready"), 0)
        ctx.set(dut.silent, 1)
        await bench.until(ctx, 1)
        assert bench.ends == [("fail", 0, False)]
        assert ctx.get(dut.isolated) and len(ring.waiting) == 2
        # As long as the port is silent, records fail without being sent; the open burst stays as it is.
        other.waiting = bench.completions(1, 0)
        await bench.until(ctx, 2)
        assert bench.ends[1][:2] == ("fail", 1) and len(other.waiting) == 1
        assert ctx.get(dut.axi.awaddr) == held and ctx.get(dut.axi.awvalid) == (taken != "aw")
        ctx.set(dut.silent, 0)
        ring.enabled = True
        await ctx.tick().repeat(3)
        for _ in range(60):
            await ctx.tick()
            assert ctx.get(dut.isolated) and not ctx.get(dut.idle) and bench.began == [0, 1, 0]
        if taken:
            # What the port took before is completed by hand: beats that it had not seen are without strobes.
            await _complete(ctx, dut, memory, held, taken, link_beat_bytes)
            unseen = slice(held + (2 if taken == "w" else 1) * link_beat_bytes, held + _RECORD)
            assert memory.content[unseen] == before[unseen]
        bench.answers = True
        await bench.until(ctx, 4)
        assert not ctx.get(dut.isolated)
        assert bench.ends[2:] == [("advance", 0, False)] * 2
        assert struct.unpack("<16I", memory.content[held:held + _RECORD]) == first

    clocked(bench.dut, process, *bench.processes)


async def _complete(ctx: Any, dut: Any, memory: Memory, address: int, taken: str, beat_bytes: int) -> None:
    """Plays the rest of a burst of which the port has taken the address or a beat."""
    beats = _RECORD // beat_bytes
    first = 0
    if taken == "w":
        ctx.set(dut.axi.awready, 1)
        await ctx.tick()
        ctx.set(dut.axi.awready, 0)
        first = 1
    for number in range(first, beats):
        ctx.set(dut.axi.wready, 1)
        _, _, valid, data, strobe, last = await ctx.tick().sample(
            dut.axi.wvalid, dut.axi.wdata, dut.axi.wstrb, dut.axi.wlast)
        assert valid and last == (number == beats - 1)
        for byte in range(beat_bytes):
            if strobe >> byte & 1:
                memory.content[address + number * beat_bytes + byte] = data >> 8 * byte & 255
    ctx.set(dut.axi.wready, 0)
    ctx.set(dut.axi.bvalid, 1)
    await ctx.tick().until(dut.axi.bready)
    ctx.set(dut.axi.bvalid, 0)
