"""The memories that an engine is simulated with: loads and dumps their images, sets their knobs, reads their counters.

The knobs, counters and rules are numbered in ``memory.v`` alone; this module reads them from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cocotb.triggers import Lock, ReadOnly, RisingEdge

from cdma.verif.common.cover import cover, note
from cdma.verif.common.stream import Bytes

__all__ = ["ANSWER", "CHANNELS", "COUNTS", "FULL_BANDWIDTH", "KNOBS", "RULES", "SOURCE", "Behaviour", "Knobs", "Memory",
           "Traffic"]

SOURCE = Path(__file__).with_name("memory.v").read_text(encoding="utf-8")
"""Verilog of the memory."""

ALL_PORTS = 255

ANSWER = 16
"""Cycles from the end of a lane's burst to the first beat of the next one, at most, with one burst outstanding and a
memory that answers at once."""

CHANNELS = ("ar", "r", "aw", "w", "b")
"""The channels of a port."""


def _numbers(kind: str) -> dict[str, int]:
    found = re.findall(rf"\b{kind}_(\w+) = (\d+);", SOURCE)
    return {name.lower(): int(number) for name, number in found}


KNOBS = _numbers("KNOB")
"""Numbers of the knobs by name."""

COUNTS = _numbers("COUNT")
"""Numbers of the counters by name."""

FULL_BANDWIDTH = int(re.findall(r"\bFULL = (\d+);", SOURCE)[0])
"""The bandwidth knob of a port that carries a beat in every cycle."""

RULES = tuple(re.findall(r"\bRULE_\w+ = \d+; +// (.*)", SOURCE))
"""Meaning of each bit of the counter of broken rules."""


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """How a port answers.

    Parameters
    ----------
    latency
        Cycles from a request to its first beat, and from a write's last beat to its response, at least.
    stalls
        Share of the cycles in which each of the five channels pauses, from 0 to below 1.
    longest
        Cycles of a pause at most; a power of two up to 256.
    bandwidth
        Share of the cycles that carry a beat at most, in each direction, from above 0 to 1; in steps of 1/65536.
    address_after_data
        Whether the address of a write is taken only when its data are there.
    shuffle
        Where outstanding reads have different identifiers: share of the beats behind which any other burst may go on;
        bursts then end in any order. With 0 reads are answered in order.
    """

    latency: int = 0
    stalls: float = 0.0
    longest: int = 1
    bandwidth: float = 1.0
    address_after_data: bool = False
    shuffle: float = 0.0

    @property
    def often(self) -> int:
        """How many of 256 cycles begin a pause, of those that may."""
        length = (1 + self.longest) / 2
        return min(256, round(256 * self.stalls / (1 - self.stalls) / length))

    def __str__(self) -> str:
        return (f"latency {self.latency}, stalls {self.stalls:g} of up to {self.longest}, "
                f"bandwidth {self.bandwidth:g}{', address after data' if self.address_after_data else ''}"
                f"{f', shuffle {self.shuffle:g}' if self.shuffle else ''}")


@dataclass(frozen=True)
class Traffic:
    """What passed a port since its counters were cleared: beats, bursts, cycles of the first and the last beat, bursts
    that were outside, and bits that differ between consecutive beats."""

    read_beats: int
    write_beats: int
    read_bursts: int
    write_bursts: int
    first_read: int
    last_read: int
    first_write: int
    last_write: int
    outside: int
    read_toggles: int
    write_toggles: int


class Knobs:
    """The pins of the knobs and counters of all memories; one coroutine uses them at a time.

    Parameters
    ----------
    dut
        The top that :func:`cdma.verif.engine.top.top` makes, or one with the same pins.
    clocks
        Of the memories, where it is not ``aclk``, by the numbers of the memories.
    """

    def __init__(self, dut: Any, clocks: Mapping[int, Any] | None = None) -> None:
        self._dut = dut
        self._clocks = clocks or {}
        self._lock = Lock()

    def _edge(self, memory: int) -> RisingEdge:
        return RisingEdge(self._clocks.get(memory, self._dut.aclk))

    def idle(self) -> None:
        """Drive the idle values."""
        for name in ("knob_write", "knob_memory", "knob_port", "knob", "knob_value"):
            getattr(self._dut, name).value = 0

    async def set(self, memory: int, port: int, values: Mapping[str, int]) -> None:
        """Set knobs of a port one after the other; no other access comes in between."""
        dut = self._dut
        async with self._lock:
            dut.knob_memory.value = memory
            dut.knob_port.value = port
            for name, value in values.items():
                dut.knob.value = KNOBS[name]
                dut.knob_value.value = value
                dut.knob_write.value = 1
                await self._edge(memory)
            dut.knob_write.value = 0
            await self._edge(memory)

    async def count(self, memory: int, port: int, counter: str) -> int:
        """The value of a counter."""
        dut = self._dut
        async with self._lock:
            dut.knob_memory.value = memory
            dut.knob_port.value = port
            dut.knob.value = COUNTS[counter]
            await ReadOnly()
            value = int(dut.knob_read.value)
            await self._edge(memory)
        return value


class Memory:
    """One of the memories of the top.

    Parameters
    ----------
    knobs
        Of all memories.
    name
        Of the memory: ``device`` or ``link``.
    number
        Which memory the knobs mean.
    ports, beat_bytes, image_bytes
        As in Verilog.
    folder
        Where the simulator runs.
    """

    def __init__(self, knobs: Knobs, name: str, number: int, *, ports: int, beat_bytes: int, image_bytes: int,
                 folder: Path) -> None:
        self.name = name
        self.ports = ports
        self.beat_bytes = beat_bytes
        self.image_bytes = image_bytes
        self.base = 0
        self._knobs = knobs
        self._number = number
        self._folder = folder
        self._loading = Lock()

    async def set(self, knob: str, value: int, port: int = ALL_PORTS) -> None:
        """Set a knob of a port, or of all."""
        await self._knobs.set(self._number, port, {knob: value})

    async def count(self, counter: str, port: int) -> int:
        """The value of a counter."""
        return await self._knobs.count(self._number, port, counter)

    async def place(self, base: int) -> None:
        """Choose the address of the image's first byte, a multiple of its size; and make it that size."""
        if base % self.image_bytes:
            raise ValueError(f"the base of the {self.name} memory must be a multiple of {self.image_bytes:#x}, "
                             f"not {base:#x}")
        self.base = base
        await self._knobs.set(self._number, ALL_PORTS, {"base": base, "size": self.image_bytes})

    async def behave(self, how: Behaviour, port: int = ALL_PORTS, seed: int = 1) -> None:
        """Choose how a port answers, or all."""
        note(self.name, "prompt" if how == Behaviour() else "delayed")
        often = {f"stall_{channel}": how.often for channel in ("ar", "r", "aw", "w", "b")}
        await self._knobs.set(self._number, port, {
            "read_latency": how.latency, "write_latency": how.latency, "seed": seed, "stall_mask": how.longest - 1,
            "bandwidth": max(1, round(FULL_BANDWIDTH * how.bandwidth)),
            "address_after_data": how.address_after_data,
            "shuffle": round(256 * how.shuffle) or how.shuffle > 0, **often})

    async def fail(self, first: int, last: int, resp: int, *, reads: bool = True, writes: bool = True,
                   port: int = ALL_PORTS) -> None:
        """Answer accesses to the beats of a range of addresses with an error response."""
        await self._knobs.set(self._number, port, {"fail_first": first, "fail_last": last,
                                                   "fail": resp + 4 * reads + 8 * writes})

    async def heal(self) -> None:
        """Answer every access without errors again."""
        await self.set("fail", 0)

    async def confine(self, first: int, last: int) -> None:
        """Count every burst that touches an address before the first or behind the last as a broken rule."""
        await self._knobs.set(self._number, ALL_PORTS, {"window_first": first, "window_last": last})

    async def silence(self, channels: Iterable[str], port: int = ALL_PORTS) -> None:
        """Stop these channels of a port (``ar``, ``r``, ``aw``, ``w``, ``b``), and let the others run; with none, all
        continue where they stopped."""
        stopped = tuple(channels)
        if stopped:
            cover("silence", self.name, "all" if len(stopped) == len(CHANNELS) else stopped[0])
        await self.set("silent", sum(1 << CHANNELS.index(each) for each in stopped), port)

    async def expect(self, attributes: int) -> None:
        """Choose the attributes that requests must have from now on, as :func:`cdma.verif.engine.top.attributes` gives
        them."""
        await self.set("attributes", attributes)

    async def load(self, data: Bytes, address: int | None = None) -> None:
        """Write bytes into the image, whole beats from an address on; from its first byte when no address is given."""
        first, beats = self._beats(address, data.size)
        async with self._loading:
            # A copy in the file's order: writing an array that is not contiguous goes byte by byte.
            (self._folder / f"{self.name}.load").write_bytes(data.reshape(-1, self.beat_bytes)[:, ::-1].tobytes())
            await self._knobs.set(self._number, 0, {"first": first, "load": beats})

    async def dump(self, address: int | None = None, size: int | None = None) -> Bytes:
        """Read bytes of the image, whole beats; all when no address is given."""
        first, beats = self._beats(address, self.image_bytes if size is None else size)
        await self._knobs.set(self._number, 0, {"first": first, "dump": beats})
        return np.fromfile(self._folder / f"{self.name}.dump", np.uint8)

    def _beats(self, address: int | None, size: int) -> tuple[int, int]:
        offset = 0 if address is None else address - self.base
        if offset % self.beat_bytes or size % self.beat_bytes or not 0 <= offset <= self.image_bytes - size:
            raise ValueError(f"{size} bytes at {offset:#x} are not whole beats of the {self.name} memory of "
                             f"{self.image_bytes} bytes")
        return offset // self.beat_bytes, size // self.beat_bytes

    async def clear(self) -> None:
        """Set the counters of every port to 0."""
        await self.set("clear", 0)

    async def traffic(self, port: int = 0) -> Traffic:
        """What passed a port."""
        return Traffic(**{name: await self.count(name, port) for name in Traffic.__dataclass_fields__})

    async def open(self) -> int:
        """Number of bursts that are open, on all ports."""
        return sum([await self.count("open", port) for port in range(self.ports)])

    async def broken(self) -> list[str]:
        """A sentence for each rule that a master broke at a port; the list is then empty again."""
        found = []
        for port in range(self.ports):
            bits = await self.count("broken", port)
            found += [f"{self.name} port {port}: {rule}" for number, rule in enumerate(RULES) if bits >> number & 1]
        await self.set("forgive", 0)
        return found
