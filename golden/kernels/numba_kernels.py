"""The inner loops of both streams, compiled by Numba: same functions and results as
:mod:`golden.kernels.numpy_kernels`.

Plain loops over elements, two to five times as fast. The first call takes seconds to compile; the result is cached on
disk. Import this module only where Numba is installed: :mod:`golden.kernels.choice` checks that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.codec.buffers import Bytes
from golden.codec.layout import LINE_BYTES, line_layout
from golden.kernels.compiled import compiled

__all__ = ["expand", "expand_blocks", "expand_tags_first", "pack", "walk"]

Units = NDArray[Any]
Positions = NDArray[np.int64]

# Ones of every byte.
_ONES = np.array([byte.bit_count() for byte in range(256)], np.uint64)


def pack(raw: Bytes, out: Bytes, element_bytes: int, row_bytes: int, headers: NDArray[np.uint32] | None = None,
         line_bytes: int = LINE_BYTES) -> int:
    """Pack whole rows of whole lines; see :func:`golden.kernels.numpy_kernels.pack`."""
    line = line_layout(element_bytes, line_bytes)
    target = out[:out.size // element_bytes * element_bytes]
    framed = headers is not None
    return int(_pack(raw.view(line.dtype), target.view(line.dtype), target, row_bytes // line_bytes, element_bytes,
                     line.tag_bytes, headers if framed else np.zeros(0, np.uint32), framed))


def walk(units: Units, element_bytes: int) -> tuple[Positions, int]:
    """Where the lines of a stream begin; see :func:`golden.kernels.numpy_kernels.walk`."""
    starts, end = _walk(units.view(np.uint8), element_bytes, line_layout(element_bytes).tag_bytes)
    return starts, int(end)


def expand(units: Units, element_bytes: int, tags: Positions, starts: Positions, out: Bytes) -> None:
    """Expand lines; see :func:`golden.kernels.numpy_kernels.expand`."""
    line = line_layout(element_bytes)
    _expand(units, units.view(np.uint8), tags, starts, out.view(line.dtype), line.tag_bytes)


def expand_blocks(units: Units, element_bytes: int, first: Positions, lines: int, out: Bytes) -> Positions:
    """Expand blocks of whole lines; see :func:`golden.kernels.numpy_kernels.expand_blocks`."""
    line = line_layout(element_bytes)
    return _expand_blocks(units, units.view(np.uint8), first, lines, out.view(line.dtype), line.tag_bytes)


def expand_tags_first(units: Units, element_bytes: int, first: Positions, lines: int, out: Bytes) -> Positions:
    """Expand blocks whose tags come first; see :func:`golden.kernels.numpy_kernels.expand_tags_first`."""
    line = line_layout(element_bytes)
    return _expand_tags_first(units, units.view(np.uint8), first, lines, out.view(line.dtype), line.tag_bytes)


# All indices are unsigned: a signed index may be negative, and the check for that halves the speed.
_0, _1, _8 = np.uint64(0), np.uint64(1), np.uint64(8)


@compiled
def _pack(source, target, target_bytes, lines, element_bytes, tag_bytes, headers, framed):
    element_bytes = np.uint64(element_bytes)
    tag_units = np.uint64(tag_bytes) // element_bytes
    row_elements = np.uint64(lines * tag_bytes * 8)
    first = at = _0
    for row in range(np.uint64(source.size) // row_elements):
        as_is = False
        if framed:
            header = np.uint64(headers[row])
            for place in range(4):
                target_bytes[at * element_bytes + np.uint64(place)] = header >> np.uint64(8 * place)
            at += np.uint64(4) // element_bytes
            as_is = header >> np.uint64(16) & np.uint64(0xFF) == _0
        if as_is:
            target[at:at + row_elements] = source[first:first + row_elements]
            at += row_elements
            first += row_elements
            continue
        for _ in range(lines):
            tag_at = at * element_bytes
            at += tag_units
            for _ in range(tag_bytes):
                tag = _0
                for bit in range(8):
                    value = source[first]
                    first += _1
                    # Always written; overwritten by the next element if it is zero.
                    target[at] = value
                    found = np.uint64(value != 0)
                    at += found
                    tag |= found << np.uint64(bit)
                target_bytes[tag_at] = tag
                tag_at += _1
        if framed:
            while at * element_bytes % np.uint64(4):
                target[at] = 0
                at += _1
    return at * element_bytes


@compiled
def _walk(content, element_bytes, tag_bytes):
    lines = _0
    at = _0
    end = np.uint64(content.size)
    size = np.uint64(element_bytes)
    starts = np.empty(content.size // tag_bytes + 1, np.int64)
    while at < end:
        starts[lines] = at // size
        lines += _1
        ones = _0
        stop = min(at + np.uint64(tag_bytes), end)
        for place in range(at, stop):
            ones += _ONES[content[place]]
        at += np.uint64(tag_bytes) + ones * size
    return starts[:lines].copy(), at // size


@compiled
def _line(units, content, tag_at, source, target, at, tag_bytes):
    """Expand the line whose tag is at byte ``tag_at`` and whose elements are at ``source``; returns the unit after
    them. Nothing beyond the end is read."""
    end = np.uint64(units.size)
    if tag_at + np.uint64(tag_bytes) <= np.uint64(content.size) and source + np.uint64(tag_bytes) * _8 <= end:
        for _ in range(tag_bytes):
            tag = np.uint64(content[tag_at])
            tag_at += _1
            for bit in range(8):
                found = tag >> np.uint64(bit) & _1
                target[at] = units[source] * target.dtype.type(found)
                source += found
                at += _1
        return source
    last, last_byte = end - _1, np.uint64(content.size - 1)
    for _ in range(tag_bytes):
        tag = np.uint64(content[min(tag_at, last_byte)])
        tag_at += _1
        for bit in range(8):
            found = tag >> np.uint64(bit) & _1
            target[at] = units[min(source, last)] * target.dtype.type(found)
            source += found
            at += _1
    return source


@compiled
def _expand(units, content, tags, starts, target, tag_bytes):
    element_bytes = np.uint64(LINE_BYTES) // (np.uint64(tag_bytes) * _8)
    for line in range(starts.size):
        _line(units, content, np.uint64(tags[line]) * element_bytes, np.uint64(starts[line]), target,
              np.uint64(line * tag_bytes * 8), tag_bytes)


@compiled
def _expand_blocks(units, content, first, lines, target, tag_bytes):
    element_bytes = np.uint64(LINE_BYTES) // (np.uint64(tag_bytes) * _8)
    tag_units = np.uint64(tag_bytes) // element_bytes
    ends = np.empty(first.size, np.int64)
    for block in range(first.size):
        at = np.uint64(first[block])
        for line in range(lines):
            at = _line(units, content, at * element_bytes, at + tag_units, target,
                       np.uint64((block * lines + line) * tag_bytes * 8), tag_bytes)
        ends[block] = at
    return ends


@compiled
def _expand_tags_first(units, content, first, lines, target, tag_bytes):
    element_bytes = np.uint64(LINE_BYTES) // (np.uint64(tag_bytes) * _8)
    ends = np.empty(first.size, np.int64)
    for block in range(first.size):
        tag_at = np.uint64(first[block]) * element_bytes
        at = np.uint64(first[block]) + np.uint64(lines * tag_bytes) // element_bytes
        for line in range(lines):
            at = _line(units, content, tag_at, at, target, np.uint64((block * lines + line) * tag_bytes * 8), tag_bytes)
            tag_at += np.uint64(tag_bytes)
        ends[block] = at
    return ends
