# Triton's language is no Python that a type checker follows.
# type: ignore
"""Triton: the raw bytes of blocks, a program a block, and whether each is well formed."""

from __future__ import annotations

import triton
import triton.language as tl

from cdma.gpu.words import before, padded, tag_flags, widened

__all__ = ["decode"]


@triton.jit
def _byte(at, where, length, mask):
    """Bytes of a payload; 0 where a malformed one says that they lie behind it."""
    return tl.load(at + where, mask=mask & (where < length), other=0).to(tl.int32)


@triton.jit
def _exponents(at, field, lines, length, LINES: tl.constexpr, SIZE: tl.constexpr):
    """Elements of a payload with exponents, which of them are there, its end, and whether its facts are allowed."""
    TAG: tl.constexpr = 16 // SIZE
    MANTISSA: tl.constexpr = 8 * SIZE - 9
    line = tl.arange(0, LINES)
    header = tl.where(line < lines, _byte(at, field + line, length, line < lines), 0xFF)
    coded = (header != 0xFF).to(tl.int32)
    whole = (header & 7) == 7
    signs = (header >> 3) & 1
    based, narrows, tagged = coded & (header >> 7), coded & (header >> 6), coded & ((header >> 4) ^ 1)
    bases_at = field + lines
    widths_at = bases_at + tl.sum(based, 0)
    tags_at = padded(widths_at + tl.sum(narrows, 0))
    data_at = tags_at + tl.sum(tagged, 0) * TAG
    nth = tl.cumsum(based, 0)
    base = tl.where(whole, 255, _byte(at, bases_at + nth - 1, length, nth > 0))
    widths = _byte(at, widths_at + before(narrows), length, narrows > 0)
    bits = tl.where(whole, 8, header & 7)[:, None] - ((widths[:, None] >> (2 * tl.arange(0, 4))[None, :]) & 3)
    wrong = coded * (whole & (header > 31)).to(tl.int32)
    wrong += tl.max((bits < 0).to(tl.int32), 1)
    bits = tl.maximum(bits, 0)
    where = tags_at + before(tagged)[:, None] * TAG + tl.arange(0, TAG)[None, :]
    tags = tl.where((tagged > 0)[:, None], _byte(at, where, length, (tagged > 0)[:, None]), (coded * 0xFF)[:, None])
    there = tag_flags(tags, LINES, SIZE)
    count = tl.sum(there, 2)
    rest_bits = tl.maximum(bits + signs[:, None] - 1, 0)
    rest_bytes = (count * rest_bits + 7) >> 3
    data = rest_bytes + count * (SIZE - 1)
    starts = data_at + tl.reshape(before(tl.reshape(data, (LINES * 4,))), (LINES, 4))
    rank = tl.cumsum(there, 2) - there
    bit = rank * rest_bits[:, :, None]
    first = starts[:, :, None] + (bit >> 3)
    some = _byte(at, first, length, there > 0) | (_byte(at, first + 1, length, there > 0) << 8)
    rest = (some >> (bit & 7)) & ((1 << rest_bits) - 1)[:, :, None]
    first = (starts + rest_bytes)[:, :, None] + rank * (SIZE - 1)
    mantissa = tl.zeros_like(rest)
    for part in tl.static_range(SIZE - 1):
        mantissa |= _byte(at, first + part, length, there > 0) << (8 * part)
    tail = ((rest << 1) | ((mantissa >> MANTISSA) & 1)) & ((1 << (bits + signs[:, None])) - 1)[:, :, None]
    distance = tail >> signs[:, None, None]
    escapes = (coded & (header >> 5) & (whole == 0).to(tl.int32))[:, None, None] > 0
    exponent = (base[:, None, None] - distance) & 0xFF
    exponent = tl.where(escapes & (distance == ((1 << bits) - 1)[:, :, None]), 0, exponent)
    value = ((tail & signs[:, None, None]) << (8 * SIZE - 1)) | (exponent << MANTISSA)
    value |= mantissa & ((1 << MANTISSA) - 1)
    return tl.where(there > 0, value, 0), there, data_at + tl.sum(tl.sum(data, 1), 0), tl.sum(wrong, 0) == 0


@triton.jit
def decode(stream, places, lengths, out, state, stream_bytes, raw_bytes, first, CODING: tl.constexpr,
           SIZE: tl.constexpr, LINES: tl.constexpr, NARROW: tl.constexpr, RAW: tl.constexpr):
    """The block, if its header has this coding, or where ``RAW`` is set, none; ``state`` becomes 1 where it is right.

    ``raw_bytes`` are those of the stream's elements, ``lengths`` the payload bytes that the index has.
    """
    PLACES: tl.constexpr = LINES * 128 // SIZE
    TAG: tl.constexpr = 16 // SIZE
    block = tl.program_id(0) + first
    at_least = raw_bytes - block.to(tl.int64) * (LINES * 128)
    here_bytes = tl.minimum(at_least, LINES * 128).to(tl.int32)
    here = (here_bytes + SIZE - 1) // SIZE
    start = tl.load(places + block)
    inside = (start >= 0) & (start + 4 <= stream_bytes)
    word = tl.load((stream + start).to(tl.pointer_type(tl.int32)), mask=inside, other=0)
    length, name = word & 0xFFFF, (word >> 16) & 0xFF
    short = here_bytes < LINES * 128
    mine = name == tl.where(short, CODING | 0x80, CODING)
    if RAW:
        mine |= name == 0
    inside &= mine & (((word >> 24) & 0xFF) == (block & 0xFF)) & (start + 4 + padded(length) <= stream_bytes)
    inside &= length == (tl.load(lengths + block).to(tl.int32) & 0xFFFF)
    if inside:
        at = stream + start + 4
        place, four = tl.arange(0, PLACES), tl.arange(0, 4)
        pad = tl.load(at + length + four, mask=length + four < padded(length), other=0)
        right = tl.max(pad.to(tl.int32), 0) == 0
        if SIZE == 1:
            units = at
        elif SIZE == 2:
            units = at.to(tl.pointer_type(tl.int16))
        else:
            units = at.to(tl.pointer_type(tl.int32))
        target = out + block.to(tl.int64) * PLACES + place
        if name == 0:
            right &= length == here_bytes
            flat = tl.load(units + place, mask=place < tl.where(right, here, 0), other=0).to(tl.int32)
        else:
            field = tl.where(short, 4, 0)
            said = tl.load(at.to(tl.pointer_type(tl.int32)), mask=short & (length >= 4), other=here_bytes)
            right &= (said == here_bytes) & (length >= field) & (here * SIZE == here_bytes)
            lines = (here_bytes + 127) >> 7
            if CODING & 0x20:
                value, there, end, good = _exponents(at, field, lines, length, LINES, SIZE)
                right &= good
                flat = tl.reshape(value, (PLACES,))
                ones = tl.reshape(there, (PLACES,))
            else:
                line = tl.arange(0, LINES)
                where = field + line[:, None] * TAG + tl.arange(0, TAG)[None, :]
                tags = _byte(at, where, length, (line < lines)[:, None])
                ones = tl.reshape(tag_flags(tags, LINES, SIZE), (PLACES,))
                data_at = field + lines * TAG
                rank = before(ones)
                flat = tl.load(units + data_at // SIZE + rank, other=0,
                               mask=(ones > 0) & (data_at + (rank + 1) * SIZE <= length)).to(tl.int32)
                end = data_at + tl.sum(ones, 0) * SIZE
            right &= (end == length) & (tl.max(tl.where(place < here, 0, ones), 0) == 0)
        if NARROW:
            flat = widened(flat, NARROW)
        values = flat.to(out.dtype.element_ty)
        if here == PLACES:
            tl.store(target, values)
        else:
            tl.store(target, values, mask=place < here)
        tl.store(state + block, right.to(tl.uint8))
