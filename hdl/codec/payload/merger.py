"""Puts the rows of a block in order: its tags, then its data."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.codec.coding import WORD_BYTES, largest_payload, most_tag_rows
from hdl.codec.payload.row_packer import packed_row_layout
from hdl.common.beat import beat_stream
from hdl.common.bits import thermometer

__all__ = ["Merger", "packed_block_layout"]


def packed_block_layout(beat_bytes: int, sizes: tuple[int, ...], block_bytes: int) -> data.StructLayout:
    """A block that is packed.

    ``coding``, ``raw_bytes`` and ``payload_bytes`` as in its header; ``cut``: its packet ended within an element, whose
    bytes were dropped. ``tag_words``: words of 4 bytes of tags in the payload. ``tag_rows``: rows of tags that were
    written for it, whether they are in the payload or not. The word with the length of a short block is not counted: it
    belongs to the header here.
    """
    largest = largest_payload(block_bytes, sizes)
    rows = most_tag_rows(beat_bytes, sizes, block_bytes)
    return data.StructLayout({
        "coding": 8, "raw_bytes": range(block_bytes + 1), "payload_bytes": range(largest + 1), "cut": 1,
        "tag_words": range((largest - block_bytes) // WORD_BYTES + 1), "tag_rows": range(rows + 1)})


class Merger(wiring.Component):
    """Sends the rows of a block's tags, then those of its data.

    ::

        tags ---+
                +--> [row by row; the last one of the tags has the first data behind them] --> o, block
        rows ---+

    Tags that are not in the payload, because the block stays raw, are dropped while its rows leave.

    Parameters
    ----------
    beat_bytes, block_bytes : int
        Bytes of a row, and of a block.
    sizes : tuple of int
        Element sizes in bytes that can be chosen.

    Members
    -------
    i : In(stream.Signature(packed_block_layout(beat_bytes, sizes, block_bytes)))
        The blocks, in order.
    tags : In(stream.Signature(8 * beat_bytes))
        Rows of tags, as many as ``tag_rows`` says.
    rows : In(stream.Signature(packed_row_layout(beat_bytes)))
        Rows of data; the first one has its data behind the tags, if these end within a row.
    o : Out(beat_stream(beat_bytes))
        Payloads, each a packet.
    block : Out(packed_block_layout(beat_bytes, sizes, block_bytes))
        Beside every beat of ``o``: its block.
    """

    i: stream.Interface
    tags: stream.Interface
    rows: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], block_bytes: int):
        self._beat_bytes = beat_bytes
        layout = packed_block_layout(beat_bytes, tuple(sorted(sizes)), block_bytes)
        super().__init__({
            "i": In(stream.Signature(layout)), "tags": In(stream.Signature(8 * beat_bytes)),
            "rows": In(stream.Signature(packed_row_layout(beat_bytes))), "o": Out(beat_stream(beat_bytes)),
            "block": Out(layout),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self._beat_bytes
        shift, words = exact_log2(n), exact_log2(n // WORD_BYTES)
        coming = self.i.payload
        block = Signal.like(coming, name="block", reset_less=True)
        # A block is at hand; its payload has left, but rows of tags are still to be dropped.
        active, sent = Signal(), Signal()
        # Rows with tags that are still to leave, and rows of tags that are still to be taken.
        tags_left = Signal.like(coming.tag_rows, name="tags_left", reset_less=True)
        untaken = Signal.like(coming.tag_rows, name="untaken", reset_less=True)
        behind = Signal(range((1 << len(coming.payload_bytes)) >> shift), reset_less=True)
        final, has_data, has_bytes = (Signal(name=name, reset_less=True) for name in ("final", "has_data", "has_bytes"))
        takes, goes, pops = Signal(), Signal(), Signal()
        on_tags, mixed, drops, reads = Signal(), Signal(), Signal(), Signal()
        part, tail = block.tag_words[:words], block.payload_bytes[:shift]
        m.d.comb += [
            self.block.eq(block),
            on_tags.eq(tags_left != 0),
            mixed.eq((tags_left == 1) & (part != 0)),
            drops.eq(active & (~on_tags | sent) & (untaken != 0)),
            reads.eq((~on_tags | mixed) & has_data),
            self.o.valid.eq(active & ~sent & (~on_tags | self.tags.valid) & (~reads | self.rows.valid)),
            pops.eq(self.tags.valid & self.tags.ready),
            goes.eq(self.o.valid & self.o.ready),
            self.tags.ready.eq(Mux(on_tags & ~sent, goes, drops)),
            self.rows.ready.eq(goes & reads),
            takes.eq(~active | ((sent | (goes & final)) & (untaken <= pops))),
            self.i.ready.eq(takes),
            self.o.payload.last.eq(final),
            self.o.payload.keep.eq(Mux(final & ((tail != 0) | ~has_bytes), Cat(thermometer(tail, n)), (1 << n) - 1)),
        ]
        tagged = Cat(thermometer(part, n // WORD_BYTES))
        for word in range(n // WORD_BYTES):
            place = slice(8 * WORD_BYTES * word, 8 * WORD_BYTES * (word + 1))
            m.d.comb += self.o.payload.data[place].eq(
                Mux(on_tags & (~mixed | tagged[word]), self.tags.payload[place], self.rows.payload.data[place]))
        with m.If(takes):
            m.d.sync += [
                active.eq(self.i.valid), sent.eq(0), block.eq(coming), untaken.eq(coming.tag_rows),
                tags_left.eq((coming.tag_words + (n // WORD_BYTES - 1)) >> words),
                behind.eq((coming.payload_bytes - 1) >> shift), final.eq(coming.payload_bytes <= n),
                has_data.eq(coming.payload_bytes > coming.tag_words * WORD_BYTES),
                has_bytes.eq(coming.payload_bytes != 0),
            ]
        with m.Else():
            m.d.sync += untaken.eq(untaken - pops)
            with m.If(goes):
                m.d.sync += [tags_left.eq(tags_left - on_tags), behind.eq(behind - 1), final.eq(behind == 1),
                             sent.eq(final)]
        return m
