"""The inner loops of both streams in pure NumPy: no Python loop touches a single element or packs a single line.

Packing writes tags and all elements (and, for blocks, headers and padding) into one array, with a mask of what the
stream keeps, and then copies the kept units in one step. Expanding computes, for every element of the output, the unit
of the stream that it would come from, copies these units, and multiplies each by its bit of the tag.

All functions work on *units*; a unit has as many bytes as an element.
"""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.golden.codec.buffers import Bytes
from cdma.golden.codec.layout import LINE_BYTES, LineLayout, line_layout

__all__ = ["expand", "expand_blocks", "expand_tags_first", "pack", "walk"]

Units = NDArray[Any]
Positions = NDArray[np.int64]

# Fits the second-level cache together with all intermediate arrays.
_PACK_UNITS = 1 << 18
_EXPAND_UNITS = 1 << 17

_BYTE_ONES = np.uint64(0x0101_0101_0101_0101)


def pack(raw: Bytes, out: Bytes, element_bytes: int, row_bytes: int, headers: NDArray[np.uint32] | None = None,
         line_bytes: int = LINE_BYTES) -> int:
    """Pack whole rows of whole lines.

    Parameters
    ----------
    raw
        A multiple of ``row_bytes``.
    out
        Receives the stream; large enough for the worst case.
    element_bytes
        1, 2 or 4.
    row_bytes
        Raw bytes of a line; of a block when there are headers.
    headers
        Header of each block, written in front of it, with the coding and the payload bytes that result.
    line_bytes
        Raw bytes behind a tag: those of a line, or of a block whose tags come first.

    Returns
    -------
    int
        Bytes written.
    """
    line = line_layout(element_bytes, line_bytes)
    rows, lines = raw.size // row_bytes, row_bytes // line_bytes
    source = raw.view(line.dtype).reshape(rows, lines, line.elements)
    target = out[:out.size // element_bytes * element_bytes].view(line.dtype)
    head = 0 if headers is None else 4 // element_bytes
    tail = max(head - 1, 0)
    line_units = line.tag_units + line.elements
    width = head + lines * line_units + tail
    step = max(1, min(_PACK_UNITS // width, rows))
    stage = np.zeros((step, width), line.dtype)
    stays = np.ones((step, width), np.bool_)
    body = stage[:, head:width - tail].reshape(step, lines, line_units)
    body_stays = stays[:, head:width - tail].reshape(step, lines, line_units)
    nonzero = np.empty((step, lines, line.elements), np.bool_)
    at = 0
    for start in range(0, rows, step):
        part = source[start:start + step]
        count = len(part)
        as_is = np.zeros(0, np.int64)
        if headers is not None:
            some = headers[start:start + step]
            as_is = ((some >> 16 & 0xFF) == 0).nonzero()[0]
            some_units = some.view(line.dtype).reshape(count, head)
            if as_is.size == count:
                rows_out = target[at:at + count * (head + row_bytes // element_bytes)].reshape(count, -1)
                rows_out[:, :head] = some_units
                rows_out[:, head:] = part.reshape(count, -1)
                at += rows_out.size
                continue
            stage[:count, :head] = some_units
            padding = (-(some & 0xFFFF).astype(np.int64) % 4) // element_bytes
            stays[:count, width - tail:] = np.arange(tail) < padding[:, None]
        np.not_equal(part, 0, out=nonzero[:count])
        tags = np.packbits(nonzero[:count], bitorder="little")
        body[:count, :, :line.tag_units] = tags.view(line.dtype).reshape(count, lines, line.tag_units)
        body[:count, :, line.tag_units:] = part
        body_stays[:count, :, line.tag_units:] = nonzero[:count]
        body_stays[as_is] = True
        body_stays[as_is, :, :line.tag_units] = False
        index = stays[:count].reshape(-1).nonzero()[0]
        body_stays[as_is, :, :line.tag_units] = True
        stage.reshape(-1).take(index, out=target[at:at + index.size], mode="clip")
        at += index.size
    return at * element_bytes


def walk(units: Units, element_bytes: int) -> tuple[Positions, int]:
    """Where the lines of a stream begin.

    The place of a tag follows from the tag before it, so the walk is sequential; the lengths of all possible steps are
    computed in advance, for all places at once.

    Returns
    -------
    tuple
        Units before each tag, and units before the tag that would come after them. The last tag or its elements may
        reach beyond the end.
    """
    found = array("q")
    append = found.append
    steps = _steps(units, line_layout(element_bytes)).tobytes()
    at, end = 0, units.size
    while at < end:
        append(at)
        at += steps[at]
    return np.frombuffer(found, np.int64) if found else np.zeros(0, np.int64), at


def expand_blocks(units: Units, element_bytes: int, first: Positions, lines: int, out: Bytes) -> Positions:
    """Expand blocks of whole lines, given the place of each block's first tag.

    Parameters
    ----------
    units
        The stream.
    element_bytes
        1, 2 or 4.
    first
        Units before the first tag of each block.
    lines
        Lines of every block.
    out
        Receives the blocks, back to back. The content of malformed blocks is undefined.

    Returns
    -------
    numpy.ndarray
        Units before the end of each block, according to its tags.
    """
    # Steps continue beyond the end of the stream, so that a truncated block does not seem to end there.
    steps = np.append(_steps(units, line_layout(element_bytes)), np.uint8(1))
    # One line of every block at a time.
    positions = np.empty((lines + 1, first.size), np.int64)
    positions[0] = first
    for number in range(lines):
        np.add(positions[number], steps.take(positions[number], mode="clip"), out=positions[number + 1])
    tags = positions[:-1].T.reshape(-1)
    expand(units, element_bytes, tags, tags + line_layout(element_bytes).tag_units, out)
    return positions[-1]


def expand_tags_first(units: Units, element_bytes: int, first: Positions, lines: int, out: Bytes) -> Positions:
    """Expand blocks of whole lines whose tags come first; parameters and result as :func:`expand_blocks` has them."""
    line = line_layout(element_bytes)
    tags = first[:, None] + np.arange(lines) * line.tag_units
    ones = np.bitwise_count(units.take(tags[:, :, None] + np.arange(line.tag_units), mode="clip")).sum(axis=2)
    starts = np.empty((first.size, lines + 1), np.int64)
    starts[:, 0] = first + lines * line.tag_units
    starts[:, 1:] = ones
    starts.cumsum(axis=1, out=starts)
    expand(units, element_bytes, tags.reshape(-1), starts[:, :-1].reshape(-1), out)
    return starts[:, -1]


def _steps(units: Units, line: LineLayout) -> NDArray[np.uint8]:
    """Units from each place to the next tag, if a tag began at that place."""
    ones = np.zeros(units.size + line.tag_units, np.uint8)
    np.bitwise_count(units, out=ones[:units.size])
    span = 1
    while span < line.tag_units:
        ones[:-span] += ones[span:]
        span *= 2
    ones += np.uint8(line.tag_units)
    return ones[:units.size]


def expand(units: Units, element_bytes: int, tags: Positions, starts: Positions, out: Bytes) -> None:
    """Expand lines.

    Parameters
    ----------
    units
        The stream.
    element_bytes
        1, 2 or 4.
    tags
        Units before the tag of each line.
    starts
        Units before its elements. Elements beyond the end of the stream are undefined.
    out
        Receives a line for each tag.
    """
    line = line_layout(element_bytes)
    target = out.view(line.dtype).reshape(-1, line.elements)
    groups = line.elements // 8
    step = max(1, min(_EXPAND_UNITS // line.elements, starts.size))
    source = np.empty((step, line.elements), np.int64)
    tag_places = np.arange(line.tag_units)
    for start in range(0, starts.size, step):
        some = units.take(tags[start:start + step, None] + tag_places, mode="clip").view(np.uint8)
        count = len(some)
        bits = np.unpackbits(some.reshape(-1), bitorder="little")
        ranks = bits.view(np.uint64).reshape(count, groups) * _BYTE_ONES
        ranks += _elements_before(some) * _BYTE_ONES
        np.add(ranks.view(np.uint8), starts[start:start + step, None] - 1, out=source[:count])
        part = target[start:start + step]
        units.take(source[:count], out=part, mode="clip")
        part *= bits.astype(line.dtype, copy=False).reshape(part.shape)


def _elements_before(tags: Bytes) -> Bytes:
    """Elements in the groups of eight before each group of its line.

    A word of bytes multiplied by a word whose bytes are all 1 has the running sums of the bytes; none exceeds 128 here.
    """
    counts = np.bitwise_count(tags)
    if tags.shape[1] == 4:
        sums = counts.view(np.uint32) * np.uint32(_BYTE_ONES & np.uint64(0xFFFF_FFFF))
    else:
        sums = counts.view(np.uint64) * _BYTE_ONES
        if tags.shape[1] == 16:
            sums[:, 1] += (sums[:, 0] >> np.uint64(56)) * _BYTE_ONES
    return sums.view(np.uint8) - counts
