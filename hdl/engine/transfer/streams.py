"""What lanes and link hand to each other: framed blocks and payloads, one link beat at a time.

A *framed block* is a block as it stands in the block stream: its header, its payload, and the padding to whole words
of 4 bytes. Source: the block stream of docs/formats.md.
"""

from __future__ import annotations

from amaranth.lib import data, stream

from hdl.codec.blocks.header import WORD_BYTES
from hdl.config.engine import EngineConfig
from hdl.engine.transfer.records import BLOCK_BITS, Status

__all__ = ["block_layout", "framed_stream", "payload_stream", "stream_fault_layout", "words_stream"]

def framed_stream(config: EngineConfig) -> stream.Signature:
    """Framed blocks, from a lane to the aggregator: every block starts at byte 0 of a beat.

    ``words`` of ``data`` count, 1 to ``link_words``; all but on the last beat; those behind are zero. ``first`` and
    ``last`` bound a block. On the first beat, ``block_words`` is the number of words of the whole framed block,
    ``nonzero`` its non-zero elements, and ``raw`` says that it was left raw.
    """
    return stream.Signature(data.StructLayout({
        "data": 8 * config.link_beat_bytes, "words": range(config.link_words + 1), "first": 1, "last": 1,
        "block_words": range(config.largest_payload // WORD_BYTES + 3), "nonzero": range(config.block_bytes + 1),
        "raw": 1,
    }))


def words_stream(config: EngineConfig) -> stream.Signature:
    """The block stream without gaps: ``words`` of ``data`` count, all but on the ``last`` beat of a transfer."""
    return stream.Signature(data.StructLayout({
        "data": 8 * config.link_beat_bytes, "words": range(config.link_words + 1), "last": 1,
    }))


def block_layout(config: EngineConfig) -> data.StructLayout:
    """What a lane has to know to expand a block: lengths in bytes, where it goes, and its number in the transfer.

    ``raw_bytes`` are those of narrowed values, where values were narrowed.
    """
    return data.StructLayout({
        "payload_bytes": range(config.largest_payload + 1), "raw": 1,
        "raw_bytes": range(config.block_bytes + 1), "address": config.address_bits, "number": BLOCK_BITS,
    })


def payload_stream(config: EngineConfig) -> stream.Signature:
    """Payloads from the distributor to a lane, realigned: every block starts at byte 0 of a beat.

    ``first`` and ``last`` bound a block; all beats but its last one are full, and what is behind its payload in that
    one has no meaning. ``block`` counts on the first beat only.
    """
    return stream.Signature(data.StructLayout({
        "data": 8 * config.link_beat_bytes, "first": 1, "last": 1, "block": block_layout(config),
    }))


def stream_fault_layout() -> data.StructLayout:
    """A malformed stream: what is wrong, and the number of the block."""
    return data.StructLayout({"valid": 1, "status": Status, "block": BLOCK_BITS})
