"""The inner loops of exponent coding in pure NumPy: blocks of whole lines, from raw bytes to payloads and back.

Packing finds what a line header says for all lines at once, then writes everything that a block may hold, at fixed
places, into one array, with a mask of what it does hold, and copies that in one step. Expanding finds the places of all
sections and groups from the headers and the tags, and takes each element from there.

Eight rests of a group, an *octet*, are handled as a word of 64 bits: one byte each, or ``p`` bits each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from golden.codec.buffers import Bytes
from golden.codec.layout import LINE_BYTES, TAG_BYTES
from golden.kernels.exponent_fields import GROUPS, MANTISSA, Fields, found_fields, read_fields
from golden.kernels.octets import spread, squeezed, words_at

__all__ = ["expand_exponents", "pack_exponents"]

Numbers = NDArray[Any]

# Fits the second-level cache together with all intermediate arrays.
_STEP_BYTES = 1 << 17
_HEADER = 4

# By a number of bytes: a word whose first bytes are 1, the others 0.
_FIRST_BYTES = np.array([int.from_bytes(b"\1" * count, "little") for count in range(9)], np.uint64)


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
    exponents = (words >> words.dtype.type(MANTISSA[element_bytes])).astype(np.uint8)
    nonzero = words != 0
    found = found_fields(words, exponents, nonzero, lines)
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
    mantissa = MANTISSA[size]
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
    packed = squeezed(_compacted(rests, nonzero, ones, group).view(np.uint64), bits)
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
    found, data, wrong = read_fields(stream, size, first, lines)
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
    packed = words_at(stream, octet_starts.reshape(-1))
    rests = spread(packed, np.repeat(bits, octets).astype(np.uint64)).view(np.uint8)
    places = ranks + (np.arange(ones.size) * group)[:, None]
    rest = rests.take(places)
    mantissa = MANTISSA[size]
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
