"""Payloads with exponents: metadata of all lines of a block, tags, and the data of groups. See docs/formats.md."""

from __future__ import annotations

import numpy as np

from cdma.golden.codec.buffers import Bytes
from cdma.golden.codec.errors import Reason, StreamError
from cdma.golden.codec.headers import HEADER_BYTES
from cdma.golden.codec.layout import LINE_BYTES, TAG_BYTES
from cdma.golden.codec.tags_first import check_data, check_end, check_missing, check_tags, padded_lines
from cdma.golden.kernels import exponents_numpy
from cdma.golden.kernels.exponents_numpy import GROUPS, WHOLE, ZEROS

__all__ = ["compress_short", "decompress"]


def compress_short(raw: Bytes, element_bytes: int) -> Bytes:
    """The payload of a short block, behind its raw length."""
    padded = padded_lines(raw)
    out = np.empty(2 * padded.size + LINE_BYTES, np.uint8)
    used = exponents_numpy.pack_exponents(padded, out, element_bytes, padded.size, padded.size * 2, 0)
    payload = out[HEADER_BYTES:used]
    # Without the padding of the block, whose length is in the header.
    return payload[:int(out[:2].view("<u2")[0])]


def decompress(payload: Bytes, element_bytes: int, raw_bytes: int, at: int = 0) -> Bytes:
    """The raw bytes of one block.

    Parameters
    ----------
    payload
        Of the block.
    element_bytes
        2 for bfloat16, 4 for float32.
    raw_bytes
        Of the block.
    at
        Bytes of the payload before its line headers.

    Raises
    ------
    StreamError
        If it is malformed.
    """
    lines, tag_bytes = -(-raw_bytes // LINE_BYTES), TAG_BYTES[element_bytes]
    headers = payload[at:at + lines].tolist()
    if len(headers) < lines:
        raise _truncated(payload, at + lines)
    for line, header in enumerate(headers):
        if header & 7 == WHOLE and header >> 5 and header != ZEROS:
            raise StreamError(Reason.BAD_FACTS, at + line,
                              f"no bits 5 to 7 beside width 7, found {header:#04x}", line)
    coded = [header for header in headers if header != ZEROS]
    widths_at = at + lines + sum(header >> 7 for header in coded)
    end = widths_at + sum(header >> 6 & 1 for header in coded)
    tag_at = end + (at - end) % 4
    if payload.size < tag_at:
        raise _truncated(payload, tag_at)
    data = tag_at + tag_bytes * sum(not header & 16 for header in coded)
    check_tags(payload, data)
    for line, header in enumerate(headers):
        if header == ZEROS:
            continue
        width, less = 8 if header & 7 == WHOLE else header & 7, [0] * GROUPS
        if header & 64:
            less = [int(payload[widths_at]) >> 2 * group & 3 for group in range(GROUPS)]
            if max(less) > width:
                raise StreamError(Reason.BAD_FACTS, widths_at,
                                  f"groups at most {width} bits below the width, found {max(less)}", line)
            widths_at += 1
        tag, place = np.full(tag_bytes, 0xFF, np.uint8), at + line
        if not header & 16:
            tag, place = payload[tag_at:tag_at + tag_bytes], tag_at
            tag_at += tag_bytes
        if line == lines - 1:
            check_missing(tag, raw_bytes, element_bytes, place)
        ones = np.bitwise_count(tag).reshape(GROUPS, -1).sum(axis=1).tolist()
        rests = (max(width - each + (header >> 3 & 1) - 1, 0) for each in less)
        end = data + sum((count * rest + 7) // 8 for count, rest in zip(ones, rests, strict=True)) + sum(ones) * (
            element_bytes - 1)
        check_data(payload, data, end, line)
        data = end
    check_end(payload, data, lines - 1)
    out = np.empty(lines * LINE_BYTES, np.uint8)
    exponents_numpy.expand_exponents(payload, element_bytes, np.array([at]), lines, out)
    return out[:raw_bytes]


def _truncated(payload: Bytes, end: int) -> StreamError:
    return StreamError(Reason.TRUNCATED_FACTS, payload.size, f"line metadata to byte {end} of the payload")
