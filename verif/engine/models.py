"""Memories and a register master around cocotbext-axi, whose authors know nothing of this project.

They do the same for a bench as :class:`cdma.verif.engine.memory.Memory` and :class:`cdma.verif.engine.lite.Lite`, tens
of times slower, and follow the AXI specification as others read it: addresses and data of a write are taken in any
order, and every signal is checked to be known.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import cocotb
import numpy as np
from amaranth.hdl import Shape
from cocotb.queue import Queue
from cocotb.triggers import ClockCycles
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiSlaveRead, AxiSlaveWrite

from cdma.hdl.engine.axi.attributes import attributes_layout
from cdma.verif.common.job import CLOCK_NS
from cdma.verif.common.stalls import pattern
from cdma.verif.common.stream import Bytes
from cdma.verif.engine.lite import OKAY, RegisterError
from cdma.verif.engine.memory import Behaviour
from cdma.verif.engine.top import Rules

__all__ = ["ModelLite", "ModelMemory"]

_RESET = {"reset_active_level": False}
_OUTSTANDING = 64
SLVERR = 2


class _Failed(Exception):  # noqa: N818 (not seen outside)
    """An access to an address that must answer with an error."""


class _Late:
    """A channel of requests, which checks each, delays it by so many cycles, and keeps their order.

    Parameters
    ----------
    channel
        The sink that takes them from the pins.
    clock
        Counts the cycles.
    check
        Called with each request as it comes.
    """

    def __init__(self, channel: Any, clock: Any, check: Callable[[Any], None]) -> None:
        self.latency = 0
        self._clock = clock
        self._check = check
        self._queue: Queue[tuple[float, Any]] = Queue()
        self._channel = channel
        channel.queue_occupancy_limit = _OUTSTANDING
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        while True:
            request = await self._channel.recv()
            self._check(request)
            self._queue.put_nowait((get_sim_time("ns"), request))

    async def recv(self) -> Any:
        """The next request, when it is due."""
        came, request = await self._queue.get()
        late = self.latency - round((get_sim_time("ns") - came) / CLOCK_NS)
        if late > 0:
            await ClockCycles(self._clock, late)
        return request

    def clear(self) -> None:
        """Forget all requests."""
        while not self._queue.empty():
            self._queue.get_nowait()
        self._channel.clear()


class ModelMemory:
    """A memory with an AXI model at each port.

    Parameters
    ----------
    dut
        The engine.
    name
        Of the memory: ``device`` or ``link``.
    prefixes
        Of the ports.
    image_bytes
        Size of its image.
    interleave
        Bytes of the blocks that are interleaved over the ports; 0 if every port has all addresses.
    rules
        What requests must keep.
    clock
        What the names of its clock and reset begin with.
    """

    def __init__(self, dut: Any, name: str, prefixes: list[str], *, beat_bytes: int, image_bytes: int,
                 interleave: int, rules: Rules, clock: str = "") -> None:
        self.name = name
        self.ports = len(prefixes)
        self.beat_bytes = beat_bytes
        self.image_bytes = image_bytes
        self.base = 0
        self._image = np.zeros(image_bytes, np.uint8)
        self._interleave = interleave
        self._rules = rules
        self._attributes = rules.attributes
        self._failing: dict[int, tuple[int, int, bool, bool]] = {}
        self._broken: list[str] = []
        self._writes: list[Any] = []
        self._reads: list[Any] = []
        self._late: list[_Late] = []
        self._prompt: list[_Late] = []      # writes are not delayed
        pin, reset = (getattr(dut, f"{clock}{each}") for each in ("aclk", "aresetn"))
        for port, prefix in enumerate(prefixes):
            bus = AxiBus.from_prefix(dut, prefix)
            read, write = self._sides(port)
            for kind, side, made in ((read, bus.read, self._reads), (write, bus.write, self._writes)):
                model = kind(side, pin, reset, **_RESET)
                model.log.setLevel(logging.ERROR)
                made.append(model)
            for side, made, late in (("ar", self._reads, self._late), ("aw", self._writes, self._prompt)):
                channel = f"{side}_channel"
                late.append(_Late(getattr(made[-1], channel), pin, partial(self._check, port, side)))
                setattr(made[-1], channel, late[-1])

    def _sides(self, port: int) -> tuple[type, type]:
        memory = self

        class Read(AxiSlaveRead):
            async def _read(self, address: int, length: int) -> bytes:
                memory._touch(port, address, reads=True)
                at = address - memory.base
                return memory._image[at:at + length].tobytes()

        class Write(AxiSlaveWrite):
            async def _write(self, address: int, data: bytes) -> None:
                memory._touch(port, address, reads=False)
                at = address - memory.base
                memory._image[at:at + len(data)] = np.frombuffer(data, np.uint8)

        return Read, Write

    def _check(self, port: int, channel: str, request: Any) -> None:
        beats = int(getattr(request, f"{channel}len")) + 1
        bits, found = 0, 0
        for name, width in attributes_layout(self._rules.user_bits).members.items():
            found |= int(getattr(request, f"{channel}{name}")) << bits
            bits += Shape.cast(width).width
        if found != self._attributes:
            self._broken.append(f"{self.name} port {port}: {channel} has the attributes {found:#x}, not "
                                f"{self._attributes:#x}")
        if beats > self._rules.most_beats:
            self._broken.append(f"{self.name} port {port}: {channel}len of {beats} beats is above the longest burst")

    def _touch(self, port: int, address: int, reads: bool) -> None:
        if self._interleave and address // self._interleave % self.ports != port:
            self._broken.append(f"{self.name} port {port}: accesses a block of another port at {address:#x}")
        first, last, of_reads, of_writes = self._failing.get(port, (1, 0, False, False))
        if address < self.base or address >= self.base + self.image_bytes or (
                (of_reads if reads else of_writes) and first - self.beat_bytes < address <= last):
            raise _Failed

    async def place(self, base: int) -> None:
        """Choose the address of the image's first byte."""
        self.base = base

    async def behave(self, how: Behaviour, port: int | None = None, seed: int = 1) -> None:
        """Choose how a port answers, or all."""
        for number in range(self.ports) if port is None else (port,):
            read, write = self._reads[number], self._writes[number]
            self._late[number].latency = how.latency
            busy = max(how.stalls, 1 - how.bandwidth)
            for place, (channel, share) in enumerate((
                    (self._late[number]._channel, how.stalls), (read.r_channel, busy),
                    (self._prompt[number]._channel, how.stalls), (write.w_channel, busy),
                    (write.b_channel, how.stalls))):
                # The generators cost time in every cycle.
                pauses = pattern(share, seed + 5 * number + place, how.longest / 2) if share else None
                channel.set_pause_generator(pauses)
                if pauses is None:
                    channel.pause = False

    async def fail(self, first: int, last: int, resp: int, *, reads: bool = True, writes: bool = True,
                   port: int | None = None) -> None:
        """Answer accesses to the beats of a range of addresses with SLVERR."""
        if resp != SLVERR:
            raise ValueError(f"these models answer SLVERR only, not response {resp}")
        for number in range(self.ports) if port is None else (port,):
            self._failing[number] = first, last, reads, writes

    async def heal(self) -> None:
        """Answer every access without errors again."""
        self._failing.clear()

    async def load(self, data: Bytes, address: int | None = None) -> None:
        """Write bytes into the image; from its first byte when no address is given."""
        at = 0 if address is None else address - self.base
        self._image[at:at + data.size] = data

    async def dump(self, address: int | None = None, size: int | None = None) -> Bytes:
        """Read bytes of the image; all when no address is given."""
        at = 0 if address is None else address - self.base
        return self._image[at:self.image_bytes if size is None else at + size].copy()

    async def expect(self, attributes: int) -> None:
        """Choose the attributes that requests must have from now on."""
        self._attributes = attributes

    async def broken(self) -> list[str]:
        """A sentence for each rule that the master broke; the list is then empty again."""
        found, self._broken = self._broken, []
        return found


class ModelLite:
    """The registers of an engine through cocotbext-axi's master."""

    def __init__(self, dut: Any, prefix: str = "s_axil") -> None:
        make: Callable[..., Any] = AxiLiteMaster
        self._master: Any = make(AxiLiteBus.from_prefix(dut, prefix), dut.aclk, dut.aresetn, **_RESET)
        for side in (self._master.write_if, self._master.read_if):
            side.log.setLevel(logging.ERROR)

    async def write(self, offset: int, value: int, strobe: int = 15) -> None:
        """Write the bytes of a register that the strobe names, which follow each other; RegisterError when refused."""
        first, count = (strobe & -strobe).bit_length() - 1, strobe.bit_count()
        data = (value >> 8 * first & (1 << 8 * count) - 1).to_bytes(count, "little")
        answer: Any = await self._master.write(offset + first, data)
        if answer.resp != OKAY:
            raise RegisterError(f"the write of register {offset:#05x}", int(answer.resp))

    async def read(self, offset: int) -> int:
        """Read a register; RegisterError when refused."""
        answer: Any = await self._master.read(offset, 4)
        if answer.resp != OKAY:
            raise RegisterError(f"the read of register {offset:#05x}", int(answer.resp))
        return int.from_bytes(answer.data, "little")
