"""The ZVC line stream: a tag of one bit per element, then the elements that are not zero; 128 raw bytes a line.

Zero means that all bits are zero: -0.0 and every NaN are kept. The coding is lossless whatever the bits mean; a
bfloat16 is an element of two bytes, a float8 of one. See docs/formats.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.golden.codec.buffers import Bytes, as_bytes, check_element_bytes, check_raw_bytes
from cdma.golden.codec.errors import Reason, StreamError
from cdma.golden.codec.layout import LINE_BYTES, TAG_BYTES, LineLayout, line_layout
from cdma.golden.kernels import numpy_kernels

__all__ = ["LINE_BYTES", "TAG_BYTES", "compress", "decompress", "line_packed_bytes", "packed_bytes"]

_COUNT_BYTES = 1 << 19


def compress(raw: Any, element_bytes: int) -> Bytes:
    """The line stream of an array.

    Parameters
    ----------
    raw
        Array of any shape and type, or a buffer; its bytes in C order. A multiple of the element size.
    element_bytes
        1, 2 or 4.

    Returns
    -------
    numpy.ndarray
        The packed bytes, :func:`packed_bytes` of them.

    Raises
    ------
    TypeError, ValueError
        If ``raw`` is no array or buffer or no whole number of elements, or ``element_bytes`` is not allowed.
    """
    data, line = _checked(raw, element_bytes)
    out = np.empty(line.packed_bytes(data.size), np.uint8)
    return out[:compress_into(data, line, out)]


def compress_into(data: Bytes, line: LineLayout, out: Bytes) -> int:
    """Write the line stream of whole elements to the start of ``out``; returns the number of bytes written."""
    full = data.size // LINE_BYTES * LINE_BYTES
    at = numpy_kernels.pack(data[:full], out, line.element_bytes, LINE_BYTES)
    rest = data[full:]
    if rest.size:
        # The missing elements are ones in the tag; their values are cut off.
        padded = np.ones(LINE_BYTES, np.uint8)
        padded[:rest.size] = rest
        packed = np.empty(line.packed_bytes(LINE_BYTES), np.uint8)
        whole = numpy_kernels.pack(padded, packed, line.element_bytes, LINE_BYTES)
        kept = whole - (LINE_BYTES - rest.size)
        out[at:at + kept] = packed[:kept]
        at += kept
    return at


def packed_bytes(raw: Any, element_bytes: int) -> int:
    """Bytes of the line stream of an array, without making it: a tag per line, and the elements that are not zero.

    Parameters, errors: as :func:`compress`.
    """
    data, line = _checked(raw, element_bytes)
    lines = -(-data.size // LINE_BYTES)
    return lines * line.tag_bytes + int(np.count_nonzero(data.view(line.dtype))) * element_bytes


def line_packed_bytes(raw: Any, element_bytes: int) -> NDArray[np.int64]:
    """Packed bytes of every line of an array, tag included; their sum is :func:`packed_bytes`.

    Parameters, errors: as :func:`compress`.
    """
    data, line = _checked(raw, element_bytes)
    sizes = np.empty(-(-data.size // LINE_BYTES), np.int64)
    full = data.size // LINE_BYTES
    for start in range(0, full, _COUNT_BYTES // LINE_BYTES):
        stop = min(start + _COUNT_BYTES // LINE_BYTES, full)
        found = data[start * LINE_BYTES:stop * LINE_BYTES].view(line.dtype) != 0
        ones = np.bitwise_count(np.packbits(found).view(f"<u{min(line.tag_bytes, 8)}"))
        sizes[start:stop] = ones if line.tag_bytes <= 8 else ones[::2] + ones[1::2]
    if full < sizes.size:
        sizes[full] = np.count_nonzero(data[full * LINE_BYTES:].view(line.dtype))
    return sizes * element_bytes + line.tag_bytes


def decompress(packed: Any, element_bytes: int, raw_bytes: int | None = None) -> Bytes:
    """The raw bytes of a line stream.

    Parameters
    ----------
    packed
        Array or buffer: the whole stream.
    element_bytes
        1, 2 or 4, as when it was packed.
    raw_bytes
        Raw length, where it is known; every truncation is then detected. Otherwise it follows from the stream.

    Raises
    ------
    StreamError
        If the stream is malformed: truncated tag, truncated data, trailing bytes; with ``raw_bytes`` also bad tag.
    TypeError, ValueError
        If an argument is not allowed.
    """
    line = line_layout(check_element_bytes(element_bytes))
    data = as_bytes(packed, "packed")
    known = None if raw_bytes is None else check_raw_bytes(raw_bytes, line.element_bytes)
    starts, end = walk(data, line)
    size = _raw_bytes(data, line, starts, end) if known is None else known
    if known is not None:
        _check_known(data, line, starts, end, known)
    out = np.empty(-(-size // LINE_BYTES) * LINE_BYTES, np.uint8)
    tags = starts[:out.size // LINE_BYTES]
    numpy_kernels.expand(_units(data, line), line.element_bytes, tags, tags + line.tag_units, out)
    return out[:size]


def walk(data: Bytes, line: LineLayout) -> tuple[NDArray[np.int64], int]:
    """Where the lines of a stream begin, and where the last one ends if it is whole: in units, see the kernels."""
    units = _units(data, line)
    return numpy_kernels.walk(units, line.element_bytes)


def _checked(raw: Any, element_bytes: int) -> tuple[Bytes, LineLayout]:
    line = line_layout(check_element_bytes(element_bytes))
    data = as_bytes(raw)
    check_raw_bytes(data.size, line.element_bytes, "the length of raw")
    return data, line


def _units(data: Bytes, line: LineLayout) -> NDArray[Any]:
    return data[:data.size // line.element_bytes * line.element_bytes].view(line.dtype)


def _tag(data: Bytes, line: LineLayout, start: int) -> int:
    return int.from_bytes(data[start:start + line.tag_bytes].tobytes(), "little")


def _raw_bytes(data: Bytes, line: LineLayout, starts: NDArray[np.int64], end: int) -> int:
    """Raw length that follows from a stream of which all lines except the last are known to be whole."""
    last = len(starts) - 1
    whole = (last + 1) * LINE_BYTES
    left = data.size - end * line.element_bytes
    if left == 0:
        return whole
    if left > 0:
        raise _truncated_tag(line, data.size - left, left, last + 1)
    start = int(starts[last]) * line.element_bytes
    held = data.size - start - line.tag_bytes
    if held < 0:
        raise _truncated_tag(line, start, held + line.tag_bytes, last)
    tag = _tag(data, line, start)
    there, fraction = divmod(held, line.element_bytes)
    missing = _place_of_one(tag, there)
    if missing == 0 or tag >> missing != (1 << line.elements - missing) - 1:
        raise _truncated_data(line, start, tag.bit_count() * line.element_bytes, held, last)
    if fraction:
        raise StreamError(Reason.TRAILING_BYTES, data.size - fraction,
                          f"elements of {line.element_bytes} bytes, found {fraction} left over", last)
    return last * LINE_BYTES + missing * line.element_bytes


def _place_of_one(tag: int, rank: int) -> int:
    """Place of the one in a tag that has ``rank`` ones below it."""
    for _ in range(rank):
        tag &= tag - 1
    return (tag & -tag).bit_length() - 1


def _check_known(data: Bytes, line: LineLayout, starts: NDArray[np.int64], end: int, raw_bytes: int) -> None:
    """Raise if a stream does not hold exactly this many raw bytes."""
    lines = -(-raw_bytes // LINE_BYTES)
    if len(starts) < lines:
        # The stream ends before the last line begins: its own last line is cut, or all its lines are whole.
        left = data.size - end * line.element_bytes
        if left >= 0:
            raise _truncated_tag(line, data.size - left, left, len(starts))
        elements = line.elements
    elif lines == 0:
        if data.size:
            raise StreamError(Reason.TRAILING_BYTES, 0, f"no bytes, found {data.size}", 0)
        return
    else:
        elements = (raw_bytes - (lines - 1) * LINE_BYTES) // line.element_bytes
    last = min(len(starts), lines) - 1
    start = int(starts[last]) * line.element_bytes
    held = data.size - start - line.tag_bytes
    if held < 0:
        raise _truncated_tag(line, start, held + line.tag_bytes, last)
    tag = _tag(data, line, start)
    if tag >> elements != (1 << line.elements - elements) - 1:
        raise StreamError(Reason.BAD_TAG, start, f"ones in the tag from bit {elements} on, found {tag:#x}", last)
    claimed = (tag & ((1 << elements) - 1)).bit_count() * line.element_bytes
    if held < claimed:
        raise _truncated_data(line, start, claimed, held, last)
    if held > claimed:
        raise StreamError(Reason.TRAILING_BYTES, start + line.tag_bytes + claimed,
                          f"the end after {raw_bytes} raw bytes, found {held - claimed} more bytes", last)


def _truncated_tag(line: LineLayout, offset: int, found: int, number: int) -> StreamError:
    return StreamError(Reason.TRUNCATED_TAG, offset, f"a tag of {line.tag_bytes} bytes, found {found}", number)


def _truncated_data(line: LineLayout, offset: int, claimed: int, found: int, number: int) -> StreamError:
    return StreamError(Reason.TRUNCATED_DATA, offset,
                       f"{claimed} bytes of elements after the tag, found {found}", number)
