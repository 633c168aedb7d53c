"""Cache maintenance, where the engine is not coherent with the processor's caches."""

from __future__ import annotations

from enum import IntEnum

from cdma.golden.engine import ENTRY_BYTES, Descriptor, Operation

__all__ = ["Caches", "Memories", "give_buffers", "take_buffers"]


class Memories(IntEnum):
    """The memory in which a buffer of a descriptor is."""

    DEVICE = 0
    LINK = 1


class Caches:
    """Hooks that do nothing: override those that your system needs. Memory is given in whole cache lines.

    Rings are given as the processor reaches them, buffers of descriptors at their address for the engine.
    """

    def clean(self, place: memoryview) -> None:
        """Write to memory what the processor has written to a ring: the engine reads it next."""

    def invalidate(self, place: memoryview) -> None:
        """Forget what was read of a ring: the engine may have written it since."""

    def before_read(self, memory: Memories, address: int, size: int) -> None:
        """The engine is going to read a buffer: clean it."""

    def before_write(self, memory: Memories, address: int, size: int) -> None:
        """The engine is going to write a buffer: invalidate it, so that no line is written back over it."""

    def after_write(self, memory: Memories, address: int, size: int) -> None:
        """The engine has written a buffer: invalidate what was read of it meanwhile."""


def give_buffers(caches: Caches, given: Descriptor) -> None:
    """The buffers of a descriptor are the engine's from now on."""
    size = given.pages * ENTRY_BYTES
    if given.operation == Operation.OFFLOAD:
        caches.before_read(Memories.DEVICE, given.source, given.raw_bytes)
        if given.page_list:
            caches.before_read(Memories.LINK, given.destination, size)
        else:
            caches.before_write(Memories.LINK, given.destination, given.capacity)
    else:
        caches.before_read(Memories.LINK, given.source, size if given.page_list else given.packed_bytes)
        caches.before_write(Memories.DEVICE, given.destination, given.raw_bytes)


def take_buffers(caches: Caches, given: Descriptor) -> None:
    """The buffers of a descriptor are the processor's again; pages of a list are the caller's to maintain."""
    if given.operation == Operation.PREFETCH:
        caches.after_write(Memories.DEVICE, given.destination, given.raw_bytes)
    elif not given.page_list:
        caches.after_write(Memories.LINK, given.destination, given.capacity)
