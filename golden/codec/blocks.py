"""The block stream: blocks of raw bytes, each a header of 4 bytes and a payload, coded or raw. See docs/formats.md.

Decoding reports the first fault in the order of the stream. In each block it checks the header (coding, sequence,
length), then that payload and padding are complete, then the padding, then the lines. The CRC is checked last.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from golden.codec import lines as zvc
from golden.codec.buffers import Bytes, as_bytes, check_element_bytes, check_raw_bytes, whole_number
from golden.codec.coding import RAW, choose
from golden.codec.crc32c import crc32c
from golden.codec.errors import Reason, StreamError
from golden.codec.headers import HEADER_BYTES, LARGEST_BLOCK, Block, Frame, Scan, check_header, pack_headers, scan
from golden.codec.layout import LINE_BYTES, line_layout
from golden.kernels.choice import kernels

__all__ = [
    "BLOCK_BYTES",
    "HEADER_BYTES",
    "Block",
    "check_block_bytes",
    "compress",
    "decompress",
    "headers",
    "read_block",
]

BLOCK_BYTES = 4096
"""Raw bytes of a block unless said otherwise."""

_SMALLEST = 512

# Raw bytes that are expanded in one step.
_GROUP_BYTES = 1 << 22


def check_block_bytes(block_bytes: Any) -> int:
    """The block size, if it is allowed: 512 to 32768, whole lines; TypeError or ValueError otherwise."""
    number = whole_number(block_bytes, "block_bytes")
    if not _SMALLEST <= number <= LARGEST_BLOCK or number % LINE_BYTES:
        raise ValueError(f"block_bytes must be {_SMALLEST} to {LARGEST_BLOCK} and a multiple of {LINE_BYTES}, "
                         f"not {number}")
    return number


def compress(raw: Any, element_bytes: int, block_bytes: int = BLOCK_BYTES, fallback: bool = True,
             leave_raw: bool = False) -> Bytes:
    """The block stream of an array.

    Parameters
    ----------
    raw
        Array of any shape and type, or a buffer; its bytes in C order. A multiple of the element size.
    element_bytes
        1, 2 or 4.
    block_bytes
        Raw bytes of a block: 512 to 32768, a multiple of 128.
    fallback
        Leave a block raw if zero-value coding would not make it shorter.
    leave_raw
        Leave every block raw.

    Returns
    -------
    numpy.ndarray
        The bytes of the stream; its CRC is :func:`golden.codec.crc32c.crc32c` of them.

    Raises
    ------
    TypeError, ValueError
        If an argument is not allowed; the message says which values are.
    """
    line = line_layout(check_element_bytes(element_bytes))
    size = check_block_bytes(block_bytes)
    data = as_bytes(raw)
    check_raw_bytes(data.size, line.element_bytes, "the length of raw")
    full = data.size // size
    sizes = zvc.line_packed_bytes(data[:full * size], line.element_bytes).reshape(full, size // LINE_BYTES).sum(axis=1)
    codings = choose(sizes, size, line.element_bytes, fallback, leave_raw)
    out = np.empty((full + 1) * (HEADER_BYTES + line.packed_bytes(size) + 3), np.uint8)
    at = kernels(data.size).pack(data[:full * size], out, line.element_bytes, size,
                                 pack_headers(np.where(codings == RAW, size, sizes), codings, 0))
    rest = data[full * size:]
    if rest.size:
        payload = np.empty(line.packed_bytes(rest.size) + LINE_BYTES, np.uint8)
        payload = payload[:zvc.compress_into(rest, line, payload)]
        coding = choose(np.array([payload.size]), rest.size, line.element_bytes, fallback, leave_raw)
        payload = rest if coding[0] == RAW else payload
        out[at:at + HEADER_BYTES] = pack_headers(np.array([payload.size]), coding, full).view(np.uint8)
        at += HEADER_BYTES
        out[at:at + payload.size] = payload
        at += payload.size
        out[at:at + -at % 4] = 0
        at += -at % 4
    return out[:at]


def decompress(stream: Any, block_bytes: int = BLOCK_BYTES, raw_bytes: int | None = None, crc: int | None = None,
               element_bytes: int | None = None) -> Bytes:
    """The raw bytes of a block stream.

    Parameters
    ----------
    stream
        Array or buffer: the whole stream.
    block_bytes
        Raw bytes of a block, as when it was packed.
    raw_bytes
        Raw length, where it is known; a lost last block is then detected too.
    crc
        CRC-32C that the stream must have.
    element_bytes
        Element size that every block must have, except raw blocks.

    Raises
    ------
    StreamError
        If the stream is malformed, with reason, byte, block and line.
    TypeError, ValueError
        If an argument is not allowed.
    """
    frame = _frame(block_bytes, raw_bytes, element_bytes)
    if crc is not None and whole_number(crc, "crc") > 0xFFFF_FFFF:
        raise ValueError(f"crc must be a CRC of 32 bits, not {crc:#x}")
    data = as_bytes(stream, "stream")
    found = scan(data, frame)
    size = frame.size
    out = np.empty(found.offset.size * size, np.uint8)
    group = max(1, _GROUP_BYTES // size)
    for first in range(0, found.full, group):
        _expand_full(data, found, slice(first, min(first + group, found.full)), frame, out)
    total = found.full * size
    if found.full < found.offset.size:
        last = _expand(data, found.block(found.full), frame)
        out[total:total + last.size] = last
        total += last.size
    if found.error is not None:
        raise found.error
    if crc is not None and (actual := crc32c(data)) != crc:
        raise StreamError(Reason.CRC_MISMATCH, data.size, f"CRC-32C {crc:08x}, found {actual:08x}")
    return out[:total]


def headers(stream: Any, block_bytes: int | None = None) -> Iterator[Block]:
    """The blocks of a stream, from header to header; payloads are not expanded.

    Parameters
    ----------
    stream
        Array or buffer: the whole stream.
    block_bytes
        Raw bytes of a block, where they are known: then lengths are checked as :func:`decompress` does.

    Raises
    ------
    StreamError
        When the iteration reaches a wrong header, length or padding.
    TypeError, ValueError
        If an argument is not allowed.
    """
    data = as_bytes(stream, "stream")
    frame = Frame(None if block_bytes is None else check_block_bytes(block_bytes))
    return _hop(data, frame)


def _hop(data: Bytes, frame: Frame) -> Iterator[Block]:
    number = offset = 0
    while offset < data.size:
        block = check_header(data, number, offset, frame)
        yield block
        number, offset = number + 1, block.end


def read_block(stream: Any, number: int, block_bytes: int = BLOCK_BYTES) -> Bytes:
    """The raw bytes of one block; of the blocks before it, only the headers are read.

    Raises
    ------
    StreamError
        If a header up to it, or the block itself, is malformed.
    TypeError, ValueError
        If an argument is not allowed, or there is no such block.
    """
    frame = _frame(block_bytes)
    wanted = whole_number(number, "number")
    data = as_bytes(stream, "stream")
    found = scan(data, frame, wanted + 1)
    if found.offset.size <= wanted:
        if found.error is not None:
            raise found.error
        raise ValueError(f"number must be that of a block of the stream, which has {found.offset.size}, not {wanted}")
    return _expand(data, found.block(wanted), frame, ends=found.full <= wanted).copy()


def _frame(block_bytes: Any, raw_bytes: Any = None, element_bytes: Any = None) -> Frame:
    element = None if element_bytes is None else check_element_bytes(element_bytes)
    known = None if raw_bytes is None else check_raw_bytes(raw_bytes, element or 1)
    return Frame(check_block_bytes(block_bytes), known, element)


def _expand_full(data: Bytes, found: Scan, span: slice, frame: Frame, out: Bytes) -> None:
    """Expand blocks of exactly ``block_bytes`` each to their places in ``out``."""
    size = frame.size
    offset, payload, coding = found.offset[span], found.payload[span], found.coding[span]
    rows = out[span.start * size:span.stop * size].reshape(-1, size)
    faults: list[int] = []
    # Only the part of the stream that holds these blocks is read.
    base = int(offset[0])
    part = data[base:int(offset[-1] + payload[-1]) + HEADER_BYTES + 3 & ~3]
    first = offset - base + HEADER_BYTES
    for value in np.unique(coding).tolist():
        which = (coding == value).nonzero()[0]
        target = rows if which.size == rows.shape[0] else np.empty((which.size, size), np.uint8)
        if value == RAW:
            places = first[which, None] // 4 + np.arange(size // 4)
            part.view("<u4").take(places, out=target.view("<u4"), mode="clip")
        else:
            line = line_layout(value)
            units = part[:part.size // value * value].view(line.dtype)
            ends = kernels(data.size).expand_blocks(units, value, first[which] // value, size // LINE_BYTES,
                                                    target.reshape(-1))
            wrong = (ends * value != first[which] + payload[which]).nonzero()[0]
            faults += which[wrong[:1]].tolist()
        if target is not rows:
            rows[which] = target
    if faults:
        # Expanded alone, to find what is wrong and where.
        number = span.start + min(faults)
        rows[min(faults)] = _expand(data, found.block(number), frame, ends=False)


def _expand(data: Bytes, block: Block, frame: Frame, ends: bool = True) -> Bytes:
    """The raw bytes of one block; ``ends`` says that the stream ends with it."""
    payload = data[block.payload_offset:block.payload_offset + block.payload_bytes]
    if block.coding == RAW:
        return payload
    least, most = frame.raw_range(block.number, ends)
    try:
        if least == most:
            return zvc.decompress(payload, block.coding, most)
        return _expand_last(payload, block.coding, most)
    except StreamError as fault:
        raise fault.moved(block.payload_offset, block.number) from None


def _expand_last(payload: Bytes, element_bytes: int, most: int) -> Bytes:
    """The raw bytes of a block of at most ``most`` raw bytes; ``most`` is a whole number of lines."""
    starts, _ = zvc.walk(payload, line_layout(element_bytes))
    lines = most // LINE_BYTES
    if starts.size > lines:
        offset = int(starts[lines]) * element_bytes
        raise StreamError(Reason.TRAILING_BYTES, offset,
                          f"the end after {most} raw bytes, found {payload.size - offset} more bytes", lines - 1)
    return zvc.decompress(payload, element_bytes)
