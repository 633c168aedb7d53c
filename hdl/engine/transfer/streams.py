"""Streams between lanes and link: framed blocks and payloads, one link beat at a time.

A *framed block* is a block in the form it has in the block stream: header, payload, and padding to whole words of 4
bytes. Source: the block stream of docs/formats.md.
"""

from __future__ import annotations

from amaranth.lib import data, stream

from cdma.hdl.codec.coding import WORD_BYTES
from cdma.hdl.codec.narrowing.rounding import Narrowing
from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.engine.transfer.records import BLOCK_BITS, Status

__all__ = ["block_layout", "framed_stream", "payload_stream", "stream_fault_layout", "words_stream"]

def framed_stream(config: EngineConfig) -> stream.Signature:
    """Framed blocks, from a lane to the aggregator: every block starts at byte 0 of a beat.

    ``words`` is the number of valid words of ``data``, 1 to ``link_words``; only the last beat may have fewer than
    ``link_words``, and its other words are zero. ``first`` and ``last`` mark the first and last beat of a block. On the
    first beat, ``block_words`` is the number of words of the whole framed block, ``nonzero`` the number of its non-zero
    elements, and ``raw`` is set if it was left raw.
    """
    return stream.Signature(data.StructLayout({
        "data": 8 * config.link_beat_bytes, "words": range(config.link_words + 1), "first": 1, "last": 1,
        "block_words": range(config.largest_payload // WORD_BYTES + 3), "nonzero": range(config.block_bytes + 1),
        "raw": 1,
    }))


def words_stream(config: EngineConfig) -> stream.Signature:
    """The block stream without gaps: ``words`` of ``data`` are valid; only the ``last`` beat may not be full."""
    return stream.Signature(data.StructLayout({
        "data": 8 * config.link_beat_bytes, "words": range(config.link_words + 1), "last": 1,
    }))


def block_layout(config: EngineConfig) -> data.StructLayout:
    """What a lane needs to expand a block: lengths in bytes, coding, address, its number in the transfer, and the
    format to which its values were narrowed.

    ``payload_bytes`` does not count the length field of a short block. ``coding`` is that of a whole block: 0, or the
    coding of the transfer. Where values were narrowed, ``raw_bytes`` counts the narrowed values.
    """
    return data.StructLayout({
        "payload_bytes": range(config.largest_payload + 1), "coding": 8,
        "raw_bytes": range(config.block_bytes + 1), "address": config.address_bits, "number": BLOCK_BITS,
        "narrow": Narrowing,
    })


def payload_stream(config: EngineConfig) -> stream.Signature:
    """Payloads from the distributor to a lane, realigned: every block starts at byte 0 of a beat.

    ``first`` and ``last`` mark the first and last beat of a block. All beats but the last are full; bytes after the
    payload in the last beat are undefined. The length field of a short block is left out. ``block`` is valid on the
    first beat only.
    """
    return stream.Signature(data.StructLayout({
        "data": 8 * config.link_beat_bytes, "first": 1, "last": 1, "block": block_layout(config),
    }))


def stream_fault_layout() -> data.StructLayout:
    """A fault of a stream: its status, and the number of the block."""
    return data.StructLayout({"valid": 1, "status": Status, "block": BLOCK_BITS})
