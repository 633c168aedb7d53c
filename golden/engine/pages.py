"""Streams in pages: which bytes of link memory they are, and what can be wrong with their page lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cdma.golden.codec.buffers import Bytes
from cdma.golden.engine.memory import BurstError, Memory
from cdma.golden.engine.status import Status
from cdma.golden.engine.windows import OPEN, Window

__all__ = ["ENTRY_BYTES", "PAGE_SIZES", "BadPage", "PageList", "Span", "gathered", "scattered"]

ENTRY_BYTES = 8
"""Bytes of an entry of a page list: the address of a page, little-endian."""

PAGE_SIZES = range(12, 22)
"""Logarithms of the allowed sizes of pages: 4 KiB to 2 MiB."""

_CHUNK = 16


@dataclass(frozen=True)
class Span:
    """Bytes of a stream that are together in memory: from byte ``start`` of the stream on, at ``address``."""

    start: int
    address: int
    size: int


@dataclass(frozen=True)
class BadPage:
    """Why a page of a stream cannot be used.

    Parameters
    ----------
    start
        Byte of the stream at which the page begins.
    status
        The cause.
    error
        Of memory, for PAGE_LIST_READ_ERROR.
    """

    start: int
    status: Status
    error: BurstError | None = None


@dataclass(frozen=True)
class PageList:
    """A list of pages in link memory. A stream fills them in the order of the list, each from its first byte on.

    Parameters
    ----------
    memory
        Link memory.
    address
        Of the first entry.
    pages
        Number of entries.
    page_bytes
        Bytes of a page.
    address_bits
        Bits of an address that the engine was built for.
    beat_bytes, most_beats
        Bytes of a transfer at the link, and beats of the longest burst.
    window
        What the pages have to be inside.
    """

    memory: Memory
    address: int
    pages: int
    page_bytes: int
    address_bits: int
    beat_bytes: int
    most_beats: int
    window: Window = OPEN.link

    def spans(self, size: int) -> Iterator[Span | BadPage]:
        """The places of the first bytes of a stream, page by page; the first bad page ends them."""
        for number, start in enumerate(range(0, size, self.page_bytes)):
            entry = self._entry(number, start)
            yield entry if isinstance(entry, BadPage) else Span(start, entry, min(self.page_bytes, size - start))
            if isinstance(entry, BadPage):
                return

    def _entry(self, number: int, start: int) -> int | BadPage:
        """The address of a page, or what is wrong with it."""
        if number >= self.pages:
            return BadPage(start, Status.PAGE_LIST_TOO_SHORT)
        # A list is read in pieces of 16 entries; of a piece, what comes before the first error is used.
        chunk = number // _CHUNK * _CHUNK
        read = min(_CHUNK, self.pages - chunk) * ENTRY_BYTES
        error = self.memory.error(self.address + chunk * ENTRY_BYTES, read, self.beat_bytes, write=False,
                                  most_beats=self.most_beats)
        place = self.address + number * ENTRY_BYTES
        if error is not None and error.beat <= place:
            return BadPage(start, Status.PAGE_LIST_READ_ERROR, error)
        entry = int(self.memory.read(place, ENTRY_BYTES).view("<u8")[0])
        if entry >> self.address_bits:
            return BadPage(start, Status.PAGE_OUTSIDE)
        if entry % self.page_bytes:
            return BadPage(start, Status.PAGE_MISALIGNED)
        if not self.window.holds(entry, self.page_bytes, self.address_bits):
            return BadPage(start, Status.PAGE_OUTSIDE)
        return entry


def gathered(memory: Memory, spans: list[Span]) -> Bytes:
    """The bytes of a stream."""
    return np.concatenate([memory.read(span.address, span.size) for span in spans] or [np.zeros(0, np.uint8)])


def scattered(memory: Memory, spans: list[Span], stream: Bytes) -> None:
    """Write a stream."""
    for span in spans:
        memory.write(span.address, stream[span.start:span.start + span.size])
