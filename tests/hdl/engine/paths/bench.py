"""A data path between memories, beside golden: what its transfers leave in memory, and what it says of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import numpy as np
from amaranth.hdl import Const

from cdma.golden.codec.coding import Coding
from cdma.golden.engine import Completion, Descriptor, Engine, Fault, Operation, Response, Status
from cdma.golden.engine import Memory as Image
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.pages import SMALLEST_PAGE
from cdma.hdl.engine.paths.data_path import DataPath
from tests.hdl.bench import Bench
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.built import parameters
from tests.hdl.engine.link.streams import activations

__all__ = ["CONFIG", "LEAN", "SINGLE", "UNEVEN", "PathBench"]

CONFIG = EngineConfig(lanes=2, beat_bytes=16, link_beat_bytes=32, block_bytes=512, buffer_bytes=1024, address_bits=32,
                      codings=("zvc32", "float32"), outstanding_reads=2)

UNEVEN = EngineConfig(lanes=3, beat_bytes=16, link_beat_bytes=16, block_bytes=1024, buffer_bytes=2048, address_bits=40,
                      codings=("zvc16",), narrowing=True, crc=False, transfers_in_flight=3, pipeline="fast",
                      burst_beats=16)

LEAN = CONFIG.replace(codings=("zvc32",))

SINGLE = LEAN.replace(transfers_in_flight=1)

_PATIENCE = 20_000


class PathBench:
    """A data path, the memories of its lanes and of its link, and golden's images of the same.

    Parameters
    ----------
    dut, bench
        The path, and what runs it.
    config
        What it was built for.
    operation
        Its direction.
    seed
        Of the content of the memories and of all pauses.
    pauses
        Share of cycles in which a channel of a memory pauses.
    """

    def __init__(self, dut: DataPath, bench: Bench, config: EngineConfig, operation: Operation, *, seed: int,
                 pauses: float) -> None:
        self.dut, self._bench, self.config, self._operation = dut, bench, config, operation
        self.rng = rng = random.Random(seed)
        self._offload = operation is Operation.OFFLOAD
        device = bytearray(activations(rng, SIZE, 2))
        self.lanes = [Memory(lane, config.beat_bytes, rng, latency=rng.choice([1, 9]), pauses=pauses, stretch=6,
                             content=device) for lane in dut.lanes]
        self.link = Memory(dut.link, config.link_beat_bytes, rng, latency=5, pauses=pauses, stretch=6,
                           content=bytearray(rng.randbytes(SIZE)))
        self._lists = Memory(dut.lists, config.link_beat_bytes, rng, latency=5, pauses=pauses, stretch=6,
                             content=self.link.content) if config.page_lists else None
        self.answers = [True] * (config.lanes + 1)      # whether each port, the link's last, answers at all
        self._asked: list[Descriptor] = []
        self._begun = 0
        self.most = 0                   # transfers that had been taken when a result came
        self.beats = self.busy = 0      # on the link, and as events tell
        self.memory_stalls = self.buffer_stalls = self.buffer_errors = 0
        self.golden = Engine(parameters(config), Image(0, np.frombuffer(bytes(device), np.uint8).copy()),
                             Image(0, np.frombuffer(bytes(self.link.content), np.uint8).copy()))

    def run(self, process: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
        """Run a test from power-up, with the memories and what watches the events."""
        lists = [] if self._lists is None else [self._lists.read]
        self._bench.run(process, *map(self._memory, range(self.config.lanes + 1)), *lists, self._watch, self._front)

    def _memory(self, number: int) -> Callable[[Any], Coroutine[Any, Any, None]]:
        """A memory that does not answer before it may."""
        memory = [*self.lanes, self.link][number]
        reads = self._offload == (number < self.config.lanes)

        async def serve(ctx: Any) -> None:
            while not self.answers[number]:
                await ctx.tick()
            await (memory.read(ctx) if reads else memory.write(ctx))

        return serve

    async def _watch(self, ctx: Any) -> None:
        link, events = self.dut.link, self.dut.events
        valid, ready = (link.wvalid, link.wready) if self._offload else (link.rvalid, link.rready)
        errors = events.buffer_errors if self.config.buffer_parity else Const(0)
        while True:
            _, _, moves, busy, memory, buffer, found = await ctx.tick().sample(
                valid & ready, events.link_busy, events.memory_stalls, events.buffer_stalls, errors)
            self.buffer_errors += found
            self.beats += moves
            self.busy += busy
            self.memory_stalls += memory
            self.buffer_stalls += buffer

    def put(self, address: int, content: bytes) -> None:
        """Puts a block stream into the link's memory."""
        self.link.content[address:address + len(content)] = content
        self.golden.link.write(address, np.frombuffer(content, np.uint8))

    def fail_lane(self, lane: int, address: int, response: Response) -> None:
        """Lets a lane answer a burst with an error, for a write the burst that begins at this address."""
        self.lanes[lane].faulty[address] = int(response)
        self.golden.device.faults.append(Fault(address, address + 1, response))

    def fail_link(self, address: int, response: Response) -> None:
        """Lets the link answer a burst with an error, for a write the burst that begins at this address."""
        self.link.faulty[address] = int(response)
        self.golden.link.faults.append(Fault(address, address + 1, response))

    async def spoil(self, ctx: Any, lane: int, memory: int) -> None:
        """Injects an error into a memory of a lane."""
        ctx.set(self.dut.inject, {"lane": lane, "memories": 1 << memory})
        await ctx.tick()
        ctx.set(self.dut.inject, {"lane": lane, "memories": 0})
        self.golden = replace(self.golden, spoiled=frozenset({(self._operation, lane)}))

    def mend(self) -> None:
        """Lets all memories work."""
        self.golden = replace(self.golden, spoiled=frozenset())
        for memory in (*self.lanes, self.link):
            memory.faulty.clear()
        self.golden.device.faults.clear()
        self.golden.link.faults.clear()

    async def begin(self, ctx: Any, asked: Descriptor) -> None:
        """Gives a transfer to the path."""
        dut = self.dut
        ctx.set(dut.request.payload, {
            "source": asked.source, "destination": asked.destination, "element": asked.coding & 7,
            "exponents": Coding(asked.coding).exponents, "fallback": asked.fallback, "leave_raw": asked.leave_raw,
            "narrow": asked.narrow, "raw_bytes": asked.raw_bytes, "capacity": asked.capacity,
            "packed_bytes": asked.packed_bytes, "check_crc": asked.check_crc, "crc": asked.crc,
            **({"listed": asked.page_list, "pages": asked.pages, "page_size": max(asked.page_size - SMALLEST_PAGE, 0)}
               if self.config.page_lists else {})})
        ctx.set(dut.request.valid, 1)
        for _ in range(_PATIENCE):
            _, _, taken = await ctx.tick().sample(dut.request.ready)
            if taken:
                break
        else:
            raise AssertionError("the request was not taken")
        ctx.set(dut.request.valid, 0)
        ctx.set(dut.request.payload, {"source": 512, "raw_bytes": 99, "element": 4})

    async def result(self, ctx: Any, alone: bool = True) -> Completion:
        """Waits for the result, and lets it wait; no port that answers has a transaction open then, if it was alone."""
        dut = self.dut
        for _ in range(_PATIENCE):
            if ctx.get(dut.result.valid):
                break
            await ctx.tick()
        else:
            raise AssertionError("no result came")
        for number, memory in enumerate((*self.lanes, self.link)):
            assert not (alone and self.answers[number] and memory.open), f"port {number} has a transaction open"
        first = ctx.get(dut.result.payload)
        for _ in range(self.rng.choice([0, 7])):
            await ctx.tick()
        assert ctx.get(dut.result.valid)
        assert ctx.get(dut.result.payload) == first, "the result changed"
        ctx.set(dut.result.ready, 1)
        await ctx.tick()
        ctx.set(dut.result.ready, 0)
        return Completion(tag=0, status=Status(first.status.value), operation=self._operation, lane=first.lane,
                          response=first.resp, crc=first.crc, raw_blocks=first.raw_blocks, bytes_written=first.bytes,
                          nonzero=first.nonzero, place=first.place)

    async def transfer(self, ctx: Any, asked: Descriptor) -> Completion:
        """Runs a transfer and holds it to golden: the result, and all bytes of the destination's memory.

        After an error the destination itself is undefined, and nothing beyond it may have changed.
        """
        right = self._right(asked)
        await self.begin(ctx, asked)
        found = await self.result(ctx)
        assert found in right, f"{asked}\ngave {found},\nand right is {right}"
        self.compare(asked, found.status is Status.OK)
        return found

    async def several(self, ctx: Any, asked: list[Descriptor], aborts: int | None = None) -> list[Completion]:
        """Runs transfers as fast as they are taken, and holds each to golden, and memory when all have ended.

        Parameters
        ----------
        asked
            The transfers; what they read and write must not overlap.
        aborts
            Number of one that is aborted as the oldest.
        """
        self._asked += asked
        found: list[Completion] = []
        for number, each in enumerate(asked):
            right = self._right(each)
            if number == aborts:
                for _ in range(self.rng.randrange(60)):
                    await ctx.tick()
                ctx.set(self.dut.abort, not ctx.get(self.dut.result.valid))
                right.append(Completion(tag=0, status=Status.ABORTED, operation=self._operation))
            found.append(await self.result(ctx, alone=False))
            ctx.set(self.dut.abort, 0)
            self.most = max(self.most, self._begun - number)
            assert found[-1] in right, f"{each}\ngave {found[-1]},\nand right is {right}"
            if found[-1].status is not Status.OK:
                self._failed(each)
        self._begun -= len(asked)
        wrong = np.flatnonzero(np.frombuffer(bytes(self._destination.content), np.uint8) != self._image.image)
        assert not wrong.size, f"{wrong.size} bytes are wrong, the first one at {wrong[0]:#x}"
        return found

    async def _front(self, ctx: Any) -> None:
        """Gives the transfers of :meth:`several` to the path."""
        while True:
            while not self._asked:
                await ctx.tick()
            await self.begin(ctx, self._asked.pop(0))
            self._begun += 1

    async def aborted(self, ctx: Any, asked: Descriptor, wait: int) -> None:
        """Aborts a transfer some cycles after it began, before it can be done."""
        await self.begin(ctx, asked)
        for _ in range(wait):
            await ctx.tick()
        ctx.set(self.dut.abort, 1)
        found = await self.result(ctx)
        ctx.set(self.dut.abort, 0)
        assert found == Completion(tag=0, status=Status.ABORTED, operation=self._operation)
        self.compare(asked, False)

    async def unanswered(self, ctx: Any, asked: Descriptor, port: int, status: Status) -> None:
        """Begins transfers while a port, which must not answer from the start, is silent, and then answers.

        A transfer ends when the port has been silent for the time limit; so does the next one; and one more waits for
        the port and succeeds, whatever comes late.
        """
        dut = self.dut
        for _ in range(2):
            await self.begin(ctx, asked)
            for _ in range(120):
                await ctx.tick()
                assert not ctx.get(dut.result.valid)
            ctx.set(dut.silent, 1 << port)
            found = await self.result(ctx)
            assert (found.status, found.lane) == (status, port % self.config.lanes)
            assert ctx.get(dut.isolated) == 1 << port
            ctx.set(dut.silent, 0)
        await self.begin(ctx, asked)
        self.compare(asked, False)
        right = self._right(asked)
        self.answers[port] = True
        assert await self.result(ctx) in right
        self.compare(asked, True)
        assert ctx.get(dut.isolated) == 0

    def compare(self, asked: Descriptor, succeeded: bool) -> None:
        """Compares the destination's memory with golden's, outside of the destination only after an error."""
        if not succeeded:
            self._failed(asked)
        found, image = np.frombuffer(bytes(self._destination.content), np.uint8), self._image
        wrong = np.flatnonzero(found != image.image)
        assert not wrong.size, f"{wrong.size} bytes are wrong, the first one at {wrong[0]:#x}: {asked}"

    def _right(self, asked: Descriptor) -> list[Completion]:
        """What golden allows. The pages of a stream are counted by the channel, not here."""
        return [replace(each, pages=0) for each in self.golden.outcomes(asked)]

    @property
    def _destination(self) -> Memory:
        return self.link if self._offload else self.lanes[0]

    @property
    def _image(self) -> Image:
        return self.golden.link if self._offload else self.golden.device

    def _failed(self, asked: Descriptor) -> None:
        """The destination of a transfer that failed is undefined."""
        spans = [(asked.destination, asked.capacity if self._offload else asked.raw_bytes)]
        if self._offload and asked.page_list:
            entries = np.frombuffer(bytes(self.link.content), np.uint64, asked.pages, asked.destination)
            spans = [(int(entry), 1 << asked.page_size) for entry in entries]
        for start, size in spans:
            inside = slice(start, start + size)
            self._image.image[inside] = np.frombuffer(bytes(self._destination.content), np.uint8)[inside]
