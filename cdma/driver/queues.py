"""Descriptors in, through registers and through a ring, and completions out."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from cdma.driver.access import Registers
from cdma.driver.caches import Caches, give_buffers
from cdma.driver.errors import DriverError
from cdma.driver.named import direction
from cdma.driver.records import Records
from cdma.driver.rings import RECORD_WORDS, Ring, ring_memory
from cdma.golden.engine import Completion, Descriptor, Operation, Status
from cdma.hdl.generate.handover.codes import Code

__all__ = ["OWN_TAGS", "Queues"]

OWN_TAGS = 0x8000_0000
"""Tags from here on are the driver's own: each blocking call has a new one. A completion with such a tag that no call
waits for belongs to a call that gave up, and is dropped."""

_WORDS = struct.Struct(f"<{RECORD_WORDS}I")


def packed(given: Descriptor) -> tuple[int, ...]:
    """The 16 words of a descriptor.

    Raises
    ------
    DriverError
        If a field does not fit into its bits.
    """
    try:
        return _WORDS.unpack(given.pack())
    except ValueError as error:
        raise DriverError(Code.ARGUMENT, str(error)) from error


class Queues(Records):
    """Queues and rings of both directions, and what is in them; for the parameters see
    :class:`cdma.driver.driver.Driver`.

    Members
    -------
    calls
        Blocking calls so far; their tags are counted with it.
    late
        Blocking calls without a completion yet; their buffers are in use, even after a timeout.
    pending
        Submitted descriptors whose completion was not returned.
    """

    def __init__(self, registers: Registers, polls: int, relax: Callable[[], None] | None,
                 barrier: Callable[[], None], caches: Caches, record_polls: int) -> None:
        super().__init__(registers, polls, relax, barrier, caches, record_polls)
        self.calls = dict.fromkeys(Operation, 0)

    def _forget(self) -> None:
        """Nothing is submitted, and there is no write-back ring."""
        super()._forget()
        self.late = dict.fromkeys(Operation, 0)
        self.pending = dict.fromkeys(Operation, 0)

    # Through the registers.

    def _push(self, given: Descriptor) -> None:
        """Queue a descriptor, whatever its tag is."""
        operation, words = direction(given.operation), packed(given)
        if not self.channel_field(operation, "QUEUE", "FREE"):
            raise DriverError(Code.FULL)
        give_buffers(self._caches, given)
        for word, value in enumerate(words):
            self.write_channel(operation, f"DESCRIPTOR_{word}", value)
        # An entry of the ring can take the free place before the doorbell gets to it, so ask whether it was refused.
        self.clear_refused(operation, "DOORBELL")
        self._barrier()
        self.write_channel(operation, "DOORBELL", 1)
        if self.channel_field(operation, "REFUSED", "DOORBELL"):
            raise DriverError(Code.FULL)

    def _take(self, operation: Operation) -> Completion | None:
        """The oldest completion, whatever its tag and its status are."""
        done = self._take_record(operation)
        if done is None:
            if self.records[operation] is not None or not self.channel_field(operation, "COMPLETIONS", "COUNT"):
                return None
            words = [self.read_channel(operation, f"COMPLETION_{word}")
                     for word in range(13 if self.built.page_lists else 12)]
            self.write_channel(operation, "COMPLETION_POP", 1)
            self._barrier()
            done = Completion.unpack(_WORDS.pack(*words, *[0] * (RECORD_WORDS - len(words))))
        if done.tag >= OWN_TAGS:
            self.late[operation] = max(0, self.late[operation] - 1)
        elif done.status is not Status.DESCRIPTOR_READ_ERROR:
            # An entry that could not be read stays in its ring, and is completed when it is read again.
            self.pending[operation] = max(0, self.pending[operation] - 1)
        return done

    # Through a ring.

    def ring_init(self, operation: int, memory: Any, address: int, entries: int) -> Ring:
        """Let the engine read descriptors of a direction from a new, empty ring.

        The ring that was there before is disabled, and entries of it that were not read are lost.

        Parameters
        ----------
        operation
            The direction.
        memory
            The ring as the processor reaches it: a writable buffer that the engine's reads see.
        address
            The ring's address on the link, a multiple of 64.
        entries
            Descriptors of 64 bytes that it holds: a power of two from 2 to 65536. One always stays free.

        Raises
        ------
        DriverError
            ARGUMENT, RING_SIZE, TIMEOUT or REFUSED.
        """
        operation = direction(operation)
        self._check_ring(address, entries)
        ring = Ring(operation, ring_memory(memory, entries), entries)
        self._stop_ring(operation)
        unread = self._unread(operation)
        base = {"RING_BASE_LO": address & 0xFFFF_FFFF, "RING_BASE_HI": address >> 32, "RING_SIZE": entries}
        for name, value in base.items():
            self.write_channel(operation, name, value)
        if any(self.read_channel(operation, name) != value for name, value in base.items()):
            raise DriverError(Code.REFUSED)
        self.pending[operation] -= min(unread, self.pending[operation])
        self.ring_enable(ring)
        return ring

    def ring_enable(self, ring: Ring) -> None:
        """Let the engine read the ring, again after a descriptor could not be read or the ring was disabled.

        Raises
        ------
        DriverError
            REFUSED, if it is outside the link's window.
        """
        self.clear_refused(ring.operation, "RING")
        self.write_channel(ring.operation, "RING_CONTROL", 1)
        if self.channel_field(ring.operation, "REFUSED", "RING"):
            raise DriverError(Code.REFUSED)

    def ring_disable(self, ring: Ring) -> None:
        """Let the engine read no more of the ring, and wait until it has stopped; what was read is still done.

        Raises
        ------
        DriverError
            TIMEOUT.
        """
        self._stop_ring(ring.operation)

    def ring_submit(self, ring: Ring, given: Descriptor) -> None:
        """Put a descriptor into the ring, and tell the engine; its completion comes as after ``submit``.

        Raises
        ------
        DriverError
            ARGUMENT, TAG, RING_DISABLED or FULL.
        """
        if given.operation != ring.operation:
            raise DriverError(Code.ARGUMENT, f"the ring is for {ring.operation!r}, not {given.operation!r}")
        words, following = packed(given), (ring.tail + 1) % ring.entries
        if given.tag >= OWN_TAGS:
            raise DriverError(Code.TAG)
        if not self.channel_field(ring.operation, "RING_CONTROL", "ENABLE"):
            raise DriverError(Code.RING_DISABLED)
        if following == ring.head:
            ring.head = self.read_channel(ring.operation, "RING_HEAD")
            if following == ring.head:
                raise DriverError(Code.FULL)
        place = ring.place(ring.tail)
        for word, value in enumerate(words):
            place[word] = value
        self._caches.clean(place)
        give_buffers(self._caches, given)
        self._barrier()
        self.write_channel(ring.operation, "RING_TAIL", following)
        ring.tail = following
        self.pending[ring.operation] += 1

    def _stop_ring(self, operation: Operation) -> None:
        """Disable the ring of a direction, and wait until no entry is being read."""
        self.write_channel(operation, "RING_CONTROL", 0)
        self.until(lambda: not self.channel_field(operation, "RING_CONTROL", "ENABLE"))

    def _unread(self, operation: Operation) -> int:
        """Entries of the disabled ring of a direction that the engine has not read."""
        tail, head, size = (self.read_channel(operation, f"RING_{name}") for name in ("TAIL", "HEAD", "SIZE"))
        return (tail - head) & (size - 1)
