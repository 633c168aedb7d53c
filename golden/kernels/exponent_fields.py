"""What the facts of a block say of its lines: found by a compressor, and read from a stream. In NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.codec.buffers import Bytes
from golden.codec.layout import TAG_BYTES

__all__ = ["GROUPS", "MANTISSA", "WHOLE", "ZEROS", "Fields", "found_fields", "read_fields"]

Numbers = NDArray[Any]

GROUPS = 4
"""Groups of a line."""

MANTISSA = {2: 7, 4: 23}
"""Bits of a mantissa, by the bytes of an element."""

ZEROS = 0xFF
"""Line header of a line of zeros."""

WHOLE = 7
"""Width that stands for whole exponents."""

_MOST_BITS = 6

# Bits of a distance; distances go to 255, or one more with an escape.
_WIDTH = np.array([number.bit_length() for number in range(257)], np.uint8)


@dataclass(frozen=True)
class Fields:
    """What the line headers, bases and widths of some lines say, an entry per line, and their tags.

    Parameters
    ----------
    zero, signs, dense, escape, widths, based
        Bits of the headers; ``zero`` is a line of zeros.
    whole
        Distances are whole exponents.
    width
        Bits of a distance, by group: lines by :data:`GROUPS`.
    less
        Bits that each group has less than its line.
    base
        From which distances are measured.
    tags
        Lines by bytes of a tag.
    ones
        Elements of each group that are not zero.
    """

    zero: Numbers
    signs: Numbers
    dense: Numbers
    escape: Numbers
    widths: Numbers
    based: Numbers
    whole: Numbers
    width: Numbers
    less: Numbers
    base: Numbers
    tags: Numbers
    ones: Numbers

    @property
    def rest_bits(self) -> Numbers:
        """Bits of a rest, by group."""
        return np.maximum(self.width + self.signs[:, None], 1) - 1

    @property
    def headers(self) -> Numbers:
        """The line headers."""
        line = np.where(self.whole, WHOLE, (self.width + self.less * self.widths[:, None])[:, 0]).astype(np.uint8)
        for bit, flag in ((3, self.signs), (4, self.dense), (5, self.escape), (6, self.widths), (7, self.based)):
            line |= flag.astype(np.uint8) << np.uint8(bit)
        line[self.zero] = ZEROS
        return line


def found_fields(words: Numbers, exponents: Numbers, nonzero: Numbers, lines: int) -> Fields:
    """What a compressor says of lines.

    Parameters
    ----------
    words
        The elements: lines by elements of a line.
    exponents, nonzero
        Of each element.
    lines
        Lines of a block.
    """
    count, elements = words.shape
    size = words.dtype.itemsize
    group = elements // GROUPS
    tags = np.packbits(nonzero, axis=None, bitorder="little").reshape(count, -1)
    ones = _group_counts(tags)
    by_place = np.ascontiguousarray(exponents.reshape(-1, group).T)
    largest = by_place.max(0).reshape(count, GROUPS)
    by_place -= np.uint8(1)
    # 255 where no element of the group has an exponent other than 0.
    smallest = by_place.min(0).reshape(count, GROUPS)
    normal = np.bitwise_count(np.packbits(exponents, axis=None).reshape(count, -1)).sum(axis=1, dtype=np.int64)
    base = largest.max(1)
    present = ones.sum(axis=1, dtype=np.int64)
    zero = present == 0
    negative = np.packbits(words >= words.dtype.type(1 << 8 * size - 1), axis=None).reshape(count, -1)
    signs = np.bitwise_or.reduce(negative, axis=1) != 0
    escape = (present != normal) & (base > 0)
    distance = base[:, None].astype(np.int16) - smallest - 1
    need = np.where(smallest == 255, 0, _WIDTH[np.maximum(distance, 0) + escape[:, None]])
    widest = need.max(1)
    whole = widest > _MOST_BITS
    less = np.where(whole[:, None], 0, np.minimum(3, widest[:, None] - need)).astype(np.uint8)
    widths: Numbers = np.bitwise_or.reduce(less * (ones > 0), axis=1) > 0
    width = np.where(whole, 8, widest).astype(np.uint8)[:, None] - less * widths[:, None]
    escape &= ~whole
    before = _base_before(np.where(zero | whole, -1, base.astype(np.int64)).reshape(-1, lines)).reshape(-1)
    based = ~zero & ~whole & (base != before)
    return Fields(zero, signs, ~zero & (present == elements), escape, widths & ~zero, based, whole, width, less,
                  np.where(whole, 255, base).astype(np.uint8), tags, ones)


def _group_counts(tags: Numbers) -> Numbers:
    """Ones of each group: of one byte of the tag, or of two."""
    ones = np.bitwise_count(tags)
    return ones if ones.shape[1] == GROUPS else ones[:, ::2] + ones[:, 1::2]


def _base_before(bases: Numbers) -> Numbers:
    """For each line of each block the last base before it that is not -1; 0 if there is none."""
    places = np.where(bases >= 0, np.arange(bases.shape[1]), -1)
    last = np.maximum.accumulate(places, axis=1)
    before = np.full_like(last, -1)
    before[:, 1:] = last[:, :-1]
    return np.where(before >= 0, np.take_along_axis(bases, np.maximum(before, 0), 1), 0)


def read_fields(stream: Bytes, size: int, first: NDArray[np.int64], lines: int
                ) -> tuple[Fields, NDArray[np.int64], Numbers]:
    """The fields of all lines, the place of each block's data, and whether its facts contradict themselves."""
    count = first.size * lines
    headers = stream.take(first[:, None] + np.arange(lines), mode="clip")
    zero = headers == ZEROS
    whole = ~zero & (headers & 7 == WHOLE)
    signs, dense, escape, widths, based = (~zero & ((headers & np.uint8(1 << bit)) != 0) for bit in range(3, 8))
    wrong = (whole & (escape | widths | based)).any(1)
    bases_at = first + lines
    widths_at = bases_at + based.sum(axis=1)
    facts = lines + based.sum(axis=1) + widths.sum(axis=1)
    tags_at = first + facts + -facts % 4
    tagged = ~(zero | dense)
    tag_bytes = TAG_BYTES[size]
    base_places = bases_at[:, None] + np.cumsum(based, axis=1) - 1
    last = np.maximum.accumulate(np.where(based, np.arange(lines), -1), axis=1)
    base = np.where(last < 0, 0, stream.take(base_places, mode="clip"))
    packed_less = stream.take(widths_at[:, None] + np.cumsum(widths, axis=1) - widths, mode="clip")
    less = (packed_less[:, :, None] >> np.arange(0, 8, 2, dtype=np.uint8) & 3) * widths[:, :, None].astype(np.uint8)
    line_width = np.where(zero, 0, np.where(whole, 8, headers & 7))
    wrong |= (less.max(2) > line_width).any(1)
    width = np.where(less > line_width[:, :, None], 0, line_width[:, :, None] - less).astype(np.uint8)
    tag_places = tags_at[:, None] + (np.cumsum(tagged, axis=1) - tagged) * tag_bytes
    tags = stream.take(tag_places[:, :, None] + np.arange(tag_bytes), mode="clip").reshape(count, tag_bytes)
    tags[dense.reshape(-1)] = 0xFF
    tags[zero.reshape(-1)] = 0
    data = tags_at + tagged.sum(axis=1) * tag_bytes
    found = Fields(zero.reshape(-1), signs.reshape(-1), dense.reshape(-1), escape.reshape(-1), widths.reshape(-1),
                   based.reshape(-1), whole.reshape(-1), width.reshape(count, GROUPS), less.reshape(count, GROUPS),
                   np.where(whole, 255, base).astype(np.uint8).reshape(-1), tags, _group_counts(tags))
    return found, data, wrong
