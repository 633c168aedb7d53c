"""A channel: descriptors in, transfers run in order, completions out, against golden and docs/errors.md."""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import pytest
from amaranth.hdl import Module, Value

from cdma.golden.engine import Completion, Descriptor, Parameters, Status
from cdma.golden.engine import Operation as GoldenOperation
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control import channel
from cdma.hdl.engine.control.channel import Channel
from cdma.hdl.engine.control.descriptor import Operation
from tests.hdl.bench import clocked, pulse
from tests.hdl.engine.control.bench import Path, good, simulated, words_of

_CONFIG = EngineConfig(lanes=3, block_bytes=512, buffer_bytes=1024)
_DEPTH = _CONFIG.queue_depth
_FOR_EVER = 100_000
_OK, _ABORTED = Status.OK, Status.ABORTED


class _Asked(NamedTuple):
    """A descriptor and its completion; whether it is an entry that could not be read, and whether it is run."""

    descriptor: Descriptor
    outcome: Completion
    unread: bool = False
    runs: bool = False


class _Bench:
    """A channel between a driver, a data path and counters that take their time."""

    def __init__(self, operation: Operation = Operation.OFFLOAD, seed: int = 7, in_flight: int = 4,
                 config: EngineConfig = _CONFIG) -> None:
        self.offload = operation is Operation.OFFLOAD
        self.operation = operation
        self.rng = random.Random(seed)
        self.dut = Channel(config.replace(transfers_in_flight=in_flight), operation)
        self.path = Path(self.dut.request, self.dut.result, self.dut.aborting, self.rng, in_flight, busy=0.5)
        self.path.cycles = 12
        self.built = Parameters.of(config)
        self.completions: list[Completion] = []
        self.causes: list[tuple[int, int]] = []
        self.accounts: list[tuple[int, int]] = []
        self.pops = True

    def run(self, process: Any) -> None:
        """Simulates until the process ends."""
        clocked(self.dut, process, self.path.take, self.path.end, self._counters, self._driver)

    async def push(self, ctx: Any, asked: Descriptor, unread: bool = False) -> None:
        """Pushes a descriptor while there is place; its words come in any order, the last with the push."""
        while ctx.get(self.dut.level) == _DEPTH or (unread and ctx.get(self.dut.unread_waits)):
            await ctx.tick()
        record = self.dut.record
        words = list(enumerate(words_of(asked.pack())))
        self.rng.shuffle(words)
        for number, (word, data) in enumerate(words):
            last = number == len(words) - 1
            for port, value in ((record.word, word), (record.data, data), (self.dut.unread, unread)):
                ctx.set(port, value)
            await pulse(ctx, record.write, *[record.push] * last)
        ctx.set(self.dut.unread, 0)
        assert ctx.get(self.dut.unread_waits) or not unread

    async def begin(self, ctx: Any, *tags: int) -> None:
        """Pushes descriptors, and waits until the data path has them: the first one runs for ever."""
        self.path.cycles = _FOR_EVER
        count = len(self.path.seen) + len(tags)
        for tag in tags:
            self.path.reports.append({"status": _OK, "bytes": 40})
            await self.push(ctx, good(1, tag=tag, raw_bytes=512))
        while len(self.path.seen) < count:
            await ctx.tick()
        self.path.cycles = 12

    async def completed(self, ctx: Any, count: int) -> None:
        """Waits until so many completions were read."""
        for _ in range(4000):
            if len(self.completions) == count:
                return
            await ctx.tick()
        raise AssertionError(f"{len(self.completions)} completions came, not {count}")

    async def _counters(self, ctx: Any) -> None:
        """Adds the bytes of transfers, and counts causes."""
        dut, rest = self.dut, 0
        while True:
            accounted = rest == 1
            ctx.set(dut.accounted, accounted)
            _, _, account, causes = await ctx.tick().sample(dut.account, dut.causes)
            if causes.completion or causes.error:
                self.causes.append((causes.completion, causes.error))
            if accounted:
                assert account.valid, "the bytes went before they were added"
                self.accounts.append((account.raw_bytes, account.packed_bytes))
                rest = 0
            elif account.valid:
                rest = rest - 1 if rest else self.rng.choice([2, 3, 40])

    async def _driver(self, ctx: Any) -> None:
        """Reads completions and removes them; those that are not there read 0."""
        dut = self.dut
        while True:
            await ctx.tick().repeat(self.rng.choice([1, 5, 60]))
            if not self.pops:
                continue
            there = ctx.get(dut.completions)
            words = []
            for word in range(16) if there else [self.rng.randrange(16)]:
                ctx.set(dut.word, word)
                await ctx.tick()
                words.append(ctx.get(dut.completion))
            if there:
                await pulse(ctx, dut.pop)
                self.completions.append(Completion.unpack(struct.pack("<16I", *words)))
            else:
                assert words == [0] or ctx.get(dut.completions)

    def any_descriptor(self, tag: int) -> _Asked:
        """Good and run with success or an error, bad, or the record of an entry that could not be read."""
        rng, offload = self.rng, self.offload
        asked = good(self.operation.value, tag=tag, interrupt=rng.random() < 0.5, raw_bytes=4 * rng.randint(1, 1 << 30),
                     source=512 * rng.randrange(1 << 20), destination=512 * rng.randrange(1 << 20),
                     capacity=rng.randint(1 << 32, 1 << 38), packed_bytes=0 if offload else 4 * rng.randint(1, 1 << 30))
        what = rng.random()
        if what < 0.2:
            asked = replace(asked, **rng.choice([
                {"operation": 3}, {"coding": 4}, {"other_flags": 1 << 9}, {"reserved": (0, 1)},
                {"raw_bytes": 0}, {"source": asked.source + 1}, {"destination": asked.destination + 4}]))
        elif what < 0.35:
            response, address = rng.choice([0, 2, 3]), 64 * rng.randrange(1 << 30)
            status = Status.DESCRIPTOR_READ_ERROR if response else Status.DESCRIPTOR_READ_TIMEOUT
            return _Asked(Descriptor(operation=0, coding=0, source=address, destination=0, raw_bytes=0, capacity=0,
                                     crc=response),
                          Completion(tag=0, status=status, operation=0, response=response, place=address), unread=True)
        outcome = Completion(tag=tag, status=_OK, operation=asked.operation)
        refused = self.built.refusal(asked, GoldenOperation(self.operation.value))
        if refused:
            outcome = replace(outcome, status=refused)
        elif rng.random() < 0.6:
            outcome = replace(outcome, crc=rng.getrandbits(32), raw_blocks=rng.getrandbits(31),
                              bytes_written=rng.getrandbits(40) if offload else asked.raw_bytes,
                              nonzero=rng.getrandbits(40))
        else:
            outcome = replace(outcome, status=rng.choice([Status.LANE_READ_ERROR, Status.LINK_WRITE_TIMEOUT]),
                              lane=rng.randrange(3), response=rng.choice([2, 3]), place=rng.getrandbits(40))
        if not refused:
            self.report(outcome)
        return _Asked(asked, outcome, runs=not refused)

    def report(self, outcome: Completion) -> None:
        """Has the data path end the next transfer so."""
        names = {"status": "status", "lane": "lane", "response": "resp", "place": "place", "bytes_written": "bytes",
                 "nonzero": "nonzero", "raw_blocks": "raw_blocks", "crc": "crc"}
        self.path.reports.append({name: getattr(outcome, of) for of, name in names.items()})

    def ended(self) -> list[tuple[int, Status]]:
        """Tags and statuses of completions."""
        return [(each.tag, each.status) for each in self.completions]


_HASTE = 0x1234_5678_9ABD
"""What the clock goes on by in each cycle, where it is to go around often."""


def _hasty(operation: Operation, in_flight: int, haste: int, monkeypatch: pytest.MonkeyPatch) -> _Bench:
    def count(m: Module, value: Value, step: int) -> None:
        m.d.sync += value.eq(value + haste * step)

    monkeypatch.setattr(channel, "counter", count)
    return _Bench(operation, 5, in_flight)


@pytest.mark.parametrize(("operation", "in_flight", "haste"), [
    (Operation.OFFLOAD, 4, 1), (Operation.PREFETCH, 4, _HASTE), (Operation.OFFLOAD, 1, _HASTE),
    (Operation.PREFETCH, 3, 1)])
@simulated(_hasty)
async def test_descriptors_of_all_kinds_in_order(bench: _Bench, ctx: Any, operation: Operation, in_flight: int,
                                                 haste: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.path.cycles = 150
    asked = [bench.any_descriptor(tag) for tag in range(40)]
    ran = [each for each in asked if each.runs]
    for each in asked:
        await bench.push(ctx, each.descriptor, each.unread)
        if bench.rng.random() < 0.3:
            await ctx.tick().repeat(100)
    await bench.completed(ctx, len(asked))
    assert [ctx.get(getattr(bench.dut, name)) for name in ("unread_waits", "level", "completions", "busy")] == [0] * 4
    assert bench.completions == [each.outcome for each in asked]
    assert len(ran) > 15
    assert bench.path.seen == [{
        "source": each.source, "destination": each.destination, "element": each.coding & 15, "exponents": 0,
        "fallback": 1, "leave_raw": 0, "narrow": 0, "raw_bytes": each.raw_bytes, "capacity": each.capacity,
        "packed_bytes": each.packed_bytes, "check_crc": 0, "crc": 0} for each, *_ in ran]
    # IRQ_STATUS: a completion with the flag, with any status; a status other than OK. One cycle for each.
    causes = [(int(each.descriptor.interrupt), int(each.outcome.status != _OK)) for each in asked]
    assert bench.causes == [each for each in causes if any(each)]
    # The packed bytes are those written (offload) or asked for (prefetch).
    assert bench.accounts == [(each.raw_bytes, outcome.bytes_written if bench.offload else each.packed_bytes)
                              for each, outcome, *_ in ran if outcome.status == _OK]
    assert bench.path.most == in_flight
    # The cycles of a completion are those of its transfer, of the work before it and of the completion before it.
    cycles: dict[bool, list[int]] = {True: [], False: []}
    for each, kind in zip(bench.completions, asked, strict=True):
        cycles[kind.runs].append(each.cycles * pow(haste, -1, 1 << 48) % (1 << 48))
    assert all(taken + 20 <= found <= taken + 100 for taken, found in zip(bench.path.ran, cycles[True], strict=True))
    # A descriptor that is refused waits only for the transfers before it.
    assert min(cycles[False]) == 20 and (in_flight > 1 or max(cycles[False]) == 20)


@simulated(lambda: _Bench(Operation.PREFETCH, 6))
async def test_nothing_starts_while_the_completions_are_not_read(bench: _Bench, ctx: Any) -> None:
    dut = bench.dut
    bench.pops = False
    asked = [bench.any_descriptor(tag) for tag in range(30)]
    asked = [each for each in asked if not each.unread][:2 * _DEPTH]
    for each in asked:
        assert not ctx.get(dut.blocked)
        await bench.push(ctx, each.descriptor)
    await ctx.tick().repeat(1500)
    assert (ctx.get(dut.completions), ctx.get(dut.level)) == (_DEPTH, len(asked) - _DEPTH)
    assert (ctx.get(dut.blocked), ctx.get(dut.busy), ctx.get(dut.request.valid)) == (1, 0, 0)
    bench.pops = True
    await bench.completed(ctx, len(asked))
    assert not ctx.get(dut.blocked)
    assert bench.completions == [each.outcome for each in asked]


@simulated(_Bench)
async def test_aborts_and_holds(bench: _Bench, ctx: Any) -> None:
    """An abort is that of the oldest transfer; while the channel is held, all that run are aborted, and none starts."""
    dut = bench.dut
    bench.path.behind = True
    # An abort while nothing runs has no effect on what comes after it.
    await pulse(ctx, dut.abort)
    assert not ctx.get(dut.aborting)
    bench.path.reports.append({"status": _OK, "bytes": 40})
    await bench.push(ctx, good(1, tag=0, raw_bytes=512))
    await bench.completed(ctx, 1)
    await bench.begin(ctx, 1, 2, 3)
    await pulse(ctx, dut.abort)
    assert ctx.get(dut.aborting)
    await bench.completed(ctx, 4)
    await bench.begin(ctx, 4, 5)
    # One more is being checked, and is refused: the abort is not its.
    await bench.push(ctx, good(1, tag=6, raw_bytes=0))
    await ctx.tick().repeat(60)
    ctx.set(dut.hold, 1)
    await bench.completed(ctx, 7)
    bench.path.reports.append({"status": _OK, "bytes": 40})
    await bench.push(ctx, good(1, tag=7, raw_bytes=512))
    await ctx.tick().repeat(200)
    assert (ctx.get(dut.level), ctx.get(dut.busy), len(bench.path.seen)) == (1, 0, 6)
    ctx.set(dut.hold, 0)
    await bench.completed(ctx, 8)
    assert bench.ended() == [(0, _OK), (1, _ABORTED), (2, _OK), (3, _OK), (4, _ABORTED), (5, _ABORTED),
                             (6, Status.BAD_RAW_BYTES), (7, _OK)]
    assert [each.bytes_written for each in bench.completions] == [40, 0, 40, 40, 0, 0, 0, 40]
    assert bench.accounts == 4 * [(512, 40)]


@simulated(_Bench)
async def test_an_abort_while_the_only_descriptor_is_checked(bench: _Bench, ctx: Any) -> None:
    """It waits for the transfer, and is that of no other one."""
    dut = bench.dut
    for tag, wait in enumerate(range(1, 20, 3)):
        await bench.push(ctx, good(1, tag=tag))
        await ctx.tick().repeat(wait)
        assert ctx.get(dut.busy) and not ctx.get(dut.request.valid)
        await pulse(ctx, dut.abort)
        assert ctx.get(dut.aborting)
        await bench.completed(ctx, tag + 1)
    assert bench.path.aborted == 7 and bench.ended() == [(tag, _ABORTED) for tag in range(7)]


@simulated(lambda: _Bench(in_flight=2))
async def test_an_abort_while_the_completion_before_is_written(bench: _Bench, ctx: Any) -> None:
    """It is that of the transfer behind it, which has no result yet."""
    dut = bench.dut
    bench.path.cycles = 1000
    for tag in range(2):
        await bench.push(ctx, good(1, tag=tag))
    while len(bench.path.seen) < 2:
        await ctx.tick()
    await ctx.tick().until(dut.result.valid)
    bench.path.behind = True
    await ctx.tick().repeat(3)
    assert not ctx.get(dut.completions)
    await pulse(ctx, dut.abort)
    assert ctx.get(dut.aborting)
    await bench.completed(ctx, 2)
    assert bench.path.aborted == 1
    assert bench.ended() == [(0, _OK), (1, _ABORTED)]


@simulated(lambda: _Bench(in_flight=2))
async def test_an_abort_while_the_only_completion_is_written(bench: _Bench, ctx: Any) -> None:
    """It has no effect on a descriptor that starts behind it, even before that completion is there."""
    dut = bench.dut
    bench.path.cycles = 120
    await bench.push(ctx, good(1, tag=0))
    for word, data in enumerate(words_of(good(1, tag=1).pack())):
        ctx.set(dut.record.word, word)
        ctx.set(dut.record.data, data)
        if word < 15:       # the last word comes behind the abort
            await pulse(ctx, dut.record.write)
    await ctx.tick().until(dut.result.valid)
    await ctx.tick().repeat(2)
    await pulse(ctx, dut.abort)
    await pulse(ctx, dut.record.write, dut.record.push)
    assert not ctx.get(dut.completions)
    await bench.completed(ctx, 2)
    assert bench.ended() == [(0, _OK), (1, _OK)] and not bench.path.aborted


@pytest.mark.parametrize("operation", Operation, ids=lambda operation: operation.name.lower())
@simulated(lambda operation: _Bench(operation, config=_CONFIG.replace(page_lists=True)))
async def test_pages_that_a_stream_takes(bench: _Bench, ctx: Any, operation: Operation) -> None:
    """Streams that end with a page, 4 bytes before it, 4 bytes behind it, up to the longest; none are told of one that
    fails."""
    right = []
    for tag, (page_size, pages, surplus) in enumerate(product((12, 13, 17, 21), (1, 2, 77, -2), (-4, 0, 4))):
        pages %= 1 << 40 - page_size
        size = (pages << page_size) + surplus
        asked = good(operation.value, tag=tag, page_list=True, pages=max(100, pages + 1), page_size=page_size,
                     capacity=1 << 32,
                     packed_bytes=0 if bench.offload else size)
        fine = Completion(tag=tag, status=_OK, operation=operation.value, pages=pages + (surplus > 0),
                          bytes_written=size if bench.offload else asked.raw_bytes)
        failed = replace(fine, status=Status.LINK_READ_TIMEOUT, pages=0, bytes_written=0)
        right.append(fine if tag % 5 else failed)
        bench.report(right[-1])
        await bench.push(ctx, asked)
    await bench.completed(ctx, len(right))
    assert bench.completions == right
