"""The testbench of an engine: places tensors in memory, hands descriptors over, and compares with what golden says.

::

    bench --> offload(), prefetch() --> arenas, descriptors
                                           |
              load() ----------------------+-----------> memories <==axi==> engine
              run() --> golden --> scoreboard <-- completions <-- queues, rings
              compare() -> images ---^   ^------ memories dumped, bus rules
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles

from cdma.golden.codec.crc32c import crc32c
from cdma.golden.engine import OPEN, Completion, Descriptor, Operation, Windows
from cdma.golden.results import from_json
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.axi.bursts import burst_beats
from cdma.verif.common import cover, job
from cdma.verif.common.job import CLOCK_NS, share
from cdma.verif.common.stream import Bytes
from cdma.verif.engine.control import Channel, Control, Ring, WriteBackRing
from cdma.verif.engine.layout import Arena, OutOfSpaceError
from cdma.verif.engine.link_clock import LinkClock
from cdma.verif.engine.lite import Lite
from cdma.verif.engine.memory import Behaviour, Knobs, Memory
from cdma.verif.engine.models import ModelLite, ModelMemory
from cdma.verif.engine.pages import Listed, listed_bytes, pages_of, take_pages
from cdma.verif.engine.sampling import sample_config
from cdma.verif.engine.scoreboard import Scoreboard
from cdma.verif.engine.stimulus import RawTensor
from cdma.verif.engine.top import DEVICE, IMAGE_BYTES, LINK, attributes, link_clock, rules

__all__ = ["EngineTestbench", "generator", "of_job", "ready", "share"]

_IDLE_CYCLES = 20000


def generator() -> np.random.Generator:
    """The source of every random choice of a test."""
    return np.random.default_rng(cocotb.RANDOM_SEED)


async def ready(dut: Any) -> EngineTestbench:
    """The testbench of the job, after reset."""
    bench = of_job(dut)
    await bench.reset()
    return bench


def of_job(dut: Any) -> EngineTestbench:
    """A testbench for the engine of the job; the job may set ``image_bytes``, ``models`` and ``link_ratio`` too."""
    asked = job.load()
    return EngineTestbench(dut, generator(), config=from_json(EngineConfig, asked["config"]),
                           image_bytes=asked.get("image_bytes", IMAGE_BYTES), models=asked.get("models", False),
                           link_ratio=asked.get("link_ratio", 1.0))


def _fields(listed: Listed | None) -> dict[str, Any]:
    """A page list in a descriptor."""
    return {"page_list": True, "pages": listed.pages, "page_size": listed.page_size} if listed else {}


class EngineTestbench:
    """An engine between two memories.

    Parameters
    ----------
    dut
        The top of :mod:`cdma.verif.engine.top`, or an engine alone.
    rng
        Makes every choice that is left open: addresses, gaps, tags, capacities.
    config
        What the engine was built from.
    image_bytes
        Of each memory.
    models
        Whether cocotbext-axi's models are the memories of an engine alone.
    link_ratio
        Frequency of the link's clock, if it has its own, relative to the engine's.

    Members
    -------
    device, link
        The memories.
    control
        The registers.
    scoreboard
        What was wrong.
    link_clock
        The link's clock, if it has its own.
    device_arena, link_arena
        The images that the memories were loaded with, and what they must be after what ran.
    page_share
        How many of the streams are in pages, where the engine can use these.
    page_size
        The logarithm of the bytes of these pages; None for any size.
    """

    def __init__(self, dut: Any, rng: np.random.Generator, *, config: EngineConfig, image_bytes: int = IMAGE_BYTES,
                 models: bool = False, link_ratio: float = 1.0) -> None:
        self.dut = dut
        self.rng = rng
        self.config = config
        # The image stands anywhere: low, or where the highest address bits are ones.
        places = 1 << config.address_bits
        bases = [int(rng.choice([0, places - image_bytes, int(rng.integers(places // image_bytes)) * image_bytes]))
                 for _ in range(2)]
        self.device_arena = Arena(bases[0], image_bytes, config.block_bytes, rng)
        self.link_arena = Arena(bases[1], image_bytes, config.link_beat_bytes, rng)
        self._tag = int(rng.integers(1 << 32))
        self.page_share = 0.5
        self.page_size: int | None = None
        self._latency = 0
        if cover.ENABLED:
            sample_config(config, link_ratio)
        lanes, link_port = [f"m_axi_lane{lane}" for lane in range(self.config.lanes)], "m_axi_link"
        self.device: Any
        self.link: Any
        self._clock: Clock | None = None
        self._models = models
        self.link_clock = LinkClock(dut, rng, link_ratio) if config.link_clock == "separate" else None
        if models:
            size: dict[str, Any] = {"image_bytes": image_bytes}
            self.device = ModelMemory(dut, "device", lanes, beat_bytes=self.config.beat_bytes,
                                      interleave=self.config.block_bytes, rules=rules(self.config, "lane"), **size)
            self.link = ModelMemory(dut, "link", [link_port], beat_bytes=self.config.link_beat_bytes, interleave=0,
                                    rules=rules(self.config, "link"), clock=link_clock(config), **size)
            self.control = Control(ModelLite(dut), dut.aclk, self.config)
        else:
            self._knobs = Knobs(dut, {LINK: dut.link_aclk} if self.link_clock else None)
            place = {"image_bytes": image_bytes, "folder": job.folder()}
            self.device = Memory(self._knobs, "device", DEVICE, ports=len(lanes), beat_bytes=self.config.beat_bytes,
                                 **place)
            self.link = Memory(self._knobs, "link", LINK, ports=1, beat_bytes=self.config.link_beat_bytes, **place)
            self.lite = Lite(dut)
            self.control = Control(self.lite, dut.aclk, self.config)
        self.scoreboard = Scoreboard(self.config, self.device_arena, self.link_arena)

    def clear(self) -> None:
        """Free all places in both memories."""
        self.device_arena.clear()
        self.link_arena.clear()

    def offload(self, tensor: RawTensor, *, fallback: bool = True, leave_raw: bool = False,
                capacity: int | None = None, source: int | None = None) -> Descriptor:
        """Put a tensor into device memory, and find a place for its stream.

        Parameters
        ----------
        fallback, leave_raw
            Whether blocks may go raw, and whether all do.
        capacity
            Of the destination; what the stream needs, or more, when not given.
        source
            Where the tensor is already.
        """
        stream = self.stream(tensor, fallback, leave_raw)
        if capacity is None:
            capacity = stream.size + int(self.rng.choice([0, 4, 1000]))
        if source is None:
            source = self.device_arena.put(tensor.raw, gap=self.config.lanes)
        listed = self._listed(capacity)
        return self._descriptor(
            Operation.OFFLOAD, tensor, source, listed.address if listed else self.link_arena.take(capacity),
            capacity=capacity, fallback=fallback, leave_raw=leave_raw, **_fields(listed))

    def move(self, operation: Operation, tensor: RawTensor) -> Descriptor:
        """A transfer of a tensor in a direction."""
        return (self.offload(tensor) if operation is Operation.OFFLOAD else
                self.prefetch(self.stream(tensor), tensor))

    def _listed(self, size: int) -> Listed | None:
        """Pages for a stream of so many bytes, now and then where the engine can use them."""
        if not self.config.page_lists or self.rng.random() >= self.page_share:
            return None
        return take_pages(self.rng, self.link_arena, size, self.config.link_beat_bytes, self.page_size)

    def stream(self, tensor: RawTensor, fallback: bool = True, leave_raw: bool = False) -> Bytes:
        """The block stream of a tensor."""
        return tensor.stream(self.config.block_bytes, fallback, leave_raw)

    def prefetch(self, stream: Bytes, tensor: RawTensor, *, check_crc: bool | None = None, source: int | None = None,
                 destination: int | None = None, written: Descriptor | None = None) -> Descriptor:
        """Put a stream into link memory, and find a place for its tensor.

        Parameters
        ----------
        check_crc
            Whether the CRC of these bytes is expected; now and then when not given.
        source
            Where the stream is already.
        destination
            Where the tensor belongs; a free place when not given.
        written
            The offload that wrote the stream, if it is where that left it.
        """
        if check_crc is None:
            check_crc = self.config.crc and bool(self.rng.random() < 0.5)
        if destination is None:
            destination = self.device_arena.take(tensor.raw.size, gap=self.config.lanes)
        listed = None
        if written is not None:
            source = written.destination
            listed = Listed(source, written.pages, written.page_size) if written.page_list else None
        elif source is None:
            listed = self._listed(stream.size)
            source = listed.address if listed else self.link_arena.put(stream)
        descriptor = self._descriptor(
            Operation.PREFETCH, tensor, source, destination, packed_bytes=stream.size, check_crc=check_crc,
            capacity=tensor.raw.size + int(self.rng.choice([0, 1, 4096])), crc=crc32c(stream) if check_crc else 0,
            **_fields(listed))
        if listed and written is None:
            at = 0
            for address, size in pages_of(self.link_arena, source, descriptor, stream.size):
                self.link_arena.view(address, size)[:] = stream[at:at + size]
                at += size
        return descriptor

    def _descriptor(self, operation: Operation, tensor: RawTensor, source: int, destination: int,
                    **fields: Any) -> Descriptor:
        self._tag = (self._tag + 1) % (1 << 32)
        return Descriptor(operation=operation, coding=int(tensor.coding), narrow=tensor.narrow,
                          raw_bytes=tensor.raw.size, source=source, destination=destination, tag=self._tag,
                          interrupt=bool(self.rng.random() < 0.5), **fields)

    async def reset(self, cycles: int = 4) -> None:
        """Reset the engine and its memories' ports; the images stay."""
        if self._clock is None:
            self._clock = Clock(self.dut.aclk, CLOCK_NS, "ns")
            self._clock.start()
        self.dut.aresetn.value = 0
        if not self._models:
            self.lite.idle()
            self._knobs.idle()
        link = None
        if self.link_clock:
            # Either reset may end first.
            self.link_clock.start()
            link = cocotb.start_soon(self.link_clock.reset(int(self.rng.integers(1, 4 * cycles))))
        await ClockCycles(self.dut.aclk, cycles)
        self.dut.aresetn.value = 1
        await ClockCycles(self.dut.aclk, 2)
        if self.link_clock and link:
            await link
            await self.link_clock.opened()
        for channel in self.control.channels.values():
            channel.forget()
        await self.device.place(self.device_arena.base)
        await self.link.place(self.link_arena.base)
        await self.attributes_of_parameters()
        if self.config.address_windows and not self._models:
            await self._expect_windows(OPEN)

    async def attributes_of_parameters(self) -> None:
        """Expect the attributes that the engine has after reset."""
        await self.device.expect(attributes(self.config, "lane"))
        await self.link.expect(attributes(self.config, "link"))

    async def confine(self, windows: Windows) -> None:
        """Set the address windows; no access to memory may leave them from now on."""
        await self.control.set_windows(windows)
        await self._expect_windows(windows)

    async def _expect_windows(self, windows: Windows) -> None:
        self.scoreboard.confine(windows)
        for memory, window in ((self.device, windows.device), (self.link, windows.link)):
            await memory.confine(window.base, (window.limit or 1 << self.config.address_bits) - 1)

    def close(self) -> None:
        """Stop the clock, so that another testbench can take the design."""
        if self._clock is not None:
            self._clock.stop()
            self._clock = None
        if self.link_clock:
            self.link_clock.close()

    async def behave(self, device: Behaviour, link: Behaviour | None = None) -> None:
        """Choose how the memories answer; both the same when one is given."""
        self._latency = max(device.latency, (link or device).latency)
        await self.device.behave(device, seed=int(self.rng.integers(1 << 30)))
        await self.link.behave(link or device, seed=int(self.rng.integers(1 << 30)))

    async def fail(self, memory: str, first: int, last: int, resp: int, *, reads: bool = True,
                   writes: bool = True) -> None:
        """Have a memory answer accesses to a range of addresses with errors, and expect that."""
        how: dict[str, Any] = {"reads": reads, "writes": writes}
        await getattr(self, memory).fail(first, last, resp, **how)
        self.scoreboard.fail(memory, first, last, resp, **how)

    async def heal(self) -> None:
        """Have both memories answer without errors again, and expect none."""
        await self.device.heal()
        await self.link.heal()
        self.scoreboard.heal()

    async def load(self) -> None:
        """Load both memories with what the arenas hold."""
        await self.device.load(self.device_arena.image)
        await self.link.load(self.link_arena.image)

    def rings(self, entries: int) -> dict[Operation, Ring]:
        """A ring for each direction, with places in link memory."""
        return {operation: Ring(self, channel, entries) for operation, channel in self.control.channels.items()}

    def write_back(self, entries: int) -> dict[Operation, WriteBackRing]:
        """A write-back ring for each direction, with places in link memory."""
        return {operation: WriteBackRing(self, channel, entries)
                for operation, channel in self.control.channels.items()}

    async def push(self, descriptors: Sequence[Descriptor]) -> None:
        """Hand descriptors over through the windows, and do not wait for their completions."""
        for descriptor in descriptors:
            await self.control.channels[Operation(descriptor.operation)].push(descriptor)

    async def run(self, descriptors: Sequence[Descriptor],
                  rings: Mapping[Operation, Ring] | None = None) -> list[Completion]:
        """Hand descriptors over, both directions at the same time and each in order, and judge their completions.

        Parameters
        ----------
        rings
            Where to write them; through the windows when there are none.

        Returns
        -------
        list
            The completions, in the order of the descriptors.
        """
        found: dict[int, Completion] = {}
        tasks = []
        for operation, channel in self.control.channels.items():
            own = [(at, each) for at, each in enumerate(descriptors) if each.operation == operation]
            if own:
                feed = rings[operation].feed if rings else channel.feed
                tasks.append(cocotb.start_soon(self._serve(channel, own, feed, found)))
        for task in tasks:
            await task
        return [found[at] for at in range(len(descriptors))]

    async def load_and_run(self, descriptors: Sequence[Descriptor]) -> list[Completion]:
        """Load both memories, and run descriptors through the windows."""
        await self.load()
        return await self.run(descriptors)

    async def _serve(self, channel: Channel, own: list[tuple[int, Descriptor]],
                     feed: Callable[[list[Descriptor]], Coroutine[Any, Any, None]],
                     found: dict[int, Completion]) -> None:
        feeder = cocotb.start_soon(feed([each for _, each in own]))
        for at, descriptor in own:
            found[at] = await self.completed(descriptor, channel)
        await feeder

    async def completed(self, descriptor: Descriptor, channel: Channel | None = None, *, aborted: bool = False,
                        longer: int = 0) -> Completion:
        """Take the next completion of a descriptor's direction, or of a channel, and judge it; ``aborted`` tells
        whether an abort was asked for, ``longer`` how many more cycles it may take."""
        channel = channel or self.control.channels[Operation(descriptor.operation)]
        seen = await channel.completion(self.patience(descriptor) + longer)
        self.scoreboard.judge(descriptor, seen, channel=channel.operation, aborted=aborted)
        return seen

    @property
    def link_cycle(self) -> float:
        """Cycles of the engine's clock in a cycle of the link's, 1 at least."""
        return 1.0 if self.link_clock is None else max(1.0, 1 / self.link_clock.ratio)

    def patience(self, descriptor: Descriptor) -> int:
        """How many cycles a descriptor may take at most."""
        config = self.config
        moved = min(descriptor.raw_bytes + descriptor.packed_bytes, self.device_arena.size)
        # Bursts may be answered one after the other.
        burst = min(config.block_bytes, config.beat_bytes * burst_beats(config.beat_bytes, config.burst_beats))
        cycles = _IDLE_CYCLES + 40 * moved // config.beat_bytes + self._latency * (moved // burst)
        return round(cycles * self.link_cycle)

    async def quiet(self) -> None:
        """Note a fault when an AXI transaction is open."""
        for memory in (self.device, self.link):
            if count := await memory.open():
                self.scoreboard.fault(f"{memory.name} memory: {count} bursts are open, but no descriptor is at work")

    async def counters(self) -> dict[Operation, dict[str, int]]:
        """Compare the counters of both directions with what succeeded since the last time, clear them, and return them.
        No descriptor may be at work."""
        found = {}
        for operation, channel in self.control.channels.items():
            found[operation] = seen = await channel.counters(clear=True)
            totals, name = self.scoreboard.take_totals(operation), operation.name.lower()
            for counter, wanted in (("RAW_BYTES", totals.raw_bytes), ("PACKED_BYTES", totals.packed_bytes)):
                if seen[counter] != wanted:
                    self.scoreboard.fault(f"{name}: counter {counter} is {seen[counter]}, not {wanted}")
            # What failed had beats, too.
            if not totals.beats <= seen["LINK_BUSY_CYCLES"] <= seen["BUSY_CYCLES"]:
                self.scoreboard.fault(f"{name}: {totals.beats} beats passed the link, but counter LINK_BUSY_CYCLES is "
                                      f"{seen['LINK_BUSY_CYCLES']} and BUSY_CYCLES {seen['BUSY_CYCLES']}")
            if any(left := (await channel.counters()).values()):
                self.scoreboard.fault(f"{name}: counters are {', '.join(map(str, left))} after they were cleared")
        return found

    async def compare(self) -> None:
        """Compare both memories, byte by byte, and raise AssertionError with everything that was wrong."""
        for memory, arena in ((self.device, self.device_arena), (self.link, self.link_arena)):
            self.scoreboard.compare(memory.name, arena, await memory.dump())
            for sentence in await memory.broken():
                self.scoreboard.fault(sentence)
        self.scoreboard.check()

    async def there_and_back(self, tensors: Sequence[RawTensor]) -> None:
        """Offload tensors, prefetch their streams, and compare everything after each; as many at once as fit."""
        left = list(tensors)
        while left:
            self.clear()
            offloads: list[Descriptor] = []
            batch: list[RawTensor] = []
            try:
                while left:
                    offloads.append(self.offload(left[0]))
                    batch.append(left.pop(0))
            except OutOfSpaceError:
                if not batch:
                    raise
            await self.load()
            completions = await self.run(offloads[:len(batch)])
            await self.compare()
            self.device_arena.clear()
            self.device_arena.image[:] = self.rng.integers(0, 256, self.device_arena.size, dtype=np.uint8)
            await self.device.load(self.device_arena.image)
            prefetches = [self.prefetch(listed_bytes(self.link_arena, done.destination, done, completion.bytes_written),
                                        tensor, written=done)
                          for done, completion, tensor in zip(offloads, completions, batch, strict=False)]
            await self.run(prefetches)
            await self.compare()
