"""The codings of a block: what each value means, and which one a block gets in the NumPy model; the C library decides
by the same rule."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.golden.codec.buffers import whole_number
from cdma.golden.codec.layout import LINE_BYTES, TAG_BYTES

__all__ = [
    "SHORT", "WORD_BYTES", "Coding", "check_coding", "choose", "coding_name", "fields", "left_raw_from", "longest",
    "shortest"]


class Coding(IntEnum):
    """What the coding field of a block's header says about its payload; the lower four bits are the bytes of an
    element."""

    RAW = 0x00
    LINES8 = 0x01
    LINES16 = 0x02
    LINES32 = 0x04
    ZVC8 = 0x11
    ZVC16 = 0x12
    ZVC32 = 0x14
    BFLOAT16 = 0x22
    FLOAT32 = 0x24

    @property
    def element_bytes(self) -> int:
        """Bytes of an element; 1 where the block is raw."""
        return self & 0x0F or 1

    @property
    def tags_first(self) -> bool:
        """Whether the payload is tags, then elements."""
        return bool(self & 0x10)

    @property
    def exponents(self) -> bool:
        """Whether the payload is line metadata, tags, then groups."""
        return bool(self & 0x20)

    @property
    def sized(self) -> bool:
        """Whether a short block says how many raw bytes it has."""
        return self.tags_first or self.exponents


SHORT = 0x80
"""Bit of the field that is set in a short block of a coding that is :attr:`Coding.sized`."""

WORD_BYTES = 4
"""Bytes of the raw length of such a block, with which its payload begins."""


def coding_name(coding: Coding) -> str:
    """Its name on the pages and on the command line."""
    return coding.name.lower()


def check_coding(coding: Any) -> Coding:
    """The coding of that number; TypeError or ValueError if there is none that a tensor can have."""
    number = whole_number(coding, "coding")
    if number not in set(Coding) - {Coding.RAW}:
        known = ", ".join(f"{value:#04x} ({coding_name(value)})" for value in Coding if value is not Coding.RAW)
        raise ValueError(f"coding must be one of {known}, not {number:#04x}")
    return Coding(number)


def fields(coding: Coding | None) -> tuple[int, ...]:
    """The values that the coding field may have: all, or those of raw blocks and of one coding."""
    some = tuple(Coding) if coding is None else (Coding.RAW, coding)
    return (*map(int, some), *(value | SHORT for value in some if value.sized))


def left_raw_from(raw_bytes: int, fallback: bool, leave_raw: bool = False) -> int:
    """Payload bytes from which on a block is left raw, because coding would not make it shorter."""
    if leave_raw:
        return 0
    return raw_bytes if fallback else np.iinfo(np.int64).max


def shortest(field: int, raw_bytes: int) -> int:
    """Fewest payload bytes of a block with this coding field."""
    coding, lines = Coding(field & ~SHORT), -(-raw_bytes // LINE_BYTES)
    word = WORD_BYTES if field & SHORT else 0
    if coding is Coding.RAW:
        return raw_bytes
    if coding.exponents:
        return word + lines + -lines % 4
    return word + lines * TAG_BYTES[coding.element_bytes]


def longest(field: int, raw_bytes: int) -> int:
    """Most payload bytes of a block with this coding field."""
    coding, lines = Coding(field & ~SHORT), -(-raw_bytes // LINE_BYTES)
    if coding is Coding.RAW:
        return raw_bytes
    tags = lines * TAG_BYTES[coding.element_bytes]
    return shortest(field, raw_bytes) + raw_bytes + (tags if coding.exponents else 0)


def choose(packed_bytes: NDArray[np.int64], raw_bytes: int, coding: int, fallback: bool,
           leave_raw: bool = False) -> NDArray[np.int64]:
    """Coding of each block, from its size when it is coded; see :func:`left_raw_from`."""
    return np.where(packed_bytes >= left_raw_from(raw_bytes, fallback, leave_raw), int(Coding.RAW), int(coding))
