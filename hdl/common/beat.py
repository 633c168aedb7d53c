"""Layout of the beats that streams of bytes carry."""

from __future__ import annotations

from amaranth.lib import data, stream

__all__ = ["beat_layout", "beat_stream"]


def beat_layout(beat_bytes: int) -> data.StructLayout:
    """One transfer.

    ``data`` is little-endian. ``keep`` has one bit per byte and is read on the last beat of a packet only: the kept
    bytes there must come first, and there may be none. On other beats all bytes are valid. ``last`` ends the packet.
    """
    return data.StructLayout({"data": 8 * beat_bytes, "keep": beat_bytes, "last": 1})


def beat_stream(beat_bytes: int) -> stream.Signature:
    """A stream of :func:`beat_layout`."""
    return stream.Signature(beat_layout(beat_bytes))
