"""A channel: descriptors in, transfers run in order, completions out, against golden and docs/errors.md."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from golden.engine import Completion, Descriptor, Status
from golden.engine import Operation as GoldenOperation
from hdl.config.engine import EngineConfig
from hdl.engine.control.channel import Channel
from hdl.engine.control.descriptor import Operation
from tests.hdl.bench import clocked
from tests.hdl.engine.built import parameters
from tests.hdl.engine.control.bench import good

_CONFIG = EngineConfig(lanes=3, block_bytes=512, buffer_bytes=1024)
_DEPTH = _CONFIG.queue_depth


@dataclass(frozen=True)
class _Asked:
    """A descriptor, and what the data path will say of its transfer."""

    descriptor: Descriptor
    outcome: Completion
    unread: bool = False


@dataclass
class _Seen:
    """What came out of the channel, in order."""

    requests: list[dict[str, int]] = field(default_factory=list)
    completions: list[Completion] = field(default_factory=list)
    causes: list[tuple[int, int]] = field(default_factory=list)
    accounts: list[tuple[int, int]] = field(default_factory=list)
    aborted: int = 0
    most: int = 0                                       # transfers that were in the data path at the same time
    ran: list[int] = field(default_factory=list)        # cycles of each transfer, from its request to its result


class _Bench:
    """A channel between a driver, a data path and counters that take their time."""

    def __init__(self, operation: Operation, seed: int, in_flight: int = 4) -> None:
        self.operation = operation
        self.rng = random.Random(seed)
        self.in_flight = in_flight
        self.dut = Channel(_CONFIG.replace(transfers_in_flight=in_flight), operation)
        self.inside: list[tuple[Completion, int]] = []      # transfers in the data path: outcome, cycle of the request
        self.cycle = 0
        self.parameters = parameters(_CONFIG)
        self.seen = _Seen()
        self.outcomes: list[Completion] = []    # of the transfers to come
        self.slow = 12              # most cycles that a transfer takes; it takes half of them at least
        self.pops = True

    def refusal(self, asked: Descriptor) -> Status | None:
        """Why golden refuses a descriptor in this direction."""
        return self.parameters.refusal(asked, GoldenOperation(self.operation.value))

    async def push(self, ctx: Any, asked: Descriptor, unread: bool = False) -> None:
        """Pushes a descriptor while there is place; its words come in any order, the last with the push."""
        while ctx.get(self.dut.level) == _DEPTH or (unread and ctx.get(self.dut.unread_waits)):
            await ctx.tick()
        record = self.dut.record
        words = list(enumerate(struct.unpack("<16I", asked.pack())))
        self.rng.shuffle(words)
        for number, (word, data) in enumerate(words):
            ctx.set(record.word, word)
            ctx.set(record.data, data)
            ctx.set(record.write, 1)
            ctx.set(record.push, number == len(words) - 1)
            ctx.set(self.dut.unread, unread)
            await ctx.tick()
        ctx.set(record.write, 0)
        ctx.set(record.push, 0)
        ctx.set(self.dut.unread, 0)
        assert ctx.get(self.dut.unread_waits) or not unread

    async def front(self, ctx: Any) -> None:
        """Takes as many transfers as may be in flight."""
        dut, rng = self.dut, self.rng
        shown = 0
        while True:
            ready = rng.random() < 0.5 and len(self.inside) < self.in_flight
            ctx.set(dut.request.ready, ready)
            _, _, valid, payload = await ctx.tick().sample(dut.request.valid, dut.request.payload)
            self.cycle += 1
            if not valid:
                continue
            shown = shown or self.cycle
            if ready:
                self.seen.requests.append({name: int(_number(getattr(payload, name)))
                                           for name, _ in dut.request.payload.shape()})
                self.inside.append((self.outcomes.pop(0), shown))
                self.seen.most = max(self.seen.most, len(self.inside))
                shown = 0

    async def path(self, ctx: Any) -> None:
        """Ends transfers in order, with the outcomes to come; an abort ends the oldest."""
        dut, rng = self.dut, self.rng
        while True:
            while not self.inside:
                await ctx.tick()
            outcome, begun = self.inside[0]
            for _ in range(rng.randint(self.slow // 2, self.slow)):
                await ctx.tick()
                if ctx.get(dut.aborting):
                    outcome = replace(outcome, status=Status.ABORTED, lane=0, response=0, crc=0, raw_blocks=0,
                                      bytes_written=0, nonzero=0, place=0)
                    self.seen.aborted += 1
                    break
            ctx.set(dut.result.payload, {
                "status": outcome.status, "lane": outcome.lane, "resp": outcome.response, "place": outcome.place,
                "bytes": outcome.bytes_written, "nonzero": outcome.nonzero, "raw_blocks": outcome.raw_blocks,
                "crc": outcome.crc})
            ctx.set(dut.result.valid, 1)
            self.seen.ran.append(self.cycle - begun)
            self.inside.pop(0)
            await ctx.tick().until(dut.result.ready)
            assert ctx.get(dut.hold) or not ctx.get(dut.aborting)
            ctx.set(dut.result.valid, 0)
            # A result that is gone may not be read.
            ctx.set(dut.result.payload, {"status": 0x30, "lane": 9, "resp": 3, "place": 77, "bytes": 88,
                                         "nonzero": 99, "raw_blocks": 66, "crc": 55})

    async def counters(self, ctx: Any) -> None:
        """Adds the bytes of transfers, and counts causes."""
        dut, rest = self.dut, 0
        while True:
            accounted = rest == 1
            ctx.set(dut.accounted, accounted)
            _, _, account, causes = await ctx.tick().sample(dut.account, dut.causes)
            if causes.completion or causes.error:
                self.seen.causes.append((causes.completion, causes.error))
            if accounted:
                assert account.valid, "the bytes went before they were added"
                self.seen.accounts.append((account.raw_bytes, account.packed_bytes))
                rest = 0
            elif account.valid:
                rest = rest - 1 if rest else self.rng.choice([2, 3, 40])

    async def driver(self, ctx: Any) -> None:
        """Reads completions and removes them."""
        dut = self.dut
        while True:
            for _ in range(self.rng.choice([1, 5, 60])):
                await ctx.tick()
            if not self.pops:
                continue
            if not ctx.get(dut.completions):
                word = self.rng.randrange(16)
                ctx.set(dut.word, word)
                await ctx.tick()
                if not ctx.get(dut.completions):
                    assert ctx.get(dut.completion) == 0, "a completion that is not there reads 0"
                continue
            words = []
            for word in range(16):
                ctx.set(dut.word, word)
                await ctx.tick()
                words.append(ctx.get(dut.completion))
            ctx.set(dut.pop, 1)
            await ctx.tick()
            ctx.set(dut.pop, 0)
            self.seen.completions.append(Completion.unpack(struct.pack("<16I", *words)))

    def run(self, process: Any) -> None:
        """Simulates until the process ends."""
        clocked(self.dut, process, self.front, self.path, self.counters, self.driver)


def _number(value: Any) -> Any:
    return getattr(value, "value", value)


def _random(bench: _Bench, tag: int) -> _Asked:
    """A descriptor: good and run with success or an error, bad, or the record of an entry that could not be read."""
    rng, offload = bench.rng, bench.operation is Operation.OFFLOAD
    asked = good(bench.operation.value, tag=tag, interrupt=rng.random() < 0.5, raw_bytes=4 * rng.randint(1, 1 << 30),
                 source=512 * rng.randrange(1 << 20), destination=512 * rng.randrange(1 << 20),
                 capacity=rng.randint(1 << 32, 1 << 38), packed_bytes=0 if offload else 4 * rng.randint(1, 1 << 30))
    what = rng.random()
    if what < 0.2:
        asked = replace(asked, **rng.choice([
            {"operation": 3}, {"coding": 4}, {"other_flags": 1 << 9}, {"reserved": (0, 1, 0)},
            {"raw_bytes": 0}, {"source": asked.source + 1}, {"destination": asked.destination + 4}]))
    elif what < 0.35:
        response, address = rng.choice([0, 2, 3]), 64 * rng.randrange(1 << 30)
        asked = Descriptor(operation=0, coding=0, source=address, destination=0, raw_bytes=0, capacity=0,
                           crc=response)
        status = Status.DESCRIPTOR_READ_ERROR if response else Status.DESCRIPTOR_READ_TIMEOUT
        return _Asked(asked, Completion(tag=0, status=status, operation=0, response=response, place=address), True)
    blank = Completion(tag=tag, status=Status.OK, operation=asked.operation)
    if refused := bench.refusal(asked):
        return _Asked(asked, replace(blank, status=refused))
    if rng.random() < 0.6:
        return _Asked(asked, replace(blank, crc=rng.getrandbits(32), raw_blocks=rng.getrandbits(31),
                                     bytes_written=rng.getrandbits(40) if offload else asked.raw_bytes,
                                     nonzero=rng.getrandbits(40)))
    return _Asked(asked, replace(blank, status=rng.choice([Status.LANE_READ_ERROR, Status.LINK_WRITE_TIMEOUT]),
                                 lane=rng.randrange(3), response=rng.choice([2, 3]), place=rng.getrandbits(40)))


def _runs(bench: _Bench, asked: _Asked) -> bool:
    return not asked.unread and bench.refusal(asked.descriptor) is None


def _account(bench: _Bench, asked: _Asked) -> tuple[int, int]:
    packed = asked.outcome.bytes_written if bench.operation is Operation.OFFLOAD else asked.descriptor.packed_bytes
    return asked.descriptor.raw_bytes, packed


async def _settled(ctx: Any, bench: _Bench, count: int) -> None:
    for _ in range(4000):
        if len(bench.seen.completions) == count:
            return
        await ctx.tick()
    raise AssertionError(f"{len(bench.seen.completions)} completions came, not {count}")


@pytest.mark.parametrize(("operation", "in_flight"), [
    (Operation.OFFLOAD, 4), (Operation.PREFETCH, 4), (Operation.OFFLOAD, 1), (Operation.PREFETCH, 3)])
def test_descriptors_of_all_kinds_in_order(operation: Operation, in_flight: int) -> None:
    bench = _Bench(operation, 5, in_flight)
    bench.slow = 150
    asked = [_random(bench, tag) for tag in range(40)]
    ran = [each for each in asked if _runs(bench, each)]
    bench.outcomes = [each.outcome for each in ran]

    async def process(ctx: Any) -> None:
        for each in asked:
            await bench.push(ctx, each.descriptor, each.unread)
            for _ in range(bench.rng.choice([0, 0, 100])):
                await ctx.tick()
        await _settled(ctx, bench, len(asked))
        assert not ctx.get(bench.dut.unread_waits)
        assert (ctx.get(bench.dut.level), ctx.get(bench.dut.completions), ctx.get(bench.dut.busy)) == (0, 0, 0)

    bench.run(process)
    seen = bench.seen
    assert seen.completions == [each.outcome for each in asked]
    assert len(seen.requests) == len(ran) > 15
    for request, each in zip(seen.requests, ran, strict=True):
        wanted = each.descriptor
        assert request == {
            "source": wanted.source, "destination": wanted.destination, "element": wanted.coding & 15,
            "exponents": 0, "fallback": 1, "leave_raw": 0, "narrow": 0, "raw_bytes": wanted.raw_bytes,
            "capacity": wanted.capacity, "packed_bytes": wanted.packed_bytes, "check_crc": 0, "crc": 0}
    # IRQ_STATUS: a completion with the flag, with any status; a status other than OK. One cycle for each.
    causes = [(each.descriptor.interrupt, each.outcome.status != Status.OK) for each in asked]
    assert seen.causes == [(int(flag), int(error)) for flag, error in causes if flag or error]
    assert seen.accounts == [_account(bench, each) for each in ran if each.outcome.status == Status.OK]
    assert seen.most == in_flight
    # The cycles of a completion are those of its transfer, of the work before it and of the completion before it.
    cycles = [each.cycles for each, kind in zip(seen.completions, asked, strict=True) if _runs(bench, kind)]
    assert all(taken + 20 <= found <= taken + 100 for taken, found in zip(seen.ran, cycles, strict=True))


def test_nothing_starts_while_the_completions_are_not_read() -> None:
    bench = _Bench(Operation.PREFETCH, 6)
    asked = [_random(bench, tag) for tag in range(30)]
    asked = [each for each in asked if not each.unread][:2 * _DEPTH]
    bench.outcomes = [each.outcome for each in asked if _runs(bench, each)]
    bench.pops = False

    async def process(ctx: Any) -> None:
        dut = bench.dut
        for each in asked:
            assert not ctx.get(dut.blocked)
            await bench.push(ctx, each.descriptor)
        for _ in range(1500):
            await ctx.tick()
        assert (ctx.get(dut.completions), ctx.get(dut.level)) == (_DEPTH, len(asked) - _DEPTH)
        assert (ctx.get(dut.blocked), ctx.get(dut.busy), ctx.get(dut.request.valid)) == (1, 0, 0)
        bench.pops = True
        await _settled(ctx, bench, len(asked))
        assert not ctx.get(dut.blocked)

    bench.run(process)
    assert bench.seen.completions == [each.outcome for each in asked]


def test_aborts_and_holds() -> None:
    bench = _Bench(Operation.OFFLOAD, 7)
    count = 6
    descriptors = [good(1, tag=tag, raw_bytes=512) for tag in range(count)]
    done = Completion(tag=0, status=Status.OK, operation=1, bytes_written=40)
    bench.outcomes = [replace(done, tag=tag) for tag in range(count)]

    async def process(ctx: Any) -> None:
        dut, seen = bench.dut, bench.seen

        async def abort() -> None:
            ctx.set(dut.abort, 1)
            await ctx.tick()
            ctx.set(dut.abort, 0)

        # An abort while nothing runs has no effect on what comes after it.
        await abort()
        assert not ctx.get(dut.aborting)
        await bench.push(ctx, descriptors[0])
        await _settled(ctx, bench, 1)
        # An abort ends the transfer that runs, and none of those that wait.
        bench.slow = 100_000
        for each in descriptors[1:3]:
            await bench.push(ctx, each)
        while len(seen.requests) < 2:
            await ctx.tick()
        bench.slow = 12
        await abort()
        assert ctx.get(dut.aborting)
        await _settled(ctx, bench, 3)
        # While the channel is held, what runs is aborted and nothing starts.
        bench.slow = 100_000
        for each in descriptors[3:5]:
            await bench.push(ctx, each)
        while len(seen.requests) < 4:
            await ctx.tick()
        bench.slow = 12
        ctx.set(dut.hold, 1)
        await _settled(ctx, bench, 4)
        await bench.push(ctx, descriptors[5])
        for _ in range(200):
            await ctx.tick()
        assert (ctx.get(dut.level), ctx.get(dut.busy), len(seen.requests)) == (2, 0, 4)
        ctx.set(dut.hold, 0)
        await _settled(ctx, bench, count)

    bench.run(process)
    found = [each.status for each in bench.seen.completions]
    assert found == [Status.OK, Status.ABORTED, Status.OK, Status.ABORTED, Status.OK, Status.OK]
    assert [each.bytes_written for each in bench.seen.completions] == [40, 0, 40, 0, 40, 40]
    assert bench.seen.accounts == 4 * [(512, 40)]


def test_an_abort_is_that_of_the_oldest() -> None:
    bench = _Bench(Operation.OFFLOAD, 8)
    done = Completion(tag=0, status=Status.OK, operation=1, bytes_written=40)
    bench.outcomes = [replace(done, tag=tag) for tag in range(5)]

    async def process(ctx: Any) -> None:
        dut, seen = bench.dut, bench.seen
        bench.slow = 100_000
        for tag in range(3):
            await bench.push(ctx, good(1, tag=tag, raw_bytes=512))
        while len(seen.requests) < 3:
            await ctx.tick()
        bench.slow = 12
        ctx.set(dut.abort, 1)
        await ctx.tick()
        ctx.set(dut.abort, 0)
        await _settled(ctx, bench, 3)
        bench.slow = 100_000
        for tag in (3, 4):
            await bench.push(ctx, good(1, tag=tag, raw_bytes=512))
        # One more is being checked, and is refused: the abort is not its.
        await bench.push(ctx, good(1, tag=5, raw_bytes=0))
        while len(seen.requests) < 5:
            await ctx.tick()
        for _ in range(60):
            await ctx.tick()
        ctx.set(dut.hold, 1)
        await _settled(ctx, bench, 6)
        assert not ctx.get(dut.busy)

    bench.run(process)
    found = [(each.tag, each.status) for each in bench.seen.completions]
    assert found == [(0, Status.ABORTED), (1, Status.OK), (2, Status.OK), (3, Status.ABORTED), (4, Status.ABORTED),
                     (5, Status.BAD_RAW_BYTES)]
