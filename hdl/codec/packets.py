"""Input stream of the cores (beats with the element size of their packet) and the error codes they report."""

from __future__ import annotations

from amaranth.lib import data, enum, stream

__all__ = ["ErrorCode", "coded_beat_layout", "coded_beat_stream"]


class ErrorCode(enum.Enum, shape=2):
    """Result of a packet, valid with the beat that carries its ``last``."""

    OK = 0
    """The packet is whole."""
    TRUNCATED_TAG = 1
    """The packet ends inside a tag."""
    TRUNCATED_DATA = 2
    """A tag claims more elements than the packet still holds, and the line is not a valid partial last line."""
    TRAILING_BYTES = 3
    """The packet ends within an element."""


def coded_beat_layout(beat_bytes: int) -> data.StructLayout:
    """One transfer into a core: a beat, and the element size of its packet.

    ``element`` is the number of bytes of an element (1, 2 or 4; the coding byte of the block header), read on the
    first beat of a packet.
    """
    return data.StructLayout({"data": 8 * beat_bytes, "keep": beat_bytes, "last": 1, "element": 3})


def coded_beat_stream(beat_bytes: int) -> stream.Signature:
    """A stream of :func:`coded_beat_layout`."""
    return stream.Signature(coded_beat_layout(beat_bytes))
