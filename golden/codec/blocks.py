"""The block stream: blocks of raw bytes, each a header of 4 bytes and a payload, coded or raw. See docs/formats.md.

Decoding reports the first fault in the order of the stream. In each block it checks the header (coding, sequence,
length), then that payload and padding are complete, then the padding, then the lines. The CRC is checked last.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.golden.c import library
from cdma.golden.codec import exponents, tags_first
from cdma.golden.codec import lines as zvc
from cdma.golden.codec.buffers import Bytes, as_bytes, check_raw_bytes, whole_number
from cdma.golden.codec.coding import SHORT, WORD_BYTES, Coding, check_coding, choose, left_raw_from, longest
from cdma.golden.codec.crc32c import crc32c
from cdma.golden.codec.errors import Reason, StreamError
from cdma.golden.codec.headers import HEADER_BYTES, LARGEST_BLOCK, Block, Frame, Scan, check_header, pack_headers, scan
from cdma.golden.codec.layout import LINE_BYTES, line_layout
from cdma.golden.kernels import exponents_numpy, numpy_kernels

__all__ = [
    "BLOCK_BYTES",
    "HEADER_BYTES",
    "Block",
    "check_block_bytes",
    "compress",
    "decompress",
    "headers",
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


def compress(raw: Any, coding: int, block_bytes: int = BLOCK_BYTES, fallback: bool = True,
             leave_raw: bool = False) -> Bytes:
    """The block stream of an array.

    Parameters
    ----------
    raw
        Array of any shape and type, or a buffer; its bytes in C order. A multiple of the coding's element.
    coding
        Of the blocks: a :class:`~cdma.golden.codec.coding.Coding` other than raw, or its number.
    block_bytes
        Raw bytes of a block: 512 to 32768, a multiple of 128.
    fallback
        Leave a block raw if its coding would not make it shorter.
    leave_raw
        Leave every block raw.

    Returns
    -------
    numpy.ndarray
        The bytes of the stream; its CRC is :func:`cdma.golden.codec.crc32c.crc32c` of them.

    Raises
    ------
    TypeError, ValueError
        If an argument is not allowed; the message says which values are.
    """
    wanted = check_coding(coding)
    size = check_block_bytes(block_bytes)
    data = as_bytes(raw)
    check_raw_bytes(data.size, wanted.element_bytes, "the length of raw")
    if library.available():
        return library.compress(data, Coding.RAW if leave_raw else wanted, size, fallback)
    full = data.size // size
    out = np.empty((full + 1) * (HEADER_BYTES + max(size, longest(wanted | SHORT * wanted.sized, size)) + 3), np.uint8)
    at = _pack_full(data[:full * size].reshape(full, size), wanted, fallback, leave_raw, out)
    rest = data[full * size:]
    if rest.size:
        payload, field = _short_payload(rest, wanted)
        if payload.size >= left_raw_from(rest.size, fallback, leave_raw):
            payload, field = rest, int(Coding.RAW)
        out[at:at + HEADER_BYTES] = pack_headers(np.array([payload.size]), np.array([field]), full).view(np.uint8)
        at += HEADER_BYTES
        out[at:at + payload.size] = payload
        at += payload.size
        out[at:at + -at % 4] = 0
        at += -at % 4
    return out[:at]


def _pack_full(blocks: Bytes, coding: Coding, fallback: bool, leave_raw: bool, out: Bytes) -> int:
    """Write blocks of ``block_bytes`` each to ``out``; returns the number of bytes written."""
    size, element = blocks.shape[1], coding.element_bytes
    if coding.exponents:
        return exponents_numpy.pack_exponents(blocks.reshape(-1), out, element, size,
                                              left_raw_from(size, fallback, leave_raw), coding)
    if coding.tags_first:
        sizes, tagged = tags_first.packed_bytes(blocks, element), size
    else:
        sizes = zvc.line_packed_bytes(blocks.reshape(-1), element).reshape(-1, size // LINE_BYTES).sum(axis=1)
        tagged = LINE_BYTES
    codings = choose(sizes, size, coding, fallback, leave_raw)
    return numpy_kernels.pack(blocks.reshape(-1), out, element, size,
                              pack_headers(np.where(codings == Coding.RAW, size, sizes), codings, 0), tagged)


def _short_payload(raw: Bytes, coding: Coding) -> tuple[Bytes, int]:
    """The payload of a block of fewer than ``block_bytes``, and its coding field."""
    if not coding.sized:
        line = line_layout(coding.element_bytes)
        payload = np.empty(line.packed_bytes(raw.size) + LINE_BYTES, np.uint8)
        return payload[:zvc.compress_into(raw, line, payload)], coding
    compressed = exponents.compress_short if coding.exponents else tags_first.compress_short
    word = np.frombuffer(raw.size.to_bytes(WORD_BYTES, "little"), np.uint8)
    return np.concatenate([word, compressed(raw, coding.element_bytes)]), coding | SHORT


def decompress(stream: Any, block_bytes: int = BLOCK_BYTES, raw_bytes: int | None = None, crc: int | None = None,
               coding: int | None = None) -> Bytes:
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
    coding
        That every block must have, except raw blocks.

    Raises
    ------
    StreamError
        If the stream is malformed, with reason, byte, block and line.
    TypeError, ValueError
        If an argument is not allowed.
    """
    frame = _frame(block_bytes, raw_bytes, coding)
    if crc is not None and whole_number(crc, "crc") > 0xFFFF_FFFF:
        raise ValueError(f"crc must be a CRC of 32 bits, not {crc:#x}")
    data = as_bytes(stream, "stream")
    found = scan(data, frame)
    size = frame.size
    out = np.empty(found.offset.size * size, np.uint8)
    total = None
    if found.error is None and library.available():
        total = library.expand(data, size, frame.raw_bytes, frame.coding, out)
    if total is None:       # in NumPy, which says what is wrong with a malformed stream
        total = _expand_all(data, found, frame, out)
    if crc is not None and (actual := crc32c(data)) != crc:
        raise StreamError(Reason.CRC_MISMATCH, data.size, f"CRC-32C {crc:08x}, found {actual:08x}")
    return out[:total]


def _expand_all(data: Bytes, found: Scan, frame: Frame, out: Bytes) -> int:
    """Expand all blocks; returns the raw bytes."""
    size = frame.size
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
    return total


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


def _frame(block_bytes: Any, raw_bytes: Any = None, coding: Any = None) -> Frame:
    wanted = None if coding is None else check_coding(coding)
    known = None if raw_bytes is None else check_raw_bytes(raw_bytes, 1 if wanted is None else wanted.element_bytes)
    return Frame(check_block_bytes(block_bytes), known, wanted)


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
    for value in map(Coding, np.unique(coding).tolist()):
        which = (coding == value).nonzero()[0]
        target = rows if which.size == rows.shape[0] else np.empty((which.size, size), np.uint8)
        if value is Coding.RAW:
            places = first[which, None] // 4 + np.arange(size // 4)
            part.view("<u4").take(places, out=target.view("<u4"), mode="clip")
        else:
            ends = _expand_payloads(part, value, first[which], size // LINE_BYTES, target.reshape(-1))
            wrong = (ends != first[which] + payload[which]).nonzero()[0]
            faults += which[wrong[:1]].tolist()
        if target is not rows:
            rows[which] = target
    if faults:
        # Expanded alone, to find what is wrong and where.
        number = span.start + min(faults)
        rows[min(faults)] = _expand(data, found.block(number), frame, ends=False)


def _expand_payloads(part: Bytes, coding: Coding, first: NDArray[np.int64], lines: int, out: Bytes
                     ) -> NDArray[np.int64]:
    """Expand the payloads at these bytes of a part of a stream; returns where each ends."""
    element = coding.element_bytes
    if coding.exponents:
        return exponents_numpy.expand_exponents(part, element, first, lines, out)
    expand = numpy_kernels.expand_tags_first if coding.tags_first else numpy_kernels.expand_blocks
    units = part[:part.size // element * element].view(line_layout(element).dtype)
    return expand(units, element, first // element, lines, out) * element


def _expand(data: Bytes, block: Block, frame: Frame, ends: bool = True) -> Bytes:
    """The raw bytes of one block; ``ends`` says that the stream ends with it."""
    payload = data[block.payload_offset:block.payload_offset + block.payload_bytes]
    if block.coding is Coding.RAW:
        return payload
    least, most = frame.raw_range(block, ends)
    try:
        if block.coding.sized:
            return _expand_sized(payload, block, least, most)
        if least == most:
            return zvc.decompress(payload, block.coding.element_bytes, most)
        return _expand_last(payload, block.coding.element_bytes, most)
    except StreamError as fault:
        raise fault.moved(block.payload_offset, block.number) from None


def _expand_sized(payload: Bytes, block: Block, least: int, most: int) -> Bytes:
    """The raw bytes of a block that is whole, or says how many it has."""
    element, at, raw_bytes = block.coding.element_bytes, 0, most
    if block.short:
        at, raw_bytes = WORD_BYTES, int.from_bytes(payload[:WORD_BYTES].tobytes(), "little")
        if not least <= raw_bytes <= most or raw_bytes % element:
            lengths = f"{most}" if least == most else f"{element} to {most} in whole elements of {element}"
            raise StreamError(Reason.BAD_LENGTH, 0, f"a raw length of {lengths}, found {raw_bytes}")
    family = exponents if block.coding.exponents else tags_first
    return family.decompress(payload, element, raw_bytes, at)


def _expand_last(payload: Bytes, element_bytes: int, most: int) -> Bytes:
    """The raw bytes of a block of at most ``most`` raw bytes; ``most`` is a whole number of lines."""
    starts, end = zvc.walk(payload, line_layout(element_bytes))
    lines = most // LINE_BYTES
    # Less than an element begins no line, but is left over all the same.
    offset = int(starts[lines] if starts.size > lines else end) * element_bytes
    if starts.size >= lines and offset < payload.size:
        raise StreamError(Reason.TRAILING_BYTES, offset,
                          f"the end after {most} raw bytes, found {payload.size - offset} more bytes", lines - 1)
    return zvc.decompress(payload, element_bytes)
