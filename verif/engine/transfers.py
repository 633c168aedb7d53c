"""Transfers for an engine's bench: places for tensors and streams in both memories, and descriptors of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from cdma.golden.codec.crc32c import crc32c
from cdma.golden.engine import Descriptor, Operation
from cdma.hdl.config.engine import EngineConfig
from cdma.verif.common.stream import Bytes
from cdma.verif.engine.layout import Arena
from cdma.verif.engine.pages import Listed, pages_of, take_pages
from cdma.verif.engine.stimulus import RawTensor

__all__ = ["Transfers"]


def _fields(listed: Listed | None) -> dict[str, Any]:
    """A page list in a descriptor."""
    return {"page_list": True, "pages": listed.pages, "page_size": listed.page_size} if listed else {}


class Transfers:
    """What lies where in the two memories of an engine, and descriptors of transfers between them.

    Parameters
    ----------
    rng
        Makes every choice that is left open: addresses, gaps, tags, capacities.
    config
        What the engine was built from.
    image_bytes
        Of each memory.

    Members
    -------
    device_arena, link_arena
        The images that the memories were loaded with, and what they must be after what ran.
    page_share
        How many of the streams are in pages, where the engine can use these.
    page_size
        The logarithm of the bytes of these pages; None for any size.
    """

    def __init__(self, rng: np.random.Generator, config: EngineConfig, image_bytes: int) -> None:
        self.rng = rng
        self.config = config
        # The image stands anywhere: low, or where the highest address bits are ones.
        places = 1 << config.address_bits
        bases = [int(rng.choice([0, places - image_bytes, int(rng.integers(places // image_bytes)) * image_bytes]))
                 for _ in range(2)]
        self.device_arena = Arena(bases[0], image_bytes, config.block_bytes, rng)
        self.link_arena = Arena(bases[1], image_bytes, config.link_beat_bytes, rng)
        self._tag = int(rng.integers(1 << 32))
        self.page_share = 0.5
        self.page_size: int | None = None

    def clear(self) -> None:
        """Free all places in both memories."""
        self.device_arena.clear()
        self.link_arena.clear()

    def offload(self, tensor: RawTensor, *, fallback: bool = True, leave_raw: bool = False,
                capacity: int | None = None) -> Descriptor:
        """Put a tensor into device memory, and find a place for its stream.

        Parameters
        ----------
        fallback, leave_raw
            Whether blocks may go raw, and whether all do.
        capacity
            Of the destination; what the stream needs, or more, when not given.
        """
        stream = self.stream(tensor, fallback, leave_raw)
        if capacity is None:
            capacity = stream.size + int(self.rng.choice([0, 4, 1000]))
        source = self.device_arena.put(tensor.raw, gap=self.config.lanes)
        listed = self._listed(capacity)
        return self._descriptor(
            Operation.OFFLOAD, tensor, source, listed.address if listed else self.link_arena.take(capacity),
            capacity=capacity, fallback=fallback, leave_raw=leave_raw, **_fields(listed))

    def move(self, operation: Operation, tensor: RawTensor) -> Descriptor:
        """A transfer of a tensor in a direction."""
        return (self.offload(tensor) if operation is Operation.OFFLOAD else
                self.prefetch(self.stream(tensor), tensor))

    def _listed(self, size: int) -> Listed | None:
        """Pages for a stream of so many bytes, now and then where the engine can use them."""
        if not self.config.page_lists or self.rng.random() >= self.page_share:
            return None
        return take_pages(self.rng, self.link_arena, size, self.config.link_beat_bytes, self.page_size)

    def stream(self, tensor: RawTensor, fallback: bool = True, leave_raw: bool = False) -> Bytes:
        """The block stream of a tensor."""
        return tensor.stream(self.config.block_bytes, fallback, leave_raw)

    def prefetch(self, stream: Bytes, tensor: RawTensor, *, check_crc: bool | None = None, source: int | None = None,
                 destination: int | None = None, written: Descriptor | None = None) -> Descriptor:
        """Put a stream into link memory, and find a place for its tensor.

        Parameters
        ----------
        check_crc
            Whether the CRC of these bytes is expected; now and then when not given.
        source
            Where the stream is already.
        destination
            Where the tensor belongs; a free place when not given.
        written
            The offload that wrote the stream, if it is where that left it.
        """
        if check_crc is None:
            check_crc = self.config.crc and bool(self.rng.random() < 0.5)
        if destination is None:
            destination = self.device_arena.take(tensor.raw.size, gap=self.config.lanes)
        listed = None
        if written is not None:
            source = written.destination
            listed = Listed(source, written.pages, written.page_size) if written.page_list else None
        elif source is None:
            listed = self._listed(stream.size)
            source = listed.address if listed else self.link_arena.put(stream)
        descriptor = self._descriptor(
            Operation.PREFETCH, tensor, source, destination, packed_bytes=stream.size, check_crc=check_crc,
            capacity=tensor.raw.size + int(self.rng.choice([0, 1, 4096])), crc=crc32c(stream) if check_crc else 0,
            **_fields(listed))
        if listed and written is None:
            at = 0
            for address, size in pages_of(self.link_arena, source, descriptor, stream.size):
                self.link_arena.view(address, size)[:] = stream[at:at + size]
                at += size
        return descriptor

    def _descriptor(self, operation: Operation, tensor: RawTensor, source: int, destination: int,
                    **fields: Any) -> Descriptor:
        self._tag = (self._tag + 1) % (1 << 32)
        return Descriptor(operation=operation, coding=int(tensor.coding), narrow=tensor.narrow,
                          raw_bytes=tensor.raw.size, source=source, destination=destination, tag=self._tag,
                          interrupt=bool(self.rng.random() < 0.5), **fields)
