"""Payloads with the tags first: the tags of all lines of a block, then the elements that are not zero.

See docs/formats.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cdma.golden.codec.buffers import Bytes
from cdma.golden.codec.errors import Reason, StreamError
from cdma.golden.codec.layout import LINE_BYTES, line_layout
from cdma.golden.kernels import numpy_kernels

__all__ = ["check_data", "check_end", "check_missing", "check_tags", "compress_short", "decompress", "packed_bytes",
           "padded_lines"]


def packed_bytes(blocks: Bytes, element_bytes: int) -> NDArray[np.int64]:
    """Payload bytes of whole blocks, one a row."""
    line = line_layout(element_bytes, blocks.shape[1])
    ones = np.array([np.count_nonzero(block) for block in blocks.view(line.dtype)], np.int64)
    return ones * element_bytes + line.tag_bytes


def compress_short(raw: Bytes, element_bytes: int) -> Bytes:
    """The payload of a short block, behind its raw length."""
    padded = padded_lines(raw)
    line = line_layout(element_bytes, padded.size)
    out = np.empty(line.packed_bytes(padded.size), np.uint8)
    return out[:numpy_kernels.pack(padded, out, element_bytes, padded.size, line_bytes=padded.size)]


def padded_lines(raw: Bytes) -> Bytes:
    """The raw bytes, and zeros for the elements that the last line lacks."""
    padded = np.zeros(-(-raw.size // LINE_BYTES) * LINE_BYTES, np.uint8)
    padded[:raw.size] = raw
    return padded


def decompress(payload: Bytes, element_bytes: int, raw_bytes: int, at: int = 0) -> Bytes:
    """The raw bytes of one block.

    Parameters
    ----------
    payload
        Of the block.
    element_bytes
        1, 2 or 4.
    raw_bytes
        Of the block.
    at
        Bytes of the payload before its tags.

    Raises
    ------
    StreamError
        If it is malformed.
    """
    lines, line = -(-raw_bytes // LINE_BYTES), line_layout(element_bytes)
    check_tags(payload, at + lines * line.tag_bytes)
    tags = payload[at:at + lines * line.tag_bytes].reshape(lines, line.tag_bytes)
    ends = at + lines * line.tag_bytes + np.cumsum(np.bitwise_count(tags).sum(axis=1, dtype=np.int64)) * element_bytes
    # The first line whose data are cut, or the last line.
    last = int((ends > payload.size).argmax()) if ends[-1] > payload.size else lines - 1
    if last == lines - 1:
        check_missing(tags[last], raw_bytes, element_bytes, at + last * line.tag_bytes)
    check_data(payload, int(ends[last - 1]) if last else at + lines * line.tag_bytes, int(ends[last]), last)
    check_end(payload, int(ends[-1]), lines - 1)
    out = np.empty(lines * LINE_BYTES, np.uint8)
    # A copy, so that units are aligned and nothing follows them.
    units = payload[at:at + (payload.size - at) // element_bytes * element_bytes].copy().view(line.dtype)
    numpy_kernels.expand_tags_first(units, element_bytes, np.zeros(1, np.int64), lines, out)
    return out[:raw_bytes]


def check_tags(payload: Bytes, end: int) -> None:
    """Raise if the payload ends before its tags do."""
    if payload.size < end:
        raise StreamError(Reason.TRUNCATED_TAG, payload.size, f"tags to byte {end} of the payload")


def check_missing(tag: Bytes, raw_bytes: int, element_bytes: int, offset: int) -> None:
    """Raise if the tag of the last line has a 1 for an element that a short block lacks."""
    line = (raw_bytes - 1) // LINE_BYTES
    elements = (raw_bytes - line * LINE_BYTES) // element_bytes
    found = int.from_bytes(tag.tobytes(), "little")
    if found >> elements:
        raise StreamError(Reason.BAD_TAG, offset, f"zeros in the tag from bit {elements} on, found {found:#x}", line)


def check_data(payload: Bytes, start: int, end: int, line: int) -> None:
    """Raise if the payload ends before the data of a line do."""
    if payload.size < end:
        raise StreamError(Reason.TRUNCATED_DATA, start,
                          f"{end - start} bytes of elements, found {payload.size - start}", line)


def check_end(payload: Bytes, end: int, line: int) -> None:
    """Raise if the payload goes on after the data of its last line."""
    if payload.size > end:
        raise StreamError(Reason.TRAILING_BYTES, end, f"the end, found {payload.size - end} more bytes", line)
