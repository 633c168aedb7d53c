"""The words of elements with coded exponents, in NumPy: from raw elements to the data of groups, and back.

The *word* of an element has as many bits as the element: its byte part in the lower bits and its rest in the
uppermost 8. Only elements that are not zero have one. The rests and the byte parts of a group are copied as
:mod:`windows <golden.kernels.windows>`; what a window has beyond its group is overwritten by the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.codec.buffers import Bytes
from golden.codec.layout import LINE_BYTES
from golden.kernels import windows
from golden.kernels.exponent_fields import GROUPS, MANTISSA, Fields
from golden.kernels.octets import spread, squeezed

__all__ = ["GROUP_DATA", "Groups", "packed_groups", "raw_elements"]

Numbers = NDArray[Any]

GROUP_DATA = 32
"""Most bytes of the data of a group."""


@dataclass(frozen=True)
class Groups:
    """The groups of some lines.

    Parameters
    ----------
    ones
        Elements that are not zero.
    tail_bits, bits
        Bits of a tail and of a rest.
    rest_bits, rest_bytes, data_bytes
        Of all rests of the group, and of its data.
    """

    ones: Numbers
    tail_bits: Numbers
    bits: Numbers
    rest_bits: Numbers
    rest_bytes: Numbers
    data_bytes: Numbers

    @staticmethod
    def of(fields: Fields, size: int) -> Groups:
        """Those of lines of elements of so many bytes."""
        ones, tail_bits = fields.ones, fields.tail_bits
        bits = np.maximum(tail_bits, 1) - np.uint8(1)
        rest_bits = ones * bits
        rest_bytes = rest_bits + np.uint8(7) >> np.uint8(3)
        return Groups(ones, tail_bits, bits, rest_bits, rest_bytes, rest_bytes + ones * np.uint8(size - 1))


def packed_groups(words: Numbers, fields: Fields, groups: Groups, lines: slice) -> Numbers:
    """The data of each group of these lines, and anything behind it: rows of :data:`GROUP_DATA` bytes.

    Parameters
    ----------
    words
        The elements of the lines.
    fields, groups
        Of all lines.
    lines
        Which ones.
    """
    size, group = words.itemsize, words.shape[1] // GROUPS
    some = slice(lines.start * GROUPS, lines.stop * GROUPS)
    ones, rest_bytes = groups.ones[some], groups.rest_bytes[some]
    ends = ones.astype(np.int64).cumsum()
    ranks, count = ends - ones, int(ends[-1])
    present = words.reshape(-1)
    if count < present.size:
        present = present.take(_places(fields.tags[lines]), mode="clip")
    coded = _coded(present, fields, ones, lines)
    columns = coded.view(np.uint8).reshape(-1, size)
    parts = np.empty((count + group, size - 1), np.uint8)
    for byte in range(size - 1):
        parts[:count, byte] = columns[:, byte]
    rests = np.empty(count + group, np.uint8)
    rests[:count] = columns[:, size - 1]
    octets = windows.read(rests, ranks, group).view("<u8")
    bits = groups.bits[some].astype(np.uint64)
    first = squeezed(octets[:, 0], bits)
    # Without the bits of elements behind the group.
    left = groups.rest_bits[some].astype(np.uint64)
    rows = np.empty((ones.size, GROUP_DATA), np.uint8)
    row_words = rows.view("<u8")
    if group > 8:
        # The first octet of a group that has a second one is full.
        second = squeezed(octets[:, 1], bits)
        bits <<= np.uint64(3)
        first |= second << bits
        second >>= np.uint64(64) - bits
        second &= (np.uint64(1) << np.maximum(left, np.uint64(64)) - np.uint64(64)) - np.uint64(1)
        row_words[:, 1] = second
    first &= (np.uint64(1) << left) - np.uint64(1)
    row_words[:, 0] = first
    ranks *= size - 1
    windows.write(rows.reshape(-1), rest_bytes + np.arange(0, rows.size, GROUP_DATA),
                  windows.read(parts.reshape(-1), ranks, group * (size - 1)))
    return rows


def _places(tags: Numbers) -> NDArray[np.int64]:
    """The elements that are not zero."""
    return np.unpackbits(tags.view(np.uint8), bitorder="little").view(np.bool_).nonzero()[0]


def _coded(values: Numbers, fields: Fields, ones: Numbers, lines: slice) -> Numbers:
    """The words of the elements of these lines that are not zero."""
    number = values.dtype.type
    mantissa = number(MANTISSA[values.itemsize])
    below, field = (number(1) << mantissa) - number(1), number(0xFF) << mantissa
    line_ones = np.bitwise_count(fields.tags[lines])
    coded = np.repeat(fields.base[lines].astype(values.dtype) << mantissa, line_ones)
    signs, escape = fields.signs[lines], fields.escape[lines]
    if not (signs.any() or escape.any()):
        # Subtracts the exponent and adds the mantissa.
        coded += below
        coded -= values ^ below
        return coded
    exponents = values & field
    coded -= exponents
    if escape.any():
        some, full = _escapes(fields, ones, lines, values.dtype)
        escaped = exponents[some] == 0
        coded[some[escaped]] = full[escaped] << mantissa
    coded <<= _for_elements(signs, line_ones, values.dtype)
    coded |= values >> mantissa + number(8) << mantissa
    coded |= values & below
    return coded


def _for_elements(flags: Numbers, line_ones: Numbers, dtype: np.dtype[Any]) -> Numbers:
    """A flag of lines for each element that is not zero; only one if it is the same for all."""
    if flags.all() or not flags.any():
        return flags[:1].astype(dtype)
    return np.repeat(flags.astype(dtype), line_ones)


def _escapes(fields: Fields, ones: Numbers, lines: slice, dtype: np.dtype[Any]) -> tuple[Numbers, Numbers]:
    """Which elements that are not zero are in lines with an escape, and the largest distance that fits."""
    widths = np.repeat(fields.width[lines.start * GROUPS:lines.stop * GROUPS], ones)
    some = np.repeat(fields.escape[lines], np.bitwise_count(fields.tags[lines])).nonzero()[0]
    return some, np.left_shift(1, widths[some], dtype=dtype) - dtype.type(1)


def raw_elements(stream: Bytes, starts: NDArray[np.int64], fields: Fields, groups: Groups, lines: slice, out: Numbers
                 ) -> None:
    """Expand lines.

    Parameters
    ----------
    stream
        The stream.
    starts
        Places of the data of all groups of these lines, which are inside the stream.
    fields, groups
        Of all lines.
    lines
        Which ones.
    out
        Receives the elements.
    """
    size = out.itemsize
    group = LINE_BYTES // GROUPS // size
    some = slice(lines.start * GROUPS, lines.stop * GROUPS)
    ones, bits = groups.ones[some], groups.bits[some]
    ends = ones.astype(np.int64).cumsum()
    ranks = ends - ones
    # Byte parts and rests of all elements, without anything between them.
    count = int(ends[-1])
    parts = np.empty((count + group, size - 1), np.uint8)
    rows = windows.read(stream, starts + groups.rest_bytes[some], group * (size - 1))
    windows.write(parts.reshape(-1), ranks * (size - 1), rows)
    # Without distance and sign the bit above the mantissa is ignored.
    empty = (ones * (groups.tail_bits[some] == 0)).nonzero()[0]
    if empty.size:
        parts[windows.runs(ranks[empty], ones[empty]), size - 2] &= np.uint8(0x7F)
    rests = np.empty(count + group, np.uint8)
    octets = np.empty((ones.size, group // 8), np.uint64)
    wide = bits.astype(np.uint64)
    octets[:, 0] = spread(windows.read(stream, starts, 8).view("<u8")[:, 0], wide)
    if group > 8:
        octets[:, 1] = spread(windows.read(stream, starts + bits, 8).view("<u8")[:, 0], wide)
    windows.write(rests, ranks, octets)
    coded = np.empty((count, size), np.uint8)
    for byte in range(size - 1):
        coded[:, byte] = parts[:count, byte]
    coded[:, size - 1] = rests[:count]
    values = _values(coded.view(out.dtype).reshape(-1), fields, ones, lines)
    if count == out.size:
        out[:] = values
    else:
        out[:] = 0
        out[_places(fields.tags[lines])] = values


def _values(coded: Numbers, fields: Fields, ones: Numbers, lines: slice) -> Numbers:
    """The elements that have these words; the inverse of :func:`_coded`."""
    number = coded.dtype.type
    mantissa = number(MANTISSA[coded.itemsize])
    field = number(0xFF) << mantissa
    line_ones = np.bitwise_count(fields.tags[lines])
    values = np.repeat(fields.base[lines].astype(coded.dtype) << mantissa, line_ones)
    signs = _for_elements(fields.signs[lines], line_ones, coded.dtype)
    distance = coded >> signs
    distance &= field
    values -= distance
    values &= field
    if fields.escape[lines].any():
        some, full = _escapes(fields, ones, lines, coded.dtype)
        values[some[distance[some] >> mantissa == full]] = 0
    if signs.any():
        values |= (coded & signs << mantissa) << number(8)
    coded &= (number(1) << mantissa) - number(1)
    values |= coded
    return values
