"""Samples of what an engine's registers, queues, rings and completions go through, for the coverage plan."""

from __future__ import annotations

from cocotb.utils import get_sim_time

from cdma.golden.codec.coding import Coding, coding_name
from cdma.golden.engine import Completion, Descriptor, Operation, Status
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.control.register import Access
from cdma.hdl.engine.control.table import registers
from cdma.verif.common import cover
from cdma.verif.common.cover import condition
from cdma.verif.common.job import CLOCK_NS
from cdma.verif.engine.lite import RegisterError, Registers
from cdma.verif.engine.parameter_bins import PARAMETERS, parameter_bin

__all__ = ["Sampler", "sample_config"]

_EARLY_CYCLES = 64
"""An abort that ends a transfer of so few cycles comes before its data."""

_SHORT_LIMIT = 12
_OF_RINGS = (Status.DESCRIPTOR_READ_ERROR, Status.DESCRIPTOR_READ_TIMEOUT)
"""Their completions belong to no descriptor."""
_CAUSES = {2: "destination", 3: "page list", 4: "memory error", 5: "timeout", 6: "stream", 8: "crc or parity",
           10: "abort"}
"""Of statuses, by eighth of their numbers."""
_PORTS = ("lane_read", "lane_write", "link_read", "link_write")


def sample_config(config: EngineConfig, link_ratio: float) -> None:
    """Sample the options of an engine that is simulated, and its link's clock."""
    for name in PARAMETERS:
        cover.cover(f"option_{name}", parameter_bin(config, name))
    for name in ("zvc8", "zvc16", "zvc32", "bfloat16", "float32"):
        cover.cover("coding", name, "built" if name in config.codings else "not built")
    separate = config.link_clock == "separate"
    cover.cover("link_ratio", "shared" if not separate else "faster" if link_ratio > 1 else "slower")


def _level(count: int, most: int) -> str:
    return "empty" if not count else "full" if count >= most else "one" if count == 1 else "some"


class _Ring:
    """What is known of a ring: its size, the entry that is written next and the one that is read next."""

    def __init__(self) -> None:
        self.begin(2)
        self.was_off = self.count = 0

    def begin(self, size: int) -> None:
        """Begin at the first entry, as a ring does whose size is written."""
        self.size, self.tail, self.head = max(2, size), 0, 0

    def level(self) -> str:
        return _level((self.tail - self.head) % self.size, self.size - 1)


class Sampler:
    """Registers that sample each access before they pass it on.

    Parameters
    ----------
    bus
        The registers of the engine.
    config
        What it was built from.
    """

    def __init__(self, bus: Registers, config: EngineConfig) -> None:
        self._bus = bus
        self._config = config
        self._at = {each.offset: each for each in registers(config)}
        self.forget()

    def forget(self) -> None:
        """Expect what is there after a reset."""
        names = [each.name.lower() for each in Operation]
        self._isolated: set[str] = set()
        self._rings = {name: _Ring() for name in names}
        self._records = {name: _Ring() for name in names}
        self._waiting = dict.fromkeys(names, 0)
        self._aborted = dict.fromkeys(names, False)
        self._overlaps = dict.fromkeys(names, False)
        self._asked: dict[tuple[Operation, int], list[tuple[Descriptor, float]]] = {}

    async def write(self, offset: int, value: int, strobe: int = 15) -> None:
        """Write a register."""
        register = self._at.get(offset)
        try:
            await self._bus.write(offset, value, strobe)
        except RegisterError:
            cover.cover("register_refused", "write of a hole" if register is None else "part" if strobe != 15 else
                        "value")
            raise
        if register is not None and strobe:
            for access in {field.access for field in register.fields} - {Access.RO}:
                cover.cover(f"register_{access.name.lower()}", register.name)
            self._written(register.name, value)

    async def read(self, offset: int) -> int:
        """Read a register."""
        try:
            value = await self._bus.read(offset)
        except RegisterError:
            cover.cover("register_refused", "read of a hole")
            raise
        register = self._at.get(offset)
        if register is not None:
            cover.cover("register_read", register.name)
            fields = {field.name: (value & field.mask) >> field.lsb for field in register.fields}
            self._was_read(register.name, value, fields)
        return value

    def asked(self, operation: Operation, descriptor: Descriptor) -> None:
        """Keep a descriptor that a direction is given, and when, to sample its completion with it."""
        self._asked.setdefault((operation, descriptor.tag), []).append((descriptor, get_sim_time("ns")))
        cover.note("link_reset", "")

    def completion(self, operation: Operation, seen: Completion) -> None:
        """Sample a completion that a direction gave."""
        direction, status = operation.name.lower(), seen.status
        cover.cover("status", direction, status.name)
        if status is Status.OK or status >= Status.DESTINATION_TOO_SMALL:
            self._crossed(seen)
        if status not in _OF_RINGS:
            self._of_descriptor(operation, seen)
        self._ended(direction, seen)

    def _crossed(self, seen: Completion) -> None:
        status = seen.status
        slow = any(condition(each, "prompt") == "delayed" for each in ("device", "link"))
        cover.cover("status_stall", status.name, "delayed" if slow else "prompt")
        lanes = self._config.lanes
        if status.name.startswith("LANE_") or status is Status.BUFFER_PARITY:
            cover.cover("status_lane", status.name, "only" if lanes == 1 else "first" if not seen.lane else
                        "last" if seen.lane == lanes - 1 else "inner")
        if status.name.endswith("_ERROR"):
            cover.cover("response", status.name, "SLVERR" if seen.response == 2 else "DECERR")

    def _of_descriptor(self, operation: Operation, seen: Completion) -> None:
        direction, status = operation.name.lower(), seen.status
        before, behind = self._overlaps[direction], self._waiting[direction] > 1
        self._overlaps[direction] = behind
        if before or behind:
            cover.cover("status_place", status.name, "first" if not before else "inner" if behind else "last")
        known = self._asked.get((operation, seen.tag))
        if not known:
            return
        descriptor, asked = known.pop(0)
        if Status.OK < status < Status.DESTINATION_TOO_SMALL:
            return
        cover.cover("status_coding", status.name, coding_name(Coding(descriptor.coding)))
        if status is not Status.OK:
            cover.cover("status_pages", direction, status.name, "list" if descriptor.page_list else "no list")
            # Its completion may have waited before the link was reset.
            reset = condition("link_reset", "")
            if reset and float(reset) <= asked + seen.cycles * CLOCK_NS:
                cover.cover("status_link_reset", direction, _CAUSES[status >> 3])

    def _ended(self, direction: str, seen: Completion) -> None:
        status = seen.status
        count = self._waiting[direction]
        cover.cover("overlap", direction, "more than a queue" if count > self._config.queue_depth else
                    "some" if count > 2 else "two" if count == 2 else "one")
        if status not in _OF_RINGS:
            self._waiting[direction] = max(0, count - 1)
        if self._aborted[direction]:
            self._aborted[direction] = False
            cover.cover("abort", direction, "too late" if status is not Status.ABORTED else
                        "early" if seen.cycles <= _EARLY_CYCLES else "later")

    # Writes and reads by name.

    def _written(self, name: str, value: int) -> None:
        if name == "CONTROL" and value & 1:
            count = sum(self._waiting.values())
            for direction, waiting in self._waiting.items():
                if waiting or not count:
                    cover.cover("soft_reset", direction, {0: "none", 1: "one"}.get(waiting, "several"))
        elif name == "TIME_LIMIT":
            for port, limit in (("link", value & 31), ("lanes", value >> 8 & 31)):
                self._limit(port, limit)
        elif name in ("IRQ_ENABLE", "IRQ_STATUS"):
            for field in self._bits(name, value):
                cover.cover("interrupt_written", field, "enabled" if name == "IRQ_ENABLE" else "cleared")
        elif name == "BUFFER_INJECT" and value >> 31:
            lane = value & 15
            if lane in (0, self._config.lanes - 1):
                cover.cover("parity", "injected", "first lane" if not lane else "last lane")
        else:
            direction, _, rest = name.partition("_")
            if direction.lower() in self._waiting:
                self._channel_written(direction.lower(), rest, value)

    def _channel_written(self, direction: str, name: str, value: int) -> None:
        ring, records = self._rings[direction], self._records[direction]
        if name == "DOORBELL":
            self._waiting[direction] += 1
        elif name == "ABORT":
            self._aborted[direction] = self._waiting[direction] > 0
            if not self._waiting[direction]:
                cover.cover("abort", direction, "idle")
        elif name == "COUNTER_CONTROL":
            cover.cover("counters", direction, "snapshot and clear" if value == 3 else "snapshot")
        elif name == "RING_SIZE":
            ring.begin(value)
            cover.cover("ring", direction, "smallest" if value == 2 else "larger")
        elif name == "RING_TAIL":
            self._waiting[direction] += (value - ring.tail) % ring.size
            if value < ring.tail:
                cover.cover("ring", direction, "wrapped")
            ring.tail = value
            cover.cover("ring", direction, ring.level())
        elif name == "RING_CONTROL":
            if value and ring.was_off:
                cover.cover("ring", direction, "enabled again")
                ring.was_off = 0
        elif name.startswith("WRITE_BACK_"):
            self._records_written(direction, records, name.removeprefix("WRITE_BACK_"), value)

    def _records_written(self, direction: str, ring: _Ring, name: str, value: int) -> None:
        if name == "SIZE":
            ring.begin(value)
            cover.cover("write_back", direction, "smallest" if value == 2 else "larger")
        elif name == "HEAD":
            ring.head = value
            cover.cover("write_back", direction, ring.level())
        elif name == "COALESCE":
            ring.count = value
        elif name == "TIME":
            cover.cover("coalescing", direction, "each" if ring.count <= 1 else "count or time" if value else "count")
        elif name == "CONTROL":
            if ring.was_off or not value:
                cover.cover("write_back", direction, "enabled again" if value else "disabled")
            ring.was_off = not value

    def _was_read(self, name: str, value: int, fields: dict[str, int]) -> None:
        if name == "STATUS":
            self._status(fields)
        elif name == "TIME_LIMIT":
            self._limit("link", value & 31)
            self._limit("lanes", value >> 8 & 31)
        elif name == "IRQ_STATUS":
            for field in self._bits(name, value):
                cover.cover("interrupt", field)
                if field.endswith("_RING_ERROR"):
                    direction = field.partition("_")[0].lower()
                    self._rings[direction].was_off = 1
                    cover.cover("ring", direction, "stopped")
        elif name.endswith("REFUSED"):
            for field, bit in fields.items():
                if bit:
                    cover.cover("refused_bit", name, field)
        elif name.partition("_")[0].lower() in self._waiting:
            direction, _, rest = name.partition("_")
            self._channel_read(direction.lower(), rest, value, fields)

    def _status(self, fields: dict[str, int]) -> None:
        for field, bit in fields.items():
            if bit:
                cover.cover("engine_status", field)
        busy = [name for name in self._waiting if fields[f"{name.upper()}_BUSY"]]
        cover.cover("busy", "both" if len(busy) == 2 else busy[0] if busy else "none")
        isolated = {port for port in _PORTS if fields[f"{port.upper()}_ISOLATED"]}
        for port in isolated:
            cover.cover("isolated", port, "isolated")
        for port in self._isolated - isolated:
            cover.cover("isolated", port, "back")
        self._isolated = isolated

    def _channel_read(self, direction: str, name: str, value: int, fields: dict[str, int]) -> None:
        ring, records = self._rings[direction], self._records[direction]
        depth = self._config.queue_depth
        if name == "QUEUE":
            cover.cover("queue", direction, "full" if not fields["FREE"] else _level(fields["LEVEL"], depth + 1))
        elif name == "COMPLETIONS":
            cover.cover("completion_queue", direction, _level(value, depth))
        elif name == "RING_HEAD":
            ring.head = value
            cover.cover("ring", direction, ring.level())
        elif name == "WRITE_BACK_TAIL":
            if value < records.tail:
                cover.cover("write_back", direction, "wrapped")
            records.tail = value
            cover.cover("write_back", direction, records.level())
        elif name == "WRITE_BACK_STATUS" and fields["FULL"]:
            cover.cover("write_back", direction, "full")

    def _bits(self, name: str, value: int) -> list[str]:
        register = next(each for each in self._at.values() if each.name == name)
        return [field.name for field in register.fields if value & field.mask]

    def _limit(self, port: str, limit: int) -> None:
        reset = next(field.reset for field in self._at[0x28].fields if field.name == port.upper())
        cover.cover("time_limit", port, "off" if not limit else "reset value" if limit == reset else
                    "short" if limit < _SHORT_LIMIT else "other")
