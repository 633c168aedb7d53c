"""Sizes of the line stream; all other sizes follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

__all__ = ["LINE_BYTES", "TAG_BYTES", "LineLayout", "line_layout"]

LINE_BYTES = 128
"""Raw bytes of a line."""

TAG_BYTES = {1: 16, 2: 8, 4: 4}
"""Bytes of a tag, by the bytes of an element."""


@dataclass(frozen=True)
class LineLayout:
    """A line of elements of one size. A *unit* is as many bytes as an element: tags are a whole number of them.

    Parameters
    ----------
    element_bytes
        1, 2 or 4.
    elements
        Elements of a line.
    tag_bytes, tag_units
        Of its tag.
    dtype
        Of a unit, little-endian.
    """

    element_bytes: int
    elements: int
    tag_bytes: int
    tag_units: int
    dtype: np.dtype

    def packed_bytes(self, raw_bytes: int) -> int:
        """Most packed bytes that these raw bytes can become."""
        lines = -(-raw_bytes // LINE_BYTES)
        return raw_bytes + lines * self.tag_bytes


@cache
def line_layout(element_bytes: int, line_bytes: int = LINE_BYTES) -> LineLayout:
    """The layout of lines of elements of 1, 2 or 4 bytes.

    A block with the tags first has that of a line of ``line_bytes``, the raw bytes of the block.
    """
    tag_bytes = TAG_BYTES[element_bytes] * line_bytes // LINE_BYTES
    return LineLayout(element_bytes, line_bytes // element_bytes, tag_bytes, tag_bytes // element_bytes,
                      np.dtype(f"<u{element_bytes}"))
