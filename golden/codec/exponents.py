"""Payloads with exponents: facts of all lines of a block, tags, and the data of groups. See docs/formats.md."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cdma.golden.codec.buffers import Bytes
from cdma.golden.codec.errors import Reason, StreamError
from cdma.golden.codec.headers import HEADER_BYTES
from cdma.golden.codec.layout import LINE_BYTES, TAG_BYTES
from cdma.golden.codec.tags_first import check_data, check_end, check_missing, check_tags, padded_lines
from cdma.golden.kernels import exponents_numpy
from cdma.golden.kernels.exponents_numpy import GROUPS, WHOLE, ZEROS

__all__ = ["LineFacts", "compress_short", "decompress", "read_facts"]


@dataclass(frozen=True)
class LineFacts:
    """What the facts of a block say of a line.

    Parameters
    ----------
    zeros
        Whether all its elements are zero; nothing else is true then.
    width
        Bits of a distance, 8 where distances are whole exponents.
    less
        Bits that each group has less.
    base
        From which distances are measured.
    based
        Whether the base is given for this line, not that of the line before.
    signs, escape
        Whether signs are stored, and whether the largest distance that fits means exponent 0.
    widths_offset, tag_offset
        Bytes of the payload before its widths and before its tag; None if it has none.
    """

    zeros: bool
    width: int
    less: tuple[int, ...]
    base: int
    based: bool
    signs: bool
    escape: bool
    widths_offset: int | None
    tag_offset: int | None

    @property
    def dense(self) -> bool:
        """Whether no element is zero."""
        return self.tag_offset is None and not self.zeros


def compress_short(raw: Bytes, element_bytes: int) -> Bytes:
    """The payload of a short block, behind its raw length."""
    padded = padded_lines(raw)
    out = np.empty(2 * padded.size + LINE_BYTES, np.uint8)
    used = exponents_numpy.pack_exponents(padded, out, element_bytes, padded.size, padded.size * 2, 0)
    payload = out[HEADER_BYTES:used]
    # Without the padding of the block, whose length is in the header.
    return payload[:int(out[:2].view("<u2")[0])]


def read_facts(payload: Bytes, element_bytes: int, raw_bytes: int, at: int = 0) -> tuple[list[LineFacts], int]:
    """The facts of each line of a block, and the bytes of the payload before its data.

    Parameters, errors: as :func:`decompress`, but for what is wrong with widths, tags and data.
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
    base_at = at + lines
    widths_at = base_at + sum(header >> 7 for header in coded)
    end = widths_at + sum(header >> 6 & 1 for header in coded)
    tag_at = end + (at - end) % 4
    if payload.size < tag_at:
        raise _truncated(payload, tag_at)
    data = tag_at + tag_bytes * sum(not header & 16 for header in coded)
    check_tags(payload, data)
    found = []
    base = 0
    for header in headers:
        if header == ZEROS:
            found.append(LineFacts(True, 0, (0,) * GROUPS, base, False, False, False, None, None))
            continue
        less, widths = (0,) * GROUPS, header >> 6 & 1
        if widths:
            less = tuple(int(payload[widths_at]) >> 2 * group & 3 for group in range(GROUPS))
        if header >> 7:
            base = int(payload[base_at])
        whole = header & 7 == WHOLE
        found.append(LineFacts(
            False, 8 if whole else header & 7, less, 255 if whole else base, bool(header & 128), bool(header & 8),
            bool(header & 32), widths_at if widths else None, None if header & 16 else tag_at))
        widths_at += widths
        base_at += header >> 7
        tag_at += 0 if header & 16 else tag_bytes
    return found, data


def _truncated(payload: Bytes, end: int) -> StreamError:
    return StreamError(Reason.TRUNCATED_FACTS, payload.size, f"facts to byte {end} of the payload")


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
    facts, data = read_facts(payload, element_bytes, raw_bytes, at)
    lines, tag_bytes = len(facts), TAG_BYTES[element_bytes]
    full = np.full(tag_bytes, 0xFF, np.uint8)
    for line, one in enumerate(facts):
        if one.widths_offset is not None and max(one.less) > one.width:
            raise StreamError(Reason.BAD_FACTS, one.widths_offset,
                              f"groups at most {one.width} bits below the width, found {max(one.less)}", line)
        if one.zeros:
            continue
        tag = full if one.tag_offset is None else payload[one.tag_offset:one.tag_offset + tag_bytes]
        if line == lines - 1:
            check_missing(tag, raw_bytes, element_bytes, at + line if one.tag_offset is None else one.tag_offset)
        end = data + _data_bytes(one, tag, element_bytes)
        check_data(payload, data, end, line)
        data = end
    check_end(payload, data, lines - 1)
    out = np.empty(lines * LINE_BYTES, np.uint8)
    exponents_numpy.expand_exponents(payload, element_bytes, np.array([at]), lines, out)
    return out[:raw_bytes]


def _data_bytes(facts: LineFacts, tag: Bytes, element_bytes: int) -> int:
    ones = np.bitwise_count(tag).reshape(GROUPS, -1).sum(axis=1).tolist()
    rests = (max(facts.width - less + facts.signs - 1, 0) for less in facts.less)
    rest_bytes = sum((count * rest + 7) // 8 for count, rest in zip(ones, rests, strict=True))
    return rest_bytes + sum(ones) * (element_bytes - 1)
