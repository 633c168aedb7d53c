"""The inner loops of exponent coding in pure NumPy: blocks of whole lines, from raw bytes to payloads and back.

Packing finds what a line header says for all lines at once, then writes everything that a block may hold, at fixed
places, into one array, with a mask of what it does hold, and copies that in one step. Expanding finds the places of all
sections and groups from the headers and the tags, and takes each element from there.

Eight rests of a group, an *octet*, are handled as a word of 64 bits: one byte each, or ``p`` bits each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.codec.buffers import Bytes
from golden.codec.layout import LINE_BYTES, TAG_BYTES

__all__ = ["Fields", "expand_exponents", "fields", "pack_exponents"]

Numbers = NDArray[Any]

GROUPS = 4
"""Groups of a line."""

ZEROS = 0xFF
"""Line header of a line of zeros."""

_WHOLE = 7
_MOST_BITS = 6
_MANTISSA = {2: 7, 4: 23}
# Fits the second-level cache together with all intermediate arrays.
_STEP_BYTES = 1 << 17
_HEADER = 4

# Bits of a distance; distances go to 255, or one more with an escape.
_WIDTH = np.array([number.bit_length() for number in range(257)], np.uint8)
# By half the bits of a slot: the lower half of every slot of a word.
_SLOTS = {half: np.uint64(sum(((1 << half) - 1) << at for at in range(0, 64, 2 * half))) for half in (8, 16, 32)}
# By a number of bytes: a word whose first bytes are 1, the others 0.
_FIRST_BYTES = np.array([int.from_bytes(b"\1" * count, "little") for count in range(9)], np.uint64)


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
        line = np.where(self.whole, _WHOLE, (self.width + self.less * self.widths[:, None])[:, 0]).astype(np.uint8)
        for bit, flag in ((3, self.signs), (4, self.dense), (5, self.escape), (6, self.widths), (7, self.based)):
            line |= flag.astype(np.uint8) << np.uint8(bit)
        line[self.zero] = ZEROS
        return line


def fields(words: Numbers, exponents: Numbers, nonzero: Numbers, lines: int) -> Fields:
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
    negative = np.packbits(words.view(f"<i{size}") < 0, axis=None).reshape(count, -1)
    signs = negative.any(1)
    escape = (present != normal) & (base > 0)
    distance = base[:, None].astype(np.int16) - smallest - 1
    need = np.where(smallest == 255, 0, _WIDTH[np.maximum(distance, 0) + escape[:, None]])
    widest = need.max(1)
    whole = widest > _MOST_BITS
    less = np.where(whole[:, None], 0, np.minimum(3, widest[:, None] - need)).astype(np.uint8)
    widths = ((less > 0) & (ones > 0)).any(1)
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


def pack_exponents(raw: Bytes, out: Bytes, element_bytes: int, block_bytes: int, limit: int, coding: int
                   ) -> int:
    """Pack blocks, with headers and padding.

    Parameters
    ----------
    raw
        A multiple of ``block_bytes``.
    out
        Receives the stream; large enough for the worst case.
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
        part = raw[start:start + step]
        at += _pack_some(part, out[at:], element_bytes, block_bytes, limit, coding, start // block_bytes)
    return at


def _pack_some(raw: Bytes, out: Bytes, element_bytes: int, block_bytes: int, limit: int, coding: int, first: int
               ) -> int:
    lines, blocks = block_bytes // LINE_BYTES, raw.size // block_bytes
    words = raw.view(f"<u{element_bytes}").reshape(blocks * lines, -1)
    exponents = (words >> words.dtype.type(_MANTISSA[element_bytes])).astype(np.uint8)
    nonzero = words != 0
    found = fields(words, exponents, nonzero, lines)
    tag_bytes = TAG_BYTES[element_bytes]
    group_bytes = 8 * GROUPS * (5 if element_bytes == 4 else 4)     # of a line, on the stage
    tags = _HEADER + 3 * lines + 3
    data = tags + tag_bytes * lines
    stage = np.empty((blocks, data + group_bytes * lines + 3), np.uint8)
    stays = np.empty(stage.shape, np.uint8)
    _stage_facts(stage[:, _HEADER:tags], stays[:, _HEADER:tags], found, lines)
    stage[:, tags:data] = found.tags.reshape(blocks, -1)
    stays[:, tags:data] = np.repeat(~(found.zero | found.dense), tag_bytes).reshape(blocks, -1)
    groups = (blocks, lines * GROUPS, group_bytes // GROUPS)
    data_bytes = _stage_data(stage[:, data:-3].reshape(groups), stays[:, data:-3].reshape(groups), words, exponents,
                             nonzero, found)
    payload = data_bytes.reshape(blocks, -1).sum(axis=1) + stays[:, _HEADER:data].sum(axis=1, dtype=np.int64)
    as_is = payload >= limit
    if as_is.any():
        stays[as_is, _HEADER:] = 0
        stage[as_is, data:data + block_bytes] = raw.reshape(blocks, -1)[as_is]
        stays[as_is, data:data + block_bytes] = 1
        payload = np.where(as_is, block_bytes, payload)
    sequence = first + np.arange(blocks) & 0xFF
    header = payload | np.where(as_is, 0, coding) << 16 | sequence << 24
    stage[:, :_HEADER] = header.astype("<u4").view(np.uint8).reshape(blocks, _HEADER)
    stays[:, :_HEADER] = 1
    stage[:, -3:] = 0
    stays[:, -3:] = np.arange(3) < (-payload % 4)[:, None]
    index = stays.reshape(-1).view(np.bool_).nonzero()[0]
    stage.reshape(-1).take(index, out=out[:index.size], mode="clip")
    return index.size


def _stage_facts(stage: Numbers, stays: Numbers, found: Fields, lines: int) -> None:
    """Line headers, bases, widths and the fillers behind them."""
    blocks = len(stage)
    based, widths = found.based.reshape(blocks, lines), found.widths.reshape(blocks, lines)
    shifted = found.less << np.arange(0, 8, 2, dtype=np.uint8)
    stage[:, :lines] = found.headers.reshape(blocks, lines)
    stage[:, lines:2 * lines] = found.base.reshape(blocks, lines)
    stage[:, 2 * lines:3 * lines] = np.bitwise_or.reduce(shifted, axis=1).reshape(blocks, lines)
    stage[:, 3 * lines:] = 0
    stays[:, :lines] = 1
    stays[:, lines:2 * lines] = based
    stays[:, 2 * lines:3 * lines] = widths
    facts = lines + based.sum(axis=1) + widths.sum(axis=1)
    stays[:, 3 * lines:] = np.arange(3) < (-facts % 4)[:, None]


def _stage_data(stage: Numbers, stays: Numbers, words: Numbers, exponents: Numbers, nonzero: Numbers,
                found: Fields) -> Numbers:
    """The octets of rests and the byte parts of all groups; returns the data bytes of each group."""
    size = words.dtype.itemsize
    group = words.shape[1] // GROUPS
    mantissa = _MANTISSA[size]
    distances = found.base[:, None] - exponents
    some = found.escape.nonzero()[0]
    if some.size:
        escape = np.repeat((np.uint8(1) << found.width[some]) - np.uint8(1), group, axis=1)
        distances[some] = np.where(exponents[some] == 0, escape, distances[some])
    signed = found.signs[:, None]
    lowest = np.where(signed, words >> words.dtype.type(8 * size - 1), distances & np.uint8(1))
    parts = words & words.dtype.type((1 << mantissa) - 1) | lowest.astype(words.dtype) << words.dtype.type(mantissa)
    rests = distances >> (np.uint8(1) - found.signs.astype(np.uint8))[:, None]
    ones = found.ones.reshape(-1)
    octets = group // 8
    bits = np.repeat(found.rest_bits.reshape(-1), octets).astype(np.uint64)
    packed = _squeezed(_compacted(rests, nonzero, ones, group).view(np.uint64), bits)
    in_octet = np.clip(ones[:, None].astype(np.int64) - 8 * np.arange(octets), 0, 8).reshape(-1)
    rest_bytes = (in_octet * bits.astype(np.int64) + 7) // 8
    shape = stage.shape[:2]
    front = 8 * octets
    stage[:, :, :front] = packed.view(np.uint8).reshape(*shape, front)
    stays[:, :, :front] = _FIRST_BYTES[rest_bytes].view(np.uint8).reshape(*shape, front)
    if size == 2:
        stage[:, :, front:] = parts.astype(np.uint8).reshape(*shape, group)
        stays[:, :, front:] = nonzero.reshape(*shape, group)
    else:
        stage[:, :, front:] = parts.view(np.uint8).reshape(*shape, 4 * group)
        stays[:, :, front:] = (nonzero * np.uint32(0x0001_0101)).view(np.uint8).reshape(*shape, 4 * group)
    return rest_bytes.reshape(-1, octets).sum(axis=1) + ones.astype(np.int64) * (size - 1)


def _compacted(rests: Bytes, nonzero: Numbers, ones: Numbers, group: int) -> Bytes:
    """The rests of the elements that are not zero, at the front of their groups."""
    where = nonzero.reshape(-1).nonzero()[0]
    before = np.cumsum(ones, dtype=np.int64) - ones
    places = np.arange(where.size) + np.repeat(np.arange(ones.size) * group - before, ones)
    found = np.zeros(rests.size, np.uint8)
    found[places] = rests.reshape(-1).take(where)
    return found


def _squeezed(octets: Numbers, bits: Numbers) -> Numbers:
    """Words of eight bytes with ``bits`` bits each, without the bits between them."""
    gap = np.uint64(8) - bits
    for mask in (0x00FF_00FF_00FF_00FF, 0x0000_FFFF_0000_FFFF, 0x0000_0000_FFFF_FFFF):
        low = np.uint64(mask)
        octets = octets & low | (octets & ~low) >> gap
        gap = gap + gap
    return octets


def _spread(octets: Numbers, bits: Numbers) -> Numbers:
    """The inverse of :func:`_squeezed`."""
    gap = (np.uint64(8) - bits) << np.uint64(2)
    for half in (32, 16, 8):
        # In slots of twice ``half`` bits, the upper half of what is there goes to the upper half of the slot.
        low = _SLOTS[half] >> gap & _SLOTS[half]
        octets = octets & low | (octets & ~low) << gap & ~_SLOTS[half]
        gap = gap >> np.uint64(1)
    return octets


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
    step = max(1, _STEP_BYTES // (lines * LINE_BYTES))
    ends = np.empty(first.size, np.int64)
    size = step * lines * LINE_BYTES
    for number, start in enumerate(range(0, first.size, step)):
        some = slice(start, start + step)
        ends[some] = _expand_some(stream, element_bytes, first[some], lines,
                                  out[number * size:(number + 1) * size].view(f"<u{element_bytes}"))
    return ends


def _expand_some(stream: Bytes, size: int, first: NDArray[np.int64], lines: int, out: Numbers) -> NDArray[np.int64]:
    elements = LINE_BYTES // size
    group = elements // GROUPS
    found, data, wrong = _read_facts(stream, size, first, lines)
    ones = found.ones.reshape(-1).astype(np.int64)
    octets = group // 8
    bits = found.rest_bits.reshape(-1).astype(np.int64)
    rest_bytes = (ones * bits + 7) // 8
    group_bytes = (rest_bytes + ones * (size - 1)).reshape(first.size, -1)
    starts = np.cumsum(group_bytes, axis=1)
    ends = data + starts[:, -1]
    starts = (starts - group_bytes + data[:, None]).reshape(-1)
    # The byte part of each element, from the place of its rank in its group.
    held = np.unpackbits(found.tags.reshape(-1), bitorder="little").reshape(-1, group)
    ranks = np.cumsum(held, axis=1, dtype=np.uint8) - held
    parts = _parts(stream, size, starts + rest_bytes, ranks)
    octet_starts = starts[:, None] + np.arange(octets) * bits[:, None]
    packed = _words_at(stream, octet_starts.reshape(-1))
    rests = _spread(packed, np.repeat(bits, octets).astype(np.uint64)).view(np.uint8)
    places = ranks + (np.arange(ones.size) * group)[:, None]
    rest = rests.take(places)
    mantissa = _MANTISSA[size]
    lowest = (parts >> out.dtype.type(mantissa)).astype(np.uint8) & np.uint8(1)
    signed = np.repeat(found.signs, GROUPS)[:, None]
    width = found.width.reshape(-1, 1)
    full = ((1 << width.astype(np.int16)) - 1).astype(np.uint8)
    distance = np.where(signed, rest, rest << np.uint8(1) | lowest) & full
    exponent = np.repeat(found.base, GROUPS)[:, None] - distance
    some = np.repeat(found.escape, GROUPS).nonzero()[0]
    if some.size:
        exponent[some] = np.where(distance[some] == full[some], 0, exponent[some])
    value = parts & out.dtype.type((1 << mantissa) - 1) | exponent.astype(out.dtype) << out.dtype.type(mantissa)
    value |= (lowest & signed).astype(out.dtype) << out.dtype.type(8 * size - 1)
    value *= held
    out[:] = value.reshape(-1)
    ends[wrong] = -1
    return ends


def _read_facts(stream: Bytes, size: int, first: NDArray[np.int64], lines: int
                ) -> tuple[Fields, NDArray[np.int64], Numbers]:
    """The fields of all lines, the place of each block's data, and whether its facts contradict themselves."""
    count = first.size * lines
    headers = stream.take(first[:, None] + np.arange(lines), mode="clip")
    zero = headers == ZEROS
    whole = ~zero & (headers & 7 == _WHOLE)
    signs, dense, escape, widths, based = (~zero & (headers >> np.uint8(bit) & 1).astype(np.bool_)
                                           for bit in range(3, 8))
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
    flat = (each.reshape(-1) for each in (zero, signs, dense, escape, widths, based, whole))
    fields_of = Fields(*flat, width.reshape(count, GROUPS), less.reshape(count, GROUPS),
                       np.where(whole, 255, base).astype(np.uint8).reshape(-1), tags, _group_counts(tags))
    return fields_of, data, wrong


def _parts(stream: Bytes, size: int, starts: NDArray[np.int64], ranks: Numbers) -> Numbers:
    """The byte parts of all elements; undefined where an element is zero."""
    if size == 2:
        return stream.take(starts[:, None] + ranks, mode="clip").astype("<u2")
    places = starts[:, None] + ranks * np.int64(3)
    found = stream.take(places, mode="clip").astype("<u4")
    for byte in (1, 2):
        places += 1
        found |= stream.take(places, mode="clip").astype("<u4") << np.uint32(8 * byte)
    return found


def _words_at(stream: Bytes, places: NDArray[np.int64]) -> Numbers:
    """Eight bytes from each place on, as a word; bytes beyond the end are undefined."""
    whole = stream[:stream.size // 8 * 8].view("<u8")
    if whole.size < 2:
        whole = np.append(stream, np.zeros(16, np.uint8))[:16].view("<u8")
    elif stream.size % 8:
        whole = np.append(whole, np.append(stream[whole.size * 8:], np.zeros(8, np.uint8))[:8].view("<u8"))
    shift = (places & 7).astype(np.uint64) << np.uint64(3)
    low = whole.take(places >> 3, mode="clip") >> shift
    return low | whole.take((places >> 3) + 1, mode="clip") << np.uint64(1) << (np.uint64(63) - shift)
