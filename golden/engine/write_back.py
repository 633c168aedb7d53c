"""Write-back rings: completions as records in link memory, told from old ones by a phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cdma.golden.codec.buffers import whole_number
from cdma.golden.engine.memory import Memory
from cdma.golden.engine.records import RECORD_BYTES, Completion

__all__ = ["RecordReader", "RecordWriter", "pack_record", "unpack_record"]

_MOST_ENTRIES = 1 << 16
_LAST = RECORD_BYTES - 4


def pack_record(completion: Completion, index: int, phase: int) -> bytes:
    """The 64 bytes of a record: a completion, and in the last word the phase (bit 0) and the index (bits 31 to 16)."""
    return completion.pack()[:_LAST] + (phase | index << 16).to_bytes(4, "little")


def unpack_record(record: bytes, index: int, phase: int) -> Completion | None:
    """The completion in the record at an index of a ring; None if it is that of an earlier pass.

    Raises
    ------
    ValueError
        If there are not 64 bytes, or the record says that it belongs to another place.
    """
    if len(record) != RECORD_BYTES:
        raise ValueError(f"a record has {RECORD_BYTES} bytes, not {len(record)}")
    last = int.from_bytes(record[_LAST:], "little")
    if last & 1 != phase:
        return None
    if last != phase | index << 16:
        raise ValueError(f"the record at {index} has the last word {last:#x}, not {phase | index << 16:#x}")
    return Completion.unpack(bytes(record[:_LAST]) + bytes(4))


@dataclass
class _Ring:
    """Where a ring lies, and the place and phase of one of its two sides.

    Raises
    ------
    ValueError
        If the address is no multiple of 64, or the number of entries no power of two from 2 to 65536.
    """

    address: int
    entries: int
    index: int = 0
    phase: int = 1

    def __post_init__(self) -> None:
        entries, address = whole_number(self.entries, "entries"), whole_number(self.address, "address")
        if entries.bit_count() != 1 or not 2 <= entries <= _MOST_ENTRIES:
            raise ValueError(f"entries must be a power of two from 2 to {_MOST_ENTRIES}, not {entries}")
        if address % RECORD_BYTES or address < 0:
            raise ValueError(f"address must be a multiple of {RECORD_BYTES}, not {address:#x}")

    @property
    def place(self) -> int:
        """Address of the next record."""
        return self.address + self.index * RECORD_BYTES

    def _advance(self) -> None:
        self.index = (self.index + 1) % self.entries
        self.phase ^= self.index == 0


@dataclass
class RecordWriter(_Ring):
    """The engine's side of a ring: it writes records up to the one before ``head``, which the driver reads next."""

    head: int = 0

    @property
    def full(self) -> bool:
        """Whether no place is free; one always stays so."""
        return (self.index + 1) % self.entries == self.head

    def write(self, memory: Memory, completion: Completion) -> bool:
        """Write a record, unless the ring is full; whether it was written."""
        if self.full:
            return False
        record = pack_record(completion, self.index, self.phase)
        memory.write(self.place, np.frombuffer(record, np.uint8))
        self._advance()
        return True


@dataclass
class RecordReader(_Ring):
    """The driver's side of a ring, which was zero when the engine got it. ``index`` is what HEAD is to be."""

    def read(self, memory: Memory) -> Completion | None:
        """The next completion, if its record is there."""
        return self.take(memory.read(self.place, RECORD_BYTES).tobytes())

    def take(self, record: bytes) -> Completion | None:
        """The completion in the 64 bytes at ``place``, if they are the next record."""
        found = unpack_record(record, self.index, self.phase)
        if found is not None:
            self._advance()
        return found
