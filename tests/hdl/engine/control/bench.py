"""Control between a driver on the bus, two data paths that are only played, and link memory."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from cdma.golden.engine import WINDOW_BYTES, Completion, Descriptor, Windows
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.control import Control
from cdma.hdl.engine.control.table import registers
from cdma.hdl.engine.transfer.records import Status
from tests.hdl.bench import Bench as Prepared
from tests.hdl.engine.axi.memory import Memory
from tests.hdl.engine.axi.traffic import Pace

__all__ = ["CONFIG", "Bench", "Path", "good", "window_pages"]

# The data paths that are played run one transfer at a time; for several, see test_channel.py.
CONFIG = EngineConfig(lanes=3, transfers_in_flight=1)


def good(direction: int, **changes: Any) -> Descriptor:
    """A descriptor that is taken (1: by offload, 2: by prefetch), with some fields changed."""
    fields: dict[str, Any] = {"operation": direction, "coding": 0x14, "source": 0, "destination": 0,
                              "raw_bytes": 4096, "capacity": 1 << 20, "packed_bytes": 0 if direction == 1 else 128}
    return Descriptor(**fields | changes)


def window_pages(windows: Windows) -> dict[str, dict[str, int]]:
    """Windows as the units of control have them."""
    return {name: {"base": each.base // WINDOW_BYTES, "limit": each.limit // WINDOW_BYTES, "unlimited": not each.limit}
            for name, each in (("device", windows.device), ("link", windows.link))}


@lru_cache(maxsize=8)
def _prepared(config: EngineConfig) -> tuple[Control, Prepared]:
    dut = Control(config)
    return dut, Prepared(dut)


@dataclass
class Path:
    """A data path that takes transfers, lets time go by, and reports what it is told to."""

    request: Any
    result: Any
    abort: Any
    cycles: int = 5
    reports: list[dict[str, Any]] = field(default_factory=list)
    seen: list[dict[str, Any]] = field(default_factory=list)
    running: bool = False
    aborted: int = 0

    async def run(self, ctx: Any) -> None:
        """Plays, for ever."""
        while True:
            ctx.set(self.request.ready, 1)
            _, _, valid, payload = await ctx.tick().sample(self.request.valid, self.request.payload)
            if not valid:
                continue
            ctx.set(self.request.ready, 0)
            self.running = True
            self.seen.append({name: getattr(payload, name) for name, _ in self.request.payload.shape()})
            report = self.reports.pop(0) if self.reports else {"status": Status.OK, "bytes": 7}
            for _ in range(self.cycles):
                await ctx.tick()
                assert not ctx.get(self.request.valid)
                if ctx.get(self.abort):
                    report = {"status": Status.ABORTED}
                    self.aborted += 1
                    break
            await ctx.tick()
            ctx.set(self.result.payload, report)
            ctx.set(self.result.valid, 1)
            await ctx.tick().until(self.result.ready)
            assert not ctx.get(self.abort)
            ctx.set(self.result.valid, 0)
            # Nothing may be read from a result that is gone.
            ctx.set(self.result.payload, {"status": Status.BAD_CODING, "lane": 9, "resp": 3, "place": 77, "bytes": 88,
                                          "nonzero": 99, "raw_blocks": 66, "crc": 55})
            self.running = False


class Bench:
    """Control and what is around it; ``run`` plays a driver."""

    def __init__(self, config: EngineConfig = CONFIG, *, seed: int = 0, pauses: float = 0.0, latency: int = 3):
        self.config = config
        self.rng = random.Random(seed)
        self.dut, self._prepared = _prepared(config)
        self.registers = registers(config)
        self.offset = {register.name: register.offset for register in self.registers}
        self.paths = {name: Path(getattr(self.dut, f"{name}_request"), getattr(self.dut, f"{name}_result"),
                                 getattr(self.dut, f"{name}_abort")) for name in ("offload", "prefetch")}
        self.memory = Memory(self.dut.fetch, config.link_beat_bytes, self.rng, latency=latency, pauses=pauses,
                             stretch=5)
        self._pace = Pace(self.rng, pauses, 4)

    def run(self, driver: Callable[[Any], Coroutine[Any, Any, None]],
            *others: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
        """Simulates until the driver ends."""
        self._prepared.run(driver, self.memory.read, *(path.run for path in self.paths.values()), *others)

    def _place(self, where: str | int) -> int:
        return where if isinstance(where, int) else self.offset[where]

    async def _rest(self, ctx: Any) -> None:
        while not self._pace.go():
            await ctx.tick()

    async def write(self, ctx: Any, where: str | int, value: int, strobe: int = 15, *, response: int = 0) -> None:
        """Writes a register by name or offset, and checks the response."""
        bus = self.dut.bus
        data_first = self.rng.random() < 0.3
        channels = [("aw", {"awaddr": self._place(where)}), ("w", {"wdata": value, "wstrb": strobe})]
        for channel, fields in reversed(channels) if data_first else channels:
            await self._rest(ctx)
            for name, content in fields.items():
                ctx.set(getattr(bus, name), content)
            ctx.set(getattr(bus, f"{channel}valid"), 1)
            await ctx.tick().until(getattr(bus, f"{channel}ready"))
            ctx.set(getattr(bus, f"{channel}valid"), 0)
        await self._rest(ctx)
        ctx.set(bus.bready, 1)
        given, = await ctx.tick().sample(bus.bresp).until(bus.bvalid)
        ctx.set(bus.bready, 0)
        assert given == response, f"{where}: response {given} to a write of {value:#x}, not {response}"

    async def wait(self, ctx: Any, cycles: int) -> None:
        """Lets cycles go by, or none."""
        for _ in range(cycles):
            await ctx.tick()

    async def read(self, ctx: Any, where: str | int, *, response: int = 0) -> int:
        """Reads a register by name or offset, and checks the response."""
        bus = self.dut.bus
        await self._rest(ctx)
        ctx.set(bus.araddr, self._place(where))
        ctx.set(bus.arvalid, 1)
        await ctx.tick().until(bus.arready)
        ctx.set(bus.arvalid, 0)
        await self._rest(ctx)
        ctx.set(bus.rready, 1)
        value, given = await ctx.tick().sample(bus.rdata, bus.rresp).until(bus.rvalid)
        ctx.set(bus.rready, 0)
        assert given == response, f"{where}: response {given} to a read, not {response}"
        return value

    async def until(self, ctx: Any, where: str, mask: int, value: int, polls: int = 400) -> None:
        """Polls a register until its masked bits have a value."""
        for _ in range(polls):
            if await self.read(ctx, where) & mask == value:
                return
        raise AssertionError(f"{where} did not become {value:#x}")

    async def push(self, ctx: Any, direction: str, asked: Descriptor, *, response: int = 0) -> None:
        """Writes a descriptor into the window and rings the doorbell."""
        for number, word in enumerate(struct.unpack("<16I", asked.pack())):
            await self.write(ctx, f"{direction.upper()}_DESCRIPTOR_{number}", word)
        await self.write(ctx, f"{direction.upper()}_DOORBELL", 1, response=response)

    async def _completed(self, ctx: Any, name: str) -> None:
        for _ in range(400):
            if await self.read(ctx, f"{name}_COMPLETIONS"):
                return
        raise AssertionError("no completion came")

    async def outcome(self, ctx: Any, direction: str) -> tuple[int, int]:
        """Waits for a completion, reads tag and status of it, and removes it."""
        name = direction.upper()
        await self._completed(ctx, name)
        tag, status = [await self.read(ctx, f"{name}_COMPLETION_{number}") for number in range(2)]
        await self.write(ctx, f"{name}_COMPLETION_POP", 1)
        return tag, status & 255

    async def completion(self, ctx: Any, direction: str) -> Completion:
        """Waits for a completion, reads and removes it."""
        name = direction.upper()
        await self._completed(ctx, name)
        words = [await self.read(ctx, f"{name}_COMPLETION_{number}") for number in range(16)]
        await self.write(ctx, f"{name}_COMPLETION_POP", 1)
        completion = Completion.unpack(struct.pack("<16I", *words))
        assert completion.pack() == struct.pack("<16I", *words)     # nothing in reserved bits
        return completion

    def ring(self, base: int, entries: list[Descriptor], first: int = 0, size: int = 1 << 16) -> None:
        """Puts descriptors into a ring in link memory, from an index on."""
        for number, asked in enumerate(entries):
            place = base + 64 * ((first + number) % size)
            self.memory.content[place:place + 64] = asked.pack()

    async def start_ring(self, ctx: Any, direction: str, base: int, size: int) -> None:
        """Sets a ring up and enables it."""
        name = direction.upper()
        await self.write(ctx, f"{name}_RING_BASE_LO", base & 0xFFFFFFFF)
        await self.write(ctx, f"{name}_RING_BASE_HI", base >> 32)
        await self.write(ctx, f"{name}_RING_SIZE", size)
        await self.write(ctx, f"{name}_RING_CONTROL", 1)
