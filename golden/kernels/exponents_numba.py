"""The inner loops of exponent coding, compiled by Numba: same functions and results as
:mod:`golden.kernels.exponents_numpy`.

A block is packed in two passes over its lines: what the line headers say, from which all lengths follow, then the data.
Words are read and written at any byte; what is written beyond the end of a group is overwritten by what follows. Import
this module only where Numba is installed: :mod:`golden.kernels.choice` checks that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from golden.codec.buffers import Bytes
from golden.codec.layout import LINE_BYTES
from golden.kernels import windows
from golden.kernels.compiled import compiled, inlined
from golden.kernels.lanes import (
    address,
    bytes_of,
    expand_group,
    line_facts,
    load,
    pack_group,
    store,
)

__all__ = ["expand_exponents", "pack_exponents"]

# Bytes that may be accessed beyond the data of a block.
_MARGIN = 64


def pack_exponents(raw: Bytes, out: Bytes, element_bytes: int, block_bytes: int, limit: int, coding: int) -> int:
    """Pack blocks; see :func:`golden.kernels.exponents_numpy.pack_exponents`."""
    # For data that is close to the end of the output.
    room = np.empty(2 * block_bytes + _MARGIN, np.uint8)
    return int(_pack(raw.view(f"<u{element_bytes}"), raw, out, room, block_bytes, min(limit, 1 << 30), int(coding)))


def expand_exponents(stream: Bytes, element_bytes: int, first: NDArray[np.int64], lines: int, out: Bytes
                     ) -> NDArray[np.int64]:
    """Expand blocks; see :func:`golden.kernels.exponents_numpy.expand_exponents`."""
    ends = np.empty(first.size, np.int64)
    raw = out.view(f"<u{element_bytes}").reshape(first.size, lines * LINE_BYTES // element_bytes)
    for some, content, places in windows.spans(stream, first, 0, 2 * lines * LINE_BYTES + _MARGIN, max(1, first.size)):
        _expand(content, places, lines, raw[some].reshape(-1), ends[some])
        ends[some] += np.where(ends[some] < 0, 0, first[some] - places)
    return ends


# All numbers are unsigned: with signed ones Numba would compute in floats, and check whether indices are negative.
_0, _1, _2, _3, _4, _5, _6, _7, _8 = map(np.uint64, range(9))
_BYTE = np.uint64(0xFF)
_EACH = np.uint64(0x0101_0101_0101_0101)
_LINE = np.uint64(LINE_BYTES)

# Bits of a line header.
_DENSE, _ESCAPE, _WIDTHS, _BASE = (np.uint64(1 << bit) for bit in range(4, 8))

# Bits of a distance.
_WIDTH = np.array([number.bit_length() for number in range(256)], np.uint8)
# Of every byte: how many ones it has, and, for each bit in a byte of its own, how many are below it.
_ONES = np.array([byte.bit_count() for byte in range(256)], np.uint8)
_RANKS = np.array([sum((byte & (1 << bit) - 1).bit_count() << 8 * bit for bit in range(8)) for byte in range(256)],
                  np.uint64)


@inlined
def _shape(zero):
    """The bytes of an element and of its byte part, the bits of its mantissa, the octets and elements of a group."""
    size = bytes_of(zero)
    octets = _4 >> (size >> _1)
    return size, size - _1, _8 * size - np.uint64(9), octets, octets << _3


@inlined
def _ones(part, octets):
    """Ones of each octet of a group's part of a tag."""
    return np.uint64(_ONES[part & _BYTE]), np.uint64(_ONES[part >> _8 & _BYTE]) if octets == _2 else _0


@inlined
def _rest_bits(width, signs):
    return max(width + signs, _1) - _1


@inlined
def _find_facts(source, at, zero, previous, line, headers, bases, widths, tags, counts):
    """Find the facts of a line and add them to those of its block; returns its base, the widths of its groups as bytes
    of a word, and its data bytes. ``counts`` are those of bases, widths and tags."""
    tag, largest, negative, special, smallest = line_facts(source, at, zero)
    tags[line] = tag
    if tag == _0:
        headers[line] = _BYTE
        return _0, _0, _0
    _, part, _, octets, places = _shape(zero)
    escape = special if largest != _0 else _0
    width, needs = _0, _0
    for group in range(_4):
        below = smallest >> group * np.uint64(16) & _BYTE
        need = _0 if below == _BYTE else np.uint64(_WIDTH[largest - below - _1 + escape & _BYTE])
        needs |= need << group * _8
        width = max(width, need)
    base, header, narrower, packed = largest, width, _0, _0
    if width > _6:
        base, width, header = _BYTE, _8, _7
    else:
        for group in range(_4):
            less = min(_3, width - (needs >> group * _8 & _BYTE))
            packed |= less << group * _2
            if tag >> group * places & (_1 << places) - _1:
                narrower |= less
        header |= escape << _5
        if narrower:
            header |= _WIDTHS
            widths[counts[1]] = packed
            counts[1] += _1
        if base != previous:
            header |= _BASE
            bases[counts[0]] = base
            counts[0] += _1
    ones = data = widths_of = _0
    for group in range(_4):
        bits = width - (packed >> group * _2 & _3 if narrower else _0)
        widths_of |= bits << group * _8
        low, high = _ones(tag >> group * places, octets)
        data += (low + high) * _rest_bits(bits, negative) + _7 >> _3
        ones += low + high
    dense = np.uint64(ones == places << _2)
    counts[2] += _1 - dense
    headers[line] = header | negative << _3 | dense << _4
    return base, widths_of, data + ones * part


@inlined
def _write_data(source, at, target, tag_at, data, lines, headers, base_of, widths_of, tags, words):
    """Write the tags and the data of all lines of a block."""
    kind = words.dtype.type
    zero = kind(0)
    size, part, mantissa, octets, places = _shape(zero)
    for line in range(lines):
        tag, header, base = tags[line], np.uint64(headers[line]), np.uint64(base_of[line])
        line_at = at + line * _LINE
        if tag == _0:
            continue
        if not header & _DENSE:
            if octets == _1:
                store(np.uint32(tag), target, tag_at)
            else:
                store(tag, target, tag_at)
            tag_at += _4 * octets
        signs = header >> _3 & _1
        for group in range(_4):
            bits = widths_of[line] >> group * _8 & _BYTE
            rest = _rest_bits(bits, signs)
            full = (_1 << bits) - _1 if header & _ESCAPE else base
            some = tag >> group * places
            low, high = _ones(some, octets)
            low_ranks, high_ranks = _RANKS[some & _BYTE], _RANKS[some >> _8 & _BYTE]
            parts = data + ((low + high) * rest + _7 >> _3)
            pack_group(source, line_at + group * places * size, kind(base << mantissa), kind(full << mantissa),
                       kind(signs), target, data, low_ranks * rest, high_ranks * rest, low * rest, parts,
                       low_ranks * part, high_ranks * part + low * part * _EACH, zero)
            data = parts + (low + high) * part


@compiled
def _pack(words, raw, out, room, block_bytes, limit, coding):
    zero = words.dtype.type(0)
    _, _, _, octets, _ = _shape(zero)
    lines = np.uint64(block_bytes) // _LINE
    headers, bases, widths, base_of = (np.zeros(256, np.uint8), np.zeros(264, np.uint8), np.zeros(264, np.uint8),
                                       np.zeros(256, np.uint8))
    tags, widths_of = np.zeros(256, np.uint64), np.zeros(256, np.uint64)
    counts = np.zeros(3, np.uint64)
    source = address(raw)
    at = _0
    for block in range(np.uint64(raw.size) // np.uint64(block_bytes)):
        start = block * np.uint64(block_bytes)
        previous = data = _0
        counts[:] = _0
        for line in range(lines):
            base, line_widths, line_data = _find_facts(source, start + line * _LINE, zero, previous, line, headers,
                                                       bases, widths, tags, counts)
            base_of[line] = base
            widths_of[line] = line_widths
            data += line_data
            if tags[line] != _0 and headers[line] & _7 != _7:
                previous = base
        facts = lines + counts[0] + counts[1]
        data_at = (facts + _3 & ~_3) + counts[2] * _4 * octets
        payload = data_at + data
        field = np.uint64(coding)
        as_is = payload >= np.uint64(limit)
        if as_is:
            payload, field = np.uint64(block_bytes), _0
        inside = at + payload + np.uint64(_MARGIN) <= np.uint64(out.size)
        target = address(out) if inside else address(room)
        to = at if inside else _0
        store(np.uint32(payload | field << np.uint64(16) | block << np.uint64(24)), target, to)
        to += _4
        if as_is:
            for byte in range(_0, payload, _8):
                store(load(source, start + byte, _0), target, to + byte)
        else:
            for byte in range(lines):
                store(headers[byte], target, to + byte)
            for byte in range(_0, counts[0], _8):
                store(load(address(bases), byte, _0), target, to + lines + byte)
            for byte in range(_0, counts[1], _8):
                store(load(address(widths), byte, _0), target, to + lines + counts[0] + byte)
            store(np.uint32(0), target, to + facts)
            _write_data(source, start, target, to + (facts + _3 & ~_3), to + data_at, lines, headers, base_of,
                        widths_of, tags, words)
        # What is behind the payload was written, too.
        store(np.uint32(0), target, to + payload)
        length = _4 + (payload + _3 & ~_3)
        if not inside:
            for byte in range(length):
                out[at + byte] = room[byte]
        at += length
    return at


@compiled
def _expand(stream, first, lines, out, ends):
    kind = out.dtype.type
    zero = kind(0)
    size, part, mantissa, octets, places = _shape(zero)
    count = np.uint64(lines)
    source, target = address(stream), address(out)
    to = _0
    for block in range(np.uint64(first.size)):
        start = np.uint64(first[block])
        base_count = width_count = tag_count = _0
        wrong = False
        for line in range(count):
            header = np.uint64(stream[start + line])
            if header != _BYTE:
                wrong |= header & _7 == _7 and header >> _5 != _0
                base_count += header >> _7
                width_count += header >> _6 & _1
                tag_count += _1 - (header >> _4 & _1)
        base_at = start + count
        width_at = base_at + base_count
        tag_at = start + (width_at + width_count - start + _3 & ~_3)
        data = tag_at + tag_count * _4 * octets
        base = _0
        for line in range(count):
            header = np.uint64(stream[start + line])
            if header == _BYTE:
                for byte in range(_0, _LINE, _8):
                    store(_0, target, to + byte)
                to += _LINE
                continue
            width, signs, packed = header & _7, header >> _3 & _1, _0
            if header & _WIDTHS:
                packed = np.uint64(stream[width_at])
                width_at += _1
            if header & _BASE:
                base = np.uint64(stream[base_at])
                base_at += _1
            from_base = base
            if width == _7:
                width, from_base = _8, _BYTE
            tag = ~_0
            if not header & _DENSE:
                tag = np.uint64(load(source, tag_at, np.uint32(0))) if octets == _1 else load(source, tag_at, _0)
                tag_at += _4 * octets
            for group in range(_4):
                less = packed >> group * _2 & _3
                if less > width:
                    wrong, less = True, width
                bits = width - less
                rest = _rest_bits(bits, signs)
                # Without escape a number that is no distance.
                full = (_1 << bits) - _1 << mantissa if header & _ESCAPE else _1
                kept = ~_0 if bits + signs != _0 else ~(_1 << mantissa)
                some = tag >> group * places
                low, high = _ones(some, octets)
                low_ranks, high_ranks = _RANKS[some & _BYTE], _RANKS[some >> _8 & _BYTE]
                gap = low * rest
                rests, more = load(source, data, _0), _0
                if octets == _2:
                    more = load(source, data + (gap >> _3), _0) >> (gap & _7)
                data += (low + high) * rest + _7 >> _3
                expand_group(source, data, low_ranks * part, high_ranks * part + low * part * _EACH, rests, more,
                             low_ranks * rest, high_ranks * rest, (_1 << rest) - _1, some, kind(from_base << mantissa),
                             kind(full), kind(signs), kind(kept), target, to, zero)
                data += (low + high) * part
                to += places * size
        ends[block] = -1 if wrong else np.int64(data)
