"""The write-back unit: records of both rings in turn, their order, errors, and a link that does not answer."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.write_back import WriteBack
from tests.hdl.bench import clocked, pulse
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.control.bench import simulated, words_of

_RECORD = 64


def _config(link_beat_bytes: int = 32, address_bits: int = 40, outstanding_reads: int = 4) -> EngineConfig:
    return EngineConfig(lanes=2, beat_bytes=16, link_beat_bytes=link_beat_bytes, address_bits=address_bits,
                        outstanding_reads=outstanding_reads, buffer_bytes=8192, write_back=True)


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

    def __init__(self, config: EngineConfig, seed: int, pauses: float = 0.0, latency: int | None = None,
                 answers: bool = True) -> None:
        self.rng = rng = random.Random(seed)
        self.dut = WriteBack(config)
        self.memory = Memory(self.dut.axi, config.link_beat_bytes, rng, stretch=5, pauses=pauses,
                             latency=rng.choice([0, 20]) if latency is None else latency, early=rng.random() < 0.5,
                             content=bytearray(rng.randbytes(SIZE)))
        # The lower halves of addresses are added first: the second ring crosses 4 GiB.
        self.rings = [_Ring(0x2000, 8), _Ring((1 << 32) - 3 * _RECORD, 16)]
        self.began: list[int] = []
        self.ends: list[tuple[str, int, bool]] = []
        self.answers = answers

    def run(self, process: Any) -> None:
        """Simulates until the process ends."""
        clocked(self.dut, process, self.link, self.around)

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
                for name, ends in (("advance", advance), ("fail", fail)):
                    if ends >> number & 1:
                        assert ring.begun and open_ >> number & 1
                        self.ends.append((name, number, bool(bad)))
                if advance >> number & 1:
                    assert self.record(ring.address) == self.right(ring), "advance, but the record is not there"
                    ring.waiting.pop(0)
                    ring.begun -= 1
                    shown[number] -= 1
                    ring.index, ring.phase = ring.at(1)
                if fail >> number & 1:
                    ring.enabled = False
                if back >> number & 1:
                    assert not ring.enabled or fail >> number & 1
                    ring.begun = shown[number] = 0
                assert (open_ | begin) >> number & 1 or not ring.begun

    def right(self, ring: _Ring) -> tuple[int, ...]:
        """The record of a ring's oldest completion."""
        return (*ring.waiting[0][:15], ring.phase | ring.index << 16)

    def record(self, address: int) -> tuple[int, ...]:
        """The words at an address of link memory."""
        return words_of(self.memory.content[address % SIZE:address % SIZE + _RECORD])

    def completions(self, count: int, status: int | None = None) -> list[tuple[int, ...]]:
        """Completions of any content, now and then with the status OK."""
        rows = []
        for _ in range(count):
            row = [self.rng.getrandbits(32) for _ in range(16)]
            given = self.rng.choice([0, 0, 0x10, 0x50]) if status is None else status
            rows.append((row[0], row[1] & ~255 | given, *row[2:]))
        return rows

    def ended(self, number: int) -> list[str]:
        """How the records of a ring ended."""
        return [name for name, of, _ in self.ends if of == number]

    async def until(self, ctx: Any, count: int) -> None:
        """Waits for so many records to end, and for the unit to be idle."""
        for _ in range(4000):
            if len(self.ends) == count and ctx.get(self.dut.idle):
                await ctx.tick()
                return
            await ctx.tick()
        raise AssertionError(f"{len(self.ends)} records ended, not {count}")


@pytest.mark.parametrize("beats", [1, 2])
def test_a_reset_in_mid_burst_gives_the_outputs_of_power_up(beats: int) -> None:
    """All outputs are compared but AWADDR, WDATA and ``bad``, which are read only with a valid signal or a pulse."""
    bench = _Bench(_config(), 11, answers=False)
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
        await pulse(ctx, clear)
        ring.begun = 0
        for _ in range(5):
            assert [ctx.get(each) for each in outputs] == first
            await ctx.tick()

    clocked(ResetInserter(clear)(dut), process, bench.link, bench.around)


@pytest.mark.parametrize(("link_beat_bytes", "address_bits", "pauses"), [(16, 34, 0.3), (32, 40, 0.0), (64, 64, 0.3)])
@simulated(lambda link_beat_bytes, address_bits, pauses: _Bench(
    _config(link_beat_bytes, address_bits), link_beat_bytes, pauses))
async def test_records_of_both_rings_in_turn(bench: _Bench, ctx: Any, link_beat_bytes: int, address_bits: int,
                                             pauses: float) -> None:
    """Round the end of the first one; without records, nothing is asked of the port."""
    bench.rings[1].base += 1 << address_bits - 1
    axi, starts = bench.dut.axi, [ring.address for ring in bench.rings]
    for _ in range(20):
        _, _, idle, *asks = await ctx.tick().sample(bench.dut.idle, axi.awvalid, axi.wvalid, axi.bready)
        assert (idle, *asks) == (1, 0, 0, 0)
    completions = [bench.completions(11), bench.completions(7)]
    bench.rings[0].waiting, bench.rings[1].waiting = completions[0][:5], completions[1][:]
    await bench.until(ctx, 12)
    bench.rings[0].waiting = completions[0][5:]
    await bench.until(ctx, 18)
    assert [ring.phase for ring in bench.rings] == [0, 1] and bench.memory.open == 0
    assert bench.began[:10] in ([0, 1] * 5, [1, 0] * 5)
    counts = [0, 0]
    right, places = [], []
    for number in bench.began:
        ring, k = bench.rings[number], counts[number]
        right.append(("advance", number, completions[number][k][1] & 255 > 0))
        places.append((starts[number] + _RECORD * (k % ring.size), _RECORD // link_beat_bytes))
        counts[number] += 1
    assert (bench.ends, bench.memory.bursts) == (right, places)


@pytest.mark.parametrize(("outstanding", "queue_depth", "most"), [(1, 8, 1), (4, 8, 4), (32, 8, 7), (32, 16, 15),
                                                                  (32, 64, 28)])
@simulated(lambda outstanding, queue_depth: _Bench(
    _config(outstanding_reads=outstanding).replace(queue_depth=queue_depth), 7, latency=900))
async def test_records_do_not_wait_for_each_others_responses(bench: _Bench, ctx: Any, outstanding: int,
                                                             queue_depth: int, most: int) -> None:
    bench.rings[0].size = 16
    took = 0
    for ring in bench.rings:
        ring.waiting = bench.completions(14)
    while len(bench.ends) < 28:
        await ctx.tick()
        took += 1
    await bench.until(ctx, 28)
    assert bench.memory.most_open == most
    assert bench.ended(0) == bench.ended(1) == ["advance"] * 14
    # As many as may be outstanding go together, and each response brings another one.
    assert took <= -(-28 // most) * 900 + 28 * 40 + 50


@pytest.mark.parametrize(("link_beat_bytes", "pauses", "latency"), [(16, 0.2, None), (64, 0.2, None), (32, 0.0, 200)])
@simulated(lambda link_beat_bytes, pauses, latency: _Bench(_config(link_beat_bytes), 8, pauses, latency))
async def test_a_record_that_the_link_refuses(bench: _Bench, ctx: Any, link_beat_bytes: int, pauses: float,
                                              latency: int | None) -> None:
    """Those of its ring that were begun after it count as not written; the other ring goes on."""
    ring, other = bench.rings
    bad = ring.address + _RECORD
    bench.memory.faulty[bad] = 3 if latency else 2
    ring.waiting, other.waiting = bench.completions(5, 0), bench.completions(4, 0)
    await bench.until(ctx, 6)
    assert (bench.ended(0), bench.ended(1)) == (["advance", "fail"], ["advance"] * 4)
    assert bench.began.count(0) > 2 or not latency
    assert (ring.address, len(ring.waiting), ring.begun) == (bad, 4, 0)
    assert not ctx.get(bench.dut.isolated)
    # Enabled again, the same record is written.
    bench.memory.faulty.clear()
    ring.enabled = True
    await bench.until(ctx, 10)
    assert ring.waiting == other.waiting == []


@simulated(lambda: _Bench(_config(), 9, latency=0))
async def test_silence_while_records_are_open(bench: _Bench, ctx: Any) -> None:
    """Records of both rings fail at once. Late responses are discarded; then everything is written again."""
    bench.memory.silent = True
    ring, other = bench.rings
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


@pytest.mark.parametrize("records", [1, 6])
@pytest.mark.parametrize("latency", range(12, 72, 4))
@simulated(lambda latency: _Bench(_config(), 5, latency=latency))
async def test_a_response_in_the_cycle_in_which_the_time_limit_ends(bench: _Bench, ctx: Any, latency: int, records: int
                                                                    ) -> None:
    """It counts, and the port is not silent, whatever becomes of the next record then: none fails."""
    bench.rings[0].waiting = bench.completions(records, 0)
    while not (ctx.get(bench.dut.axi.bvalid) and ctx.get(bench.dut.axi.bready)):
        await ctx.tick()
    await pulse(ctx, bench.dut.silent)
    await bench.until(ctx, records)
    assert bench.ends == records * [("advance", 0, False)] and not ctx.get(bench.dut.isolated)


@simulated(lambda: _Bench(_config(), 4, answers=False))
async def test_an_error_in_the_cycle_in_which_the_time_limit_ends(bench: _Bench, ctx: Any) -> None:
    """A record of the other ring, which is being read, fails with the one that was refused; both are written again."""
    dut, axi, (ring, other) = bench.dut, bench.dut.axi, bench.rings
    other.waiting = bench.completions(1, 0)
    ctx.set(axi.awready, 1)
    ctx.set(axi.wready, 1)
    await ctx.tick().until(axi.wvalid & axi.wlast)
    ctx.set(axi.awready, 0)
    ctx.set(axi.wready, 0)
    ring.waiting = bench.completions(1, 0)
    while bench.began != [1, 0]:
        await ctx.tick()
    await ctx.tick().repeat(5)
    for signal, value in ((dut.silent, 1), (axi.bvalid, 1), (axi.bresp, 2)):
        ctx.set(signal, value)
    assert ctx.get(axi.bready)
    await ctx.tick()
    ctx.set(axi.bvalid, 0)
    await bench.until(ctx, 2)
    assert sorted(each[:2] for each in bench.ends) == [("fail", 0), ("fail", 1)]
    ctx.set(dut.silent, 0)
    bench.answers = ring.enabled = other.enabled = True
    await bench.until(ctx, 4)
    assert ring.waiting == other.waiting == [] and sorted(bench.memory.bursts) == [(0x2000, 2), (2 ** 32 - 192, 2)]


@pytest.mark.parametrize("seed", range(6))
@simulated(lambda seed: _Bench(_config((16, 32, 64)[seed % 3]), seed, pauses=0.2))
async def test_storms(bench: _Bench, ctx: Any, seed: int) -> None:
    """Errors and silence at any time and together, rings enabled again at once or late: each completion becomes one
    record, in order, as the rings' play checks at each end."""
    rng, dut, axi = bench.rng, bench.dut, bench.dut.axi
    for ring in bench.rings:
        ring.waiting = bench.completions(60)
    stormy, calm = 6000, 0
    while any(ring.waiting for ring in bench.rings):
        assert stormy > -20_000, "records are not written when all is quiet again"
        stormy -= 1
        if rng.random() < 0.02:
            # Of the next records some fail.
            bench.memory.faulty = {} if stormy < 0 else {
                ring.base + _RECORD * ring.at(ahead)[0]: 2 for ring in bench.rings for ahead in range(3)
                if rng.random() < 0.3}
            bench.memory.silent = stormy > 0 and rng.random() < 0.3
        # The time limit ends in the cycle of an answer, too, but not soon after one.
        answers = [ctx.get(each) for each in (
            axi.awvalid & axi.awready, axi.wvalid & axi.wready, axi.bvalid & axi.bready)]
        ends = 0.3 if bench.memory.silent or answers[2] else 0.02
        ctx.set(dut.silent, stormy > 0 and calm > 4 and rng.random() < ends)
        calm = 0 if any(answers) else calm + 1
        for ring in bench.rings:
            ring.enabled |= not ring.begun and rng.random() < 0.1
        await ctx.tick()
    assert {name for name, *_ in bench.ends} == {"advance", "fail"}


@pytest.mark.parametrize("link_beat_bytes", [16, 64])
@pytest.mark.parametrize("taken", ["", "aw", "w"])
@simulated(lambda link_beat_bytes: _Bench(_config(link_beat_bytes), 6, answers=False))
async def test_a_link_that_does_not_answer(bench: _Bench, ctx: Any, link_beat_bytes: int, taken: str) -> None:
    """The port takes nothing, the address, or a beat, and then nothing more for the time limit."""
    dut, memory, (ring, other) = bench.dut, bench.memory, bench.rings
    memory.early = True
    ring.waiting = bench.completions(2, 0)
    first = bench.right(ring)
    await ctx.tick().until(dut.axi.awvalid)
    before = bytes(memory.content)
    held = ctx.get(dut.axi.awaddr)
    if taken:
        await pulse(ctx, getattr(dut.axi, f"{taken}ready"))
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
        await _complete(ctx, bench, held, taken)
        unseen = slice(held + (2 if taken == "w" else 1) * link_beat_bytes, held + _RECORD)
        assert memory.content[unseen] == before[unseen]
    bench.answers = True
    await bench.until(ctx, 4)
    assert not ctx.get(dut.isolated)
    assert bench.ends[2:] == [("advance", 0, False)] * 2
    assert bench.record(held) == first


async def _complete(ctx: Any, bench: _Bench, address: int, taken: str) -> None:
    """Plays the rest of a burst of which the port has taken the address or a beat."""
    axi, memory = bench.dut.axi, bench.memory
    if taken == "w":
        await pulse(ctx, axi.awready)
    for place in range(address + (taken == "w") * memory.beat_bytes, address + _RECORD, memory.beat_bytes):
        ctx.set(axi.wready, 1)
        _, _, valid, data, strobe, last = await ctx.tick().sample(axi.wvalid, axi.wdata, axi.wstrb, axi.wlast)
        assert valid and last == (place + memory.beat_bytes == address + _RECORD)
        for byte in range(memory.beat_bytes):
            if strobe >> byte & 1:
                memory.content[place + byte] = data >> 8 * byte & 255
    ctx.set(axi.wready, 0)
    ctx.set(axi.bvalid, 1)
    await ctx.tick().until(axi.bready)
    ctx.set(axi.bvalid, 0)
