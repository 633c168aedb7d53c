"""The words of elements with coded exponents, in NumPy: from raw elements to the data of groups, and back.

The *word* of an element has as many bits as the element: its byte part in the lower bits and its rest in the
uppermost 8. Only elements that are not zero have one. The rests and the byte parts of a group are copied as
:mod:`windows <cdma.golden.kernels.windows>`; what a window has beyond its group is overwritten by the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.golden.codec.buffers import Bytes
from cdma.golden.codec.layout import LINE_BYTES
from cdma.golden.kernels import windows
from cdma.golden.kernels.exponent_fields import GROUPS, MANTISSA, Fields, for_groups
from cdma.golden.kernels.octets import spread, squeezed

__all__ = ["GROUP_DATA", "Groups", "packed_groups", "raw_elements"]

Numbers = NDArray[Any]

# Times a byte: the byte eight times.
_EIGHT_TIMES = np.uint64(0x0101_0101_0101_0101)

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
    # The window of a group begins before its byte parts, where its rests go. They take up to a byte per element.
    parts = np.empty(group + count * (size - 1) + GROUP_DATA, np.uint8)
    _byte_parts(parts[group:], coded.dtype, count)[:] = coded
    rests = np.empty(count + group, np.uint8)
    rests[:count] = coded >> coded.dtype.type(8 * size - 8)
    octets = windows.read(rests, ranks, group).view("<u8")
    ranks *= size - 1
    ranks += group
    ranks -= rest_bytes
    rows = windows.read(parts, ranks, GROUP_DATA)
    bits, left = (numbers[some].astype(np.uint64) for numbers in (groups.bits, groups.rest_bits))
    first = squeezed(octets[:, 0], bits)
    if group > 8:
        # The first octet of a group that has a second one is full.
        second = squeezed(octets[:, 1], bits)
        bits <<= np.uint64(3)
        first |= second << bits
        second >>= np.uint64(64) - bits
        _put(rows, 1, second, np.maximum(left, np.uint64(64)) - np.uint64(64))
        np.minimum(left, np.uint64(64), out=left)
    _put(rows, 0, first, left)
    return rows


def _byte_parts(content: Bytes, dtype: np.dtype[Any], count: int) -> Numbers:
    """Byte parts that lie back to back, as words that overlap: the uppermost byte of each is the first of the next.

    Where words are written, from the first to the last, each keeps its byte part.
    """
    return np.ndarray((count,), dtype, content.data, strides=(dtype.itemsize - 1,))


def _put(rows: Numbers, number: int, octet: Numbers, bits: Numbers) -> None:
    """Replace the first bits of a word of each row, up to a whole byte, by those of an octet and zeros."""
    words = rows.view("<u8")[:, number]
    filled = bits + np.uint64(7) & np.uint64(0x78)
    gap = np.uint64(64) - bits
    octet = octet << gap
    octet >>= gap
    octet |= words >> filled << filled
    words[:] = octet


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
        escaped = (exponents[some] == 0).nonzero()[0]
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
    ones, rest_bytes = groups.ones[some], groups.rest_bytes[some]
    ends = ones.cumsum(dtype=np.int64)
    ranks, count = ends - ones, int(ends[-1])
    # Byte parts begin at the same byte of each row, and rests end there.
    rows = windows.read(stream, starts + rest_bytes - group, GROUP_DATA)
    octets = _octets(rows.view("<u8")[:, :group // 8], rest_bytes, groups.bits[some])
    exponents = np.empty(count + group, np.uint8)
    windows.write(exponents, ranks, _exponents(octets, fields, lines))
    # Without distance and sign the bit above the mantissa is ignored.
    ignored = ((groups.tail_bits[some] == 0) & (ones > 0)).nonzero()[0]
    if ignored.size:
        rows[ignored] &= np.array([0xFF] * group + ([0xFF] * (size - 2) + [0x7F]) * group, np.uint8)
    parts = np.empty((count + group) * (size - 1), np.uint8)
    ranks *= size - 1
    windows.write(parts, ranks, rows[:, group:])
    values = _byte_parts(parts, out.dtype, count).copy()
    _complete(values, exponents[:count], fields, ones, lines)
    if count == out.size:
        out[:] = values
    else:
        out[:] = 0
        out[_places(fields.tags[lines])] = values


def _octets(words: Numbers, rest_bytes: Numbers, bits: Numbers) -> list[Numbers]:
    """The rests of each group, a byte each: an octet, or two of them.

    Parameters
    ----------
    words
        An octet or two of the stream, at whose end the rests end.
    rest_bytes, bits
        Of all rests of a group, and of a rest.
    """
    word, bits = np.uint64(64), bits.astype(np.uint64)
    gap = np.uint64(64 * words.shape[1]) - (rest_bytes.astype(np.uint64) << np.uint64(3))
    low = words[:, 0] >> gap
    if words.shape[1] == 1:
        return [spread(low, bits)]
    # NumPy shifts by 64 bits or more to 0. One of the two numbers of bits below is negative, which is such a shift.
    high = words[:, 1]
    low |= high << word - gap
    low |= high >> gap - word
    high = high >> gap
    eight = bits << np.uint64(3)
    return [spread(low, bits), spread(low >> eight | high << word - eight, bits)]


def _exponents(octets: list[Numbers], fields: Fields, lines: slice) -> Numbers:
    """The exponents of each group's elements, modulo 256, as if the lowest bit of each tail was 0."""
    base = for_groups(fields.base[lines]).astype(np.uint64)
    base *= _EIGHT_TIMES
    # Without signs a rest is half the distance.
    doubled = for_groups(~fields.signs[lines]).astype(np.uint64)
    exponents = np.empty((base.size, len(octets)), np.uint64)
    for number, octet in enumerate(octets):
        octet <<= doubled
        exponents[:, number] = (base.view(np.uint8) - octet.view(np.uint8)).view(np.uint64)
    return exponents


def _complete(values: Numbers, exponents: Numbers, fields: Fields, ones: Numbers, lines: slice) -> None:
    """Make elements from words with their byte parts, and from their :func:`_exponents`."""
    size, number = values.itemsize, values.dtype.type
    mantissa = number(MANTISSA[size])
    sign = number(1) << number(8 * size - 1)
    signs = fields.signs[lines]
    field = exponents.astype(values.dtype)
    field <<= mantissa
    if signs.any():
        # The lowest bit of the tail is the sign, or, in lines without signs, that of the distance.
        lowest = values & number(1) << mantissa
        values &= (number(1) << mantissa) - number(1)
        values |= field
        if not signs.all():
            signed = lowest & np.repeat(signs * ~number(0), np.bitwise_count(fields.tags[lines]))
            values -= lowest ^ signed
            values &= ~sign
            lowest = signed
        lowest <<= number(8)
        values |= lowest
    else:
        # The lowest bit of the distance counts negative, as the sign of the byte part does in two's complement.
        values <<= number(8)
        signed = values.view(f"<i{size}")
        signed >>= signed.dtype.type(8)
        values += field
        values &= ~sign
    if fields.escape[lines].any():
        some, full = _escapes(fields, ones, lines, exponents.dtype)
        bases = np.repeat(fields.base[lines], np.bitwise_count(fields.tags[lines]))[some]
        escaped = ((values[some] >> mantissa).astype(np.uint8) == bases - full).nonzero()[0]
        values[some[escaped]] &= ~(number(0xFF) << mantissa)
