"""The inner loops of exponent coding, compiled by Numba: same functions and results as
:mod:`golden.kernels.exponents_numpy`.

A block is packed in two passes over its lines: the first finds what the line headers say, the second writes the data.
Import this module only where Numba is installed: :mod:`golden.kernels.choice` checks that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from golden.codec.buffers import Bytes
from golden.kernels.compiled import compiled

__all__ = ["expand_exponents", "pack_exponents"]


def pack_exponents(raw: Bytes, out: Bytes, element_bytes: int, block_bytes: int, limit: int, coding: int) -> int:
    """Pack blocks; see :func:`golden.kernels.exponents_numpy.pack_exponents`."""
    # The data of one block, and a margin: an element that is zero is written too, and overwritten by the next one.
    room = np.empty(2 * block_bytes + 64, np.uint8)
    return int(_pack(raw.view(f"<u{element_bytes}"), raw, out, room, block_bytes, min(limit, 1 << 30), int(coding)))


def expand_exponents(stream: Bytes, element_bytes: int, first: NDArray[np.int64], lines: int, out: Bytes
                     ) -> NDArray[np.int64]:
    """Expand blocks; see :func:`golden.kernels.exponents_numpy.expand_exponents`."""
    ends = np.empty(first.size, np.int64)
    _expand(stream, first, lines, out.view(f"<u{element_bytes}"), ends)
    return ends


# All indices are unsigned: a signed index may be negative, and the check for that costs much.
_0, _1, _2, _7, _8 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(7), np.uint64(8)
_ZEROS = np.uint8(0xFF)

# Bits of a distance.
_WIDTH = np.array([number.bit_length() for number in range(257)], np.uint64)

# Ones of every byte.
_ONES = np.array([byte.bit_count() for byte in range(256)], np.uint64)


@compiled
def _facts(words, first, elements, mantissa, group_min, group_ones):
    """What a line has: its largest exponent, whether there is a negative element, a zero one, and one with exponent 0
    that is not zero; for each group the smallest exponent that is not 0 (256 if none) and the elements not zero."""
    quarter = elements >> _2
    largest = negative = special = present = _0
    sign = np.uint64(mantissa + _8)
    at = first
    for group in range(4):
        smallest, ones = np.uint64(256), _0
        for _ in range(quarter):
            value = np.uint64(words[at])
            at += _1
            exponent = value >> mantissa & np.uint64(0xFF)
            found = np.uint64(value != _0)
            ones += found
            negative |= value >> sign
            largest = max(largest, exponent)
            # Wraps to 255 for exponent 0.
            smallest = min(smallest, (exponent - _1 & np.uint64(0xFF)) + _1)
            special |= found & np.uint64(exponent == _0)
        group_min[group] = smallest
        group_ones[group] = ones
        present += ones
    return largest, negative, special, present


@compiled
def _pack(words, raw, out, room, block_bytes, limit, coding):
    elements = np.uint64(128 // words.itemsize)
    size = np.uint64(words.itemsize)
    part = size - _1
    mantissa = np.uint64(8) * size - np.uint64(9)
    lines = np.uint64(block_bytes // 128)
    quarter = elements >> _2
    group_min, ones = np.zeros(4, np.uint64), np.zeros(4, np.uint64)
    need, less = np.zeros(4, np.uint64), np.zeros(4, np.uint64)
    headers, bases = np.zeros(256, np.uint8), np.zeros(256, np.uint8)
    widths, tags = np.zeros(256, np.uint8), np.zeros(4096, np.uint8)
    at = source = _0
    mask = (_1 << mantissa) - _1
    for block in range(np.uint64(words.size) // (lines * elements)):
        base_count = width_count = tag_at = previous = data = _0
        for line in range(lines):
            largest, negative, special, present = _facts(words, source, elements, mantissa, group_min, ones)
            if present == _0:
                headers[line] = _ZEROS
                source += elements
                continue
            escape = np.uint64(largest != _0) & special
            width = _0
            for group in range(4):
                # Without other exponents than 0 a group needs no bits.
                need[group] = 0 if group_min[group] == np.uint64(256) else _WIDTH[largest - group_min[group] + escape]
                width = max(width, need[group])
            base, whole, narrower = largest, width > np.uint64(6), _0
            header = width
            if whole:
                base, width, escape, header = np.uint64(255), _8, _0, _7
            packed_less = _0
            for group in range(4):
                less[group] = _0 if whole else min(np.uint64(3), width - need[group])
                packed_less |= less[group] << np.uint64(2 * group)
                narrower |= np.uint64(less[group] != _0) & np.uint64(ones[group] != _0)
            header |= negative << np.uint64(3) | escape << np.uint64(5)
            if narrower:
                header |= np.uint64(64)
                widths[width_count] = packed_less
                width_count += _1
            if not whole and base != previous:
                header |= np.uint64(128)
                bases[base_count] = base
                base_count += _1
            if not whole:
                previous = base
            dense = present == elements
            header |= np.uint64(dense) << np.uint64(4)
            headers[line] = header
            for group in range(4):
                bits = width - less[group] * narrower
                full = (_1 << bits) - _1
                rest = max(bits + negative, _1) - _1
                rest_at = data
                data += ones[group] * rest + _7 >> np.uint64(3)
                held = held_bits = _0
                for _ in range(quarter >> np.uint64(3)):
                    tag = _0
                    for bit in range(8):
                        value = np.uint64(words[source])
                        source += _1
                        found = np.uint64(value != _0)
                        tag |= found << np.uint64(bit)
                        exponent = value >> mantissa & np.uint64(0xFF)
                        distance = base - exponent
                        if escape and exponent == _0:
                            distance = full
                        tail = distance << negative | value >> (mantissa + _8)
                        # Always written; overwritten by the next element if this one is zero.
                        word = value & mask | (tail & _1) << mantissa
                        for byte in range(part):
                            room[data + byte] = word >> (_8 * byte)
                        data += part * found
                        held |= (tail >> _1) * found << held_bits
                        held_bits += rest * found
                        if held_bits >= np.uint64(32):
                            for byte in range(4):
                                room[rest_at + np.uint64(byte)] = held >> np.uint64(8 * byte)
                            rest_at += np.uint64(4)
                            held >>= np.uint64(32)
                            held_bits -= np.uint64(32)
                    if not dense:
                        tags[tag_at] = tag
                        tag_at += _1
                while held_bits > _0:
                    room[rest_at] = held
                    rest_at += _1
                    held >>= _8
                    held_bits -= min(held_bits, _8)
        facts = lines + base_count + width_count
        filler = (np.uint64(4) - facts % np.uint64(4)) % np.uint64(4)
        payload = facts + filler + tag_at + data
        as_is = payload >= np.uint64(limit)
        if as_is:
            payload = np.uint64(block_bytes)
        header = payload | np.uint64(0 if as_is else coding) << np.uint64(16) | np.uint64(block & 255) << np.uint64(24)
        for byte in range(4):
            out[at + np.uint64(byte)] = header >> np.uint64(8 * byte)
        at += np.uint64(4)
        if as_is:
            start = np.uint64(block) * np.uint64(block_bytes)
            out[at:at + payload] = raw[start:start + payload]
            at += payload
        else:
            for section, length in ((headers, lines), (bases, base_count), (widths, width_count)):
                out[at:at + length] = section[:length]
                at += length
            for _ in range(filler):
                out[at] = 0
                at += _1
            out[at:at + tag_at] = tags[:tag_at]
            at += tag_at
            out[at:at + data] = room[:data]
            at += data
        while at % np.uint64(4):
            out[at] = 0
            at += _1
    return at


@compiled
def _expand(stream, first, lines, target, ends):
    elements = np.uint64(128 // target.itemsize)
    size = np.uint64(target.itemsize)
    part = size - _1
    mantissa = _8 * size - np.uint64(9)
    mask, sign = (_1 << mantissa) - _1, mantissa + _8
    tag_bytes = elements >> np.uint64(3)
    group_bytes = tag_bytes >> _2
    last = np.uint64(stream.size - 1)
    at = _0
    for block in range(first.size):
        start = np.uint64(first[block])
        base_count = width_count = tag_count = _0
        wrong = False
        for line in range(np.uint64(lines)):
            header = np.uint64(stream[min(start + line, last)])
            if header == np.uint64(0xFF):
                continue
            wrong |= header & _7 == _7 and header >> np.uint64(5) != _0
            base_count += header >> _7
            width_count += header >> np.uint64(6) & _1
            tag_count += _1 - (header >> np.uint64(4) & _1)
        bases = start + np.uint64(lines)
        widths = bases + base_count
        tags = widths + width_count
        tags += (np.uint64(4) - (tags - start) % np.uint64(4)) % np.uint64(4)
        data = tags + tag_count * tag_bytes
        base = _0
        for line in range(np.uint64(lines)):
            header = np.uint64(stream[min(start + line, last)])
            if header == np.uint64(0xFF):
                for _ in range(elements):
                    target[at] = 0
                    at += _1
                continue
            width, signs, escape = header & _7, header >> np.uint64(3) & _1, header >> np.uint64(5) & _1
            packed_less = _0
            if header >> np.uint64(6) & _1:
                packed_less = np.uint64(stream[min(widths, last)])
                widths += _1
            if header >> _7:
                base = np.uint64(stream[min(bases, last)])
                bases += _1
            measured = base
            if width == _7:
                width, measured = _8, np.uint64(255)
            for group in range(4):
                less = packed_less >> np.uint64(2 * group) & np.uint64(3)
                if less > width:
                    wrong = True
                    less = width
                bits = width - less
                full = (_1 << bits) - _1
                rest = max(bits + signs, _1) - _1
                rest_mask = (_1 << rest) - _1
                ones, tag = _0, _0
                for byte in range(group_bytes):
                    some = np.uint64(0xFF)
                    if not header & np.uint64(16):
                        some = np.uint64(stream[min(tags, last)])
                        tags += _1
                    tag |= some << (_8 * byte)
                    ones += _ONES[some]
                rests = data
                data += ones * rest + _7 >> np.uint64(3)
                # Inside the stream nothing is checked for every byte.
                inside = data + np.uint64(64) < last
                held = held_bits = _0
                for _ in range(elements >> _2):
                    found = tag & _1
                    tag >>= _1
                    if held_bits < rest:
                        for _ in range(4):
                            held |= np.uint64(stream[rests if inside else min(rests, last)]) << held_bits
                            held_bits += _8
                            rests += _1
                    word = _0
                    for byte in range(part):
                        word |= np.uint64(stream[data + byte if inside else min(data + byte, last)]) << (_8 * byte)
                    lowest = word >> mantissa & _1
                    tail = ((held & rest_mask) << _1 | lowest)
                    distance = tail >> signs & full
                    exponent = measured - distance & np.uint64(0xFF)
                    if escape and distance == full:
                        exponent = _0
                    value = word & mask | exponent << mantissa | (lowest & signs) << sign
                    target[at] = value * found
                    at += _1
                    data += part * found
                    held >>= rest * found
                    held_bits -= rest * found
        ends[block] = -1 if wrong else data
