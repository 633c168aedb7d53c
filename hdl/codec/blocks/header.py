"""Layout of a block's header in the block stream. Source: docs/formats.md."""

from __future__ import annotations

from amaranth.lib import data

__all__ = ["HEADER_BYTES", "header_layout"]

HEADER_BYTES = 4
"""Bytes of a header."""


def header_layout() -> data.StructLayout:
    """A block's header: bytes of its payload, coding, and its number modulo 256."""
    return data.StructLayout({"payload_bytes": 16, "coding": 8, "sequence": 8})
