"""The block compressor: raw beats in, the payloads of blocks out, tags first."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.codec.coding import (
    LINE_BYTES,
    RAW_CODING,
    SHORT,
    TAGS_FIRST,
    WORD_BYTES,
    element_layout,
    largest_payload,
    most_tag_rows,
    one_hot_element,
    select,
    tag_bytes,
)
from hdl.codec.payload.merger import Merger, packed_block_layout
from hdl.codec.payload.row_packer import RowPacker, packed_row_layout
from hdl.codec.payload.tag_writer import TagWriter
from hdl.common.beat import beat_stream
from hdl.common.bits import length
from hdl.common.fifo import StreamFifo
from hdl.common.skid import Skid

__all__ = ["BlockCompressor", "raw_packet_layout"]

_DECISION = 16
"""Raw beats that the store holds beside a block: those that come while the block's lengths are found."""

_BLOCKS = 2
"""Blocks that may have ended without their lengths being looked for."""

_MORE_ROWS = 6
"""Rows of data that may wait beside as many as a block has of tags, with those on which the packer has not been stopped
yet."""

_MORE_TAGS = 4
"""Rows of tags beside those of two blocks: the open one, and those of beats that come until the input is stopped."""

_LENGTHS = 5
"""Cycles that the lengths of a block take."""


def raw_packet_layout(beat_bytes: int) -> data.StructLayout:
    """A raw beat of a packet.

    ``keep`` is read on the last beat. ``element``, the bytes of an element, and ``fallback``, whether blocks stay raw
    that would not get shorter, are read on the first.
    """
    return data.StructLayout({"data": 8 * beat_bytes, "keep": beat_bytes, "last": 1, "element": 3, "fallback": 1})


class BlockCompressor(wiring.Component):
    """Divides packets into blocks and compresses each, one raw beat per cycle.

    ::

             +-------+     +-----------------+   +------------+   +------+   +--------+
        i -->| input |--+->| raw beats, FIFO |-->| row packer |-->| FIFO |-->|        |
             +-------+  |  +-----------------+   +------------+   +------+   |        |
                        |          lengths ------------^-------------------->| merger |--> o, block
                        |             ^                                      |        |
                        |  +------------+                rows of tags        |        |
                        +->| tag writer |----------------------------------->|        |
                           +------------+                                    +--------+

    The tags of a block come before its data, and its lengths before both. So a block is scanned on its way into the
    store of raw beats, and packed on its way out. While it is packed, its tags leave, and its data wait in a FIFO that
    holds as many rows as a block has of tags. A block that stays raw is packed like one without zeros.

    Latency: 12 cycles from the last beat of a block to the first row of its payload, 20 if that row has data as well as
    tags (beats of 32 bytes, elements of 32 bits). Throughput: 1 raw beat or 1 row of payload per cycle, whatever there
    are more of.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat on both sides: 16, 32 or 64.
    element_bytes : tuple of int
        Element sizes that packets may choose from: one or more of 1, 2, 4.
    block_bytes : int
        Raw bytes of a block.
    pipeline : str
        ``small`` or ``fast``: ``fast`` adds a stage behind the store, for memories whose output is late.

    Members
    -------
    i : In(stream.Signature(raw_packet_layout(beat_bytes)))
        Raw beats. An element size that is not built counts as the largest one built. A packet longer than a block is
        several blocks.
    o : Out(beat_stream(beat_bytes))
        Payloads, each a packet. A block without a whole element is a packet of no bytes.
    block : Out(packed_block_layout(beat_bytes, element_bytes, block_bytes))
        Beside every beat of ``o``: facts of the block. ``cut``: its packet ended within an element, whose bytes were
        dropped.

    Source: docs/formats.md, "Tags first".
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, element_bytes: tuple[int, ...], block_bytes: int, pipeline: str = "small"):
        self._beat_bytes = beat_bytes
        self._pipeline = pipeline
        self._sizes = tuple(sorted(element_bytes))
        self._block_bytes = block_bytes
        super().__init__({
            "i": In(stream.Signature(raw_packet_layout(beat_bytes))), "o": Out(beat_stream(beat_bytes)),
            "block": Out(packed_block_layout(beat_bytes, self._sizes, block_bytes)),
        })

    def _scanned_layout(self) -> data.StructLayout:
        """A block in the store: beats less one, units of the last one, elements that are not zero."""
        grain = self._sizes[0]
        return data.StructLayout({
            "beats": range(self._block_bytes // self._beat_bytes), "tail": range(self._beat_bytes // grain + 1),
            "element": element_layout(self._sizes), "fallback": 1, "cut": 1,
            "elements": range(self._block_bytes // grain + 1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, sizes, block_bytes = self._beat_bytes, self._sizes, self._block_bytes
        tag_rows = most_tag_rows(n, sizes, block_bytes)
        m.submodules.store = store = StreamFifo(8 * n, block_bytes // n + _DECISION)
        m.submodules.scanned = scanned = Skid(self._scanned_layout())
        m.submodules.writer = writer = TagWriter(n, sizes, block_bytes, 2 * tag_rows + _MORE_TAGS)
        m.submodules.packer = packer = RowPacker(n, sizes, self._pipeline)
        m.submodules.rows = rows = StreamFifo(packed_row_layout(n), tag_rows + _MORE_ROWS)
        m.submodules.blocks = blocks = Skid(self.block.shape())
        m.submodules.merger = merger = Merger(n, sizes, block_bytes)
        row_room = Signal()
        m.d.sync += row_room.eq(rows.level <= tag_rows + _MORE_ROWS - 2)
        m.d.comb += [rows.i.valid.eq(packer.o.valid & row_room), rows.i.payload.eq(packer.o.payload),
                     packer.o.ready.eq(row_room)]
        wiring.connect(m, rows.o, merger.rows)
        wiring.connect(m, writer.o, merger.tags)
        wiring.connect(m, blocks.o, merger.i)
        wiring.connect(m, merger.o, wiring.flipped(self.o))
        m.d.comb += self.block.eq(merger.block)

        taken = self._input(m, store, scanned, writer)
        # Blocks that have ended, and whose lengths are not looked for yet.
        ended = Signal(range(_BLOCKS + 1))
        room = Signal()
        m.d.comb += self.i.ready.eq(room & store.i.ready)
        leaves = Signal()
        m.d.comb += leaves.eq(scanned.o.valid & scanned.o.ready)
        m.d.sync += ended.eq(ended + taken - leaves)
        m.d.sync += room.eq((ended + taken < _BLOCKS) & (writer.level < 2 * tag_rows))
        self._store_read(m, store, scanned, packer, blocks)
        return m

    def _input(self, m: Module, store: StreamFifo, scanned: Skid, writer: TagWriter) -> Value:
        """Divides packets into blocks, and clears what is behind a packet's last element; whether a block ends now."""
        n, sizes, grain = self._beat_bytes, self._sizes, self._sizes[0]
        beat = self.i.payload
        between, index = Signal(init=1), Signal(range(self._block_bytes // n))
        held = Signal(element_layout(sizes), reset_less=True)
        held_fallback = Signal(reset_less=True)
        element, fallback = Signal(element_layout(sizes)), Signal()
        present = Signal(n // grain)
        takes, ends = Signal(), Signal()
        whole = {size: Cat((beat.keep[(unit * grain // size + 1) * size - 1]) for unit in range(n // grain))
                 for size in sizes}
        m.d.comb += [
            element.eq(Mux(between, one_hot_element(beat.element, sizes), held)),
            fallback.eq(Mux(between, beat.fallback, held_fallback)),
            present.eq(select(element, whole) | (~beat.last).replicate(n // grain)),
            takes.eq(self.i.valid & self.i.ready),
            ends.eq(beat.last | index.all()),
            store.i.valid.eq(takes),
            writer.take.eq(takes), writer.last.eq(ends), writer.element.eq(element),
        ]
        for unit in range(n // grain):
            place = slice(8 * grain * unit, 8 * grain * (unit + 1))
            m.d.comb += store.i.payload[place].eq(beat.data[place] & present[unit].replicate(8 * grain))
        m.d.comb += writer.data.eq(store.i.payload)
        with m.If(takes):
            m.d.sync += [between.eq(beat.last), held.eq(element), held_fallback.eq(fallback),
                         index.eq(Mux(beat.last, 0, index + 1))]

        # The block's facts go with the last beat through the stages of the tag writer.
        facts: Any = Signal(self._scanned_layout())
        begun = [beat.keep[grain * unit] for unit in range(n // grain)]
        m.d.comb += [
            facts.beats.eq(index), facts.element.eq(element), facts.fallback.eq(fallback),
            facts.tail.eq(length(present)), facts.cut.eq(beat.last & (Cat(begun) & ~present).any()),
        ]
        for stage in range(3):
            facts, earlier = Signal(self._scanned_layout(), name=f"facts_{stage}", reset_less=True), facts
            m.d.sync += facts.eq(earlier)
        m.d.comb += [scanned.i.valid.eq(writer.done), scanned.i.payload.eq(facts),
                     scanned.i.payload.elements.eq(writer.elements)]
        return takes & ends

    def _store_read(self, m: Module, store: StreamFifo, scanned: Skid, packer: RowPacker,
                    blocks: Skid) -> None:
        """Finds the lengths of a block, one a cycle, and sends its beats to the packer."""
        n, sizes, grain = self._beat_bytes, self._sizes, self._sizes[0]
        shift = exact_log2(n)
        block: Any = Signal(self._scanned_layout(), name="block_found", reset_less=True)
        # Each length is registered and follows from the one before. The last one is right after so many cycles.
        age = Signal(range(_LENGTHS + 1))
        held = Signal()
        settled, sends = Signal(), Signal()
        found: Any = Signal(self.block.shape(), name="lengths", reset_less=True)
        coded_bytes = Signal.like(found.payload_bytes, name="coded_bytes", reset_less=True)
        tag_words = Signal.like(found.tag_words, name="coded_tag_words", reset_less=True)
        data_bytes = Signal(range(self._block_bytes + 1), reset_less=True)
        raw, before = Signal(reset_less=True), Signal(exact_log2(n // grain), reset_less=True)
        raw_bytes = found.raw_bytes
        longer = Signal(range(largest_payload(self._block_bytes, sizes) + WORD_BYTES + 1), reset_less=True)
        short = raw_bytes != self._block_bytes
        lines = (raw_bytes >> exact_log2(LINE_BYTES)) + raw_bytes[:exact_log2(LINE_BYTES)].any()
        coding = select(block.element, {size: Const(TAGS_FIRST[size], 8) for size in sizes})
        m.d.comb += [settled.eq(held & (age == _LENGTHS)), scanned.o.ready.eq(~held | sends)]
        m.d.sync += [
            raw_bytes.eq((block.beats << shift) + block.tail * grain),
            data_bytes.eq(select(block.element, {size: block.elements * size for size in sizes})),
            tag_words.eq(select(block.element, {size: lines * (tag_bytes(size) // WORD_BYTES) for size in sizes})),
            coded_bytes.eq(data_bytes + tag_words * WORD_BYTES),
            # The word that says how long a short block is counts as well.
            longer.eq(data_bytes + (tag_words + short) * WORD_BYTES),
            raw.eq(block.fallback & (longer >= raw_bytes) & (raw_bytes != 0)),
            found.coding.eq(Mux(raw, RAW_CODING, coding | Mux(short, SHORT, 0))),
            found.payload_bytes.eq(Mux(raw, raw_bytes, coded_bytes)),
            found.tag_words.eq(Mux(raw, 0, tag_words)),
            found.tag_rows.eq(select(block.element, {
                size: (block.beats >> exact_log2(8 * size)) + 1 for size in sizes})),
            found.cut.eq(block.cut),
            before.eq(Mux(raw, 0, (tag_words * WORD_BYTES >> exact_log2(grain))[:len(before)]) - 1),
        ]
        with m.If(scanned.o.ready):
            m.d.sync += [held.eq(scanned.o.valid), block.eq(scanned.o.payload), age.eq(0)]
        with m.Elif(~settled):
            m.d.sync += age.eq(age + 1)

        # The block to come waits here, so that a block's end does not reach the lengths within a cycle.
        layout = data.StructLayout({"raw": 1, "element": packer.i.payload.element.shape(), "before": len(before),
                                    "behind": len(block.beats), "final": 1, "empty": 1})
        waits, coming = Signal(), Signal(layout, name="coming", reset_less=True)
        active, current = Signal(), Signal(layout, name="current", reset_less=True)
        first, begins, goes = Signal(reset_less=True), Signal(), Signal()
        beat: Any = packer.i.payload
        m.d.comb += [
            sends.eq(settled & ~waits & blocks.i.ready),
            blocks.i.valid.eq(settled & ~waits),
            blocks.i.payload.eq(found),
            begins.eq(~active | (goes & current.final)),
            packer.i.valid.eq(active & store.o.valid),
            store.o.ready.eq(active & packer.i.ready),
            goes.eq(packer.i.valid & packer.i.ready),
            beat.data.eq(store.o.payload), beat.first.eq(first), beat.last.eq(current.final),
            # The last beat has no byte that counts if the packet ended within its first element.
            beat.raw.eq(current.raw & ~(current.final & current.empty)),
            beat.element.eq(current.element), beat.before.eq(current.before),
        ]
        with m.If(sends):
            m.d.sync += [coming.raw.eq(raw), coming.element.eq(block.element), coming.before.eq(before),
                         coming.behind.eq(block.beats), coming.final.eq(block.beats == 0),
                         coming.empty.eq(block.tail == 0)]
        m.d.sync += waits.eq(sends | (waits & ~begins))
        with m.If(begins):
            m.d.sync += [active.eq(waits), first.eq(1), current.eq(coming)]
        with m.Elif(goes):
            m.d.sync += [first.eq(0), current.behind.eq(current.behind - 1), current.final.eq(current.behind == 1)]
