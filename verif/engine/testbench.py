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

from cdma.golden.engine import OPEN, Completion, Descriptor, Operation, Windows
from cdma.golden.results import from_json
from cdma.hdl.config.engine import EngineConfig
from cdma.verif.common import cover, job
from cdma.verif.common.job import CLOCK_NS
from cdma.verif.engine.control import Channel, Control, Ring, WriteBackRing
from cdma.verif.engine.layout import OutOfSpaceError
from cdma.verif.engine.link_clock import LinkClock
from cdma.verif.engine.lite import Lite
from cdma.verif.engine.memory import Behaviour, Knobs, Memory
from cdma.verif.engine.models import ModelLite, ModelMemory
from cdma.verif.engine.pages import listed_bytes
from cdma.verif.engine.sampling import sample_config
from cdma.verif.engine.scoreboard import Scoreboard
from cdma.verif.engine.stimulus import RawTensor
from cdma.verif.engine.top import DEVICE, IMAGE_BYTES, LINK, attributes, link_clock, rules
from cdma.verif.engine.transfers import Transfers

__all__ = ["EngineTestbench", "generator", "of_job", "ready", "share"]

_IDLE_CYCLES = 20000


def generator() -> np.random.Generator:
    """The source of every random choice of a test."""
    return np.random.default_rng(cocotb.RANDOM_SEED)


def share(count: int) -> int:
    """So much of a count as the job asks for; at least one."""
    return max(1, round(count * job.load().get("share", 1.0)))


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


class EngineTestbench(Transfers):
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
    """

    def __init__(self, dut: Any, rng: np.random.Generator, *, config: EngineConfig, image_bytes: int = IMAGE_BYTES,
                 models: bool = False, link_ratio: float = 1.0) -> None:
        super().__init__(rng, config, image_bytes)
        self.dut = dut
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
            Where to write them; through the windows when not given.

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
                feed = channel.feed if rings is None else rings[operation].feed
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
        moved = min(descriptor.raw_bytes + descriptor.packed_bytes, self.device_arena.size)
        return round((_IDLE_CYCLES + 40 * moved // self.config.beat_bytes) * self.link_cycle)

    async def quiet(self) -> None:
        """Note a fault when an AXI transaction is open."""
        for memory in (self.device, self.link):
            if count := await memory.open():
                self.scoreboard.fault(f"{memory.name} memory: {count} bursts are open, but no descriptor is at work")

    async def counters(self) -> None:
        """Compare the counters of both directions with what succeeded since the last time, and clear them."""
        for operation, channel in self.control.channels.items():
            seen, totals = await channel.counters(clear=True), self.scoreboard.take_totals(operation)
            for name, wanted in (("RAW_BYTES", totals.raw_bytes), ("PACKED_BYTES", totals.packed_bytes)):
                if seen[name] != wanted:
                    self.scoreboard.fault(f"{operation.name.lower()}: counter {name} is {seen[name]}, not {wanted}")

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
