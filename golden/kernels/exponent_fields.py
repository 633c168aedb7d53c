"""What the facts of a block say of its lines: found by a compressor, and read from a stream. In NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.golden.codec.buffers import Bytes
from cdma.golden.codec.layout import TAG_BYTES
from cdma.golden.kernels import windows

__all__ = ["GROUPS", "MANTISSA", "STEP_LINES", "WHOLE", "ZEROS", "Fields", "for_groups", "found_fields", "read_fields"]

Numbers = NDArray[Any]

GROUPS = 4
"""Groups of a line."""

MANTISSA = {2: 7, 4: 23}
"""Bits of a mantissa, by the bytes of an element."""

ZEROS = 0xFF
"""Line header of a line of zeros."""

WHOLE = 7
"""Width that stands for whole exponents."""

STEP_LINES = 1 << 13
"""Elements of so many lines are handled in one step: few enough for the caches, and calls take little of the time."""

_MOST_BITS = 6

# Bits of a distance.
_WIDTH = np.array([number.bit_length() for number in range(256)], np.uint8)

# By a byte of widths: bits that each group has less.
_LESS = (np.arange(256, dtype=np.uint8)[:, None] >> np.arange(0, 8, 2, dtype=np.uint8) & np.uint8(3)).view("<u4")[:, 0]


@dataclass(frozen=True)
class Fields:
    """What the line headers, bases and widths of some lines say, and their tags.

    Parameters
    ----------
    headers
        The line headers.
    signs, escape, widths, based
        Their bits, not set for lines of zeros.
    tagged
        Lines that have a tag.
    width
        Bits of a distance, an entry per group.
    less
        The bytes of widths.
    base
        From which distances are measured.
    tags
        Tags as numbers, for all lines.
    """

    headers: Numbers
    signs: Numbers
    escape: Numbers
    widths: Numbers
    based: Numbers
    tagged: Numbers
    width: Numbers
    less: Numbers
    base: Numbers
    tags: Numbers

    @property
    def ones(self) -> Numbers:
        """Elements of each group that are not zero."""
        return _ones(self.tags)

    @property
    def tail_bits(self) -> Numbers:
        """Bits of a tail, by group."""
        return self.width + for_groups(self.signs.view(np.uint8))


def found_fields(words: Numbers, lines: int) -> Fields:
    """What a compressor says of lines.

    Parameters
    ----------
    words
        The elements: lines by elements of a line.
    lines
        Lines of a block.
    """
    count = len(words)
    tags, normal, negative = (np.empty(count, f"<u{TAG_BYTES[words.itemsize]}") for _ in range(3))
    base, smallest = np.empty(count, np.uint8), np.empty(count * GROUPS, np.uint8)
    for start in range(0, count, STEP_LINES):
        some = slice(start, start + STEP_LINES)
        tags[some], normal[some], negative[some], base[some], smallest[start * GROUPS:some.stop * GROUPS] = (
            _found(words[some], tags.dtype))
    zero, signs = tags == 0, negative != 0
    escape = tags != normal
    escape &= base > 0
    distance = for_groups(base - np.uint8(1) + escape)
    distance -= smallest
    need = _WIDTH.take(distance)
    need *= smallest != 255
    widest = _of_groups(np.maximum, need)
    whole = widest > _MOST_BITS
    less = for_groups(widest)
    less -= need
    np.minimum(less, np.uint8(3), out=less)
    less *= for_groups(~whole)
    packed = less.view("<u4")
    packed = (packed | packed >> np.uint32(6) | packed >> np.uint32(12) | packed >> np.uint32(18)).astype(np.uint8)
    widths = (less * (_ones(tags) > 0)).view("<u4") != 0
    less *= for_groups(widths)
    width = for_groups(np.where(whole, np.uint8(8), widest))
    width -= less
    escape &= ~whole
    keeps = zero | whole
    based = base != _base_before(base, keeps, lines)
    based &= ~keeps
    dense = tags == ~tags.dtype.type(0)
    headers = np.where(whole, np.uint8(WHOLE), widest)
    for bit, flag in ((3, signs), (4, dense), (5, escape), (6, widths), (7, based)):
        headers |= flag.view(np.uint8) << np.uint8(bit)
    headers[zero] = ZEROS
    base[whole] = 255
    return Fields(headers, signs, escape, widths, based, ~(zero | dense), width, packed, base, tags)


def _found(words: Numbers, tag: np.dtype[Any]) -> tuple[Numbers, ...]:
    """Of lines: bits of elements that are not zero, of exponents that are not 0, and of negative elements in any order;
    the largest exponent; and, for each group, 1 less than the smallest exponent that is not 0, or 255."""
    size = words.itemsize
    exponents = (words >> words.dtype.type(MANTISSA[size])).astype(np.uint8)
    tags, normal, negative = (np.packbits(flags, axis=None, bitorder="little").view(tag) for flags in (
        words != 0, exponents, words.view(f"<i{size}") < 0))
    by_place = np.ascontiguousarray(exponents.reshape(-1, words.shape[1] // GROUPS).T)
    base = _of_groups(np.maximum, by_place.max(0))
    by_place -= np.uint8(1)
    return tags, normal, negative, base, by_place.min(0)


def for_groups(numbers: Numbers) -> Numbers:
    """The number of each line for each of its groups."""
    return (numbers * np.uint32(0x0101_0101)).view(np.uint8)


def _of_groups(what: np.ufunc, numbers: Numbers) -> Numbers:
    """A reduction over the groups of each line."""
    return reduce(what, numbers.reshape(-1, GROUPS).T)


def _ones(tags: Numbers) -> Numbers:
    """Ones of each group: of one byte of the tag, or of two."""
    return np.bitwise_count(tags.view(f"<u{tags.itemsize // GROUPS}"))


def _base_before(bases: Numbers, keeps: Numbers, lines: int) -> Numbers:
    """For each line the base of the last line before it in its block that does not keep the one before; 0 if none."""
    places = np.arange(1, bases.size + 1, dtype=np.int32)
    places *= ~keeps
    last = np.zeros((bases.size // lines, lines), np.int32)
    np.maximum.accumulate(places.reshape(last.shape)[:, :-1], axis=1, out=last[:, 1:])
    return np.append(np.uint8(0), bases).take(last.reshape(-1))


def read_fields(stream: Bytes, size: int, first: NDArray[np.int64], lines: int
                ) -> tuple[Fields, NDArray[np.int64], Numbers]:
    """The fields of all lines, the place of each block's data, and whether its facts contradict themselves.

    Parameters
    ----------
    stream
        The stream; must contain all that the facts may claim.
    size
        Bytes of an element.
    first
        Bytes before the line headers of each block.
    lines
        Lines of every block.
    """
    blocks = first.size
    headers = windows.read(stream, first, lines).reshape(-1)
    zero = headers == ZEROS
    coded = headers * ~zero
    line_width = coded & np.uint8(7)
    whole = line_width == WHOLE
    signs, dense, escape, widths, based = ((coded & np.uint8(1 << bit)) != 0 for bit in range(3, 8))
    tagged = ~(zero | dense)
    wrong = (whole & (coded >= 1 << 5)).reshape(blocks, -1).any(axis=1)
    # The place behind the base, the widths and the tag of each line.
    base_ends, width_ends, tag_ends = (_counted(flags, blocks) for flags in (based, widths, tagged))
    based_lines = base_ends > 0
    base_ends += (first + lines)[:, None]
    width_ends += base_ends[:, -1:]
    tag_bytes = TAG_BYTES[size]
    facts = width_ends[:, -1] - first
    tag_ends *= tag_bytes
    tag_ends += (first + facts + -facts % 4)[:, None]
    base = stream.take((base_ends - 1).reshape(-1))
    base *= based_lines.reshape(-1)
    base[whole] = 255
    less = stream.take((width_ends - 1).reshape(-1))
    less *= widths
    tags = windows.read(stream, (tag_ends - tag_bytes).reshape(-1), tag_bytes).view(f"<u{tag_bytes}").reshape(-1)
    tags *= tagged
    tags[dense] = ~tags.dtype.type(0)
    line_width += whole
    width = for_groups(line_width)
    taken = _LESS.take(less).view(np.uint8)
    wrong |= (taken > width).reshape(blocks, -1).any(axis=1)
    width -= np.minimum(taken, width)
    return Fields(headers, signs, escape, widths, based, tagged, width, less, base, tags), tag_ends[:, -1], wrong


def _counted(flags: Numbers, blocks: int) -> NDArray[np.int64]:
    """How many flags are set up to each line of its block: blocks by lines."""
    counts = flags.astype(np.int64).cumsum().reshape(blocks, -1)
    counts[1:] -= counts[:-1, -1:].copy()
    return counts
