# Triton's language is no Python that a type checker follows.
# type: ignore
"""Triton: the blocks of a stream, a program a block. A first launch measures payloads, a second writes them."""

from __future__ import annotations

import triton
import triton.language as tl

from cdma.gpu.words import before, load_elements, padded

__all__ = ["encode", "measure"]


@triton.jit
def _bit_length(number):
    """Bits of numbers from 0 to 256."""
    bits = (number > 0).to(tl.int32)
    for power in tl.static_range(1, 9):
        bits += (number >> power > 0).to(tl.int32)
    return bits


@triton.jit
def _facts(words, there, LINES: tl.constexpr, SIZE: tl.constexpr):
    """What a writer says about each line, as docs/formats.md has it.

    Returns headers, bases and whether each is stored, bytes of widths and whether each is stored, whether a line has a
    tag; then for groups the bits of a distance, and for lines signs, escape and whether distances have 8 bits.
    """
    exponent = (words >> (8 * SIZE - 9)) & 0xFF
    ones = tl.sum(tl.sum(there, 2), 1)
    zeros = ones == 0
    base = tl.max(tl.max(exponent, 2), 1)
    least = tl.min(tl.where(exponent > 0, exponent, 256), 2)
    signs = tl.max(tl.max((words < 0).to(tl.int32), 2), 1)
    flat = tl.max(tl.max(there * (exponent == 0).to(tl.int32), 2), 1)
    # Where all exponents are 0 they are the base, and no escape is needed.
    escape = flat * (base > 0).to(tl.int32)
    need = tl.where(least < 256, _bit_length((base + escape)[:, None] - least), 0)
    width = tl.max(need, 1)
    whole = width > 6
    escape = tl.where(whole, 0, escape)
    spared = tl.where(whole[:, None], 0, tl.minimum(width[:, None] - need, 3))
    narrows = tl.max(tl.where(tl.sum(there, 2) > 0, spared, 0), 1) > 0
    # A base is stored where it is not that of the last line before that has one, 0 at first.
    line = tl.arange(0, LINES)
    key = tl.where(zeros | whole, 0, ((line + 1) << 8) | base)
    earlier = tl.max(tl.where(line[None, :] < line[:, None], key[None, :], 0), 1)
    based = (key > 0) & (base != (earlier & 0xFF))
    dense = ones == 128 // SIZE
    header = (tl.where(whole, 7, width) | (signs << 3) | (dense.to(tl.int32) << 4) | (escape << 5)
              | (narrows.to(tl.int32) << 6) | (based.to(tl.int32) << 7))
    header = tl.where(zeros, 0xFF, header)
    widths = tl.sum(spared << (2 * tl.arange(0, 4))[None, :], 1)
    bits = tl.where(whole, 8, width)[:, None] - tl.where(narrows[:, None], spared, 0)
    tagged = tl.where(zeros | dense, 0, 1)
    return (header, base, based.to(tl.int32), widths, narrows.to(tl.int32), tagged, bits, signs, escape,
            whole.to(tl.int32))


@triton.jit
def _data_bytes(there, bits, signs, SIZE: tl.constexpr):
    """Bits of a rest, bytes of the rests, and bytes of rests and mantissas of each group."""
    count = tl.sum(there, 2)
    rest_bits = tl.maximum(bits + signs[:, None] - 1, 0)
    rest_bytes = (count * rest_bits + 7) >> 3
    return rest_bits, rest_bytes, rest_bytes + count * (SIZE - 1)


@triton.jit
def measure(raw, lengths, elements, blocks, first, SIZE: tl.constexpr, LINES: tl.constexpr, NARROW: tl.constexpr,
            EXPONENTS: tl.constexpr):
    """Payload bytes of each block with zero-value coding, and in a second row with exponents."""
    PLACES: tl.constexpr = LINES * 128 // SIZE
    block = tl.program_id(0) + first
    here = tl.minimum(elements - block.to(tl.int64) * PLACES, PLACES).to(tl.int32)
    lines = (here * SIZE + 127) >> 7
    field = tl.where(here < PLACES, 4, 0)
    words = tl.reshape(load_elements(raw, block, here, PLACES, NARROW), (LINES, 4, 32 // SIZE))
    there = (words != 0).to(tl.int32)
    ones = tl.sum(tl.sum(tl.sum(there, 2), 1), 0)
    packed = field + lines * (16 // SIZE) + ones * SIZE
    tl.store(lengths + block, tl.minimum(packed, here * SIZE))
    if EXPONENTS:
        _, _, based, _, narrows, tagged, bits, signs, _, _ = _facts(words, there, LINES, SIZE)
        _, _, data = _data_bytes(there, bits, signs, SIZE)
        packed = padded(field + lines + tl.sum(based, 0) + tl.sum(narrows, 0)) + tl.sum(tagged, 0) * (16 // SIZE)
        packed += tl.sum(tl.sum(data, 1), 0)
        tl.store(lengths + blocks + block, tl.minimum(packed, here * SIZE))


@triton.jit
def _side_by_side(fields, bit, FROM: tl.constexpr):
    """64 bits of the fields of each group, of at most 8 bits each, that begin at these bits."""
    shift = bit - FROM
    left = tl.where((shift >= 0) & (shift < 64), fields.to(tl.uint64) << (shift & 63).to(tl.uint64), 0)
    right = tl.where((shift < 0) & (shift > -8), fields >> (-shift & 7), 0)
    return tl.sum(left | right.to(tl.uint64), 2)


@triton.jit
def _store_data(at, words, there, bits, signs, escape, whole, base, start, LINES: tl.constexpr, SIZE: tl.constexpr):
    """Rests and mantissas of all groups, from byte ``start`` of the payload on."""
    GROUP: tl.constexpr = 32 // SIZE
    MANTISSA: tl.constexpr = 8 * SIZE - 9
    rest_bits, rest_bytes, data = _data_bytes(there, bits, signs, SIZE)
    starts = start + tl.reshape(before(tl.reshape(data, (LINES * 4,))), (LINES, 4))
    exponent = (words >> MANTISSA) & 0xFF
    distance = tl.where(whole > 0, 255, base)[:, None, None] - exponent
    distance = tl.where((escape[:, None, None] > 0) & (exponent == 0), ((1 << bits) - 1)[:, :, None], distance)
    tail = tl.where(signs[:, None, None] > 0, (distance << 1) | (words < 0).to(tl.int32), distance)
    rank = tl.cumsum(there, 2) - there
    bit = rank * rest_bits[:, :, None]
    rest = tl.where(there > 0, tail >> 1, 0)
    byte = tl.arange(0, GROUP)[None, None, :]
    some = _side_by_side(rest, bit, 0)[:, :, None] >> ((byte & 7) * 8).to(tl.uint64)
    if GROUP > 8:
        other = _side_by_side(rest, bit, 64)[:, :, None] >> ((byte & 7) * 8).to(tl.uint64)
        some = tl.where(byte < 8, some, other)
    tl.store(at + starts[:, :, None] + byte, (some & 0xFF).to(tl.uint8), mask=byte < rest_bytes[:, :, None])
    mantissa = (words & ((1 << MANTISSA) - 1)) | ((tail & 1) << MANTISSA)
    place = (starts + rest_bytes)[:, :, None] + rank * (SIZE - 1)
    for part in tl.static_range(SIZE - 1):
        tl.store(at + place + part, (mantissa >> (8 * part)).to(tl.uint8), mask=there > 0)


@triton.jit
def encode(raw, stream, places, chosen, elements, first, CODING: tl.constexpr, SIZE: tl.constexpr,
           LINES: tl.constexpr, NARROW: tl.constexpr):
    """The block at its place of the stream, if this coding was chosen; raw where the coding makes it no shorter."""
    PLACES: tl.constexpr = LINES * 128 // SIZE
    TAG: tl.constexpr = 16 // SIZE
    if tl.load(chosen) == CODING:
        block = tl.program_id(0) + first
        here = tl.minimum(elements - block.to(tl.int64) * PLACES, PLACES).to(tl.int32)
        lines = (here * SIZE + 127) >> 7
        short = (here < PLACES).to(tl.int32)
        field = 4 * short
        flat = load_elements(raw, block, here, PLACES, NARROW)
        words = tl.reshape(flat, (LINES, 4, 32 // SIZE))
        there = (words != 0).to(tl.int32)
        line, four, tag_byte = tl.arange(0, LINES), tl.arange(0, 4), tl.arange(0, TAG)[None, :]
        if CODING & 0x20:
            header, base, based, widths, narrows, tagged, bits, signs, escape, whole = _facts(words, there, LINES, SIZE)
            _, _, data = _data_bytes(there, bits, signs, SIZE)
            widths_at = field + lines + tl.sum(based, 0)
            facts_end = widths_at + tl.sum(narrows, 0)
            tags_at = padded(facts_end)
            data_at = tags_at + tl.sum(tagged, 0) * TAG
            packed = data_at + tl.sum(tl.sum(data, 1), 0)
        else:
            tags_at = field
            data_at = field + lines * TAG
            packed = data_at + tl.sum(tl.sum(tl.sum(there, 2), 1), 0) * SIZE
        length = tl.minimum(packed, here * SIZE)
        at = stream + tl.load(places + block)
        name = tl.where(packed < here * SIZE, CODING | (short << 7), 0)
        tl.store(at.to(tl.pointer_type(tl.int32)), length | (name << 16) | ((block & 0xFF) << 24))
        at += 4
        tl.store(at + length + four, tl.zeros((4,), tl.uint8), mask=length + four < padded(length))
        if SIZE == 1:
            units, values = at, flat.to(tl.uint8)
        elif SIZE == 2:
            units, values = at.to(tl.pointer_type(tl.int16)), flat.to(tl.int16)
        else:
            units, values = at.to(tl.pointer_type(tl.int32)), flat
        place = tl.arange(0, PLACES)
        if name == 0:
            tl.store(units + place, values, mask=place < here)
        else:
            tl.store(at + four, ((here * SIZE) >> (8 * four)).to(tl.uint8), mask=four < field)
            tags = tl.sum(tl.reshape(there, (LINES, TAG, 8)) << tl.arange(0, 8)[None, None, :], 2).to(tl.uint8)
            if CODING & 0x20:
                tl.store(at + field + line, header.to(tl.uint8), mask=line < lines)
                tl.store(at + field + lines + before(based), base.to(tl.uint8), mask=based > 0)
                tl.store(at + widths_at + before(narrows), widths.to(tl.uint8), mask=narrows > 0)
                tl.store(at + facts_end + four, tl.zeros((4,), tl.uint8), mask=facts_end + four < tags_at)
                tl.store(at + tags_at + before(tagged)[:, None] * TAG + tag_byte, tags, mask=(tagged > 0)[:, None])
                _store_data(at, words, there, bits, signs, escape, whole, base, data_at, LINES, SIZE)
            else:
                tl.store(at + tags_at + line[:, None] * TAG + tag_byte, tags, mask=(line < lines)[:, None])
                ones = tl.reshape(there, (PLACES,))
                tl.store(units + data_at // SIZE + before(ones), values, mask=ones > 0)
