"""Reads the line metadata of a block line by line: headers, bases and widths, each from its own place."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.codec.line_record import GROUPS
from cdma.hdl.codec.payload.metadata_memory import word_place_layout, word_read_signature
from cdma.hdl.codec.payload.unpacking import line_layout
from cdma.hdl.common.skid import Skid

__all__ = ["LineReader", "Section"]

_WHOLE = 7
"""Width of a line header whose distances are whole exponents."""


class Section(wiring.Component):
    """Gives the bytes of a section of the line metadata, in order. It holds one word of them.

    ::

        load --> [byte, slot] --> read --> (memory) --> word --> [word] --> byte

    A new word comes three cycles after the last byte of the one before was taken.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat, and bits of a word.
    rows : int
        Rows of a slot of the memory.

    Members
    -------
    load : In(1), start : In of a byte's number, slot : In(1)
        The section begins at this byte of the block in this slot.
    wanted : In(1)
        Bytes are needed.
    read : Out(word_read_signature(rows)), word : In(beat_bytes)
        To the memory. ``read.want`` is a function of ``wanted`` and registers.
    valid : Out(1), byte : Out(8), take : In(1)
        The byte.
    """

    def __init__(self, beat_bytes: int, rows: int):
        self._beat_bytes = beat_bytes
        self._shift = exact_log2(beat_bytes // 8)
        self._place = word_place_layout(rows)
        super().__init__({
            "load": In(1), "start": In(self._shift + self._place["word"].width), "slot": In(1), "wanted": In(1),
            "read": Out(word_read_signature(rows)), "word": In(beat_bytes),
            "valid": Out(1), "byte": Out(8), "take": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        at, slot = Signal.like(self.start, reset_less=True), Signal(reset_less=True)
        word = Signal(self._beat_bytes, reset_less=True)
        asked, held = Signal(), Signal()
        m.d.comb += [
            self.read.want.eq(self.wanted & ~held & ~asked),
            self.read.at.word.eq(at[self._shift:]), self.read.at.slot.eq(slot),
            self.valid.eq(held), self.byte.eq(word.word_select(at[:self._shift], 8)),
        ]
        m.d.sync += asked.eq(self.read.given)
        with m.If(asked):
            m.d.sync += [held.eq(1), word.eq(self.word)]
        with m.If(self.take):
            m.d.sync += [at.eq(at + 1), held.eq(~at[:self._shift].all())]
        with m.If(self.load):
            # A word that was asked for belongs to the block before.
            m.d.sync += [at.eq(self.start), slot.eq(self.slot), asked.eq(0), held.eq(0)]
        return m


class LineReader(wiring.Component):
    """Puts together the record of each line of a block: a record per cycle while words are there.

    ::

        load --> [headers] --+
             --> [bases] ----+--> record --> skid, two with 64-byte beats --> lines
             --> [widths] ---+       ^
                                  [base of the line before]

    A line whose header has no bit for a base has the base of the line before. At the start of a block, the words of
    headers, bases and widths are not read in three cycles in a row, because that could delay the tags: bases and widths
    are read later than headers. Cycles of a block whose first line has a base::

        cycle             0     1     2     3     4     5     6
        load              x
        reads, headers          x
        reads, bases                        x
        reads, widths                             x
        headers.byte                        a     a     a     b
        bases.byte                                      a     b
        lines                                                 a

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat, and bits of a word.
    block_bytes : int
        Raw bytes of the largest block.
    rows : int
        Rows of a slot of the memory.
    pipeline : str
        ``small`` or ``fast``.

    Members
    -------
    load : In(1)
        There is a block with exponents whose lines are to be read. Only while ``ends`` is high.
    count : In(range(block_bytes // LINE_BYTES + 1)), widths_at : In(range(3 * block_bytes // LINE_BYTES + 1))
        With ``load``: its lines, of which there is at least one, and the byte at which its widths begin.
    slot : In(1)
        With ``load``: where it is in the memory.
    ends : Out(1)
        No line is left, or the last one goes to the skid buffer in this cycle; in ``fast``, went there.
    reads : array of Out(word_read_signature(rows)), word : In(beat_bytes)
        To the memory: the readers of headers, bases and widths. All are functions of registers.
    lines : Out(stream.Signature(line_layout()))
        The lines.

    Source: docs/formats.md, "Exponents".
    """

    lines: stream.Interface

    def __init__(self, beat_bytes: int, block_bytes: int, rows: int, pipeline: str = "small"):
        self._beat_bytes = beat_bytes
        self._pipeline = pipeline
        self._rows = rows
        self._lines = lines = block_bytes // LINE_BYTES
        super().__init__({
            "load": In(1), "count": In(range(lines + 1)), "widths_at": In(range(3 * lines + 1)), "slot": In(1),
            "ends": Out(1), "reads": Out(word_read_signature(rows)).array(3), "word": In(beat_bytes),
            "lines": Out(stream.Signature(line_layout())),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.headers = headers = Section(self._beat_bytes, self._rows)
        m.submodules.bases = bases = Section(self._beat_bytes, self._rows)
        m.submodules.widths = widths = Section(self._beat_bytes, self._rows)
        m.submodules.skid = skid = Skid(line_layout())
        left, some, final, goes = Signal(range(self._lines + 1), reset_less=True), Signal(), Signal(), Signal()
        previous = Signal(8, reset_less=True)
        header, zero, whole, has_base, has_widths = headers.byte, Signal(), Signal(), Signal(), Signal()
        for read, section in zip(self.reads, (headers, bases, widths), strict=True):
            m.d.comb += [
                section.load.eq(self.load), section.slot.eq(self.slot),
                section.wanted.eq(some if section is headers else some & headers.valid),
                section.word.eq(self.word), read.want.eq(section.read.want), read.at.eq(section.read.at),
                section.read.given.eq(read.given),
            ]
        line, record, short = skid.i.payload, skid.i.payload.record, self._beat_bytes >= LINE_BYTES // 2
        m.d.comb += [
            headers.start.eq(0), bases.start.eq(self.count), widths.start.eq(self.widths_at),
            zero.eq(header.all()), whole.eq(header[:3] == _WHOLE),
            has_base.eq(header[7] & ~zero), has_widths.eq(header[6] & ~zero),
            skid.i.valid.eq(some & headers.valid & (bases.valid | ~has_base) & (widths.valid | ~has_widths)),
            goes.eq(skid.i.valid & skid.i.ready),
            headers.take.eq(goes), bases.take.eq(goes & has_base), widths.take.eq(goes & has_widths),
            record.zero.eq(zero), record.dense.eq(header[4]), record.signs.eq(header[3]), record.escape.eq(header[5]),
            record.base.eq(Mux(has_base, bases.byte, previous) | whole.replicate(8)),
            record.width.eq(Cat(header[:3] & ~whole.replicate(3), whole)),
            record.less.as_value().eq(widths.byte & has_widths.replicate(8)),
            line.bad.eq(has_widths & Cat(record.less[group] > header[:3] for group in range(GROUPS)).any()),
            # Lines of two beats are soon used up, so that those of the next block must come without a gap.
            final.eq(left == 1),
            self.ends.eq(~some if self._pipeline == "fast" and not short else ~some | (goes & final)),
        ]
        with m.If(self.load):
            m.d.sync += [left.eq(self.count), some.eq(1), previous.eq(0)]
        with m.Elif(goes):
            m.d.sync += [left.eq(left - 1), some.eq(~final)]
            with m.If(has_base):
                m.d.sync += previous.eq(bases.byte)
        if not short:
            wiring.connect(m, skid.o, wiring.flipped(self.lines))
        else:
            # They are soon used up while those of the next block are not yet here.
            m.submodules.more = more = Skid(line_layout())
            wiring.connect(m, skid.o, more.i)
            wiring.connect(m, more.o, wiring.flipped(self.lines))
        return m
