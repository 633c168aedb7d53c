"""Rings in memory as the driver keeps them: of descriptors, and of the records that write-back makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cdma.driver.errors import DriverError
from cdma.golden.engine import RECORD_BYTES, Completion, Operation, RecordReader
from cdma.hdl.generate.handover.codes import Code

__all__ = ["Pages", "Ring", "WriteBackRing", "ring_memory"]

RECORD_WORDS = RECORD_BYTES // 4
_LAST = RECORD_WORDS - 1


@dataclass(frozen=True)
class Pages:
    """Where a block stream is in link memory that has pages: a list with the address of each.

    Parameters
    ----------
    address
        Link address of the list.
    pages
        Its entries.
    page_size
        Logarithm of the bytes of a page, 12 to 21.
    """

    address: int
    pages: int
    page_size: int


def ring_memory(memory: Any, entries: int) -> memoryview:
    """The words of a ring.

    Raises
    ------
    DriverError
        If it cannot be written, or holds too few bytes.
    """
    need = entries * RECORD_BYTES
    try:
        content = np.frombuffer(memory, np.uint8, need)
    except (TypeError, ValueError, BufferError):
        content = np.frombuffer(b"", np.uint8)
    if not content.flags.writeable or content.size < need:
        raise DriverError(Code.ARGUMENT, f"the memory of the ring must be a writable buffer of {need} bytes")
    return content.data.cast("I")


@dataclass
class Ring:
    """A ring of descriptors, which the engine reads over the link: ``ring_init`` makes it.

    Parameters
    ----------
    operation
        Its direction.
    memory
        Its words, as the processor reaches them.
    entries
        Its size.
    tail
        The entry that is written next.
    head
        RING_HEAD when it was last read: entries before it are free.
    """

    operation: Operation
    memory: memoryview
    entries: int
    tail: int = 0
    head: int = 0

    def place(self, entry: int) -> memoryview:
        """The words of an entry."""
        return self.memory[RECORD_WORDS * entry:RECORD_WORDS * (entry + 1)]


@dataclass
class WriteBackRing:
    """A ring of completions, which the engine writes over the link: ``write_back_init`` makes it.

    Parameters
    ----------
    memory
        Its words, as the processor reaches them.
    reader
        The record that is read next, and its phase.
    misses
        Looks for a record that were in vain.
    """

    memory: memoryview
    reader: RecordReader
    misses: int = 0

    @property
    def next(self) -> memoryview:
        """The words of the record that is read next."""
        at = RECORD_WORDS * self.reader.index
        return self.memory[at:at + RECORD_WORDS]

    def there(self) -> bool:
        """Whether the next record is there; its other words must be read behind a barrier."""
        return self.next[_LAST] & 1 == self.reader.phase

    def take(self) -> Completion:
        """The completion in the next record, which is there."""
        found = self.reader.take(self.next.tobytes())
        assert found is not None
        return found

    def gives_back(self) -> bool:
        """Whether the engine gets places back now: by halves of the ring, so that few records cost a register write."""
        return self.reader.index & (self.reader.entries // 2 - 1) == 0
