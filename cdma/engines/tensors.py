"""Tensors through an engine, one at a time, by the calls of the driver.

::

    offload    device memory <- tensor; driver.offload; the stream stays in link memory, its place in the device is free
    prefetch   device memory <- noise;  driver.prefetch; device memory -> tensor
    free       the stream's place in link memory is free
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self

import numpy as np

from cdma.driver import Driver, DriverError, Pages, TransferError
from cdma.engines.machine import Machine, Side
from cdma.golden.codec.buffers import Bytes
from cdma.golden.codec.coding import Coding, coding_name
from cdma.golden.codec.smallest import smallest
from cdma.golden.engine import ENTRY_BYTES, PAGE_SIZES, Completion, Operation
from cdma.hdl.config.engine import EngineConfig
from cdma.workload.training import EngineError
from cdma.workload.training.places import FullError, Places

__all__ = ["DriverEngine", "Transfer", "check_pages"]

_LIST_ALIGN = 64


@dataclass
class Transfer:
    """A tensor that went through the engine.

    Parameters
    ----------
    dtype
        Type of its values, as PyTorch names it.
    coding
        Of its blocks.
    bytes
        Of the tensor.
    raw_bytes
        What was moved for it: the tensor, and zeros up to a whole element of the coding.
    packed_bytes, raw_blocks, pages
        Of the block stream.
    crc
        Of the block stream, if the engine computes it.
    offload_cycles, prefetch_cycles
        From taking the descriptor to its completion, all times it came back together; 0 where time is not modelled.
    prefetches
        How often it came back.
    """

    dtype: str
    coding: Coding
    bytes: int
    raw_bytes: int
    packed_bytes: int = 0
    raw_blocks: int = 0
    pages: int = 0
    crc: int = 0
    offload_cycles: int = 0
    prefetch_cycles: int = 0
    prefetches: int = 0


@dataclass
class _Stream:
    """A tensor's stream in link memory: its place, or its pages and the place of their list."""

    transfer: Transfer
    places: list[tuple[int, int]]
    address: int
    listed: Pages | None = None


def check_pages(config: EngineConfig, page_bytes: int) -> int:
    """The logarithm of the bytes of a page.

    Raises
    ------
    ValueError
        If the engine has no page lists, or none with such pages.
    """
    if not config.page_lists:
        raise ValueError(f"{config.name} has no page lists: build them (--set page_lists=true), or leave --page out")
    least, most = 1 << PAGE_SIZES[0], 1 << PAGE_SIZES[-1]
    if page_bytes.bit_count() != 1 or not least <= page_bytes <= most:
        raise ValueError(f"pages must have a power of two from {least} to {most} bytes, not {page_bytes}")
    return page_bytes.bit_length() - 1


class DriverEngine:
    """An engine that keeps tensors, as :class:`cdma.workload.training.TensorEngine` asks.

    Parameters
    ----------
    machine
        Its registers and memories.
    config
        What it was built from.
    page_bytes
        Of the pages that streams are in, in link memory; None: each stream is in one piece.
    close
        Called at the end of its context.

    Members
    -------
    machine, config
        As given.
    transfers
        All tensors that were offloaded.
    moved
        Called after every transfer, if it is set.

    Raises
    ------
    ValueError
        If the engine has no such pages.
    EngineError
        If the driver does not find the engine.
    """

    def __init__(self, machine: Machine, config: EngineConfig, page_bytes: int | None = None,
                 close: Callable[[], None] | None = None) -> None:
        self.config = config
        self.transfers: list[Transfer] = []
        self.moved: Callable[[], None] | None = None
        self._page_size = None if page_bytes is None else check_pages(config, page_bytes)
        self.machine = machine
        self._close = close
        self._device = Places(machine.base(Side.DEVICE), machine.size(Side.DEVICE), config.block_bytes)
        self._link = Places(machine.base(Side.LINK), machine.size(Side.LINK), max(_LIST_ALIGN, config.link_beat_bytes))
        self._freed: deque[_Stream] = deque()
        self._rng = np.random.default_rng(1)
        try:
            self._driver = Driver(machine, relax=machine.relax)
        except DriverError as error:
            raise EngineError(f"{config.name}: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._close is not None:
            self._close()

    def offload(self, data: Bytes, dtype: str) -> Any:
        """Take a tensor; see :class:`cdma.workload.training.TensorEngine`."""
        # The tensor is padded to whole elements anyway, so its length leaves no coding out.
        coding = smallest(_padded(data, -(-data.size // 4) * 4), self.config.numbers, self.config.block_bytes)
        size = coding.element_bytes
        transfer = Transfer(dtype, coding, data.size, -(-data.size // size) * size)
        self._reclaim()
        source = self._take_device(transfer)
        capacity = self._driver.capacity(transfer.raw_bytes)
        stream = None
        try:
            stream = self._take_link(transfer, capacity)
            self.machine.load(Side.DEVICE, source, _padded(data, self._device.rounded(transfer.raw_bytes)))
            done = self._done("offload", transfer, partial(
                self._driver.offload, source, stream.address, transfer.raw_bytes, capacity, coding)
                if stream.listed is None else partial(
                self._driver.offload_pages, source, stream.listed, transfer.raw_bytes, capacity, coding))
        except EngineError:
            self._failed(Operation.OFFLOAD, transfer, source, stream)
            raise
        self._device.give(source, transfer.raw_bytes)
        self._shrink(stream, done)
        transfer.packed_bytes, transfer.raw_blocks, transfer.pages = done.bytes_written, done.raw_blocks, done.pages
        transfer.crc, transfer.offload_cycles = done.crc, done.cycles
        self.transfers.append(transfer)
        self._tell()
        return stream

    def prefetch(self, handle: Any) -> Bytes:
        """Bring a tensor back; see :class:`cdma.workload.training.TensorEngine`."""
        stream: _Stream = handle
        transfer = stream.transfer
        self._reclaim()
        place, size = self._take_device(transfer), self._device.rounded(transfer.raw_bytes)
        packed, raw, coding = transfer.packed_bytes, transfer.raw_bytes, transfer.coding
        try:
            # What comes back must come over the link, not from an offload that was at the same place.
            self.machine.load(Side.DEVICE, place, self._rng.integers(0, 256, size, np.uint8))
            done = self._done("prefetch", transfer, lambda: (
                self._driver.prefetch(stream.address, place, packed, raw, coding, transfer.crc) if stream.listed is None
                else self._driver.prefetch_pages(stream.listed, place, packed, raw, coding, transfer.crc)))
            found = self.machine.dump(Side.DEVICE, place, size)[:transfer.bytes]
        except EngineError:
            self._failed(Operation.PREFETCH, transfer, place)
            raise
        self._device.give(place, raw)
        transfer.prefetch_cycles += done.cycles
        transfer.prefetches += 1
        self._tell()
        return found

    def free(self, handle: Any) -> None:
        """Forget a tensor, when the next one is moved."""
        self._freed.append(handle)

    def _tell(self) -> None:
        if self.moved is not None:
            self.moved()

    def _reclaim(self) -> None:
        """Free the places of streams that are not needed any more."""
        while self._freed:
            for place in self._freed.popleft().places:
                self._link.give(*place)

    def _done(self, what: str, transfer: Transfer, call: Callable[[], Completion]) -> Completion:
        """The completion of a call of the driver."""
        try:
            return call()
        except (DriverError, TransferError) as error:
            raise EngineError(f"{self.config.name} failed in the {what} of a tensor of {transfer.bytes:,} bytes of "
                              f"{transfer.dtype} ({coding_name(transfer.coding)}): {error}") from error

    def _failed(self, operation: Operation, transfer: Transfer, place: int, stream: _Stream | None = None) -> None:
        """Free what was taken for a transfer that failed, unless the engine may still use it."""
        with suppress(DriverError):
            self._driver.drain(operation)
            self._device.give(place, transfer.raw_bytes)
            if stream is not None:
                self.free(stream)

    def _take_device(self, transfer: Transfer) -> int:
        try:
            return self._device.take(transfer.raw_bytes)
        except FullError as error:
            size = self.machine.size(Side.DEVICE)
            raise EngineError(f"a tensor of {transfer.bytes:,} bytes does not fit into the device memory of {size:,} "
                              "bytes: give the engine more memory") from error

    def _take_link(self, transfer: Transfer, capacity: int) -> _Stream:
        try:
            if self._page_size is None:
                address = self._link.take(capacity)
                return _Stream(transfer, [(address, self._link.rounded(capacity))], address)
            return self._take_pages(transfer, capacity, self._page_size)
        except FullError as error:
            size = self.machine.size(Side.LINK)
            raise EngineError(f"the link memory of {size:,} bytes has no place for a tensor of {transfer.bytes:,} "
                              f"bytes: {self._link.free:,} bytes are free; give the engine more memory") from error

    def _take_pages(self, transfer: Transfer, capacity: int, page_size: int) -> _Stream:
        """Pages in any order, as a host has them, and their list."""
        page_bytes, places = 1 << page_size, []
        try:
            for _ in range(-(-capacity // page_bytes)):
                places.append((self._link.take(page_bytes, page_bytes), page_bytes))
            list_bytes = self._link.rounded(ENTRY_BYTES * len(places))
            address = self._link.take(list_bytes)
        except FullError:
            for place in places:
                self._link.give(*place)
            raise
        self._rng.shuffle(places)
        entries = np.array([place for place, _ in places], "<u8").view(np.uint8)
        self.machine.load(Side.LINK, address, _padded(entries, list_bytes))
        return _Stream(transfer, [*places, (address, list_bytes)], address, Pages(address, len(places), page_size))

    def _shrink(self, stream: _Stream, done: Completion) -> None:
        """Free what a stream did not need of its place."""
        if stream.listed is None:
            (address, size), kept = stream.places[0], self._link.rounded(done.bytes_written)
            self._link.give(address + kept, size - kept)
            stream.places = [(address, kept)]
            return
        *pages, entries = stream.places
        for place in pages[done.pages:]:
            self._link.give(*place)
        stream.places = [*pages[:done.pages], entries]
        stream.listed = Pages(stream.address, done.pages, stream.listed.page_size)


def _padded(data: Bytes, size: int) -> Bytes:
    found = np.zeros(size, np.uint8)
    found[:data.size] = data
    return found
