"""What the exponents of a line have in common, as both directions of exponent coding use it."""

from __future__ import annotations

from amaranth.lib import data

__all__ = ["GROUPS", "GROUP_BYTES", "WHOLE_BASE", "WHOLE_WIDTH", "group_layout", "line_record_layout"]

GROUP_BYTES = 32
"""Raw bytes of a group: 16 bfloat16 or 8 float32 elements."""

GROUPS = 4
"""Groups of a line."""

WHOLE_WIDTH = 8
"""Width of a distance that is a whole exponent."""

WHOLE_BASE = 255
"""Base of a line whose distances are whole exponents."""


def line_record_layout() -> data.StructLayout:
    """A line of exponent coding.

    ``zero``: all elements are zero, and nothing else counts. ``dense``: none is. ``signs``: signs are stored.
    ``escape``: a distance of all ones means exponent 0. ``base``: the exponent from which distances are measured
    downwards. ``width``: bits of a distance, 0 to 6, or 8 for whole exponents; those of group k are ``less[k]`` fewer.

    Source: docs/formats.md, "Exponents".
    """
    return data.StructLayout({"zero": 1, "dense": 1, "signs": 1, "escape": 1, "base": 8, "width": 4,
                              "less": data.ArrayLayout(2, GROUPS)})


def group_layout() -> data.StructLayout:
    """A group of exponent coding: fields of its line's record, with the ``width`` of this group."""
    return data.StructLayout({"signs": 1, "escape": 1, "base": 8, "width": 4})
