"""What a register of the map is: its offset, its fields, and who may change them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from amaranth.lib import data

from cdma.hdl.engine.control.descriptor import RECORD_WORDS, record_fields
from cdma.hdl.engine.transfer.records import Status

__all__ = ["Access", "Field", "Home", "Page", "Register", "record_registers", "register_of", "whole_register"]


class Access(Enum):
    """What the bus may do with a register or a field."""

    RO = "read only"
    RW = "read and write"
    WO = "write only: the write starts something; reads as 0"
    W1C = "write 1 to clear"
    W1S = "write 1 to start; reads 1 until it is done"


class Home(Enum):
    """Where a register's bits are kept."""

    CONSTANT = "nowhere: they never change"
    LOGIC = "in the unit they belong to"
    WINDOW = "in the memory of the descriptor windows"
    COMPLETION = "in the memory of the completion queue"
    SNAPSHOT = "in the memory of the counters' snapshots"


@dataclass(frozen=True)
class Field:
    """Bits of a register. ``enum`` names values; the description says what the bits mean."""

    name: str
    lsb: int
    width: int
    access: Access
    reset: int
    description: str
    enum: type[Enum] | None = None

    @property
    def mask(self) -> int:
        """The field's bits in the register."""
        return ((1 << self.width) - 1) << self.lsb


@dataclass(frozen=True)
class Register:
    """32 bits at an offset (in bytes). Bits that belong to no field read as 0; writes do not change them."""

    name: str
    offset: int
    access: Access
    description: str
    fields: tuple[Field, ...]
    home: Home = Home.LOGIC

    @property
    def reset(self) -> int:
        """What is read after reset."""
        return sum(field.reset << field.lsb for field in self.fields)


@dataclass(frozen=True)
class Page:
    """Registers that belong together; their offsets count from the page's own."""

    name: str
    offset: int
    description: str
    registers: tuple[Register, ...]


def register_of(name: str, offset: int, access: Access, description: str, *fields: Field,
                home: Home = Home.LOGIC) -> Register:
    """A register of these fields."""
    return Register(name, offset, access, description, fields, home)


def whole_register(name: str, offset: int, access: Access, description: str, reset: int = 0,
                   home: Home = Home.CONSTANT) -> Register:
    """A register that is one number."""
    return register_of(name, offset, access, description, Field("VALUE", 0, 32, access, reset, description), home=home)


def record_registers(prefix: str, offset: int, access: Access, layout: data.StructLayout,
                     meanings: dict[str, str], about: str, home: Home) -> Iterator[Register]:
    """A record as registers, one for each word."""
    fields = list(record_fields(layout))
    for word in range(RECORD_WORDS):
        inside = []
        for name, first, width in fields:
            low, high = max(first, 32 * word), min(first + width, 32 * word + 32)
            if low < high:
                part = {64: ("_LO", "_HI")}.get(width, ("",) * RECORD_WORDS)[(low - first) // 32]
                inside.append(Field(f"{name.upper()}{part}", low - 32 * word, high - low, access, 0,
                                    meanings[name] + (f"; bits {high - first - 1} to {low - first}." if width > 32
                                                      else "."),
                                    Status if name == "status" else None))
        yield register_of(f"{prefix}_{word}", offset + 4 * word, access, f"Word {word} of {about}.", *inside, home=home)
