"""Codings and element sizes of a block: which there are, and how many bytes tags and payloads take.

A block is raw, or coded with elements of 1, 2 or 4 bytes. Tag lengths, the longest payload and the one-hot element
size of the cores come from here. A *unit* is the smallest element a build can code; byte routing moves whole units.
Source: docs/formats.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from amaranth.hdl import Cat, Mux, Value, ValueLike
from amaranth.lib import data
from amaranth.utils import exact_log2

__all__ = [
    "CODINGS", "ELEMENT_BITS", "EXPONENTS", "HEADER_BYTES", "LINE_BYTES", "RAW_CODING", "SHORT", "TAGS_FIRST",
    "WORD_BYTES", "element_layout", "header_layout", "largest_payload", "most_metadata", "most_tag_rows",
    "one_hot_element", "select", "tag_bytes", "tag_rows", "tag_words",
]

LINE_BYTES = 128
"""Raw bytes of a line, the unit of zero-value coding."""

WORD_BYTES = 4
"""Bytes of a word of the block stream: headers, tags of a line and padded payloads are whole words."""

HEADER_BYTES = 4
"""Bytes of a block's header."""

ELEMENT_BITS = (8, 16, 32)
"""Element sizes that zero-value coding knows."""

RAW_CODING = 0
"""Coding number of a raw block; that of a line stream is its element size in bytes."""

TAGS_FIRST = {size: 0x10 | size for size in (1, 2, 4)}
"""Coding numbers of zero-value coding with the tags first, by element size in bytes."""

EXPONENTS = {size: 0x20 | size for size in (2, 4)}
"""Coding numbers of exponent coding by element size in bytes: bfloat16, float32."""

CODINGS = {**{f"zvc{8 * size}": number for size, number in TAGS_FIRST.items()},
           "bfloat16": EXPONENTS[2], "float32": EXPONENTS[4]}
"""Coding numbers of blocks by name, those that a block core can be built for."""

SHORT = 0x80
"""The bit of a coding number that marks a short block; raw blocks and line streams have none."""


def tag_bytes(element_bytes: int) -> int:
    """Bytes of the tag of a line: one bit per element."""
    return LINE_BYTES // element_bytes // 8


def largest_payload(block_bytes: int, sizes: Collection[int], exponents: Collection[int] = ()) -> int:
    """Bytes of the longest payload of a block: no element is zero, and the smallest of the element sizes is used.

    With exponents a line has a header besides.
    """
    lines = block_bytes // LINE_BYTES
    return block_bytes + lines * max(tag_bytes(min(sizes)), *(1 + tag_bytes(size) for size in exponents), 0)


def most_metadata(block_bytes: int, sizes: Collection[int], exponents: Collection[int] = ()) -> int:
    """Bytes that stand in front of the data of a block at most: its tags; with exponents, also headers, bases, widths
    and their filler."""
    lines = block_bytes // LINE_BYTES
    facts = -(-3 * lines // WORD_BYTES) * WORD_BYTES
    return max(lines * tag_bytes(min(sizes)), *(facts + lines * tag_bytes(size) for size in exponents), 0)


def most_tag_rows(beat_bytes: int, sizes: Collection[int], block_bytes: int) -> int:
    """Rows that the tags of a block take at most."""
    return -(-block_bytes // LINE_BYTES * tag_bytes(min(sizes)) // beat_bytes)


def element_layout(sizes: tuple[int, ...]) -> data.StructLayout:
    """One-hot element size: one bit per size (in bytes) that a build can code."""
    return data.StructLayout({f"b{size}": 1 for size in sizes})


def one_hot_element(element: Value, sizes: tuple[int, ...]) -> Value:
    """:func:`element_layout` for an element size in bytes. A size that is not built counts as the largest built."""
    others = [element == size for size in sizes[:-1]]
    return Cat(*others, ~Cat(*others).any() if others else 1)


def select(element: data.View, choices: Mapping[int, ValueLike]) -> Value:
    """The choice for the element size that is set, as a sum of products."""
    sizes = list(choices)
    if len(sizes) == 1:
        return Value.cast(choices[sizes[0]])
    result = None
    for size in sizes:
        value = Value.cast(choices[size])
        term = Mux(element[f"b{size}"], value, 0)
        result = term if result is None else result | term
    assert result is not None
    return result


def tag_words(element: data.View, lines: Value, sizes: Collection[int]) -> Value:
    """Words of 4 bytes that the tags of so many lines take."""
    return select(element, {size: lines * (tag_bytes(size) // WORD_BYTES) for size in sizes})


def tag_rows(element: data.View, lines: Value, sizes: Collection[int], beat_bytes: int) -> Value:
    """Rows of ``beat_bytes`` bytes that the tags of so many lines take; each size has whole lines in a row."""
    fit = {size: beat_bytes // tag_bytes(size) for size in sizes}
    return select(element, {size: (lines + (count - 1)) >> exact_log2(count) for size, count in fit.items()})


def header_layout() -> data.StructLayout:
    """A block's header: bytes of its payload, coding, and its number modulo 256."""
    return data.StructLayout({"payload_bytes": 16, "coding": 8, "sequence": 8})
