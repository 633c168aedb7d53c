"""The fetcher in control: entries of rings in order, around the end, beside the doorbell, and when memory fails."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.golden.engine import Completion, Status
from cdma.hdl.config.engine import load_engine
from cdma.hdl.engine.control.descriptor import descriptor_layout
from cdma.hdl.engine.control.fetcher import Fetcher
from tests.hdl.bench import Bench as Prepared
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.control.bench import CONFIG, DIRECTIONS, Bench, good, simulated, words_of

PARTS = ["cdma.hdl.engine.control.fetcher.Fetcher"]
"""Components whose faults show here; mutants of them were tried."""

_OK, _UNREAD = Status.OK, Status.DESCRIPTOR_READ_ERROR


@pytest.mark.parametrize(("preset", "options", "base"), [
    ("tiny", {}, 0x77_0000_1FC0), ("engine", {}, 0x12_FFFF_FF80), ("wide", {}, (1 << 40) - 4 * 64),
    ("tiny", {"pipeline": "fast", "transfers_in_flight": 1}, 0x77_0000_1FC0),
    ("tiny", {"address_bits": 64}, 0xA5A5_0012_FFFF_FF80)],
    ids=["tiny", "engine, across 4 GiB", "wide, up to the last address", "tiny, one entry at a time in fast",
         "tiny, 64 bits"])
@simulated(lambda preset, options: Bench(load_engine(preset).replace(**{"address_bits": 40, **options}), seed=3,
                                         pauses=0.2, latency=10))
async def test_entries_come_in_order_around_the_end(bench: Bench, ctx: Any, preset: str, options: dict[str, Any],
                                                    base: int) -> None:
    """More descriptors than the ring holds, so the driver waits for the head; every beat size of the link."""
    size, total, written, taken = 4, 19, 0, 0
    await bench.ring("prefetch", base, size)
    while taken < total:
        head = await bench.read("PREFETCH_RING_HEAD")
        assert head < size
        while written < total and (written + 1) % size != head:
            bench.entry(base + 64 * (written % size), good(2, tag=written))
            written += 1
        await bench.write("PREFETCH_RING_TAIL", written % size)
        if await bench.read("PREFETCH_COMPLETIONS"):
            await bench.outcomes("prefetch", (taken, _OK))
            taken += 1
    await bench.reads(PREFETCH_RING_HEAD=total % size, PREFETCH_QUEUE=bench.config.queue_depth << 8, IRQ_STATUS=0)
    beats = 64 // bench.config.link_beat_bytes
    assert bench.memory.bursts == [(base + 64 * (number % size), beats) for number in range(total)]


@simulated(lambda: Bench(CONFIG.replace(link_beat_bytes=64), seed=5, latency=20))
async def test_both_rings_take_turns_until_one_fails(bench: Bench, ctx: Any) -> None:
    """Both directions run at the same time, and each has its own completions and counters."""
    bench.memory.faulty = {0x4140: 2}
    for name, operation in DIRECTIONS:
        await bench.ring(name, 0x4000 * (operation - 1), 1 << 16,
                         *(good(operation, tag=k, raw_bytes=2 if k == 1 else 4096) for k in range(8)))
    for tag in range(5):
        for name, _ in DIRECTIONS:
            await bench.outcomes(name, (tag, Status.BAD_RAW_BYTES if tag == 1 else _OK))
    await bench.outcomes("offload", (5, _OK), (6, _OK), (7, _OK))
    done = await bench.completion("prefetch")
    assert done == Completion(tag=0, status=_UNREAD, operation=0, response=2, place=0x4140)
    turns = [address >> 14 for address, _ in bench.memory.bursts]
    assert sorted(turns) == [0] * 8 + [1] * 6
    assert any(turns[at:at + 6] == [0, 1] * 3 for at in range(4))
    await bench.reads(IRQ_STATUS=0x62, PREFETCH_RING_CONTROL=0, OFFLOAD_RING_CONTROL=1)
    for name, raw, packed in (("OFFLOAD", 7 * 4096, 7 * 7), ("PREFETCH", 4 * 7, 4 * 128)):
        await bench.write(f"{name}_COUNTER_CONTROL", 1)
        await bench.reads(**{f"{name}_RAW_BYTES_LO": raw, f"{name}_PACKED_BYTES_LO": packed})
    # A new ring, elsewhere.
    await bench.ring("prefetch", 0x4180, 4)
    await bench.reads(PREFETCH_RING_HEAD=0)
    await bench.write("PREFETCH_RING_TAIL", 2)
    await bench.outcomes("prefetch", (6, _OK), (7, _OK))


@pytest.mark.parametrize("seed", range(4))
@simulated(lambda seed: Bench(seed=seed, pauses=0.3, latency=seed * 5))
async def test_ring_and_doorbell_together(bench: Bench, ctx: Any, seed: int) -> None:
    """Each keeps its own order, and nothing of one gets into a descriptor of the other."""
    path, tags, rung = bench.paths["offload"], [], 1
    for k in range(16):
        bench.entry(0x8000 + 64 * k, good(1, tag=k, source=4096 * k, crc=k * 0x01010101))
    await bench.ring("offload", 0x8000, 32)
    await bench.push("offload", good(1, tag=100, source=100 * 4096, crc=100 * 0x01010101))
    while len(tags) < 16 + 12:
        await bench.write("OFFLOAD_RING_TAIL", min(16, 2 + len(tags)))
        path.cycles = bench.rng.randrange(40)
        if rung < 12 and await bench.read("OFFLOAD_QUEUE") >> 8 > 1:
            # The ring has one entry on the way at most, so a second free place stays free for the doorbell.
            for word, value in ((1, 100 + rung), (2, (100 + rung) * 4096), (12, (100 + rung) * 0x01010101)):
                await bench.write(f"OFFLOAD_DESCRIPTOR_{word}", value % (1 << 32))
            await bench.until("OFFLOAD_QUEUE", 0xFF, 0)
            if await bench.read("OFFLOAD_QUEUE") >> 8:
                await bench.write("OFFLOAD_DOORBELL", 1)
                rung += 1
        while await bench.read("OFFLOAD_COMPLETIONS"):
            done = await bench.completion("offload")
            assert done.status == _OK
            tags.append(done.tag)
    assert [tag for tag in tags if tag < 100] == list(range(16))
    assert [tag for tag in tags if tag >= 100] == list(range(100, 112))
    assert [(seen["source"], seen["crc"]) for seen in path.seen] == [
        (tag * 4096, tag * 0x01010101 % (1 << 32)) for tag in tags]


@pytest.mark.parametrize("bad_beat", [0, 1])
@pytest.mark.parametrize("answer", [2, 3])
@simulated(lambda: Bench(latency=7))
async def test_an_entry_that_cannot_be_read(bench: Bench, ctx: Any, bad_beat: int, answer: int) -> None:
    """Its completion comes in its place between the others; the ring stops there, and can go on there."""
    base = 0x55_0000_4000
    bench.memory.faulty = {base + 64 * 3 + 32 * bad_beat: answer}
    bench.paths["offload"].cycles = 600
    await bench.ring("offload", base, 8, *(good(1, tag=k, interrupt=True) for k in range(6)))
    await bench.until("OFFLOAD_RING_CONTROL", 1, 0)
    await bench.reads(OFFLOAD_RING_HEAD=3)
    assert await bench.read("IRQ_STATUS") & 6 == 4      # no completion failed yet
    await bench.push("offload", good(1, tag=50, interrupt=True))
    # Enabled again at once, while the failure still waits behind other transfers.
    await bench.write("OFFLOAD_RING_CONTROL", 1)
    await bench.wait(100)
    assert len(bench.memory.bursts) == 4
    await bench.outcomes("offload", (0, _OK), (1, _OK), (2, _OK))
    bench.memory.faulty.clear()
    assert await bench.completion("offload") == Completion(tag=0, status=_UNREAD, operation=0, response=answer,
                                                           place=base + 64 * 3)
    await bench.reads(IRQ_STATUS=7)
    await bench.outcomes("offload", (50, _OK), (3, _OK), (4, _OK), (5, _OK))
    await bench.reads(OFFLOAD_RING_HEAD=6, OFFLOAD_RING_CONTROL=1)
    assert len(bench.paths["offload"].seen) == 7


@simulated(lambda: Bench(CONFIG.replace(transfers_in_flight=6), latency=80))
async def test_an_error_in_front_of_silence(bench: Bench, ctx: Any) -> None:
    """The link answers an entry with an error, and those behind it not at all: the error was found first."""
    base, dut = 0x55_0000_4000, bench.dut
    bench.memory.faulty = {base: 3}
    await bench.ring("offload", base, 8, *(good(1, tag=k) for k in range(4)))
    await ctx.tick().until(dut.fetch.rvalid & dut.fetch.rready & (dut.fetch.rresp == 3))
    bench.memory.silent = True
    while len(bench.memory.bursts) < 4:
        await ctx.tick()
    ctx.set(dut.silent, 1)
    assert await bench.completion("offload") == Completion(tag=0, status=_UNREAD, operation=0, response=3, place=base)
    assert await bench.read("STATUS") >> 18 & 1
    bench.memory.silent, bench.memory.faulty = False, {}
    ctx.set(dut.silent, 0)
    await bench.until("STATUS", 1 << 18, 0)
    await bench.write("OFFLOAD_RING_CONTROL", 1)
    await bench.outcomes("offload", *((k, _OK) for k in range(4)))


@pytest.mark.parametrize("link_beat_bytes", [16, 64])
@simulated(lambda link_beat_bytes: Bench(
    CONFIG.replace(beat_bytes=16, link_beat_bytes=link_beat_bytes, transfers_in_flight=6), seed=link_beat_bytes,
    pauses=0.2, latency=60))
async def test_entries_behind_one_that_cannot_be_read(bench: Bench, ctx: Any, link_beat_bytes: int) -> None:
    """They are on the way when it fails, those of both rings, and are read again; none is lost or comes twice."""
    base = 0x55_0000_4000
    bench.memory.faulty = {base + 64 * 3 + 64 - link_beat_bytes: 2}
    for name, operation in DIRECTIONS:
        await bench.ring(name, base + 0x2000 * (operation - 1), 16, *(good(operation, tag=k) for k in range(12)))
    await bench.until("OFFLOAD_RING_CONTROL", 1, 0)
    # As many are on the way as the engine reads ahead.
    assert 3 < len(bench.memory.bursts) <= 2 * 3 + 2 * bench.config.entries_ahead
    await bench.outcomes("offload", *((k, _OK) for k in range(3)))
    bench.memory.faulty.clear()
    assert await bench.completion("offload") == Completion(tag=0, status=_UNREAD, operation=0, response=2,
                                                           place=base + 64 * 3)
    await bench.reads(OFFLOAD_RING_HEAD=3)
    await bench.write("OFFLOAD_RING_CONTROL", 1)
    await bench.outcomes("prefetch", *((k, _OK) for k in range(12)))
    await bench.outcomes("offload", *((k, _OK) for k in range(3, 12)))
    await bench.reads(OFFLOAD_RING_HEAD=12, PREFETCH_RING_HEAD=12)


@pytest.mark.parametrize(("queue_depth", "ahead"), [(8, 4), (16, 8), (32, 16)])
@simulated(lambda queue_depth: Bench(CONFIG.replace(transfers_in_flight=6, queue_depth=queue_depth), latency=800))
async def test_entries_on_the_way_take_places_of_the_queue(bench: Bench, ctx: Any, queue_depth: int, ahead: int
                                                           ) -> None:
    """Disabling lets them come; a doorbell is refused where they and the queue leave no place."""
    await bench.ring("offload", 0, 32, *(good(1, tag=k) for k in range(20)))
    while len(bench.memory.bursts) < ahead:
        await ctx.tick()
    await bench.write("OFFLOAD_RING_CONTROL", 0)
    await bench.reads(OFFLOAD_RING_CONTROL=1, OFFLOAD_QUEUE=(queue_depth - ahead) << 8)
    await bench.until("OFFLOAD_RING_CONTROL", 1, 0)
    await bench.reads(OFFLOAD_RING_HEAD=ahead)
    await bench.outcomes("offload", *((k, _OK) for k in range(ahead)))
    assert len(bench.memory.bursts) == ahead


@simulated(lambda: Bench(seed=6, latency=60))
async def test_the_last_place_of_a_queue(bench: Bench, ctx: Any) -> None:
    """A doorbell and a ring's entry want it in all cycles around each other: one gets it, nothing is overwritten."""
    path, took = bench.paths["offload"], set()
    await bench.push("offload", good(1))
    await bench.outcomes("offload", (0, _OK))
    for wait in range(0, 80, 3):
        tags, path.busy = [], 0.0
        while await bench.read("OFFLOAD_QUEUE") >> 8 > 1:
            tags.append(len(tags))
            await bench.write("OFFLOAD_DESCRIPTOR_1", tags[-1])
            await bench.write("OFFLOAD_DOORBELL", 1)
            await bench.wait(30)
        await bench.write("OFFLOAD_DESCRIPTOR_1", 100)
        # The fetcher reads one entry at a time: the ring waits for that of the other one.
        await bench.ring("prefetch", 0x4000, 4, good(2, tag=7))
        await bench.ring("offload", 0x8000, 4, good(1, tag=200))
        await bench.wait(wait)
        took.add(refused := bool(await bench.write("OFFLOAD_DOORBELL", 1, response=None)))
        await bench.wait(80)
        path.busy = 1.0
        await bench.outcomes("offload", *((tag, _OK) for tag in [*tags, *[100] * (not refused), 200]))
        await bench.outcomes("prefetch", (7, _OK))
        for name, _ in DIRECTIONS:
            await bench.write(f"{name.upper()}_RING_CONTROL", 0)
    assert took == {False, True}


@pytest.mark.parametrize("ahead", [1, 6])
@simulated(lambda ahead: Bench(CONFIG.replace(transfers_in_flight=ahead), seed=7, latency=7))
async def test_a_doorbell_while_an_entry_fails(bench: Bench, ctx: Any, ahead: int) -> None:
    """In any cycle, and in either direction: the descriptor of the doorbell is run."""
    bench.memory.faulty = {0x4000: 2}
    for direction, operation in DIRECTIONS:
        await bench.push(direction, good(operation, tag=50))
        await bench.outcomes(direction, (50, _OK))
        for wait in range(0, 40, 3):
            await bench.ring("offload", 0x4000, 4, good(1))
            await bench.wait(wait)
            await bench.write(f"{direction.upper()}_DOORBELL", 1)
            done = [await bench.completion(name) for name in ("offload", direction)]
            assert sorted((each.tag, each.status) for each in done) == [(0, _UNREAD), (50, _OK)]


@pytest.mark.parametrize("preset", ["smallest", "tiny"])
def test_the_time_limit_ends_in_any_cycle_of_a_read(preset: str) -> None:
    """The record is that of the entry, or that of the failure: in the cycle of the last beat, too, and while an entry
    that is there waits for its queue."""
    dut = Fetcher(load_engine(preset).replace(address_bits=32))
    bench, place = Prepared(dut), 0x80
    entry = [0x1000 + number for number in range(16)]
    failure = [0] * 16
    failure[descriptor_layout()["source"].offset // 32] = place
    seen = set()

    async def link(ctx: Any) -> None:
        ctx.set(dut.axi.arready, 1)
        await ctx.tick().until(dut.axi.arvalid)
        await ctx.tick().repeat(5)
        for beat in range(4):
            ctx.set(dut.axi.rdata, sum(word << 32 * at for at, word in enumerate(entry[4 * beat:4 * beat + 4])))
            ctx.set(dut.axi.rvalid, 1)
            await ctx.tick().until(dut.axi.rready)
        ctx.set(dut.axi.rvalid, 0)

    for late in range(44):
        async def driver(ctx: Any, late: int = late) -> None:
            for name, value in (("base", place >> 6), ("size", 4), ("tail", 1), ("enable", 1)):
                ctx.set(dut.rings[0][name], value)
            ctx.set(dut.pending, 1)
            ctx.set(dut.fill.ready, 1)
            words: list[int] = [0] * 16
            waits = 0
            for cycle in range(80):
                ctx.set(dut.silent, cycle == late)
                _, _, valid, word, data, failed, advance, fail = await ctx.tick().sample(
                    dut.fill.valid, dut.fill.word, dut.fill.data, dut.failed, dut.advance, dut.fail)
                if valid:
                    words[word] = data
                waits = (waits + 1) * ctx.get(dut.push)
                ctx.set(dut.pushed, waits == 10)
                if advance or fail:
                    assert words == (failure if fail else entry) and failed == bool(fail), late
                    seen.add(bool(fail))
                    return
            raise AssertionError(f"no end when the limit ends in cycle {late}")

        bench.run(driver, link)
    assert seen == {True, False}


class _Storm:
    """The fetcher alone, between rings, a store and link memory; each end of an entry is checked."""

    base = (0x80, 0x2000 >> 6)

    def __init__(self, preset: str, seed: int, size: int) -> None:
        config = load_engine(preset).replace(address_bits=32)
        self.rng = random.Random(seed)
        self.dut = Fetcher(config)
        self.memory = Memory(self.dut.axi, config.link_beat_bytes, self.rng, latency=self.rng.choice([0, 12]),
                             pauses=0.2, stretch=5, content=bytearray(self.rng.randbytes(SIZE)))
        self.size = size
        self.head, self.tail = 2 * [size - 8], 2 * [size - 8]
        self.enabled = [False, False]
        self.ended: list[tuple[int, str]] = []

    def run(self, process: Any) -> None:
        """Simulates until the process ends."""
        Prepared(self.dut).run(process, self.memory.read, self._around, cycles=60_000)

    def address(self, number: int, ahead: int = 0) -> int:
        """Of an entry of a ring."""
        return 64 * (self.base[number] + (self.head[number] + ahead) % self.size)

    async def _around(self, ctx: Any) -> None:
        dut, rng, words, waits, seen = self.dut, self.rng, [0] * 16, 0, False
        while True:
            for number in range(2):
                ctx.set(dut.rings[number], {"base": self.base[number], "size": self.size, "enable": 1,
                                            "head": self.head[number], "tail": self.tail[number]})
            ctx.set(dut.pending, sum((self.enabled[number] and self.head[number] != self.tail[number]) << number
                                     for number in range(2)))
            # The store has seen that an entry is there before it takes a word.
            ctx.set(dut.fill.ready, seen and rng.random() < 0.7)
            _, _, valid, ready, word, data, advance, fail, direction, push = await ctx.tick().sample(
                dut.fill.valid, dut.fill.ready, dut.fill.word, dut.fill.data, dut.advance, dut.fail, dut.direction,
                dut.push)
            seen = valid and not (ready and word == 15)
            if valid and ready:
                words[word] = data
            for number, name in ((each >> 1, name) for name, each in (("advance", advance), ("fail", fail)) if each):
                assert direction == number
                place = self.address(number)
                if name == "advance":
                    assert tuple(words) == words_of(self.memory.content[place % SIZE:place % SIZE + 64])
                    self.head[number] = (self.head[number] + 1) % self.size
                else:
                    assert words[_SOURCE:_SOURCE + 2] == [place, 0] and words[1] == 0
                    self.enabled[number] = False
                self.ended.append((number, name))
            waits = (waits + 1) * push
            ctx.set(dut.pushed, bool(waits and rng.random() < 0.3))


_SOURCE = descriptor_layout()["source"].offset // 32


@pytest.mark.parametrize("preset", ["smallest", "tiny", "engine", "wide"])
@pytest.mark.parametrize(("seed", "size"), [(0, 8), (1, 512), (2, 1 << 16)])
@simulated(lambda preset, seed, size: _Storm(preset, seed, size))
async def test_storms(bench: _Storm, ctx: Any, preset: str, seed: int, size: int) -> None:
    """Errors and silence at any time and together, rings enabled again at once or late: entries come once, in order,
    around the end of a ring of any size."""
    rng, dut, memory = bench.rng, bench.dut, bench.memory
    stormy, calm, left = 4000, 0, [60, 60]
    while any(left) or bench.head != bench.tail:
        stormy -= 1
        if rng.random() < 0.02:
            memory.faulty = {} if stormy < 0 else {
                bench.address(number, ahead) + memory.beat_bytes * rng.randrange(64 // memory.beat_bytes): 2
                for number in range(2) for ahead in range(3) if rng.random() < 0.2}
            memory.silent = stormy > 0 and rng.random() < 0.3
        answers = ctx.get(dut.axi.arvalid & dut.axi.arready | dut.axi.rvalid)
        ctx.set(dut.silent, stormy > 0 and calm > 4 and rng.random() < (0.3 if memory.silent or answers else 0.02))
        calm = 0 if answers else calm + 1
        for number in range(2):
            bench.enabled[number] |= rng.random() < 0.05
            if left[number] and (bench.tail[number] + 1) % bench.size != bench.head[number] and rng.random() < 0.05:
                bench.tail[number] = (bench.tail[number] + 1) % bench.size
                left[number] -= 1
        await ctx.tick()
    assert {name for _, name in bench.ended} == {"advance", "fail"}
    assert [bench.ended.count((number, "advance")) for number in range(2)] == [60, 60]
