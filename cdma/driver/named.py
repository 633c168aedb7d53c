"""The driver's access to registers by name: of the whole engine, of a direction, and of its write-back ring."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cdma.driver.access import Registers
from cdma.driver.errors import DriverError
from cdma.driver.layout import CHANNEL, ENGINE, PAGES, WRITE_BACK, field, fields, mask
from cdma.golden.engine import Operation
from cdma.hdl.generate.handover.codes import Code

__all__ = ["Built", "NamedRegisters", "direction"]

_WORD = 0xFFFF_FFFF
_CHANNELS = {each: PAGES[each.name.lower()] for each in Operation}
_RINGS = {each: PAGES[f"{each.name.lower()}_write_back"] for each in Operation}


@dataclass(frozen=True)
class Built:
    """What the engine was built with, as ``init`` reads it.

    Parameters
    ----------
    lanes, beat_bytes, link_beat_bytes, address_bits, block_bytes, queue_depth
        Its sizes.
    crc, narrowing, page_lists, address_windows, attribute_registers, write_back, buffer_parity
        Whether it has these.
    """

    lanes: int
    beat_bytes: int
    link_beat_bytes: int
    address_bits: int
    block_bytes: int
    queue_depth: int
    crc: bool
    narrowing: bool
    page_lists: bool
    address_windows: bool
    attribute_registers: bool
    write_back: bool
    buffer_parity: bool


def direction(operation: int) -> Operation:
    """An operation, of which there are two.

    Raises
    ------
    DriverError
        If it is neither.
    """
    if operation not in tuple(Operation):
        raise DriverError(Code.ARGUMENT, f"the operation must be {', '.join(map(repr, Operation))}, not {operation!r}")
    return Operation(operation)


class NamedRegisters:
    """Registers by name.

    Parameters
    ----------
    registers
        Reads and writes them.
    polls
        How often something is polled before a call gives up; 0: it never does.
    relax
        Called between two reads of what is polled.

    Members
    -------
    built
        What the engine was built with, once it was found.
    """

    built: Built

    def __init__(self, registers: Registers, polls: int, relax: Callable[[], None] | None) -> None:
        self.registers = registers
        self.polls = polls
        self.relax = relax

    def read(self, name: str) -> int:
        """Read a register of the whole engine."""
        return self.registers.read32(ENGINE[name].offset)

    def write(self, name: str, value: int) -> None:
        """Write a register of the whole engine."""
        self.registers.write32(ENGINE[name].offset, value)

    def fields(self, name: str) -> dict[str, int]:
        """The fields of a register of the whole engine."""
        return fields(ENGINE[name], self.read(name))

    def write_pair(self, name: str, value: int) -> None:
        """Write 64 bits to two registers of the whole engine."""
        self.write(f"{name}_LO", value & _WORD)
        self.write(f"{name}_HI", value >> 32)

    def read_channel(self, operation: Operation, name: str) -> int:
        """Read a register of a direction."""
        return self.registers.read32(_CHANNELS[operation] + CHANNEL[name].offset)

    def write_channel(self, operation: Operation, name: str, value: int) -> None:
        """Write a register of a direction."""
        self.registers.write32(_CHANNELS[operation] + CHANNEL[name].offset, value)

    def channel_field(self, operation: Operation, name: str, part: str) -> int:
        """A field of a register of a direction."""
        return field(CHANNEL[name], part, self.read_channel(operation, name))

    def read_ring(self, operation: Operation, name: str) -> int:
        """Read a register of a direction's write-back ring."""
        return self.registers.read32(_RINGS[operation] + WRITE_BACK[name].offset)

    def write_ring(self, operation: Operation, name: str, value: int) -> None:
        """Write a register of a direction's write-back ring."""
        self.registers.write32(_RINGS[operation] + WRITE_BACK[name].offset, value)

    def until(self, true: Callable[[], bool], polls: int | None = None, code: Code = Code.TIMEOUT) -> None:
        """Poll a condition.

        Raises
        ------
        DriverError
            With the code, if it is not true after so many polls; those of the driver when not given.
        """
        limit, done = self.polls if polls is None else polls, 0
        while not true():
            if self.relax is not None:
                self.relax()
            done += 1
            if done == limit:
                raise DriverError(code)

    def read_built(self) -> Built:
        """What the engine says that it was built with."""
        found = {name.lower(): value for register in ("GEOMETRY", "SIZES", "FEATURES")
                 for name, value in self.fields(register).items()}
        values: dict[str, Any] = {each.name: bool(found[each.name]) if each.type == "bool" else found[each.name]
                                  for each in dataclasses.fields(Built)}
        return Built(**values)

    def clear_refused(self, operation: Operation, name: str) -> None:
        """Forget that the engine has refused something of a direction."""
        self.write_channel(operation, "REFUSED", mask(CHANNEL["REFUSED"], name))
