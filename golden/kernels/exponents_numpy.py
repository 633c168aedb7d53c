"""Exponent coding in NumPy: blocks of whole lines, from raw bytes to payloads and back. See docs/formats.md.

Arrays of elements have the axes place in the group, block, line, group; those of groups have the last three, those of
lines block and line. Many blocks are handled at once, and no Python loop touches a line.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.golden.codec.buffers import Bytes
from cdma.golden.codec.layout import LINE_BYTES, TAG_BYTES

__all__ = ["GROUPS", "WHOLE", "ZEROS", "by_place", "expand_exponents", "line_metadata", "pack_exponents"]

Numbers = NDArray[Any]

GROUPS = 4
"""Groups of a line."""

ZEROS = 0xFF
"""Line header of a line of zeros."""

WHOLE = 7
"""Width that stands for whole exponents."""

# Bits of a mantissa, by the bytes of an element.
_MANTISSA = {2: 7, 4: 23}

# Raw bytes that are handled in one step: few enough for the caches.
_STEP_BYTES = 1 << 17

# Bits of a number up to a distance and 1.
_BITS = np.array([number.bit_length() for number in range(257)], np.uint8)


def pack_exponents(raw: Bytes, out: Bytes, element_bytes: int, block_bytes: int, limit: int, coding: int) -> int:
    """Pack blocks, with headers and padding.

    Parameters
    ----------
    raw
        A multiple of ``block_bytes``.
    out
        Receives the stream; large enough for the worst case. What is behind the stream is not written.
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
    blocks = raw.reshape(-1, block_bytes)
    step = max(1, _STEP_BYTES // block_bytes)
    at = 0
    for first in range(0, len(blocks), step):
        packed = _packed(blocks[first:first + step], element_bytes, limit, coding, first)
        out[at:at + packed.size] = packed
        at += packed.size
    return at


def _packed(raw: Bytes, size: int, limit: int, coding: int, first: int) -> Bytes:
    """The stream of some blocks: everything that a payload may have side by side, and then what it has."""
    blocks, block_bytes = raw.shape
    elements = raw.view(f"<u{size}")
    words = by_place(elements, block_bytes // LINE_BYTES)
    metadata = line_metadata(words)
    tags = np.packbits(elements != 0, axis=1, bitorder="little")
    tagged = metadata["tagged"].repeat(TAG_BYTES[size], axis=1)
    parts = [(metadata["headers"], np.ones(metadata["headers"].shape, bool)), (metadata["base"], metadata["based"]),
             (metadata["less"], metadata["narrower"])]
    parts += [_filler(_kept(parts)), (tags, tagged), _data(words, metadata)]
    payload = _kept(parts)
    as_is = payload >= limit
    payload[as_is] = block_bytes
    header = payload | np.where(as_is, 0, coding) << 16 | (first + np.arange(blocks) & 0xFF) << 24
    every = np.ones((blocks, 4), bool)
    parts = [(header.astype("<u4")[:, None].view(np.uint8), every),
             *((part, stays.reshape(blocks, -1) & ~as_is[:, None]) for part, stays in parts),
             (raw, np.repeat(as_is[:, None], block_bytes, axis=1)), _filler(payload)]
    stage, stays = (np.concatenate([each.reshape(blocks, -1) for each in column], axis=1)
                    for column in zip(*parts, strict=True))
    return stage.reshape(-1).take(stays.reshape(-1).nonzero()[0])


def _kept(parts: list[tuple[Numbers, Numbers]]) -> Numbers:
    """The bytes of each block that stay of all these parts."""
    return np.sum([np.count_nonzero(stays.reshape(len(stays), -1), axis=1) for _, stays in parts], axis=0)


def _filler(length: Numbers) -> tuple[Numbers, Numbers]:
    """Zeros behind so many bytes of each block, up to a whole word."""
    return np.zeros((length.size, 3), np.uint8), np.arange(3) < (-length % 4)[:, None]


def by_place(elements: Numbers, lines: int) -> Numbers:
    """Elements of blocks of so many lines, with the axes of this module."""
    return np.moveaxis(elements.reshape(-1, lines, GROUPS, LINE_BYTES // GROUPS // elements.itemsize), 3, 0).copy()


def line_metadata(words: Numbers) -> dict[str, Numbers]:
    """What a compressor says of lines, by name; ``width`` is of groups, ``less`` the bytes of widths."""
    size = words.itemsize
    exponents = (words >> words.dtype.type(_MANTISSA[size])).astype(np.uint8)
    present, normal = words != 0, exponents > 0
    some = _any(present, 0)
    zero, dense = ~_any(some, 2), ~_any(_any(~present, 0), 2)
    base = exponents.max(axis=0).max(axis=2)
    signs = _any(_any(words.view(f"<i{size}") < 0, 0), 2)
    escape = (base > 0) & _any(_any(present > normal, 0), 2)
    # The largest distance that fits is that of an escape.
    smallest = np.where(normal, exponents, np.uint8(255)).min(axis=0)
    need = _BITS[np.where(_any(normal, 0), base[..., None] - smallest + escape[..., None].astype(np.int16), 0)]
    widest = need.max(axis=2)
    whole = widest > 6
    less = np.where(whole[..., None], 0, np.minimum(widest[..., None] - need, 3))
    narrower = _any((less > 0) & some, 2)
    width = np.where(whole, 8, widest)[..., None].astype(np.int16) - less * narrower[..., None]
    # The base of the last line before that has one; 0 if there is none.
    sets = ~(zero | whole)
    last = np.maximum.accumulate(np.where(sets, np.arange(1, base.shape[1] + 1), 0), axis=1)
    before, base_before = (np.pad(each, ((0, 0), (1, 0))) for each in (last[:, :-1], base))
    based = sets & (base != np.take_along_axis(base_before, before, axis=1))
    escape &= ~whole
    headers = np.where(whole, WHOLE, widest)
    for bit, flag in enumerate((signs, dense, escape, narrower, based), 3):
        headers = headers | flag << bit
    base = np.where(whole, 255, base).astype(np.uint8)
    packed = (less << np.arange(0, 8, 2)).sum(axis=2).astype(np.uint8)
    return {"headers": np.where(zero, ZEROS, headers).astype(np.uint8), "base": base, "based": based, "signs": signs,
            "escape": escape, "width": width, "less": packed, "narrower": narrower, "tagged": ~(zero | dense)}


def _any(flags: Numbers, axis: int) -> Numbers:
    return np.logical_or.reduce(flags, axis)


def _data(words: Numbers, metadata: dict[str, Numbers]) -> tuple[Bytes, Numbers]:
    """The data of groups, with room for the most bytes of rests and of parts; and which of these bytes they have."""
    size, mantissa, number = words.itemsize, _MANTISSA[words.itemsize], words.dtype.type
    width = metadata["width"]
    base, signs, escape = (metadata[name][..., None] for name in ("base", "signs", "escape"))
    present = words != 0
    exponents = (words >> number(mantissa)).astype(np.uint8)
    distance = np.where(escape & (exponents == 0), ((1 << width) - 1).astype(np.uint8), base - exponents)
    tail = distance.astype(words.dtype) << signs | words >> number(8 * size - 1)
    parts = words & number((1 << mantissa) - 1) | (tail & 1) << number(mantissa)
    # The rests of up to eight elements are a number of up to 64 bits.
    bits = np.maximum(width + signs - 1, 0)
    rest_bytes = (np.count_nonzero(present, axis=0) * bits + 7) // 8
    bits = bits.astype(np.uint8)
    rank = present.cumsum(axis=0, dtype=np.uint8) - present
    rests = (present * (tail >> 1).astype(np.uint8)).astype(np.uint64) << (rank & 7) * bits
    octets = [(rests * here).sum(axis=0) for here in (rank < 8, rank >= 8)[:len(words) // 8]]
    if len(octets) == 2:
        # The first ones of so many have as many bits as there are eight times, and 64 only at eight bits each.
        octets = [octets[0] | octets[1] << bits * np.uint8(8), octets[1] >> np.uint8(64) - bits * np.uint8(8)]
    # Of each part, the uppermost byte is not one.
    part_bytes = np.moveaxis(parts, 0, 3).copy().view(np.uint8)
    in_parts = np.moveaxis(present, 0, 3).repeat(size, axis=3) & np.tile(np.arange(size) < size - 1, len(words))
    in_rests = np.arange(len(words)) < rest_bytes[..., None]
    return (np.concatenate([np.stack(octets, axis=3).view(np.uint8), part_bytes], axis=3),
            np.concatenate([in_rests, in_parts], axis=3))


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
        Bytes before the end of each block, according to its metadata; -1 where these are malformed.
    """
    ends = np.empty(first.size, np.int64)
    raw = out.view(f"<u{element_bytes}").reshape(first.size, lines * LINE_BYTES // element_bytes)
    step = max(1, _STEP_BYTES // (lines * LINE_BYTES))
    for start in range(0, first.size, step):
        some = slice(start, start + step)
        ends[some] = _expand_some(stream, element_bytes, first[some], lines, raw[some])
    return ends


def _expand_some(stream: Bytes, size: int, first: NDArray[np.int64], lines: int, out: Numbers) -> NDArray[np.int64]:
    """The end of each block, or -1. What is behind the end of the stream is read as its last byte."""
    def read(places: NDArray[np.int64]) -> Bytes:
        return stream.take(places, mode="clip")

    headers = read(first[:, None] + np.arange(lines))
    zero = headers == ZEROS
    coded = np.where(zero, 0, headers)
    whole = coded & 7 == WHOLE
    signs, dense, escape, narrower, based = ((coded >> bit & 1).astype(bool) for bit in range(3, 8))
    tagged, tag_bytes = ~(zero | dense), TAG_BYTES[size]
    # Behind the base, the widths and the tag of each line, and the data of each group.
    bases, widths, tags = (each.cumsum(axis=1) for each in (based, narrower, tagged))
    base_ends = (first + lines)[:, None] + bases
    width_ends = base_ends[:, -1:] + widths
    metadata = width_ends[:, -1:] - first[:, None]
    tag_ends = first[:, None] + metadata + -metadata % 4 + tags * tag_bytes
    base = np.where(whole, 255, np.where(bases > 0, read(base_ends - 1), 0)).astype(np.uint8)
    less = np.where(narrower, read(width_ends - 1), 0)[..., None] >> np.arange(0, 8, 2) & 3
    width = np.where(whole, 8, coded & 7)[..., None] - less.astype(np.int8)
    wrong = (whole & (coded >> 5 > 0)).any(axis=1) | (width < 0).any(axis=(1, 2))
    width = np.maximum(width, 0)
    tags = np.where(tagged[..., None], read(tag_ends[..., None] - tag_bytes + np.arange(tag_bytes)),
                    np.where(dense, 255, 0).astype(np.uint8)[..., None])
    present = np.unpackbits(tags, axis=2, bitorder="little").reshape(*headers.shape, GROUPS, -1)
    bits = np.maximum(width + signs[..., None] - 1, 0)
    counts = present.sum(axis=3, dtype=np.int64)
    rest_bytes = (counts * bits + 7) // 8
    data_bytes = rest_bytes + counts * (size - 1)
    ends = tag_ends[:, -1:] + data_bytes.reshape(first.size, -1).cumsum(axis=1)
    starts = ends.reshape(data_bytes.shape) - data_bytes

    # Of each element, as if it were there: its rest, its part, and from them the word.
    rank = present.cumsum(axis=3, dtype=np.int16) - present
    rest_at = rank * bits[..., None]
    byte = starts[..., None] + (rest_at >> 3)
    rest = (read(byte) | read(byte + 1).astype(np.uint16) << 8) >> (rest_at & 7).astype(np.uint16)
    part = np.zeros(rank.shape, out.dtype)
    byte = (starts + rest_bytes)[..., None] + rank * (size - 1)
    for number in range(size - 1):
        part |= read(byte + number).astype(out.dtype) << 8 * number
    mantissa = _MANTISSA[size]
    ones = (1 << np.arange(10)).astype(np.uint16) - 1
    tail = (rest & ones[bits][..., None]) << 1 | (part >> mantissa).astype(np.uint16)
    tail &= ones[width + signs[..., None]][..., None]
    base, signs, escape = (each[..., None, None] for each in (base, signs, escape))
    distance = (tail >> signs).astype(np.uint8)
    exponent = np.where(escape & (distance == ones[width][..., None]), 0, base - distance)
    word = exponent.astype(out.dtype) << mantissa | part & (1 << mantissa) - 1
    word |= (tail & signs).astype(out.dtype) << 8 * size - 1
    out[:] = (word * present).reshape(out.shape)
    return np.where(wrong, -1, ends[:, -1])
