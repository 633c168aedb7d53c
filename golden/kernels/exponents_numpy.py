"""The inner loops of exponent coding in pure NumPy: blocks of whole lines, from raw bytes to payloads and back.

What line headers say and where everything lies is found for many blocks at once; their elements are handled in smaller
steps, whose arrays stay in the caches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.golden.codec.buffers import Bytes
from cdma.golden.codec.layout import LINE_BYTES, TAG_BYTES
from cdma.golden.kernels import windows
from cdma.golden.kernels.exponent_fields import GROUPS, STEP_LINES, found_fields, read_fields
from cdma.golden.kernels.exponent_words import GROUP_DATA, Groups, packed_groups, raw_elements

__all__ = ["expand_exponents", "pack_exponents"]

Numbers = NDArray[Any]

# The facts of so many raw bytes are handled in one step: calls then take little of the time.
_STEP_BYTES = 1 << 22
_HEADER = 4


def pack_exponents(raw: Bytes, out: Bytes, element_bytes: int, block_bytes: int, limit: int, coding: int
                   ) -> int:
    """Pack blocks, with headers and padding.

    Parameters
    ----------
    raw
        A multiple of ``block_bytes``.
    out
        Receives the stream; large enough for the worst case. What is behind the stream is undefined.
    element_bytes
        2 or 4.
    block_bytes
        Raw bytes of a block, a multiple of a line.
    limit
        A payload of as many bytes or more is not used: the block is left raw.
    coding
        Of the blocks that are not raw.

    Returns
    -------
    int
        Bytes written.
    """
    step = max(1, _STEP_BYTES // block_bytes) * block_bytes
    at = 0
    for start in range(0, raw.size, step):
        at += _pack_some(raw[start:start + step], out[at:], element_bytes, block_bytes, limit, coding,
                         start // block_bytes)
    return at


def _pack_some(raw: Bytes, out: Bytes, size: int, block_bytes: int, limit: int, coding: int, first: int) -> int:
    lines, blocks = block_bytes // LINE_BYTES, raw.size // block_bytes
    words = raw.view(f"<u{size}").reshape(blocks * lines, -1)
    found = found_fields(words, lines)
    groups = Groups.of(found, size)
    starts, data_bytes = _before(groups.data_bytes, blocks)
    given, narrowed, tagged = (flags.reshape(blocks, lines).sum(axis=1)
                               for flags in (found.based, found.widths, found.tagged))
    facts = lines + given + narrowed
    tags_at = facts + -facts % 4
    data_at = tags_at + tagged * TAG_BYTES[size]
    payload = data_at + data_bytes
    as_is = payload >= limit
    payload[as_is] = block_bytes
    length = payload + -payload % 4
    ends = np.cumsum(length + _HEADER)
    at = ends - length
    total = int(ends[-1])
    target = out if total + GROUP_DATA <= out.size else np.empty(total + GROUP_DATA, np.uint8)
    coded = np.repeat(~as_is, lines)
    if coded.any():
        starts += np.repeat(at + data_at, lines * GROUPS)
        for some in _steps(coded.size):
            some_groups = slice(some.start * GROUPS, some.stop * GROUPS)
            rows = packed_groups(words[some], found, groups, some)
            if coded[some].all():
                windows.write(target, starts[some_groups], rows)
            else:
                which = np.repeat(coded[some], GROUPS)
                windows.write(target, starts[some_groups][which], rows[which])
        # From here on, no byte is written that does not stay.
        some_blocks = (~as_is).nonzero()[0]
        windows.write(target, (at + tags_at - 4)[some_blocks], np.zeros((some_blocks.size, 4), np.uint8))
        windows.write(target, at[some_blocks], found.headers.reshape(blocks, lines)[some_blocks])
        _write_some(target, at + lines, found.base, found.based & coded)
        _write_some(target, at + lines + given, found.less, found.widths & coded)
        _write_some(target, at + tags_at, found.tags, found.tagged & coded)
    if as_is.any():
        windows.write(target, at[as_is], raw.reshape(blocks, -1)[as_is])
    sequence = first + np.arange(blocks) & 0xFF
    header = payload | np.where(as_is, 0, coding) << 16 | sequence << 24
    windows.write(target, at - _HEADER, header.astype("<u4")[:, None])
    for byte in range(3):
        target[(at + payload + byte)[length - payload > byte]] = 0
    if target is not out:
        out[:total] = target[:total]
    return total


def _steps(lines: int) -> Iterator[slice]:
    return (slice(line, line + STEP_LINES) for line in range(0, lines, STEP_LINES))


def _write_some(out: Bytes, at: NDArray[np.int64], values: Numbers, which: Numbers) -> None:
    """Write the values of some lines of each block back to back, from the block's place on."""
    counts = which.reshape(at.size, -1).sum(axis=1)
    places = windows.runs(at, counts, values.itemsize)
    chosen = values.take(which.nonzero()[0])
    if values.itemsize == 1:
        out[places] = chosen
    else:
        windows.write(out, places, chosen[:, None])


def _before(lengths: Numbers, blocks: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The bytes in front of each group of its block, and those of each block."""
    rows = lengths.reshape(blocks, -1)
    ends = rows.astype(np.int64).cumsum(axis=1)
    totals = ends[:, -1].copy()
    ends -= rows
    return ends.reshape(-1), totals


def expand_exponents(stream: Bytes, element_bytes: int, first: NDArray[np.int64], lines: int, out: Bytes
                     ) -> NDArray[np.int64]:
    """Expand blocks of whole lines.

    Parameters
    ----------
    stream
        The stream.
    element_bytes
        2 or 4.
    first
        Bytes before the line headers of each block.
    lines
        Lines of every block.
    out
        Receives the blocks, back to back. The content of malformed blocks is undefined.

    Returns
    -------
    numpy.ndarray
        Bytes before the end of each block, according to its facts and tags; -1 where these are malformed.
    """
    size = lines * LINE_BYTES
    ends = np.empty(first.size, np.int64)
    raw = out.view(f"<u{element_bytes}").reshape(first.size, lines * LINE_BYTES // element_bytes)
    # Windows may begin so many bytes before the data of a block, which begins behind the line headers.
    before = max(0, GROUP_DATA // element_bytes - lines)
    for some, content, places in windows.spans(stream, first, before, 2 * size, max(1, _STEP_BYTES // size)):
        found, wrong = _expand_some(content, element_bytes, places, lines, raw[some].reshape(-1))
        ends[some] = np.where(wrong, -1, found + first[some] - places)
    return ends


def _expand_some(stream: Bytes, size: int, first: NDArray[np.int64], lines: int, out: Numbers
                 ) -> tuple[NDArray[np.int64], Numbers]:
    """The end of each block, and which ones are malformed."""
    found, data, wrong = read_fields(stream, size, first, lines)
    groups = Groups.of(found, size)
    starts, data_bytes = _before(groups.data_bytes, first.size)
    starts += np.repeat(data, lines * GROUPS)
    elements = LINE_BYTES // size
    for some in _steps(first.size * lines):
        raw_elements(stream, starts[some.start * GROUPS:some.stop * GROUPS], found, groups, some,
                     out[some.start * elements:some.stop * elements])
    return data + data_bytes, wrong
