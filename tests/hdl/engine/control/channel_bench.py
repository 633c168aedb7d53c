"""What the tests of a channel share: a bench with a driver, a data path and counters, and descriptors of all kinds."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field, replace
from typing import Any

from cdma.golden.engine import Completion, Descriptor, Status
from cdma.golden.engine import Operation as GoldenOperation
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.channel import Channel
from cdma.hdl.engine.control.descriptor import Operation
from tests.hdl.bench import clocked
from tests.hdl.engine.built import parameters
from tests.hdl.engine.control.bench import good

__all__ = ["CONFIG", "DEPTH", "Asked", "ChannelBench", "Seen", "account", "any_descriptor", "completed", "runs"]

CONFIG = EngineConfig(lanes=3, block_bytes=512, buffer_bytes=1024)
DEPTH = CONFIG.queue_depth
"""Descriptors that the queue holds."""


@dataclass(frozen=True)
class Asked:
    """A descriptor, and what the data path will say of its transfer."""

    descriptor: Descriptor
    outcome: Completion
    unread: bool = False


@dataclass
class Seen:
    """What came out of the channel, in order."""

    requests: list[dict[str, int]] = field(default_factory=list)
    completions: list[Completion] = field(default_factory=list)
    causes: list[tuple[int, int]] = field(default_factory=list)
    accounts: list[tuple[int, int]] = field(default_factory=list)
    aborted: int = 0
    most: int = 0                                       # transfers that were in the data path at the same time
    ran: list[int] = field(default_factory=list)        # cycles of each transfer, from its request to its result


class ChannelBench:
    """A channel between a driver, a data path and counters that take their time."""

    def __init__(self, operation: Operation, seed: int, in_flight: int = 4, config: EngineConfig = CONFIG) -> None:
        self.operation = operation
        self.rng = random.Random(seed)
        self.in_flight = in_flight
        self.dut = Channel(config.replace(transfers_in_flight=in_flight), operation)
        self.inside: list[tuple[Completion, int]] = []      # transfers in the data path: outcome, cycle of the request
        self.cycle = 0
        self.parameters = parameters(config)
        self.seen = Seen()
        self.outcomes: list[Completion] = []    # of the transfers to come
        self.slow = 12              # most cycles that a transfer takes; it takes half of them at least
        self.pops = True
        self.ahead = False          # an abort comes while a completion is written, for the transfer behind it

    def refusal(self, asked: Descriptor) -> Status | None:
        """Why golden refuses a descriptor in this direction."""
        return self.parameters.refusal(asked, GoldenOperation(self.operation.value))

    async def push(self, ctx: Any, asked: Descriptor, unread: bool = False) -> None:
        """Pushes a descriptor while there is place; its words come in any order, the last with the push."""
        while ctx.get(self.dut.level) == DEPTH or (unread and ctx.get(self.dut.unread_waits)):
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
            assert ctx.get(dut.hold) or self.ahead or not ctx.get(dut.aborting)
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


def any_descriptor(bench: ChannelBench, tag: int) -> Asked:
    """A descriptor: good and run with success or an error, bad, or the record of an entry that could not be read."""
    rng, offload = bench.rng, bench.operation is Operation.OFFLOAD
    asked = good(bench.operation.value, tag=tag, interrupt=rng.random() < 0.5, raw_bytes=4 * rng.randint(1, 1 << 30),
                 source=512 * rng.randrange(1 << 20), destination=512 * rng.randrange(1 << 20),
                 capacity=rng.randint(1 << 32, 1 << 38), packed_bytes=0 if offload else 4 * rng.randint(1, 1 << 30))
    what = rng.random()
    if what < 0.2:
        asked = replace(asked, **rng.choice([
            {"operation": 3}, {"coding": 4}, {"other_flags": 1 << 9}, {"reserved": (0, 1)},
            {"raw_bytes": 0}, {"source": asked.source + 1}, {"destination": asked.destination + 4}]))
    elif what < 0.35:
        response, address = rng.choice([0, 2, 3]), 64 * rng.randrange(1 << 30)
        asked = Descriptor(operation=0, coding=0, source=address, destination=0, raw_bytes=0, capacity=0,
                           crc=response)
        status = Status.DESCRIPTOR_READ_ERROR if response else Status.DESCRIPTOR_READ_TIMEOUT
        return Asked(asked, Completion(tag=0, status=status, operation=0, response=response, place=address), True)
    blank = Completion(tag=tag, status=Status.OK, operation=asked.operation)
    if refused := bench.refusal(asked):
        return Asked(asked, replace(blank, status=refused))
    if rng.random() < 0.6:
        return Asked(asked, replace(blank, crc=rng.getrandbits(32), raw_blocks=rng.getrandbits(31),
                                     bytes_written=rng.getrandbits(40) if offload else asked.raw_bytes,
                                     nonzero=rng.getrandbits(40)))
    return Asked(asked, replace(blank, status=rng.choice([Status.LANE_READ_ERROR, Status.LINK_WRITE_TIMEOUT]),
                                 lane=rng.randrange(3), response=rng.choice([2, 3]), place=rng.getrandbits(40)))


def runs(bench: ChannelBench, asked: Asked) -> bool:
    """Whether a descriptor becomes a transfer."""
    return not asked.unread and bench.refusal(asked.descriptor) is None


def account(bench: ChannelBench, asked: Asked) -> tuple[int, int]:
    """Raw and packed bytes of a transfer that succeeds."""
    packed = asked.outcome.bytes_written if bench.operation is Operation.OFFLOAD else asked.descriptor.packed_bytes
    return asked.descriptor.raw_bytes, packed


async def completed(ctx: Any, bench: ChannelBench, count: int) -> None:
    """Waits until so many completions were read."""
    for _ in range(4000):
        if len(bench.seen.completions) == count:
            return
        await ctx.tick()
    raise AssertionError(f"{len(bench.seen.completions)} completions came, not {count}")
