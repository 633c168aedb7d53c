"""A data path between memories, beside golden: what its transfers leave in memory, and what it says of them."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Const

from cdma.golden.codec import blocks
from cdma.golden.codec.coding import Coding
from cdma.golden.codec.crc32c import crc32c
from cdma.golden.codec.narrowing import narrow
from cdma.golden.engine import Completion, Descriptor, Engine, Fault, Operation, Parameters, Response, Status
from cdma.golden.engine import Memory as Image
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.pages import SMALLEST_PAGE
from cdma.hdl.engine.paths.data_path import DataPath
from cdma.hdl.engine.paths.offload import OffloadPath
from cdma.hdl.engine.paths.prefetch import PrefetchPath
from tests.hdl.bench import Bench, Process, pulse
from tests.hdl.engine.axi.memory import SIZE, Memory
from tests.hdl.engine.link.streams import activations

__all__ = ["CONFIG", "LEAN", "SINGLE", "UNEVEN", "PathBench", "both", "lane_place", "link_place", "path"]

both = pytest.mark.parametrize("operation", Operation, ids=lambda operation: operation.name.lower())

CONFIG = EngineConfig(lanes=2, beat_bytes=16, link_beat_bytes=32, block_bytes=512, buffer_bytes=1024, address_bits=32,
                      codings=("zvc32", "float32"), outstanding_reads=2)

UNEVEN = EngineConfig(lanes=3, beat_bytes=16, link_beat_bytes=16, block_bytes=1024, buffer_bytes=2048, address_bits=40,
                      codings=("zvc16",), narrowing=True, crc=False, transfers_in_flight=3, pipeline="fast",
                      burst_beats=16)

LEAN = CONFIG.replace(codings=("zvc32",))

SINGLE = LEAN.replace(transfers_in_flight=1)

_PATIENCE = 40_000      # cycles of a test
_PLACE = 4096 - 64
_LISTS = 0xF000     # where page lists are


def path(config: EngineConfig, operation: Operation) -> Any:
    """The path of a direction."""
    return OffloadPath(config) if operation is Operation.OFFLOAD else PrefetchPath(config)


@lru_cache(maxsize=4)
def _prepared(config: EngineConfig, operation: Operation) -> tuple[DataPath, Bench]:
    dut = path(config, operation)
    return dut, Bench(dut)


def link_place(asked: Descriptor) -> int:
    """Where a transfer begins at the link."""
    return asked.destination if asked.operation is Operation.OFFLOAD else asked.source


def lane_place(asked: Descriptor) -> int:
    """Where it begins in the lanes' memories."""
    return asked.source if asked.operation is Operation.OFFLOAD else asked.destination


class PathBench:
    """A data path, the memories of its lanes and of its link, and golden's images of the same.

    Parameters
    ----------
    config
        What the path is built for.
    operation
        Its direction.
    seed
        Of the content of the memories and of all pauses.
    pauses
        Share of cycles in which a channel of a memory pauses.
    prepared
        The path, and what runs it, if it is not the plain one.
    device
        What the lanes' memory holds, if not values of any density.
    """

    def __init__(self, config: EngineConfig, operation: Operation, *, seed: int, pauses: float,
                 prepared: tuple[Any, Bench] | None = None, device: bytes = b"") -> None:
        self.dut, self._bench = prepared or _prepared(config, operation)
        self.config, self.operation = config, operation
        self.rng = rng = random.Random(seed)
        self._offload = operation is Operation.OFFLOAD
        content = bytearray(device or activations(rng, SIZE, 2))
        self.lanes = [Memory(lane, config.beat_bytes, rng, latency=rng.choice([1, 9]), pauses=pauses, stretch=6,
                             content=content) for lane in self.dut.lanes]
        self.link = Memory(self.dut.link, config.link_beat_bytes, rng, latency=5, pauses=pauses, stretch=6,
                           content=bytearray(rng.randbytes(SIZE)))
        self.lists = [Memory(self.dut.lists, config.link_beat_bytes, rng, latency=5, pauses=pauses, stretch=6,
                              content=self.link.content)] if config.page_lists else []
        # Whether each port answers at all: those of the lanes, of the link, and of page lists.
        self.answers = [True] * (config.lanes + 1 + len(self.lists))
        self._lists_end = _LISTS
        self._asked: list[Descriptor] = []
        self._begun = 0
        self.most = 0                   # transfers that had been taken when a result came
        self.beats = self.busy = 0      # on the link, and as events tell
        self.memory_stalls = self.buffer_stalls = self.buffer_errors = 0
        self.golden = Engine(Parameters.of(config), Image(0, np.frombuffer(bytes(content), np.uint8).copy()),
                             Image(0, np.frombuffer(bytes(self.link.content), np.uint8).copy()))

    def asked(self, raw_bytes: int = 0, *, place: int = _PLACE, device: int | None = None, form: int = 0,
              raw: bytes = b"", harm: Callable[[bytearray], bytearray | None] | None = None, coding: int = 0,
              pages: Sequence[int] = (), **changes: Any) -> Descriptor:
        """A transfer between the device, by default from its second block on, and a place or pages of the link's
        memory. For a prefetch, the stream of a new tensor is put there, harmed or not."""
        config, block = self.config, self.config.block_bytes
        coding = coding or config.numbers[-1]
        size = len(raw) or raw_bytes or 4 * block - 12
        device = block if device is None else device
        if pages:
            place, self._lists_end = self._lists_end, self._lists_end + 256
            self.put(place, struct.pack(f"<{len(pages)}Q", *pages))
        asked = Descriptor(operation=self.operation, coding=coding, source=device, destination=place, raw_bytes=size,
                           capacity=4096 * len(pages) or 8192, narrow=form, page_list=bool(pages), pages=len(pages),
                           page_size=12 if pages else 0)
        if not self._offload:
            raw = raw or activations(self.rng, size, 4 if form else coding & 7)
            coded = narrow(raw, form).tobytes() if form else raw
            stream = bytearray(blocks.compress(coded, coding, block // (2 if form else 1)).tobytes())
            crc = crc32c(bytes(stream)) if config.crc else 0
            stream = harm(stream) or stream if harm else stream
            if pages:
                assert len(stream) <= 4096 * len(pages)
            for at, page in zip(range(0, len(stream), 4096), pages, strict=False) if pages else [(0, place)]:
                self.put(page, bytes(stream[at:at + 4096] if pages else stream))
            asked = replace(asked, source=place, destination=device, capacity=size, packed_bytes=len(stream),
                            check_crc=config.crc, crc=crc)
        return replace(asked, **changes)

    async def once(self, ctx: Any, *asked: Descriptor) -> None:
        """Runs transfers that succeed, one at a time."""
        for each in asked:
            assert (await self.transfer(ctx, each)).status is Status.OK

    def run(self, process: Process, cycles: int = _PATIENCE) -> None:
        """Run a test from power-up, with the memories and what watches the events."""
        self._bench.run(process, *map(self._memory, range(len(self.answers))), self._watch, self._front,
                        cycles=cycles)

    def _memory(self, number: int) -> Process:
        """A memory that does not answer before it may."""
        memory = [*self.lanes, self.link, *self.lists][number]
        reads = self._offload == (number < self.config.lanes) or number > self.config.lanes

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
        self.golden = replace(self.golden, spoiled=frozenset({(self.operation, lane)}))

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
        await ctx.tick().until(dut.request.ready)
        ctx.set(dut.request.valid, 0)
        ctx.set(dut.request.payload, {"source": 512, "raw_bytes": 99, "element": 4})

    async def result(self, ctx: Any, alone: bool = True) -> Completion:
        """Waits for the result, and lets it wait; no port that answers has a transaction open then, if it was alone."""
        dut = self.dut
        while not ctx.get(dut.result.valid):
            await ctx.tick()
        for number, memory in enumerate((*self.lanes, self.link, *self.lists)):
            assert not (alone and self.answers[number] and memory.open), f"port {number} has a transaction open"
        first = ctx.get(dut.result.payload)
        for _ in range(self.rng.choice([0, 7])):
            await ctx.tick()
        assert ctx.get(dut.result.valid)
        assert ctx.get(dut.result.payload) == first, "the result changed"
        await pulse(ctx, dut.result.ready)
        return Completion(tag=0, status=Status(first.status.value), operation=self.operation, lane=first.lane,
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

    async def several(self, ctx: Any, asked: list[Descriptor], aborts: int | None = None, wait: int = 0
                      ) -> list[Completion]:
        """Runs transfers as fast as they are taken, and holds each to golden, and memory when all have ended.

        Parameters
        ----------
        asked
            The transfers; what they read and write must not overlap.
        aborts
            Number of one that is aborted as the oldest.
        wait
            Cycles before the first result is taken.
        """
        self._asked += asked
        for _ in range(wait):
            await ctx.tick()
        found: list[Completion] = []
        for number, each in enumerate(asked):
            right = self._right(each)
            if number == aborts:
                for _ in range(self.rng.randrange(60)):
                    await ctx.tick()
                ctx.set(self.dut.abort, not ctx.get(self.dut.result.valid))
                right.append(Completion(tag=0, status=Status.ABORTED, operation=self.operation))
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
        assert found == Completion(tag=0, status=Status.ABORTED, operation=self.operation)
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
            assert (found.status, found.lane) == (status, port if port < self.config.lanes else 0)
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
