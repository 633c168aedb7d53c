"""Registers that the golden model stands behind: software is tried without an engine."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from cdma.driver.layout import mask
from cdma.golden.engine import (
    RECORD_BYTES,
    Completion,
    Descriptor,
    Engine,
    Memory,
    Operation,
    Parameters,
    RecordWriter,
    Status,
    Window,
    Windows,
)
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.table import registers

__all__ = ["ModelRegisters"]

_WORDS = struct.Struct("<16I")
_LOCKED_BY = ("DEVICE_BASE", "DEVICE_LIMIT", "LINK_BASE", "LINK_LIMIT")


@dataclass
class _Channel:
    """A direction: descriptors that wait, completions that wait, what was counted, and where records go, if they do."""

    waiting: list[Descriptor] = field(default_factory=list)
    done: list[Completion] = field(default_factory=list)
    counted: dict[str, int] = field(default_factory=lambda: {"RAW_BYTES": 0, "PACKED_BYTES": 0})
    writer: RecordWriter | None = None
    recorded: bool = False


class ModelRegisters:
    """The registers of an engine whose descriptors the golden model executes at once, one after the other.

    Not modelled: time, so nothing is ever busy and no limit is ever reached; faults other than those that the memories
    have; attributes at the ports.

    Parameters
    ----------
    config
        What the engine is built from.
    device, link
        Device memory and the memory behind the link; rings and page lists are in the latter.
    """

    def __init__(self, config: EngineConfig, device: Memory, link: Memory) -> None:
        self.config = config
        self.device = device
        self.link = link
        self._parameters = Parameters.of(config)
        self._table = {register.offset: register for register in registers(config)}
        self._names = {register.name: register.offset for register in self._table.values()}
        self._values = {offset: register.reset for offset, register in self._table.items()}
        self._channels = {each: _Channel() for each in Operation}

    @property
    def irq(self) -> bool:
        """The interrupt."""
        return bool(self._get("IRQ_STATUS") & self._get("IRQ_ENABLE"))

    def read32(self, offset: int) -> int:
        """Read a register; 0 where there is none."""
        name = self._table[offset].name if offset in self._table else ""
        for operation, channel in self._channels.items():
            prefix = f"{operation.name}_"
            if name == f"{prefix}QUEUE":
                return len(channel.waiting) | (self.config.queue_depth - len(channel.waiting)) << 8
            if name == f"{prefix}COMPLETIONS":
                return 0 if channel.recorded else len(channel.done)
            if name == f"{prefix}WRITE_BACK_TAIL" and channel.writer is not None:
                return channel.writer.index
            if name.startswith(f"{prefix}COMPLETION_") and not name.endswith("POP"):
                words = _WORDS.unpack(channel.done[0].pack()) if channel.done and not channel.recorded else (0,) * 16
                return words[int(name.rpartition("_")[2])]
        return self._values.get(offset, 0)

    def write32(self, offset: int, value: int) -> None:
        """Write a register; nothing where there is none, or where the engine refuses it."""
        register = self._table.get(offset)
        if register is None:
            return None
        for operation in Operation:
            if register.name.startswith(f"{operation.name}_WRITE_BACK_") and self.config.write_back:
                return self._write_ring(operation, register.name.removeprefix(f"{operation.name}_WRITE_BACK_"), value)
            if register.name.startswith(f"{operation.name}_"):
                return self._write_channel(operation, register.name.removeprefix(f"{operation.name}_"), value)
        return self._write_engine(register.name, value)

    def _get(self, name: str) -> int:
        return self._values[self._names[name]] if name in self._names else 0

    def _set(self, name: str, value: int) -> None:
        writable = sum(each.mask for each in self._table[self._names[name]].fields if each.access.name != "RO")
        self._values[self._names[name]] = value & writable

    def _pair(self, name: str) -> int:
        return self._get(f"{name}_LO") | self._get(f"{name}_HI") << 32

    def _refuse(self, name: str, part: str) -> None:
        self._values[self._names[name]] |= mask(name, part)

    def _write_engine(self, name: str, value: int) -> None:
        if name in ("IRQ_STATUS", "REFUSED"):
            self._values[self._names[name]] &= ~value
        elif name == "CONTROL":
            kept = {each: self._get(each) for each in self._names
                    if each.startswith(_LOCKED_BY) or each == "WINDOW_CONTROL"}
            if self._get("WINDOW_CONTROL"):
                kept |= {each: self._get(each) for each in self._names if each.endswith("_ATTRIBUTES")}
            self._values = {offset: register.reset for offset, register in self._table.items()}
            self._channels = {each: _Channel() for each in Operation}
            self._values |= {self._names[each]: content for each, content in kept.items()}
        elif name.startswith(_LOCKED_BY) or name == "WINDOW_CONTROL":
            enabled = any(self._get(f"{each.name}_RING_CONTROL") for each in Operation)
            if self._get("WINDOW_CONTROL") or (enabled and name != "WINDOW_CONTROL"):
                self._refuse("REFUSED", "ADDRESS_WINDOW")
            else:
                self._set(name, value)
        elif not (name.endswith("_ATTRIBUTES") and self._get("WINDOW_CONTROL")):
            self._set(name, value)

    def _write_channel(self, operation: Operation, name: str, value: int) -> None:
        channel, full = self._channels[operation], f"{operation.name}_{name}"
        refused = f"{operation.name}_REFUSED"
        if name == "REFUSED":
            self._values[self._names[full]] &= ~value
        elif name == "DOORBELL":
            words = (self._get(f"{operation.name}_DESCRIPTOR_{word}") for word in range(16))
            if len(channel.waiting) == self.config.queue_depth:
                self._refuse(refused, "DOORBELL")
            else:
                channel.waiting.append(Descriptor.unpack(_WORDS.pack(*words)))
        elif name == "COMPLETION_POP":
            if not channel.done or channel.recorded:
                self._refuse(refused, "COMPLETION_POP")
            else:
                del channel.done[0]
        elif name == "COUNTER_CONTROL":
            for counter, count in channel.counted.items():
                for half in range(2):
                    self._values[self._names[f"{operation.name}_{counter}_{('LO', 'HI')[half]}"]] = (
                        count >> 32 * half & 0xFFFF_FFFF)
            if value & 2:
                channel.counted = dict.fromkeys(channel.counted, 0)
        elif name == "RING_CONTROL" and value & 1:
            allowed = self._parameters.takes_ring(self._pair(f"{operation.name}_RING_BASE"),
                                                  self._get(f"{operation.name}_RING_SIZE"), self._windows().link)
            if allowed:
                self._set(full, value)
            else:
                self._refuse(refused, "RING")
        elif name.startswith(("RING_BASE", "RING_SIZE")) and self._get(f"{operation.name}_RING_CONTROL"):
            self._refuse(refused, "RING")
        else:
            self._set(full, value)
            if name == "RING_SIZE":
                for index in ("HEAD", "TAIL"):
                    self._values[self._names[f"{operation.name}_RING_{index}"]] = 0
        self._work(operation)

    def _write_ring(self, operation: Operation, name: str, value: int) -> None:
        channel, prefix = self._channels[operation], f"{operation.name}_WRITE_BACK_"
        base, size = self._pair(f"{prefix}BASE"), self._get(f"{prefix}SIZE")
        if name == "CONTROL" and value & 1:
            if not self._parameters.takes_ring(base, size, self._windows().link):
                self._refuse(f"{operation.name}_REFUSED", "WRITE_BACK")
                return
            channel.writer = channel.writer or RecordWriter(base, size)
            channel.recorded = True
        elif name == "CONTROL":
            channel.recorded = False
        elif channel.recorded and name in ("BASE_LO", "BASE_HI", "SIZE"):
            self._refuse(f"{operation.name}_REFUSED", "WRITE_BACK")
            return
        elif name == "SIZE":
            channel.writer = None
        elif name == "HEAD" and channel.writer is not None:
            channel.writer.head = value
        self._set(f"{prefix}{name}", value)
        self._work(operation)

    def _windows(self) -> Windows:
        device, link = (Window(self._pair(f"{name}_BASE"), self._pair(f"{name}_LIMIT")) for name in ("DEVICE", "LINK"))
        return Windows(device, link)

    def _work(self, operation: Operation) -> None:
        """Do what can be done: read entries of the ring, execute descriptors, write records."""
        channel = self._channels[operation]
        while True:
            self._fetch(operation, channel)
            while (channel.recorded and channel.writer is not None and channel.done
                   and channel.writer.write(self.link, channel.done[0])):
                del channel.done[0]
            if not channel.waiting or len(channel.done) == self.config.queue_depth:
                return
            asked = channel.waiting.pop(0)
            done = Engine(self._parameters, self.device, self.link, windows=self._windows()).run(asked, operation)
            channel.done.append(done)
            if done.status is Status.OK:
                channel.counted["RAW_BYTES"] += asked.raw_bytes
                channel.counted["PACKED_BYTES"] += (done.bytes_written if operation is Operation.OFFLOAD
                                                    else asked.packed_bytes)
            for happened, event in ((asked.interrupt, "COMPLETION"), (done.status is not Status.OK, "ERROR")):
                if happened:
                    self._values[self._names["IRQ_STATUS"]] |= mask("IRQ_STATUS", f"{operation.name}_{event}")

    def _fetch(self, operation: Operation, channel: _Channel) -> None:
        prefix = f"{operation.name}_RING_"
        while (self._get(f"{prefix}CONTROL") and self._get(f"{prefix}HEAD") != self._get(f"{prefix}TAIL")
               and len(channel.waiting) < self.config.queue_depth):
            head = self._get(f"{prefix}HEAD")
            entry = self.link.read(self._pair(f"{prefix}BASE") + head * RECORD_BYTES, RECORD_BYTES)
            channel.waiting.append(Descriptor.unpack(entry.tobytes()))
            self._values[self._names[f"{prefix}HEAD"]] = (head + 1) % self._get(f"{prefix}SIZE")
