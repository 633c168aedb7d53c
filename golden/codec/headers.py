"""Headers of the block stream: writes them, and goes from header to header with all checks that need no lines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cdma.golden.codec.buffers import Bytes
from cdma.golden.codec.coding import SHORT, Coding, fields, longest, shortest
from cdma.golden.codec.errors import Reason, StreamError

__all__ = ["HEADER_BYTES", "LARGEST_BLOCK", "Block", "Frame", "Scan", "check_header", "pack_headers", "scan"]

HEADER_BYTES = 4
"""Bytes of a header; payloads are padded to a multiple of as many."""

LARGEST_BLOCK = 32768
"""Most raw bytes of a block."""

# Headers that are checked in one step.
_GROUP = 4096


@dataclass(frozen=True)
class Block:
    """The content and the place of a block's header.

    Parameters
    ----------
    number
        Counted from 0.
    offset
        Bytes of the stream before its header.
    payload_bytes
        Without padding.
    coding
        Its coding; see :class:`cdma.golden.codec.coding.Coding`.
    short
        Whether the header marks it as a short block, whose payload says how many raw bytes it has.
    sequence
        Number modulo 256.
    """

    number: int
    offset: int
    payload_bytes: int
    coding: Coding
    short: bool
    sequence: int

    @property
    def field(self) -> int:
        """The coding field of its header."""
        return self.coding | SHORT * self.short

    @property
    def payload_offset(self) -> int:
        """Bytes of the stream before its payload."""
        return self.offset + HEADER_BYTES

    @property
    def end(self) -> int:
        """Bytes of the stream before the next header."""
        return self.payload_offset + -(-self.payload_bytes // HEADER_BYTES) * HEADER_BYTES


@dataclass(frozen=True)
class Frame:
    """What a reader knows about a stream in advance; None for what it does not know.

    Parameters
    ----------
    block_bytes
        Raw bytes of every block but the last.
    raw_bytes
        Raw length of the whole stream; only with ``block_bytes``.
    coding
        That of every block that is not raw.
    """

    block_bytes: int | None
    raw_bytes: int | None = None
    coding: Coding | None = None

    @property
    def element_bytes(self) -> int:
        """Bytes of an element, of which the raw length is a multiple."""
        return 1 if self.coding is None else self.coding.element_bytes

    @property
    def size(self) -> int:
        """Most raw bytes of a block."""
        return LARGEST_BLOCK if self.block_bytes is None else self.block_bytes

    @property
    def blocks(self) -> int | None:
        """Number of blocks."""
        if self.raw_bytes is None or self.block_bytes is None:
            return None
        return -(-self.raw_bytes // self.block_bytes)

    @property
    def fields(self) -> tuple[int, ...]:
        """Allowed values of the coding field."""
        return fields(self.coding)

    def raw_range(self, block: Block, ends: bool) -> tuple[int, int]:
        """Fewest and most raw bytes of a block; ``ends`` says that it is the last block of the stream.

        The range is empty where the coding field says that the block is short and it is not, or the other way round.
        """
        least, most = 1, self.size
        if self.block_bytes is not None:
            if self.raw_bytes is not None:
                least = most = min(self.block_bytes, self.raw_bytes - block.number * self.block_bytes)
            elif not ends:
                least = self.block_bytes
            if block.coding.sized and not block.short:
                least = self.block_bytes
        if block.short:
            most = min(most, self.size - block.coding.element_bytes)
        return least, most


def pack_headers(payload_bytes: NDArray[np.int64], codings: NDArray[np.int64], first: int) -> NDArray[np.uint32]:
    """Headers of blocks numbered from ``first`` on: one little-endian word each."""
    sequence = (first + np.arange(payload_bytes.size)) & 0xFF
    return (payload_bytes | codings << 16 | sequence << 24).astype("<u4")


def _block(number: int, offset: int, payload_bytes: int, field: int, sequence: int) -> Block:
    return Block(number, offset, payload_bytes, Coding(field & ~SHORT), bool(field & SHORT), sequence)


def check_header(data: Bytes, number: int, offset: int, frame: Frame) -> Block:
    """The block whose header is at a byte of the stream; a StreamError if header, length or padding is wrong."""
    left = data.size - offset
    if left < HEADER_BYTES:
        raise StreamError(Reason.TRUNCATED_HEADER, offset, f"a header of {HEADER_BYTES} bytes, found {left}", None,
                          number)
    low, high, coding, sequence = data[offset:offset + HEADER_BYTES].tolist()
    if coding not in frame.fields:
        allowed = ", ".join(f"{value:#04x}" for value in frame.fields)
        raise StreamError(Reason.BAD_CODING, offset + 2, f"a coding of {allowed}, found {coding:#04x}", None, number)
    block = _block(number, offset, low | high << 8, coding, sequence)
    if sequence != number & 0xFF:
        raise StreamError(Reason.WRONG_SEQUENCE, offset + 3, f"sequence {number & 0xFF}, found {sequence}", None,
                          number)
    _check_length(block, frame, block.end >= data.size)
    if block.end > data.size:
        raise StreamError(Reason.TRUNCATED_DATA, block.payload_offset,
                          f"{block.end - block.payload_offset} bytes of payload and padding, "
                          f"found {left - HEADER_BYTES}", None, number)
    padding = data[block.payload_offset + block.payload_bytes:block.end]
    if padding.any():
        place = int(padding.nonzero()[0][0])
        raise StreamError(Reason.BAD_PADDING, block.payload_offset + block.payload_bytes + place,
                          f"0, found {padding[place]}", None, number)
    return block


def _check_length(block: Block, frame: Frame, ends: bool) -> None:
    least, most = frame.raw_range(block, ends)
    if least > most:
        raise StreamError(Reason.BAD_CODING, block.offset + 2,
                          f"a coding for a {'whole' if block.short else 'short'} block, found {block.field:#04x}",
                          None, block.number)
    if least == most and most % block.coding.element_bytes:
        raise StreamError(Reason.BAD_CODING, block.offset + 2,
                          f"a coding for {most} raw bytes, found {block.field:#04x}", None, block.number)
    low, high = shortest(block.field, least), longest(block.field, most)
    if not low <= block.payload_bytes <= high:
        lengths = f"{low}" if low == high else f"{low} to {high}"
        raise StreamError(Reason.BAD_LENGTH, block.offset, f"a payload of {lengths} bytes, found {block.payload_bytes}",
                          None, block.number)
    if block.coding is Coding.RAW and block.payload_bytes % frame.element_bytes:
        raise StreamError(Reason.BAD_LENGTH, block.offset,
                          f"a payload of whole elements of {frame.element_bytes} bytes, found {block.payload_bytes}",
                          None, block.number)


@dataclass(frozen=True)
class Scan:
    """The blocks of a stream up to its end or its first fault, as arrays.

    Parameters
    ----------
    offset, payload, coding
        Of each block: bytes before its header, payload bytes, coding field.
    full
        How many of them, from the first on, hold exactly ``block_bytes``: all, or all except the last of the stream.
    error
        The fault of the block after them.
    """

    offset: NDArray[np.int64]
    payload: NDArray[np.int64]
    coding: NDArray[np.int64]
    full: int
    error: StreamError | None

    def block(self, number: int) -> Block:
        """One of the blocks."""
        return _block(number, int(self.offset[number]), int(self.payload[number]), int(self.coding[number]),
                      number & 0xFF)


def scan(data: Bytes, frame: Frame) -> Scan:
    """Go from header to header until the end of the stream or its first fault.

    ``frame`` must have ``block_bytes``.
    """
    words = data[:data.size // 4 * 4].view("<u4")
    heads = words.view(np.uint8).data.cast("I") if words.size else memoryview(b"")
    wanted = words.size if frame.blocks is None else min(words.size, frame.blocks)
    found = [np.zeros(0, np.int64)]
    error = None
    number = at = full = 0
    total = words.size
    while error is None and number < wanted and at < total:
        places: list[int] = []
        for _ in range(min(_GROUP, wanted - number)):
            places.append(at)
            at += (heads[at] & 0xFFFF) + 7 >> 2  # the header, and the payload to the next word
            if at >= total:
                break
        group = np.array(places, np.int64)
        ends = at * 4 >= data.size or number + group.size == frame.blocks
        inner = group[:-1] if ends else group
        good = _first_fault(words, inner, number, frame)
        full += good
        if good < group.size:
            # The last block, which may be shorter, or a block with a fault, which is to be reported.
            try:
                check_header(data, number + good, places[good] * 4, frame)
                good += 1
            except StreamError as fault:
                error = fault
        found.append(group[:good])
        number += good
    if error is None:
        error = _fault_behind(data, number, at * 4, frame)
    places_found = np.concatenate(found)
    fields = words[places_found].astype(np.int64)
    return Scan(places_found * 4, fields & 0xFFFF, fields >> 16 & 0xFF, full, error)


def _first_fault(words: NDArray[np.uint32], places: NDArray[np.int64], first: int, frame: Frame) -> int:
    """Index of the first faulty header among these words, none of which belongs to the last block; their number if all
    are correct."""
    fields = words[places].astype(np.int64)
    payload, coding = fields & 0xFFFF, fields >> 16 & 0xFF
    low, high = _limits(frame)
    wrong = (payload < low[coding]) | (payload > high[coding])
    wrong |= fields >> 24 != (first + np.arange(places.size)) & 0xFF
    used = payload % 4
    final = words.take(places + (payload + 3) // 4, mode="clip")
    wrong |= (used != 0) & (final >> 8 * used != 0)
    return int(wrong.argmax()) if wrong.any() else places.size


@cache
def _limits(frame: Frame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Fewest and most payload bytes of a full block by coding field; an empty range for those that are not allowed."""
    low, high = np.ones(256, np.int64), np.zeros(256, np.int64)
    for field in frame.fields:
        if not field & SHORT:
            low[field], high[field] = shortest(field, frame.size), longest(field, frame.size)
    return low, high


def _fault_behind(data: Bytes, number: int, offset: int, frame: Frame) -> StreamError | None:
    """The fault after the last block that was found; None if there is none."""
    if number == frame.blocks:
        if offset >= data.size:
            return None
        return StreamError(Reason.TRAILING_BYTES, offset,
                           f"the end after {number} blocks, found {data.size - offset} more bytes", None,
                           max(number - 1, 0))
    if frame.blocks is None and offset >= data.size:
        return None
    try:
        check_header(data, number, offset, frame)
    except StreamError as fault:
        return fault
    return None
