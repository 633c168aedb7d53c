"""The calls that concern the engine beside its queues: interrupts, counters, limits, attributes and windows."""

from __future__ import annotations

from cdma.driver.errors import DriverError
from cdma.driver.layout import ENGINE, field, highest, mask
from cdma.driver.named import NamedRegisters, direction
from cdma.golden.engine import Operation, Window
from cdma.hdl.engine.control.table import COUNTERS
from cdma.hdl.engine.transfer.buffers import LaneMemory
from cdma.hdl.generate.handover.codes import Code

__all__ = ["PORTS", "Control"]

PORTS = {Operation.OFFLOAD: ("LANE_READ", "LINK_WRITE"), Operation.PREFETCH: ("LINK_READ", "LANE_WRITE")}
"""Kinds of ports that the transfers of a direction use."""

_MODIFIABLE, _ALLOCATE = 0b0010, 0b1100
"""Bits of AxCACHE: the others have a meaning with the first one only (AXI4, A4.4)."""


class Control(NamedRegisters):
    """Registers by name, and the calls that need no queue; for the parameters see
    :class:`cdma.driver.driver.Driver`."""

    def set_time_limit(self, link_cycles: int, lane_cycles: int) -> None:
        """How many cycles the link and the lanes may go without an answer before a transfer ends with a TIMEOUT status.

        Both are rounded up to a power of two from 2 on, and the engine may take twice as long; 0: no limit.

        Raises
        ------
        DriverError
            ARGUMENT, if a number is negative.
        """
        if link_cycles < 0 or lane_cycles < 0:
            raise DriverError(Code.ARGUMENT, f"cycles must be 0 or more, not {min(link_cycles, lane_cycles)}")
        self._write_time_limit(_time_limit_log2(link_cycles), _time_limit_log2(lane_cycles))

    def enable_interrupts(self, *events: str) -> None:
        """Let events raise the interrupt, and no others.

        The completion of a descriptor is an event only if it has the flag ``interrupt``.

        Parameters
        ----------
        events
            Names of fields of IRQ_ENABLE, for example ``OFFLOAD_COMPLETION``.

        Raises
        ------
        DriverError
            ARGUMENT, if there is no such event; NOT_BUILT, if this engine does not have it: the others are enabled.
        """
        names = [each.name for each in ENGINE["IRQ_ENABLE"].fields]
        if unknown := set(events) - set(names):
            raise DriverError(Code.ARGUMENT, f"events are {', '.join(names)}, not {', '.join(sorted(unknown))}")
        value = sum(mask(ENGINE["IRQ_ENABLE"], name) for name in set(events))
        self.write("IRQ_ENABLE", value)
        if self.read("IRQ_ENABLE") != value:
            raise DriverError(Code.NOT_BUILT)

    def take_events(self) -> set[str]:
        """The events since the last call, which are cleared, so that the interrupt ends. Take completions after it."""
        value = self.read("IRQ_STATUS")
        if value:
            self.write("IRQ_STATUS", value)
        return {each.name for each in ENGINE["IRQ_STATUS"].fields if value & each.mask}

    def take_counters(self, operation: int) -> dict[str, int]:
        """What a direction has counted since the last call: ``raw_bytes``, ``packed_bytes``, ``busy_cycles`` and so on;
        the counters are set to zero.

        Raises
        ------
        DriverError
            ARGUMENT.
        """
        operation = direction(operation)
        self.write_channel(operation, "COUNTER_CONTROL", 3)
        return {name.lower(): self.read_channel(operation, f"{name}_LO")
                | self.read_channel(operation, f"{name}_HI") << 32 for name in COUNTERS}

    def buffer_errors(self, operation: int) -> int:
        """How many errors of parity lanes of a direction found in their memories since the last reset; 65535: at least
        as many.

        Raises
        ------
        DriverError
            ARGUMENT, or NOT_BUILT: the engine has no parity.
        """
        name = direction(operation).name
        if not self.built.buffer_parity:
            raise DriverError(Code.NOT_BUILT)
        return self.fields("BUFFER_ERRORS")[name]

    def inject_buffer_error(self, lane: int, memory: int) -> None:
        """Change a bit of what is read next from a memory of a lane, to test what happens then.

        The transfer ends with BUFFER_PARITY, or is repeated if others are at work beside it. A memory that was not
        built is never read.

        Parameters
        ----------
        lane
            Its number.
        memory
            Of :class:`cdma.hdl.engine.transfer.buffers.LaneMemory`.

        Raises
        ------
        DriverError
            ARGUMENT or NOT_BUILT.
        """
        memories = [each.value for each in LaneMemory]
        if not 0 <= lane < self.built.lanes:
            raise DriverError(Code.ARGUMENT, f"lanes are 0 to {self.built.lanes - 1}, not {lane}")
        if memory not in memories:
            raise DriverError(Code.ARGUMENT, f"memories are {', '.join(map(str, memories))}, not {memory}")
        if not self.built.buffer_parity:
            raise DriverError(Code.NOT_BUILT)
        self.write("BUFFER_INJECT", mask(ENGINE["BUFFER_INJECT"], "INJECT") | lane * _lsb("BUFFER_INJECT", "LANE")
                   | memory * _lsb("BUFFER_INJECT", "MEMORY"))

    def isolated(self, operation: int) -> bool:
        """Whether a port may still access the memory of a transfer of a direction that was reported as timed out or
        aborted."""
        status = self.fields("STATUS")
        return any(status[f"{port}_ISOLATED"] for port in PORTS[direction(operation)])

    def abort(self, operation: int) -> None:
        """End the oldest running transfer of a direction; its completion has the status ABORTED unless it was done."""
        self.write_channel(direction(operation), "ABORT", 1)

    def _write_time_limit(self, link: int, lanes: int) -> None:
        self.write("TIME_LIMIT", link * _lsb("TIME_LIMIT", "LINK") | lanes * _lsb("TIME_LIMIT", "LANES"))

    # What the engine may do in the system.

    def set_lane_attributes(self, cache: int, prot: int, qos: int, user: int = 0) -> None:
        """Choose AxCACHE, AxPROT, AxQOS and AxUSER of all lanes' ports for the bursts that follow.

        A reset brings those back that the engine was built with.

        Raises
        ------
        DriverError
            ARGUMENT, NOT_BUILT, LOCKED, or BUSY while a descriptor is at work.
        """
        self._set_attributes("LANE_ATTRIBUTES", cache=cache, prot=prot, qos=qos, user=user)

    def set_link_attributes(self, cache: int, prot: int, qos: int, user: int = 0) -> None:
        """The same for the link's port: block streams, rings and page lists."""
        self._set_attributes("LINK_ATTRIBUTES", cache=cache, prot=prot, qos=qos, user=user)

    def locked(self) -> bool:
        """Whether address windows and attributes are locked."""
        return self.built.address_windows and bool(self.read("WINDOW_CONTROL") & 1)

    def set_windows(self, device: Window, link: Window) -> None:
        """Confine descriptors and rings to a part of device memory and of link memory.

        A soft reset, so making a driver as well, leaves the windows as they are.

        Raises
        ------
        DriverError
            NOT_BUILT, WINDOW, LOCKED, or REFUSED: a ring is enabled or a descriptor is being processed, and only some
            of the registers may have been written.
        """
        if not self.built.address_windows:
            raise DriverError(Code.NOT_BUILT)
        top = 1 << self.built.address_bits
        for window in (device, link):
            if window.base >= top or window.limit > top or 0 < window.limit < window.base:
                raise DriverError(Code.WINDOW, f"{window.base:#x} to {window.limit:#x}")
        if self.locked():
            raise DriverError(Code.LOCKED)
        self.write("REFUSED", mask(ENGINE["REFUSED"], "ADDRESS_WINDOW"))
        for name, window in (("DEVICE", device), ("LINK", link)):
            self.write_pair(f"{name}_BASE", window.base)
            self.write_pair(f"{name}_LIMIT", window.limit)
        if field(ENGINE["REFUSED"], "ADDRESS_WINDOW", self.read("REFUSED")):
            raise DriverError(Code.REFUSED)

    def lock_windows(self) -> None:
        """Lock address windows and attributes: from now on only a reset of the engine by its pin changes them.

        Raises
        ------
        DriverError
            NOT_BUILT, LOCKED or REFUSED.
        """
        if not self.built.address_windows:
            raise DriverError(Code.NOT_BUILT)
        if self.locked():
            raise DriverError(Code.LOCKED)
        self.write("WINDOW_CONTROL", 1)
        if not self.locked():
            raise DriverError(Code.REFUSED)

    def _set_attributes(self, register: str, **chosen: int) -> None:
        for name, value in chosen.items():
            if not 0 <= value <= highest(ENGINE[register], name.upper()):
                raise DriverError(Code.ARGUMENT, f"{name} must be 0 to {highest(ENGINE[register], name.upper())}, not "
                                                 f"{value}")
        if chosen["cache"] & _ALLOCATE and not chosen["cache"] & _MODIFIABLE:
            raise DriverError(Code.ARGUMENT, f"cache must be 0, 1, 2, 3, 6, 7, 10, 11, 14 or 15, not {chosen['cache']}")
        if not self.built.attribute_registers:
            raise DriverError(Code.NOT_BUILT)
        if self.locked():
            raise DriverError(Code.LOCKED)
        status = self.fields("STATUS")
        if status["OFFLOAD_BUSY"] or status["PREFETCH_BUSY"]:
            raise DriverError(Code.BUSY)
        wanted = sum(value * _lsb(register, name.upper()) for name, value in chosen.items())
        before = self.read(register)
        self.write(register, wanted)
        if self.read(register) != wanted:
            self.write(register, before)    # bits of AxUSER that were not built read as 0
            raise DriverError(Code.ARGUMENT, "AxUSER has fewer bits")


def _time_limit_log2(cycles: int) -> int:
    """What TIME_LIMIT holds for a number of cycles."""
    longest = highest(ENGINE["TIME_LIMIT"], "LINK")
    return min(max((cycles - 1).bit_length(), 1), longest) if cycles else 0


def _lsb(register: str, name: str) -> int:
    """The value of a field that is 1."""
    return 1 << next(each.lsb for each in ENGINE[register].fields if each.name == name)
