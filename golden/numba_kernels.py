"""The inner loops of both streams, compiled by Numba: what :mod:`golden.numpy_kernels` has, byte for byte.

Plain loops over elements, two to four times as fast. The first call compiles for seconds; the result is cached on
disk. Import this module only where Numba is installed: :mod:`golden.kernels` looks after that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from golden.buffers import Bytes
from golden.layout import LINE_BYTES, line_layout

__all__ = ["expand", "expand_blocks", "pack", "walk"]

def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiled at the first call for each type of arguments; kept on disk where there is a folder to write to."""
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return njit(nogil=True)(function)


Units = NDArray[Any]
Positions = NDArray[np.int64]

# Ones of every byte.
_ONES = np.array([bin(byte).count("1") for byte in range(256)], np.int64)


def pack(raw: Bytes, out: Bytes, element_bytes: int, row_bytes: int, headers: NDArray[np.uint32] | None = None) -> int:
    """Pack whole rows of whole lines; see :func:`golden.numpy_kernels.pack`."""
    line = line_layout(element_bytes)
    target = out[:out.size // element_bytes * element_bytes]
    framed = headers is not None
    return _pack(raw.view(line.dtype), target.view(line.dtype), target, row_bytes // LINE_BYTES, line.elements,
                 line.tag_bytes, headers if framed else np.zeros(0, np.uint32), framed)


def walk(units: Units, element_bytes: int) -> tuple[Positions, int]:
    """Where the lines of a stream begin; see :func:`golden.numpy_kernels.walk`."""
    return _walk(units.view(np.uint8), element_bytes, line_layout(element_bytes).tag_bytes)


def expand(units: Units, element_bytes: int, starts: Positions, out: Bytes) -> None:
    """Expand lines; see :func:`golden.numpy_kernels.expand`."""
    line = line_layout(element_bytes)
    _expand(units, units.view(np.uint8), starts, out.view(line.dtype), line.tag_bytes)


def expand_blocks(units: Units, element_bytes: int, first: Positions, lines: int, out: Bytes) -> Positions:
    """Expand blocks of whole lines; see :func:`golden.numpy_kernels.expand_blocks`."""
    line = line_layout(element_bytes)
    return _expand_blocks(units, units.view(np.uint8), first, lines, out.view(line.dtype), line.tag_bytes)


@_compiled
def _pack(source, target, target_bytes, lines, elements, tag_bytes, headers, framed):
    element_bytes = 128 // elements
    row_elements = lines * elements
    at = 0
    for row in range(source.size // row_elements):
        first = row * row_elements
        as_is = False
        if framed:
            for place in range(4):
                target_bytes[at * element_bytes + place] = headers[row] >> np.uint32(8 * place) & np.uint32(0xFF)
            at += 4 // element_bytes
            as_is = headers[row] >> np.uint32(16) & np.uint32(0xFF) == 0
        if as_is:
            target[at:at + row_elements] = source[first:first + row_elements]
            at += row_elements
            continue
        for start in range(first, first + row_elements, elements):
            tag_at = at * element_bytes
            at += tag_bytes // element_bytes
            for group in range(tag_bytes):
                tag = 0
                for bit in range(8):
                    value = source[start + group * 8 + bit]
                    # Written in any case, and written over when it is zero.
                    target[at] = value
                    found = value != 0
                    at += found
                    tag |= found << bit
                target_bytes[tag_at + group] = tag
        if framed:
            while at * element_bytes % 4:
                target[at] = 0
                at += 1
    return at * element_bytes


@_compiled
def _walk(content, element_bytes, tag_bytes):
    lines = 0
    at = 0
    starts = np.empty(content.size // tag_bytes + 1, np.int64)
    while at < content.size:
        starts[lines] = at // element_bytes
        lines += 1
        ones = 0
        for place in range(at, min(at + tag_bytes, content.size)):
            ones += _ONES[content[place]]
        at += tag_bytes + ones * element_bytes
    return starts[:lines].copy(), at // element_bytes


@_compiled
def _line(units, content, start, target, at, tag_bytes):
    """Expand the line whose tag is at a unit; the unit where the next one would be. No place is read beyond the end."""
    element_bytes = content.size // units.size
    tag_at = start * element_bytes
    source = start + tag_bytes // element_bytes
    if source + tag_bytes * 8 <= units.size:
        for group in range(tag_bytes):
            tag = np.int64(content[tag_at + group])
            for bit in range(8):
                found = (tag >> bit) & 1
                target[at] = units[source] * target.dtype.type(found)
                source += found
                at += 1
        return source
    for group in range(tag_bytes):
        tag = np.int64(content[min(tag_at + group, content.size - 1)])
        for bit in range(8):
            found = (tag >> bit) & 1
            target[at] = units[min(source, units.size - 1)] * target.dtype.type(found)
            source += found
            at += 1
    return source


@_compiled
def _expand(units, content, starts, target, tag_bytes):
    for line in range(starts.size):
        _line(units, content, starts[line], target, line * tag_bytes * 8, tag_bytes)


@_compiled
def _expand_blocks(units, content, first, lines, target, tag_bytes):
    ends = np.empty(first.size, np.int64)
    for block in range(first.size):
        at = first[block]
        for line in range(lines):
            at = _line(units, content, at, target, (block * lines + line) * tag_bytes * 8, tag_bytes)
        ends[block] = at
    return ends
