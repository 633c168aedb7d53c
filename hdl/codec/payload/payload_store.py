"""Holds the payloads of blocks, and reads the metadata and the data of a block independently of each other."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import LINE_BYTES, WORD_BYTES, largest_payload, most_metadata, select, tag_bytes
from cdma.hdl.codec.payload.header_counter import HeaderCounter
from cdma.hdl.codec.payload.line_reader import LineReader
from cdma.hdl.codec.payload.metadata_memory import WORDS, MetadataMemory
from cdma.hdl.codec.payload.payload_order import PayloadOrder
from cdma.hdl.codec.payload.payload_ring import PayloadRing
from cdma.hdl.codec.payload.tag_words import TagWords
from cdma.hdl.codec.payload.unpacking import (
    PayloadError,
    data_row_layout,
    line_layout,
    order_layout,
    payload_beat_layout,
    unit_bytes,
)
from cdma.hdl.common.bits import length
from cdma.hdl.common.protected import protection
from cdma.hdl.common.skid import Skid

__all__ = ["PayloadStore"]


class _Step(enum.Enum, shape=2):
    """What the order of a block waits for."""

    TAGS = 0
    """All that stands in front of the data."""
    HEADERS = 1
    """All line headers."""
    COUNT = 2
    """The line headers to be counted."""
    FACTS = 3
    """The line metadata: line headers, bases and widths."""


class PayloadStore(wiring.Component):
    """Takes payloads into a ring of rows, and sends the words of tags, the lines and the rows of data of each block.

    ::

        i --+--> [memory: a ring of rows] --> [row read] --> data
            |
            +--> [metadata memory] ----+--> [two words] --> words
            |                          +--> line reader --> lines
            |                          v
            +--> [block] --> [order] <-- header counter
                                |
                                +--> order

    Rows that may hold metadata are also written into a second memory, which has room for those of two blocks and
    is read by words. A row becomes free when it has been read; the rows of metadata, when the data behind them begin
    to be read. The order of a block leaves when the row in which its data begin has come, or its last row; the headers
    of a block with exponents are counted before that. Cycles of a block of zero-value coding whose tags take one row::

        cycle              0     1     2     3     4     5     6     7     8
        i, taken           x     x     x     x     x
        order.valid                          x
        words.valid                                            x     x
        data.valid                                             x     x     x

    Latency: 6 cycles from the first row of a block to its first word of tags, and one more for each row that tags fill;
    with exponents, 6 cycles more, and one for each word of headers but one. The first line comes 3 cycles behind the
    first word, or 4 with 64-byte beats. One block is written while the one before is read: its rows are taken from the
    cycle on that follows the start of that reading, though the order of the block before may still wait to be taken.

    Throughput: one row in, one row of data and one word per cycle out. One line per cycle, with a pause of two cycles
    whenever headers, bases or widths need a new word. Such a word delays the words of tags by one cycle, and so does
    every word of the next block's headers.

    A block with a fault that is known before its data are read gives an order with this error, and nothing else.

    For a lane, blocks may also be raw. Such a block has no words; all its rows are data.

    Rows of 2 or 4 beats come over a link that is wider than the lane. Both memories are written by whole rows and read
    by beats and words: a block is here in half or a quarter of the cycles, and is read as above. Cycles of a block of
    five beats, the first one of tags, in rows of four::

        cycle              0     1     2     3     4     5     6     7     8
        i, taken           x     x
        order.valid                          x
        words.valid                                            x     x     x
        data.valid                                             x     x     x

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat: 16, 32 or 64; with exponents 32 or 64.
    sizes : tuple of int
        Element sizes in bytes that are built, in ascending order.
    block_bytes : int
        Raw bytes of the largest block.
    rows : int
        Rows of the memory; at least those of the longest payload, and one more.
    exponents : tuple of int, optional
        Those of the sizes that are built with exponent coding too.
    for_lane : bool, optional
        Whether blocks may be raw.
    beats : int, optional
        Beats of a row: 1, 2 or 4.
    protected : bool, optional
        With parity.
    pipeline : str, optional
        ``small`` or ``fast``: ``fast`` has a register between the metadata memory and the header counter, and a skid
        buffer behind the rows, for memories whose output is late: a cycle more for the data, and for the order of a
        block with exponents. Metadata are written as :class:`MetadataMemory` says.

    Members
    -------
    i : In(stream.Signature(payload_beat_layout(beats * beat_bytes)))
        Payloads, by rows; ``ready`` is a function of registers.
    order : Out(stream.Signature(order_layout(beat_bytes, sizes, block_bytes, exponents, for_lane)))
        The blocks.
    words : Out(stream.Signature(beat_bytes))
        The words of each block that hold tags, each once. A word has one bit per byte of a beat.
    lines : Out(stream.Signature(line_layout()))
        With exponents only: the lines of each block that has them.
    data : Out(stream.Signature(data_row_layout(beat_bytes, sizes, exponents)))
        Beats of data, the first one of a block that in which its data begin.
    inject : In(2), bad : Out(1)
        If ``protected``, for the ring of rows and for the metadata: as :func:`cdma.hdl.common.protected.protection`
        says.

    Source: docs/formats.md, "Tags first" and "Exponents".
    """

    i: stream.Interface
    order: stream.Interface
    words: stream.Interface
    lines: stream.Interface
    data: stream.Interface

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], block_bytes: int, rows: int,
                 exponents: tuple[int, ...] = (), for_lane: bool = False, beats: int = 1,
                 protected: bool = False, pipeline: str = "small"):
        self._protected = protected
        self._pipeline = pipeline
        row_bytes = beats * beat_bytes
        least = -(-largest_payload(block_bytes, sizes, exponents) // row_bytes) + 1
        if rows < least:
            raise ValueError(f"rows must be at least {least} for blocks of {block_bytes} bytes, not {rows}")
        self._beat_bytes = beat_bytes
        self._row_bytes = row_bytes
        self._beats = beats
        self._sizes = sizes
        self._block_bytes = block_bytes
        self._rows = rows
        self._exponents = exponents
        self._for_lane = for_lane
        self._most = most_metadata(block_bytes, sizes, exponents)
        self._most_rows = -(-self._most // row_bytes)
        self._order = order_layout(beat_bytes, sizes, block_bytes, exponents, for_lane)
        super().__init__({
            "i": In(stream.Signature(payload_beat_layout(row_bytes))),
            "order": Out(stream.Signature(self._order)),
            "words": Out(stream.Signature(beat_bytes)),
            **({"lines": Out(stream.Signature(line_layout()))} if exponents else {}),
            "data": Out(stream.Signature(data_row_layout(beat_bytes, sizes, exponents))), **protection(protected, 2),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, unit, most = self._row_bytes, unit_bytes(self._sizes, self._exponents), self._most_rows
        beat, beats = self._beat_bytes, self._beats
        m.submodules.facts = facts = PayloadOrder(
            beat, self._sizes, self._block_bytes, self._exponents, self._for_lane)
        m.submodules.ring = ring = PayloadRing(
            self.data.payload.shape(), self._rows, beats * most, beats, self._protected, self._pipeline)
        m.submodules.metadata = metadata = MetadataMemory(
            beat, most, 5 if self._exponents else 1, beats, self._protected, self._pipeline)
        if self._protected:
            m.d.comb += [Cat(ring.inject, metadata.inject).eq(self.inject), self.bad.eq(ring.bad | metadata.bad)]
        counter = HeaderCounter(beat, self._block_bytes, beats * most, self._pipeline) if self._exponents else None
        row = self.i.payload
        order = Signal(self._order, reset_less=True)
        coding, raw_bytes = Signal(8, reset_less=True), Signal(16, reset_less=True)
        # The block that is being written, and its rows, counted as far as it matters; the last row of it.
        held, whole, taken, slot = Signal(), Signal(), Signal(), Signal()
        rows = Signal(range(most + 3), reset_less=True)
        end = Signal(range(n // unit + 1))
        last_end = Signal.like(end, reset_less=True)
        # Its order: computed, valid but for what its payload says, to be taken, and to be read; a fault is known.
        computed, known, offered, waits, fails = Signal(), Signal(), Signal(), Signal(), Signal()
        released = Signal()     # nothing more is to be done for the block than to offer its order
        # The bytes that must have come for the next step.
        need, step = Signal(range(self._most + 1), reset_less=True), Signal(_Step, reset_less=True)
        # Whether it has an error; known from a register in `fast`, since rows are let in by it.
        faulty: Value = order.error != PayloadError.OK
        marks = []
        if self._pipeline == "fast":
            faulty = Signal(name="faulty", reset_less=True)
            marks = [faulty.eq(1)]
        need_rows, need_units = need[exact_log2(n):], need[exact_log2(unit):exact_log2(n)]
        start = need[exact_log2(unit):exact_log2(beat)]     # of the data in their first beat
        if self._pipeline == "fast":
            m.submodules.shown = shown = Skid(self.data.payload.shape())
            wiring.connect(m, ring.data, shown.i)
            wiring.connect(m, shown.o, wiring.flipped(self.data))
        else:
            wiring.connect(m, ring.data, wiring.flipped(self.data))
        starts = self._readers(m, counter, metadata, facts, ring, order, need, slot, waits)
        m.d.comb += [
            facts.coding.eq(coding), facts.raw_bytes.eq(raw_bytes),
            taken.eq(self.i.valid & self.i.ready), self.i.ready.eq(~(held & whole) & (fails | ring.room)),
            self.order.valid.eq(offered), self.order.payload.eq(order),
            self.order.payload.start.eq(Mux(order.bare, 0, start)),
            released.eq(known & (~waits | starts)),
            fails.eq(held & computed & faulty),
            ring.write.eq(taken & ~fails), ring.begins.eq(~held),
            ring.row.data.eq(row.data), ring.row.last.eq(row.last),
            ring.skip.eq(need[exact_log2(beat):]), ring.bare.eq(order.bare),
            metadata.write.eq(taken & (~held | (~fails & ~known & (rows < most)))),
            metadata.slot.eq(slot), metadata.data.eq(row.data),
        ]
        if most > 1:
            m.d.comb += metadata.row.eq(Mux(held, rows, 0))
        with m.If(taken):
            m.d.sync += [whole.eq(row.last), last_end.eq(end)]
            with m.If(~held):
                m.d.sync += [held.eq(1), rows.eq(1), coding.eq(row.coding), raw_bytes.eq(row.raw_bytes),
                             computed.eq(0), known.eq(0)]
            with m.Elif(rows != most + 2):
                m.d.sync += rows.eq(rows + 1)
            with m.If(held & row.last & released):
                m.d.sync += held.eq(0)
        with m.Elif(whole & released):
            m.d.sync += held.eq(0)
        # The order of the block before may still be offered.
        with m.If(held & ~computed & ~offered):
            m.d.sync += [computed.eq(1), order.eq(facts.order), need.eq(facts.opening)]
            if self._pipeline == "fast":
                m.d.sync += faulty.eq(facts.order.error != PayloadError.OK)
            if self._exponents:
                m.d.sync += step.eq(Mux(facts.order.exponents, _Step.HEADERS, _Step.TAGS))

        # The bytes are there as soon as the row behind them is, or the payload ends with them.
        beyond, exact, short, there, waiting = Signal(), Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            beyond.eq(rows > need_rows),
            exact.eq(whole & (rows == need_rows) & (need_units == 0) & (last_end == n // unit)),
            short.eq(whole & Mux(beyond, (rows == need_rows + 1) & (last_end < need_units), ~exact)),
            waiting.eq(held & computed & ~known), there.eq(waiting & ~fails & ~short & (beyond | exact)),
        ]
        # Nothing follows the bytes: they end with the last row, or with a beat of it.
        bare: Value = exact
        even = self._row_end(m, ring, row.keep, end, taken)
        if self._beats > 1:
            bare = exact | (even & whole & (start == 0) & (rows == need_rows + 1) & (last_end == need_units))
        if counter is None:
            ready = there
            m.d.comb += step.eq(_Step.TAGS)
        else:
            ready = self._count(m, counter, metadata, facts, slot, order, need, step, there, waiting & ~fails, marks)
        within: Value = step != _Step.TAGS
        if counter is not None and self._pipeline == "fast":
            # The line metadata has no step of its own: does the payload end within it?
            within = within | (order.exponents & ((rows << exact_log2(n)) + last_end < _tags_at(counter) + n))
        with m.If(waiting & fails & whole):
            m.d.sync += [known.eq(1), offered.eq(1)]
            m.d.comb += ring.drop.eq(1)
        with m.Elif(waiting & ~fails & short):
            m.d.sync += [order.bare.eq(1), order.beats.eq(0), order.error.eq(PayloadError.TRUNCATED_TAG), *marks]
            with m.If(within):
                m.d.sync += order.error.eq(PayloadError.TRUNCATED_FACTS)
        with m.Elif(ready):
            m.d.sync += [known.eq(1), offered.eq(1), waits.eq(1), order.bare.eq(bare)]
        with m.If(offered & self.order.ready):
            m.d.sync += offered.eq(0)
        with m.If(starts):
            m.d.sync += [waits.eq(0), slot.eq(~slot)]
        return m

    def _row_end(self, m: Module, ring: PayloadRing, keep: Value, end: Signal, taken: Value) -> Value:
        """The ``end`` of a block's last row in units, and what the ring keeps of it; whether the row that was taken
        last ends with a whole unit, if a payload can end with a full beat inside a row."""
        unit, each, beats = unit_bytes(self._sizes, self._exponents), self._beat_bytes, self._beats
        tail = Signal(range(beats))
        kept = keep.word_select(tail, each) if beats > 1 else keep
        units = length(Cat(kept[(k + 1) * unit - 1] for k in range(each // unit)))
        ragged = Cat(kept[k * unit] & ~kept[(k + 1) * unit - 1] for k in range(each // unit)).any()
        m.d.comb += ring.row.ragged.eq(ragged)
        if beats == 1:
            m.d.comb += [end.eq(units), ring.row.end.eq(end)]
            return Const(0)
        even = Signal(reset_less=True)
        begun = Cat(*(keep[k * each] for k in range(1, beats)), Const(0, 1))
        m.d.comb += [tail.eq(length(begun)), ring.tail.eq(tail), ring.row.end.eq(units),
                     end.eq(units + (tail << exact_log2(each // unit)))]
        with m.If(taken):
            m.d.sync += even.eq(~ragged)
        return even

    def _count(self, m: Module, counter: HeaderCounter, metadata: MetadataMemory, facts: PayloadOrder, slot: Value,
               order: data.View, need: Signal, step: enum.EnumView[_Step], there: Value, waiting: Value,
               marks: list[Any]) -> Value:
        """The steps of a block with exponents; ``there``: the bytes that it needs are; ``marks`` go with an error.
        Whether it may be ordered."""
        m.submodules.counter = counter
        m.d.comb += [
            counter.lines.eq(facts.lines), counter.slot.eq(slot), counter.word.eq(metadata.word),
            counter.start.eq(there & (step == _Step.HEADERS)),
        ]
        tags = select(order.element, {size: counter.tags << exact_log2(tag_bytes(size)) for size in self._exponents})
        tags_at = _tags_at(counter)
        tags_next = [step.eq(_Step.TAGS), need.eq(tags_at + tags)]
        if self._beat_bytes == 64:
            tags_next.append(order.half.eq(tags_at[2]))
        with m.If(counter.start):
            m.d.sync += step.eq(_Step.COUNT)
        with m.Elif(waiting & (step == _Step.COUNT) & counter.done):
            # A step less makes up for the register in front of the counter.
            m.d.sync += tags_next if self._pipeline == "fast" else [step.eq(_Step.FACTS), need.eq(tags_at)]
            with m.If(counter.bad):
                m.d.sync += [order.error.eq(PayloadError.BAD_FACTS), order.bare.eq(1), *marks,
                             order.beats.eq(counter.bad_line << exact_log2(LINE_BYTES // self._beat_bytes))]
        if self._pipeline != "fast":
            with m.Elif(there & (step == _Step.FACTS)):
                m.d.sync += tags_next
        return there & (step == _Step.TAGS)

    def _readers(self, m: Module, counter: HeaderCounter | None, metadata: MetadataMemory, facts: PayloadOrder,
                 ring: PayloadRing, order: data.View, need: Value, slot: Value, waits: Value) -> Signal:
        """The words of tags, and the lines; whether the block that ``waits`` starts to be read."""
        most, shift = self._beats * self._most_rows, exact_log2(self._beat_bytes // WORDS)
        # Of one element size alone, words are taken so simply that a third place is not worth its gates.
        m.submodules.tags = tags = TagWords(
            self._beat_bytes, most, 2 if len(self._sizes) == 1 and self._pipeline != "fast" else 3)
        starts, tags_start, tags_began = Signal(), Signal(), Signal()
        m.d.comb += [
            tags_start.eq(waits & ~tags_began & ring.free & tags.ends), ring.start.eq(tags_start),
            tags.load.eq(tags_start), tags.some.eq(~order.raw if self._for_lane else 1),
            tags.word.eq(metadata.word), tags.place.slot.eq(slot),
            tags.end.eq((need + ((1 << shift) - 1)) >> shift),
        ]
        wiring.connect(m, tags.words, wiring.flipped(self.words))
        readers = [tags.read]
        if counter is None:
            m.d.comb += starts.eq(tags_start)
        else:
            # Tags and lines go on to the next block each on its own.
            m.submodules.lines = lines = LineReader(self._beat_bytes, self._block_bytes, most, self._pipeline)
            lines_start, lines_began, turn = Signal(), Signal(), Signal(2)
            some = ~order.exponents | counter.tags.any()
            if self._for_lane:
                some = some & ~order.raw
            m.d.sync += turn.eq(turn + 1)
            m.d.comb += [
                tags.some.eq(some),
                tags.place.word.eq(Mux(order.exponents, _tags_at(counter) >> shift, 0)),
                lines_start.eq(waits & ~lines_began & lines.ends), lines.load.eq(lines_start & order.exponents),
                lines.count.eq(facts.lines), lines.slot.eq(slot), lines.widths_at.eq(counter.widths_at),
                lines.word.eq(metadata.word),
                # Headers are counted while tags are not waited for, or else with a quarter of the reads.
                counter.go.eq(tags.easy | turn.all()),
                starts.eq((tags_start | tags_began) & (lines_start | lines_began)),
            ]
            m.d.sync += [tags_began.eq((tags_start | tags_began) & ~starts),
                         lines_began.eq((lines_start | lines_began) & ~starts)]
            wiring.connect(m, lines.lines, wiring.flipped(self.lines))
            readers = [*lines.reads, counter.read, tags.read]
        for reader, port in zip(readers, metadata.reads, strict=True):
            m.d.comb += [port.want.eq(reader.want), port.at.eq(reader.at), reader.given.eq(port.given)]
        return starts


def _tags_at(counter: HeaderCounter) -> Value:
    """The byte at which the tags of a block with exponents begin: the line metadata is filled up to whole words."""
    fill = exact_log2(WORD_BYTES)
    return Cat(Const(0, fill), (counter.facts_end + (WORD_BYTES - 1))[fill:])
