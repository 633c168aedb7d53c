"""Puts the rows of a block in order: its facts, its tags, then its data."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.codec.coding import LINE_BYTES, WORD_BYTES, largest_payload, most_tag_rows, tag_bytes
from hdl.codec.payload.facts_packer import SECTIONS, most_fact_rows
from hdl.codec.payload.row_packer import packed_row_layout
from hdl.common.beat import beat_stream
from hdl.common.bits import thermometer
from hdl.common.row_fifo import row_pair_layout

__all__ = ["Merger", "packed_block_layout"]


def packed_block_layout(beat_bytes: int, sizes: tuple[int, ...], block_bytes: int,
                        exponents: tuple[int, ...] = ()) -> data.StructLayout:
    """A block that is packed.

    ``coding``, ``raw_bytes`` and ``payload_bytes`` as in its header; ``cut``: its packet ended within an element, whose
    bytes were dropped. ``tag_words``: words of 4 bytes of tags in the payload. ``tag_rows``: rows of tags that were
    written for it, whether they are in the payload or not. With exponents, ``fact_words`` and ``fact_rows`` are the
    same of its facts. The word with the length of a short block is not counted: it belongs to the header here.
    """
    largest = largest_payload(block_bytes, sizes, exponents)
    tags = block_bytes // LINE_BYTES * tag_bytes(min(sizes))
    rows = most_tag_rows(beat_bytes, sizes, block_bytes)
    facts = {"fact_words": range(-(-SECTIONS * block_bytes // LINE_BYTES // WORD_BYTES) + 1),
             "fact_rows": range(most_fact_rows(beat_bytes, block_bytes) + 1)}
    return data.StructLayout({
        "coding": 8, "raw_bytes": range(block_bytes + 1), "payload_bytes": range(largest + 1), "cut": 1,
        "tag_words": range(tags // WORD_BYTES + 1), "tag_rows": range(rows + 1), **(facts if exponents else {})})


class Merger(wiring.Component):
    """Sends the rows of a block's facts, those of its tags, then those of its data.

    ::

        facts ---------------------------+
        tags ---> [words of two rows, -->+--> [row by row] --> o, block
                   behind the facts]     |
        rows ----------------------------+

    Facts, tags and data follow each other without a gap. Tags begin behind the last word of the facts: of two rows that
    follow each other, the last words of the first one and the first of the second one make a row. Data are packed for
    their place. A row leaves in each cycle in which all is there that it takes: rows of facts, then the last of them
    with the first tags, rows of tags, the last tags with the first data, rows of data.

    A block with 9 words of facts, 10 of tags, and data, in rows of 8 words; ``f0`` is the first row of facts, ``t1.0``
    is word 0 of the second row of tags::

        cycle            0      1                 2                          3
        facts taken             f0                f1
        tags taken                                t0                         t1
        rows taken                                                           d0
        i, taken         x
        o                       f0                f1.0, t0.0 to t0.6         t0.7, t1.0, t1.1, d0.3 to d0.7

    Rows of facts and tags that are not in the payload, because the block stays raw, are dropped while its rows leave.

    Parameters
    ----------
    beat_bytes, block_bytes : int
        Bytes of a row, and of a block.
    sizes : tuple of int
        Element sizes in bytes that can be chosen.
    exponents : tuple of int
        Those that can be coded with exponents. Without any there are no facts, and rows of tags leave as they are.

    Members
    -------
    i : In(stream.Signature(packed_block_layout(beat_bytes, sizes, block_bytes, exponents)))
        The blocks, in order.
    facts : In(stream.Signature(8 * beat_bytes))
        Rows of facts, as many as ``fact_rows`` says. Only with ``exponents``.
    tags : In(stream.Signature(8 * beat_bytes)), or In(stream.Signature(row_pair_layout(8 * beat_bytes)))
        Rows of tags, as many as ``tag_rows`` says; with ``exponents`` each beside the one before it.
    rows : In(stream.Signature(packed_row_layout(beat_bytes)))
        Rows of data; the first one has its data behind facts and tags, if these end within a row.
    o : Out(beat_stream(beat_bytes))
        Payloads, each a packet.
    block : Out(packed_block_layout(beat_bytes, sizes, block_bytes, exponents))
        Beside every beat of ``o``: its block.
    """

    i: stream.Interface
    tags: stream.Interface
    rows: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], block_bytes: int, exponents: tuple[int, ...] = ()):
        self._beat_bytes = beat_bytes
        self._exponents = exponents
        layout = packed_block_layout(beat_bytes, tuple(sorted(sizes)), block_bytes, exponents)
        members = {
            "i": In(stream.Signature(layout)),
            "tags": In(stream.Signature(row_pair_layout(8 * beat_bytes) if exponents else 8 * beat_bytes)),
            "rows": In(stream.Signature(packed_row_layout(beat_bytes))), "o": Out(beat_stream(beat_bytes)),
            "block": Out(layout),
        }
        if exponents:
            members["facts"] = In(stream.Signature(8 * beat_bytes))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self._beat_bytes
        shift, words = exact_log2(n), exact_log2(n // WORD_BYTES)
        coming = self.i.payload
        block = Signal.like(coming, name="block", reset_less=True)
        ahead = coming.tag_words + coming.fact_words if self._exponents else coming.tag_words
        # A block is at hand; its payload has left, but rows of facts and tags are still to be dropped.
        active, sent = Signal(), Signal()
        # Rows with facts or tags that are still to leave, and words of them in the last one.
        left = Signal(len(ahead + ((1 << words) - 1) >> words), name="left", reset_less=True)
        part = Signal(words)
        behind = Signal(range((1 << len(coming.payload_bytes)) >> shift), reset_less=True)
        final, has_data, has_bytes = (Signal(name=name, reset_less=True) for name in ("final", "has_data", "has_bytes"))
        takes, goes = Signal(), Signal()
        on_tags, mixed, reads = Signal(), Signal(), Signal()
        tail = block.payload_bytes[:shift]
        drops = active & (~on_tags | sent)
        if self._exponents:
            metadata, there, done = self._metadata(m, block, coming, takes, goes, on_tags & ~sent, drops)
            held_part = Signal(words, name="held_part", reset_less=True)
            m.d.comb += part.eq(held_part)
            with m.If(takes):
                m.d.sync += held_part.eq(ahead)
        else:
            done = self._source(m, self.tags, coming.tag_rows, takes, on_tags & ~sent & goes, drops)
            metadata, there = self.tags.payload, ~on_tags | self.tags.valid
            m.d.comb += part.eq(block.tag_words)
        m.d.comb += [
            self.block.eq(block),
            on_tags.eq(left != 0),
            mixed.eq((left == 1) & (part != 0)),
            reads.eq((~on_tags | mixed) & has_data),
            self.o.valid.eq(active & ~sent & there & (~reads | self.rows.valid)),
            goes.eq(self.o.valid & self.o.ready),
            self.rows.ready.eq(goes & reads),
            takes.eq(~active | ((sent | (goes & final)) & done)),
            self.i.ready.eq(takes),
            self.o.payload.last.eq(final),
            self.o.payload.keep.eq(Mux(final & ((tail != 0) | ~has_bytes), Cat(thermometer(tail, n)), (1 << n) - 1)),
        ]
        tagged = Cat(thermometer(part, n // WORD_BYTES))
        for word in range(n // WORD_BYTES):
            place = slice(8 * WORD_BYTES * word, 8 * WORD_BYTES * (word + 1))
            m.d.comb += self.o.payload.data[place].eq(
                Mux(on_tags & (~mixed | tagged[word]), metadata[place], self.rows.payload.data[place]))
        with m.If(takes):
            m.d.sync += [
                active.eq(self.i.valid), sent.eq(0), block.eq(coming),
                left.eq((ahead + (n // WORD_BYTES - 1)) >> words),
                behind.eq((coming.payload_bytes - 1) >> shift), final.eq(coming.payload_bytes <= n),
                has_data.eq(coming.payload_bytes > ahead * WORD_BYTES),
                has_bytes.eq(coming.payload_bytes != 0),
            ]
        with m.Elif(goes):
            m.d.sync += [left.eq(left - on_tags), behind.eq(behind - 1), final.eq(behind == 1), sent.eq(final)]
        return m

    def _source(self, m: Module, port: stream.Interface, rows: Value, takes: Signal, used: Value,
                drops: Value) -> Value:
        """Takes the rows of a block from a stream, those that are ``used`` and those it drops; whether the last one has
        left by the end of this cycle."""
        untaken = Signal.like(rows, name="untaken", reset_less=True)
        pops = Signal()
        m.d.comb += [port.ready.eq(used | (drops & (untaken != 0))), pops.eq(port.valid & port.ready)]
        m.d.sync += untaken.eq(Mux(takes, rows, untaken - pops))
        return untaken <= pops

    def _metadata(self, m: Module, block: Any, coming: Any, takes: Signal, goes: Signal, sends: Value,
                  drops: Value) -> tuple[Value, Value, Value]:
        """A row of facts and tags, whether what it takes is there, and whether all rows of the block have left."""
        words = exact_log2(self._beat_bytes // WORD_BYTES)
        width = 8 * WORD_BYTES
        # Whole rows of facts, and rows of tags, that are still to be used; whether facts are to share a row with tags.
        facts_left = Signal.like(coming.fact_rows, name="facts_left", reset_less=True)
        tags_left = Signal.like(coming.tag_rows, name="tags_left", reset_less=True)
        shares = Signal(reset_less=True)
        start = Signal(words, name="start")
        whole, on_facts, on_tags = Signal(), Signal(), Signal()
        m.d.comb += [start.eq(block.fact_words), whole.eq(facts_left != 0), on_facts.eq(sends & (whole | shares)),
                     on_tags.eq(sends & ~whole & (tags_left != 0))]
        done = [self._source(m, port, rows, takes, used & goes, drops) for port, rows, used in (
            (self.facts, coming.fact_rows, on_facts), (self.tags, coming.tag_rows, on_tags))]
        with m.If(takes):
            m.d.sync += [facts_left.eq(coming.fact_words >> words), shares.eq(coming.fact_words[:words] != 0),
                         tags_left.eq((coming.tag_words + ((1 << words) - 1)) >> words)]
        with m.Elif(goes):
            m.d.sync += [facts_left.eq(facts_left - whole), shares.eq(shares & whole),
                         tags_left.eq(tags_left - on_tags)]
        tags: Any = self.tags.payload
        places = [slice(at, at + width) for at in range(0, width << words, width)]
        before = Cat(thermometer(start, 1 << words))
        # The last words of a row of tags go to the row behind it; all go in a circle.
        turned = Signal(width << words, name="picked")
        m.d.comb += turned.eq(Cat(
            Mux(tags.turn ^ before[-1 - word], tags.rows[1][place], tags.rows[0][place])
            for word, place in enumerate(places)))
        for bit in range(words):
            turned, earlier = Signal(width << words, name=f"turned_{bit}"), turned
            m.d.comb += turned.eq(Mux(start[bit], earlier.rotate_left(width << bit), earlier))
        # Of the first row with tags, facts are still in their own.
        row = [Mux(whole | (before[word] & shares), self.facts.payload[place], turned[place])
               for word, place in enumerate(places)]
        return Cat(row), (~on_facts | self.facts.valid) & (~on_tags | self.tags.valid), done[0] & done[1]
