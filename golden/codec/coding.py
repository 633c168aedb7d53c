"""The codings of a block: what each value means, and which one a block gets. Only this module decides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from golden.codec.layout import TAG_BYTES, line_layout

__all__ = ["CODINGS", "RAW", "choose", "longest", "shortest"]

RAW = 0
"""The raw bytes as they are; any other value is the line stream of elements of that many bytes."""

CODINGS = (RAW, *TAG_BYTES)
"""Values that the coding field of a header may have."""


def choose(packed_bytes: NDArray[np.int64], raw_bytes: int, element_bytes: int, fallback: bool,
           leave_raw: bool = False) -> NDArray[np.int64]:
    """Coding of each block, from its size as a line stream.

    With ``fallback``, a block goes raw when the line stream would not be shorter than its ``raw_bytes``; with
    ``leave_raw`` every block does.
    """
    return np.where(leave_raw | (fallback & (packed_bytes >= raw_bytes)), RAW, element_bytes)


def shortest(coding: int, raw_bytes: int) -> int:
    """Fewest payload bytes of a block."""
    return raw_bytes if coding == RAW else line_layout(coding).packed_bytes(raw_bytes) - raw_bytes


def longest(coding: int, raw_bytes: int) -> int:
    """Most payload bytes of a block."""
    return raw_bytes if coding == RAW else line_layout(coding).packed_bytes(raw_bytes)
