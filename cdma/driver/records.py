"""Completions from a write-back ring, which the engine writes into memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdma.driver.access import Registers
from cdma.driver.caches import Caches
from cdma.driver.control import Control
from cdma.driver.errors import DriverError
from cdma.driver.layout import WRITE_BACK, highest
from cdma.driver.named import direction
from cdma.driver.rings import WriteBackRing, ring_memory
from cdma.golden.engine import RECORD_BYTES, Completion, Operation, RecordReader
from cdma.hdl.generate.handover.codes import Code

__all__ = ["Records"]

_MOST_ENTRIES = 1 << 16


class Records(Control):
    """Write-back rings of both directions; for the parameters see :class:`cdma.driver.driver.Driver`.

    Members
    -------
    records
        Where completions are: a write-back ring, or, if there is none, the registers.
    """

    def __init__(self, registers: Registers, polls: int, relax: Callable[[], None] | None,
                 barrier: Callable[[], None], caches: Caches, record_polls: int) -> None:
        super().__init__(registers, polls, relax)
        self._barrier = barrier
        self._caches = caches
        self._record_polls = record_polls
        self._forget()

    def _forget(self) -> None:
        """There is no write-back ring."""
        self.records: dict[Operation, WriteBackRing | None] = dict.fromkeys(Operation)

    def write_back_init(self, operation: int, memory: Any, address: int, entries: int) -> WriteBackRing:
        """Let the engine write the completions of a direction to a new ring.

        From then on ``poll``, ``wait`` and blocking calls look into memory, and read a register only now and then.
        Records of a ring that was there before are lost, if they were not taken.

        Parameters
        ----------
        operation, memory, address, entries
            As for ``ring_init``; the engine writes the memory, and the processor must see that.

        Raises
        ------
        DriverError
            ARGUMENT, NOT_BUILT, RING_SIZE, TIMEOUT or REFUSED.
        """
        operation = direction(operation)
        if not self.built.write_back:
            raise DriverError(Code.NOT_BUILT)
        self._check_ring(address, entries)
        ring = WriteBackRing(ring_memory(memory, entries), RecordReader(address, entries))
        self.write_back_disable(operation)
        self.records[operation] = None
        for word in range(len(ring.memory)):
            ring.memory[word] = 0
        self._caches.clean(ring.memory)
        self._barrier()
        self.clear_refused(operation, "WRITE_BACK")
        for name, value in (("BASE_LO", address & 0xFFFF_FFFF), ("BASE_HI", address >> 32), ("SIZE", entries),
                            ("CONTROL", 1)):
            self.write_ring(operation, name, value)
        if self.channel_field(operation, "REFUSED", "WRITE_BACK"):
            raise DriverError(Code.REFUSED)
        self.records[operation] = ring
        return ring

    def write_back_disable(self, operation: int) -> None:
        """Disable the write-back ring of a direction, if there is one, and wait until no record is being written.

        ``poll`` takes the records that are left, then goes over to the registers.

        Raises
        ------
        DriverError
            ARGUMENT or TIMEOUT.
        """
        operation = direction(operation)
        ring = self.records[operation]
        if ring is not None:
            self.write_ring(operation, "CONTROL", 0)
            self.until(lambda: not self.read_ring(operation, "CONTROL") & 1)
            ring.misses = self._record_polls

    def set_coalescing(self, operation: int, count: int, cycles: int) -> None:
        """Report completions of a write-back ring together; errors are reported at once.

        Parameters
        ----------
        operation
            The direction.
        count
            After so many records, 1 to 65535.
        cycles
            So many cycles after the first one at the latest, below 2^24; 0: however long it takes.

        Raises
        ------
        DriverError
            ARGUMENT or NOT_BUILT.
        """
        operation = direction(operation)
        if not self.built.write_back:
            raise DriverError(Code.NOT_BUILT)
        most = highest(WRITE_BACK["COALESCE"], "COUNT"), highest(WRITE_BACK["TIME"], "CYCLES")
        if not 1 <= count <= most[0] or not 0 <= cycles <= most[1]:
            raise DriverError(Code.ARGUMENT, f"count must be 1 to {most[0]} and cycles 0 to {most[1]}, not {count} and "
                                             f"{cycles}")
        self.write_ring(operation, "COALESCE", count)
        self.write_ring(operation, "TIME", cycles)

    def _take_record(self, operation: Operation) -> Completion | None:
        """The next record of the write-back ring. Now and then, when there is none, asks whether the ring is still
        enabled. If not, the last records are taken; then completions are in the registers."""
        ring = self.records[operation]
        if ring is None:
            return None
        if (done := self._read_record(operation, ring)) is not None:
            if ring.misses < self._record_polls:
                ring.misses = 0
            return done
        ring.misses += 1
        if ring.misses < self._record_polls:
            return None
        ring.misses = 0
        if self.read_ring(operation, "CONTROL") & 1:
            return None
        # Records that came between the look and the question.
        if (done := self._read_record(operation, ring)) is not None:
            ring.misses = self._record_polls
            return done
        # A record whose write failed, and records behind it, may have been in memory, and taken; their completions are
        # in the registers too.
        for _ in range((ring.reader.index - self.read_ring(operation, "TAIL")) % ring.reader.entries):
            self.write_channel(operation, "COMPLETION_POP", 1)
        self.records[operation] = None
        return None

    def _read_record(self, operation: Operation, ring: WriteBackRing) -> Completion | None:
        self._caches.invalidate(ring.next)
        if not ring.there():
            return None
        self._barrier()
        # Once more: a cache that fetches a line in parts may have the other words from before the phase.
        self._caches.invalidate(ring.next)
        done = ring.take()
        if ring.gives_back():
            self._barrier()
            self.write_ring(operation, "HEAD", ring.reader.index)
        return done

    def _check_ring(self, address: int, entries: int) -> None:
        if not (2 <= entries <= _MOST_ENTRIES and entries.bit_count() == 1 and address % RECORD_BYTES == 0
                and 0 <= address <= (1 << self.built.address_bits) - entries * RECORD_BYTES):
            raise DriverError(Code.RING_SIZE, f"{entries} entries at {address:#x}")
