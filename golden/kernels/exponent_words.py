"""The words of elements with coded exponents, in NumPy: from raw elements to the data of groups, and back.

The *word* of an element has as many bits as the element: its byte part in the lower bits and its rest in the
uppermost 8. Those of zeros are dropped. The rests and byte parts of a group are copied as :mod:`windows
<golden.kernels.windows>`; what a window has beyond its group is overwritten by the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.codec.buffers import Bytes
from golden.kernels import windows
from golden.kernels.exponent_fields import GROUPS, MANTISSA, Fields
from golden.kernels.octets import FIRST_BYTES, spread, squeezed

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
    rest_bytes, data_bytes
        Of all rests of the group, and of its data.
    """

    ones: Numbers
    tail_bits: Numbers
    bits: Numbers
    rest_bytes: Numbers
    data_bytes: Numbers

    @staticmethod
    def of(fields: Fields, size: int) -> Groups:
        """Those of lines of elements of so many bytes."""
        ones, tail_bits = fields.ones, fields.tail_bits
        bits = np.maximum(tail_bits, 1) - np.uint8(1)
        rest_bytes = ones * bits + np.uint8(7) >> np.uint8(3)
        return Groups(ones, tail_bits, bits, rest_bytes, rest_bytes + ones * np.uint8(size - 1))


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
    coded = _coded(words, fields.base[lines], fields.signs[lines], fields.escape[lines], fields.width[some])
    ends = ones.astype(np.int64).cumsum()
    ranks, count = ends - ones, int(ends[-1])
    coded = coded.reshape(-1)
    if count < coded.size:
        coded = coded.take((words.reshape(-1) != 0).nonzero()[0], mode="clip")
    columns = coded.view(np.uint8).reshape(-1, size)
    parts = np.empty((count + group, size - 1), np.uint8)
    for byte in range(size - 1):
        parts[:count, byte] = columns[:, byte]
    rests = np.empty(count + group, np.uint8)
    rests[:count] = columns[:, size - 1]
    octets = windows.read(rests, ranks, group).view("<u8")
    bits = groups.bits[some].astype(np.uint64)
    rows = np.empty((ones.size, GROUP_DATA), np.uint8)
    row_words = rows.view("<u8")
    row_words[:, 0] = first = squeezed(octets[:, 0] & FIRST_BYTES.take(np.minimum(ones, np.uint8(8))), bits)
    if group > 8:
        second = squeezed(octets[:, 1] & FIRST_BYTES.take(np.maximum(ones, np.uint8(8)) - np.uint8(8)), bits)
        # The first octet of a group that has a second one is full.
        bits <<= np.uint64(3)
        row_words[:, 0] = first | second << bits
        row_words[:, 1] = second >> (np.uint64(64) - bits)
    ranks *= size - 1
    windows.write(rows.reshape(-1), rest_bytes + np.arange(0, rows.size, GROUP_DATA),
                  windows.read(parts.reshape(-1), ranks, group * (size - 1)))
    return rows


def _coded(words: Numbers, base: Numbers, signs: Numbers, escape: Numbers, width: Numbers) -> Numbers:
    """The word of each element."""
    number = words.dtype.type
    mantissa = number(MANTISSA[words.itemsize])
    below, field = (number(1) << mantissa) - number(1), number(0xFF) << mantissa
    bases = (base.astype(words.dtype) << mantissa)[:, None]
    if signs.any():
        coded = words & field
        np.subtract(bases, coded, out=coded)
        coded <<= number(1) if signs.all() else signs.astype(words.dtype)[:, None]
        sign = words >> mantissa + number(8)
        sign <<= mantissa
        coded |= sign
        coded |= words & below
    else:
        # Subtracting the exponent and adding the mantissa, in two steps instead of four.
        coded = words ^ below
        np.subtract(bases + below, coded, out=coded)
    some = escape.nonzero()[0]
    if some.size:
        full = (np.left_shift(1, width.reshape(-1, GROUPS)[some], dtype=words.dtype) - number(1)) << mantissa
        full <<= signs[some, None]
        rows = words[some]
        escaped = np.repeat(full, words.shape[1] // GROUPS, axis=1)
        escaped |= rows & below
        escaped |= rows >> number(8) & number(1) << mantissa
        coded[some] = np.where(rows & field == 0, escaped, coded[some])
    return coded


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
    group = 32 // size
    some = slice(lines.start * GROUPS, lines.stop * GROUPS)
    ones, bits = groups.ones[some], groups.bits[some]
    ends = ones.astype(np.int64).cumsum()
    ranks = ends - ones
    # Byte parts and rests of all elements, without anything between them.
    count = int(ends[-1])
    parts = np.empty((count + group, size - 1), np.uint8)
    rows = windows.read(stream, starts + groups.rest_bytes[some], group * (size - 1))
    # Without distance and sign the bit above the mantissa is ignored.
    rows[(ones * (groups.tail_bits[some] == 0)).nonzero()[0], size - 2::size - 1] &= np.uint8(0x7F)
    windows.write(parts.reshape(-1), ranks * (size - 1), rows)
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
        tags = fields.tags[lines].view(np.uint8)
        out[np.unpackbits(tags, bitorder="little").view(np.bool_).nonzero()[0]] = values


def _values(coded: Numbers, fields: Fields, ones: Numbers, lines: slice) -> Numbers:
    """The elements that have these words; the inverse of :func:`_coded`."""
    number = coded.dtype.type
    mantissa = number(MANTISSA[coded.itemsize])
    field = number(0xFF) << mantissa
    line_ones = np.bitwise_count(fields.tags[lines])
    signs, escape = fields.signs[lines], fields.escape[lines]
    values = np.repeat(fields.base[lines].astype(coded.dtype) << mantissa, line_ones)
    any_signs = bool(signs.any())
    sign = np.repeat(signs.astype(coded.dtype), line_ones) if any_signs and not signs.all() else number(any_signs)
    distance = coded >> sign
    distance &= field
    values -= distance
    values &= field
    if escape.any():
        some = np.repeat(escape, line_ones).nonzero()[0]
        width = np.repeat(fields.width[lines.start * GROUPS:lines.stop * GROUPS], ones)[some]
        full = np.left_shift(1, width, dtype=coded.dtype) - number(1)
        values[some[distance[some] >> mantissa == full]] = 0
    if any_signs:
        values |= (coded & sign << mantissa) << number(8)
    coded &= (number(1) << mantissa) - number(1)
    values |= coded
    return values
