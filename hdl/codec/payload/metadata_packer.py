"""Joins the line headers, bases, widths and tags of a block to rows."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import LINE_BYTES, WORD_BYTES, element_layout, most_metadata, tag_rows, tag_words
from cdma.hdl.common.bits import length, thermometer
from cdma.hdl.common.protected import ProtectedMemory, memory_of, protection
from cdma.hdl.common.row_fifo import RowFifo
from cdma.hdl.common.stage import behind

__all__ = ["QUARTERS", "SECTIONS", "MetadataPacker", "joining_layout", "most_metadata_rows"]

SECTIONS = 3
"""Sections of line metadata: line headers, bases, widths."""

QUARTERS = 4
"""Parts of a row, in which metadata is read."""

_PAD, _TAGS = SECTIONS, SECTIONS + 1
"""Steps behind the sections: line metadata is filled up to a whole word; then come the tags."""

_MORE_ROWS = 5
"""Rows of the memory beside those of a block: the open one, and those that come until reading stops."""


def most_metadata_rows(beat_bytes: int, block_bytes: int, exponents: tuple[int, ...]) -> int:
    """Rows that the metadata of a block with exponents takes at most."""
    return -(-most_metadata(block_bytes, exponents, exponents) // beat_bytes)


def joining_layout(sizes: tuple[int, ...], block_bytes: int) -> data.StructLayout:
    """A block whose metadata is to be joined.

    ``recorded``: it has line metadata. ``lines``: lines that have a tag in the rows; else at least one.
    """
    return data.StructLayout({"recorded": 1, "element": element_layout(sizes),
                              "lines": range(block_bytes // LINE_BYTES + 1)})


class MetadataPacker(wiring.Component):
    """Keeps the line metadata of a block by section while it comes, and joins it with its tags when it has ended.

    ::

                 +--------------------+
        line --->| bytes, two blocks, |--+
                 | by sections        |  |  quarters  +--------+   +------+   +--------------+
                 +--------------------+  +----------->| rotate |-->| held |-->| rows, memory |--> o
                              +----------+            +--------+   +------+   +--------------+
        tags -----------------+                                                      ^
                              +--- whole rows, of blocks without line metadata ------+

    A line has a byte for each section, or none. The bytes of two blocks have places in a memory (two memories for
    beats of 64 bytes, which write the bytes of a line in two cycles). A quarter of a row, all of one section or of the
    tags, goes behind the bytes that are held; if a quarter is full then, it is written to its place of the row, and
    what is left is held. Line metadata is filled up with zeros to a whole word of 4 bytes. Of blocks without it, rows
    of tags are copied.

    =====  ==========================================================================
    cycle  for a block of 32 lines, all with base, widths and a tag of 8 bytes;
           32 bytes a beat
    =====  ==========================================================================
    0      ``i`` is taken; all lines have ended before
    1      the first quarter of the headers is read, then a quarter per cycle
    5      the first row is complete; ``o.valid`` in cycle 7
    12     the line metadata has been read: ``joined``; in cycle 1 if it is a quarter of a
           row in each section
    13     it is filled up
    14-45  the tags are read
    46     what is held is written
    =====  ==========================================================================

    A block without line metadata takes a cycle for each row; its first row is on ``o`` in cycle 4. In the pipeline
    ``fast``, which has registers in front of the rotation and in front of the rows, line metadata and the tags behind
    it come two cycles later, and other rows one.

    Parameters
    ----------
    beat_bytes, block_bytes : int
        Bytes of a row, 32 or 64, and of a block at most.
    sizes : tuple of int
        Element sizes in bytes that can be chosen.
    exponents : tuple of int
        Those that can be coded with exponents.
    pipeline : str
        ``small`` or ``fast``: ``fast`` adds a stage behind the memories, for those whose output is late, and one in
        front of the rows.
    protected : bool, optional
        With parity.

    Members
    -------
    done : In(1)
        A line with metadata has ended; then none ends for as many cycles as a line has beats, and ``bytes`` stay.
    there : In(SECTIONS)
        Sections that the line has a byte for, with ``done``; it stays as well.
    bytes : In(ArrayLayout(8, SECTIONS))
        The byte for each section.
    final : In(1)
        It is the last line of its block; with ``done``.
    i : In(stream.Signature(joining_layout(sizes, block_bytes)))
        Blocks, in order, each when all its tags are in rows. ``i.ready`` is registered.
    tags : In(stream.Signature(8 * beat_bytes))
        Rows of tags; those of a block begin a row. They are there without a gap when they are taken.
    joined : Out(1)
        The line metadata of a block has left the memory, or will within three cycles. While that of two blocks is in
        it, no line may end: the first one of a third block is done five cycles later at the earliest.
    o : Out(stream.Signature(8 * beat_bytes))
        Rows: metadata of a block begin a row. What is behind their last word is undefined.
    inject : In(2), bad : Out(1)
        If ``protected``, for the bytes and for the rows: as :func:`cdma.hdl.common.protected.protection` says. Of a
        quarter of bytes, those are checked that belong to the block.

    Source: docs/formats.md, "Exponents".
    """

    i: stream.Interface
    tags: stream.Interface
    o: stream.Interface

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], block_bytes: int, exponents: tuple[int, ...],
                 pipeline: str = "small", protected: bool = False):
        self._protected = protected
        self._beat_bytes = beat_bytes
        self._pipeline = pipeline
        self._quarter = beat_bytes // QUARTERS
        self._lines = block_bytes // LINE_BYTES
        self._sizes = sizes
        self._exponents = exponents
        self._rows = most_metadata_rows(beat_bytes, block_bytes, exponents)
        super().__init__({
            "done": In(1), "there": In(SECTIONS), "bytes": In(data.ArrayLayout(8, SECTIONS)), "final": In(1),
            "i": In(stream.Signature(joining_layout(sizes, block_bytes))),
            "tags": In(stream.Signature(8 * beat_bytes)),
            "joined": Out(1), "o": Out(stream.Signature(8 * beat_bytes)), **protection(protected, 2),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        quarter = self._quarter
        address = data.StructLayout({"place": range(max(2, -(-self._lines // quarter))), "section": 2, "bank": 1})
        memories = []
        protected: list[ProtectedMemory] = []
        # The bytes of a line are written within its cycles: section k to memory k modulo their number.
        for k in range(-(-SECTIONS // (LINE_BYTES // self._beat_bytes))):
            m.submodules[f"bytes_{k}"] = memory = memory_of(8 * quarter, 1 << address.size, self._protected, quarter)
            memories.append((memory.write_port(granularity=8), memory.read_port()))
            protected += [memory] if self._protected else []
        m.submodules.rows = rows = RowFifo(8 * self._beat_bytes, QUARTERS, self._rows + _MORE_ROWS, self._protected)
        if protected:
            m.d.comb += [rows.inject.eq(self.inject[1]),
                         self.bad.eq(rows.bad | Cat(each.bad for each in protected).any())]
            m.d.comb += [each.inject.eq(self.inject[0]) for each in protected]
        wiring.connect(m, rows.o, wiring.flipped(self.o))
        # The block that is written, its bytes, and whether it has ended but is not to be read yet.
        bank, ended = Signal(), Signal()
        counts = Signal(data.ArrayLayout(range(self._lines + 1), SECTIONS))
        total = Signal.like(counts, name="total")
        closes, begins = Signal(), Signal()
        m.d.sync += [counts.eq(Mux(begins, 0, total)), ended.eq((closes | ended) & ~begins)]
        with m.If(begins):
            m.d.sync += bank.eq(~bank)
        self._write(m, [write for write, _ in memories], address, bank, counts, total, closes)
        came = self._read(m, [read for _, read in memories], protected, rows, bank, total, closes | ended, begins)
        self._join(m, rows, *came)
        return m

    def _write(self, m: Module, ports: list[Any], address: data.StructLayout, bank: Signal, counts: Any,
               total: Any, closes: Signal) -> None:
        """Writes the bytes of a line, and counts them; whether its block ends with it."""
        low = exact_log2(self._quarter)
        steps = Signal(-(-SECTIONS // len(ports)))
        final, held = Signal(), Signal(reset_less=True)
        m.d.comb += [steps[0].eq(self.done), final.eq(Mux(self.done, self.final, held)),
                     closes.eq(steps[-1] & final)]
        m.d.sync += [steps[1:].eq(steps), held.eq(final)]
        m.d.comb += total.eq(counts)
        for section in range(SECTIONS):
            port, count = ports[section % len(ports)], counts[section]
            with m.If(steps[section // len(ports)] & self.there[section]):
                place = Signal(address, name=f"place_{section}")
                m.d.comb += [
                    place.bank.eq(bank), place.section.eq(section), place.place.eq(count >> low),
                    port.addr.eq(place), port.en.eq(1 << count[:low]),
                    port.data.eq(self.bytes[section].replicate(1 << low)),
                ]
                m.d.comb += total[section].eq(count + 1)

    def _read(self, m: Module, ports: list[Any], protected: list[ProtectedMemory], rows: RowFifo, bank: Signal,
              counts: Any, ended: Value, begins: Signal) -> tuple[Value, Signal, Any]:
        """Reads a block, in order: a quarter of its metadata, and what is to be done in this cycle."""
        quarter, words = self._quarter, self._quarter // WORD_BYTES
        # The line metadata of a block is at hand: the sections that are still to be read, the current one first.
        left = Signal.like(counts, name="left", reset_less=True)
        active, source = Signal(), Signal(reset_less=True)
        place = Signal(range(max(2, -(-self._lines // quarter))), reset_less=True)
        # The block that is joined, how many words or rows of its tags are left, and where in their row they are.
        busy, recorded, step = Signal(), Signal(reset_less=True), Signal(range(_TAGS + 1))
        block: Any = self.i.payload
        words_of_tags = tag_words(block.element, block.lines, self._exponents)
        rows_of_tags = tag_rows(block.element, block.lines, self._sizes, self._beat_bytes)
        tags_left = Signal(max(len(words_of_tags), len(rows_of_tags)), reset_less=True)
        part = Signal(range(QUARTERS))
        room, reads, copies, on_tags = Signal(), Signal(), Signal(), Signal()
        last_tags, ends, shorter, read = Signal(), Signal(), Signal(), Signal()
        # A quarter of a row in each section is read without a pause: no line comes as early as that.
        first, soon, was_soon = Signal(), Signal(), Signal()
        stage = data.StructLayout({"quarter": 1, "pad": 1, "end": 1, "row": 1, "pops": 1})
        now: Any = Signal(stage, name="now")
        m.d.comb += [
            begins.eq(ended & ~active),
            self.i.ready.eq(~busy),
            first.eq((step == 0) & (place == 0)),
            soon.eq(reads & first & Cat(each <= quarter for each in left).all()),
            reads.eq(busy & recorded & (room | was_soon) & (active | (step >= _PAD))),
            copies.eq(busy & ~recorded & room),
            on_tags.eq(reads & (step == _TAGS) & (tags_left != 0)),
            last_tags.eq(Mux(recorded, tags_left <= words, tags_left == 1)),
            shorter.eq(left[0] <= quarter),
            read.eq(reads & (step == SECTIONS - 1) & shorter),
            self.joined.eq(soon | (read & ~was_soon)),
            now.quarter.eq(reads), now.pad.eq(step == _PAD), now.end.eq((step == _TAGS) & (tags_left == 0)),
            now.row.eq(copies), now.pops.eq(copies | (on_tags & (last_tags | part.all()))),
            ends.eq((reads & now.end) | (copies & last_tags)),
        ]
        m.d.sync += [room.eq(rows.level <= self._rows), active.eq((active & ~read) | begins),
                     was_soon.eq((soon | was_soon) & ~read)]
        with m.If(begins):
            m.d.sync += [left.eq(counts), source.eq(bank)]
        with m.If(~busy):
            m.d.sync += [busy.eq(self.i.valid), recorded.eq(block.recorded), step.eq(0), place.eq(0), part.eq(0),
                         tags_left.eq(Mux(block.recorded, words_of_tags, rows_of_tags))]
        with m.Elif(ends):
            m.d.sync += busy.eq(0)
        with m.Elif(on_tags | copies):
            m.d.sync += [tags_left.eq(Mux(recorded, Mux(last_tags, 0, tags_left - words), tags_left - 1)),
                         part.eq(part + 1)]
        with m.Elif(reads & (step == _PAD)):
            m.d.sync += step.eq(_TAGS)
        with m.Elif(reads & shorter):
            m.d.sync += [*(left[k].eq(left[k + 1]) for k in range(SECTIONS - 1)), step.eq(step + 1), place.eq(0)]
        with m.Elif(reads):
            m.d.sync += [left[0].eq(left[0] - quarter), place.eq(place + 1)]
        for port in ports:
            m.d.comb += [port.addr.eq(Cat(place, step[:2], source)), port.en.eq(reads)]

        # A cycle later.
        then: Any = Signal(stage, name="then")
        from_tags, then_part = Signal(reset_less=True), Signal.like(part, name="then_part", reset_less=True)
        kept = Signal(quarter, reset_less=True)
        m.d.sync += [
            then.eq(now), from_tags.eq(step == _TAGS), then_part.eq(part),
            kept.eq(Mux(step < _PAD, Cat(thermometer(left[0], quarter)),
                        Cat(bit.replicate(WORD_BYTES) for bit in Cat(thermometer(tags_left, words)))
                        & (step == _TAGS).replicate(quarter))),
        ]
        found: Value = ports[0].data
        second = Signal(reset_less=True)
        if len(ports) > 1:
            m.d.sync += second.eq(step[0])
            found = Mux(second, ports[1].data, ports[0].data)
        for number, memory in enumerate(protected):
            shows = then.quarter & ~from_tags
            if len(ports) > 1:
                shows = shows & (second == number)
            m.d.comb += memory.check.eq(kept & shows.replicate(quarter))
        m.d.comb += self.tags.ready.eq(then.pops)
        return Mux(from_tags, self.tags.payload.word_select(then_part, 8 * quarter), found), kept, then

    def _join(self, m: Module, rows: RowFifo, found: Value, kept: Signal, now: Any) -> None:
        """Puts the quarter behind the bytes that are held, and what is full into the row."""
        quarter, row = self._quarter, now.row
        if self._pipeline == "fast":
            came_late: Any = [Signal.like(each, name=f"late_{name}") for name, each in
                              (("found", Value.cast(found)), ("kept", kept), ("step", now))]
            m.d.sync += [late.eq(each) for late, each in zip(came_late, (found, kept, now), strict=True)]
            found, kept, now = came_late
        held, fill = Signal(8 * quarter, reset_less=True), Signal(exact_log2(quarter))
        place = Signal(range(QUARTERS))
        total, emits, flushes = Signal(len(fill) + 1), Signal(), Signal()
        came, joined = Signal(8 * quarter), Signal(8 * quarter)
        turned: Value = came
        for bit in range(len(fill)):
            turned = Mux(fill[bit], turned.rotate_left(8 << bit), turned)
        aligned = Cat(Const(0, 2), (fill + (WORD_BYTES - 1))[2:])
        m.d.comb += [
            came.eq(Cat(found.word_select(k, 8) & kept[k].replicate(8) for k in range(quarter))),
            # The last byte is never held.
            joined.eq(Cat(*(Mux(fill > k, held.word_select(k, 8), turned.word_select(k, 8))
                            for k in range(quarter - 1)), turned.word_select(quarter - 1, 8))),
            total.eq(Mux(now.pad, aligned, fill + length(kept))),
            flushes.eq(now.quarter & now.end),
            emits.eq(now.quarter & (total[-1] | (now.end & (fill != 0)))),
        ]
        commits = row | (emits & place.all()) | (flushes & ((fill != 0) | (place != 0)))
        written = [Mux(emits, 1 << place, row.replicate(QUARTERS)),
                   Mux(row, self.tags.payload, joined.replicate(QUARTERS)), commits]
        if self._pipeline == "fast":
            written = [behind(m, Const(1), value, f"written_{name}", init=init) for name, value, init in zip(
                ("enable", "data", "commit"), written, (0, None, 0), strict=True)]
        m.d.comb += [port.eq(value) for port, value in zip((rows.enable, rows.data, rows.commit), written, strict=True)]
        with m.If(now.quarter):
            m.d.sync += [held.eq(Mux(emits, turned, joined)), fill.eq(Mux(now.end, 0, total)),
                         place.eq(Mux(now.end, 0, place + emits))]
