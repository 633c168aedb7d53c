"""The rows of payloads that may hold metadata, of two blocks, and the words that are read from them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cdma.hdl.common.protected import ProtectedMemory, memory_of, protection
from cdma.hdl.common.sram import SHALLOW_ROWS
from cdma.hdl.common.stage import behind

__all__ = ["WORDS", "MetadataMemory", "word_place_layout", "word_read_signature"]

WORDS = 8
"""Words of a beat. A word of metadata is what is read in a cycle; it is not the 4-byte word of the block stream."""


def word_place_layout(rows: int) -> data.StructLayout:
    """A word of a memory with room for so many beats of a block: its number in its block, and the half of the memory,
    ``slot``, that the block is in.
    """
    return data.StructLayout({"word": ceil_log2(WORDS) + ceil_log2(rows), "slot": 1})


def word_read_signature(rows: int) -> wiring.Signature:
    """Reads of words. Where ``given`` answers ``want``, the word is read, and stands on ``word`` in the next cycle."""
    return wiring.Signature({"want": Out(1), "at": Out(word_place_layout(rows)), "given": In(1)})


class MetadataMemory(wiring.Component):
    """Is written by rows and read by words, one of each per cycle; the first reader that wants a word is served.

    ::

        row, data --> [memory: two slots of rows] --> [row read] --> word
                                 ^
        reads --> first one -----+

    A beat is 8 words, so a word has one bit for each byte of a beat. Rows of 2 or 4 beats are written as a whole, as
    they come over a link that is wider. Cycles, in which two readers want words::

        cycle            0     1     2     3
        reads[0].want    x     x
        reads[1].want          x     x
        reads[0].given   x     x
        reads[1].given               x
        word                   of 0  of 0  of 1

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat.
    rows : int
        Rows of a slot.
    readers : int
        Ports to read with.
    beats : int, optional
        Beats of a row: 1, 2 or 4.
    protected : bool, optional
        With parity.
    pipeline : str, optional
        ``small`` or ``fast``: in ``fast``, a memory of up to 32 rows asks for look-up tables, since block RAM shows
        late what it reads; and rows are written a cycle later, since it is known late that one is.

    Members
    -------
    write : In(1), slot : In(1), data : In(8 * beats * beat_bytes)
        A row is written.
    row : In(range(rows))
        Its number. Only if a slot has more than one.
    reads : array of In(word_read_signature(beats * rows))
        What is to be read. ``given`` of a reader depends on ``want`` of those before it; the place does not depend on
        ``want`` of the last one, which may come late.
    word : Out(beat_bytes)
        The word that was given in the cycle before.
    inject, bad
        If ``protected``: as :func:`cdma.hdl.common.protected.protection` says. Readers may read words that they do not
        need, of rows that are not written yet: these are not checked.
    """

    def __init__(self, beat_bytes: int, rows: int, readers: int, beats: int = 1, protected: bool = False,
                 pipeline: str = "small"):
        self._pipeline = pipeline
        self._protected = protected
        self._beat_bytes = beat_bytes
        self._rows = rows
        self._beats = beats
        super().__init__({
            "write": In(1), **({"row": In(range(rows))} if rows > 1 else {}), "slot": In(1),
            "data": In(8 * beats * beat_bytes), "reads": In(word_read_signature(beats * rows)).array(readers),
            "word": Out(beat_bytes), **protection(protected),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row_bits, word_bits = ceil_log2(self._rows), ceil_log2(WORDS * self._beats)
        depth = (1 << row_bits) + self._rows
        attrs = {"ram_style": "distributed"} if self._pipeline == "fast" and depth <= SHALLOW_ROWS else {}
        m.submodules.memory = memory = memory_of(
            8 * self._beats * self._beat_bytes, depth, self._protected, attrs=attrs)
        into, out = memory.write_port(), memory.read_port()
        row = Cat(self.row, self.slot) if self._rows > 1 else self.slot
        earlier: Value = Const(0)
        places: Value = Const(0)
        for number, read in enumerate(self.reads):
            last = number == len(self.reads) - 1
            m.d.comb += read.given.eq(read.want & ~earlier)
            places = places | Mux(~earlier if last else read.given, Value.cast(read.at), 0)
            earlier = earlier | read.want
        place = Signal(word_place_layout(self._beats * self._rows))
        which = Signal(word_bits, reset_less=True)
        write, row, written = self.write, row, self.data
        if self._pipeline == "fast":
            write = behind(m, Const(1), self.write, "write_late", init=0)
            row, written = behind(m, Const(1), row, "row_late"), behind(m, Const(1), self.data, "data_late")
        m.d.comb += [
            Value.cast(place).eq(places),
            into.en.eq(write), into.addr.eq(row), into.data.eq(written),
            out.en.eq(earlier), out.addr.eq(Value.cast(place)[word_bits:]),
            self.word.eq(out.data.word_select(which, self._beat_bytes)),
        ]
        with m.If(earlier):
            m.d.sync += which.eq(place.word[:word_bits])
        if self._protected:
            self._check(m, memory, into, out)
        return m

    def _check(self, m: Module, memory: ProtectedMemory, into: Any, out: Any) -> None:
        """Checks rows that were written before they are read. The rows of a slot are written from the first one on."""
        rows = range(self._rows)
        written, slot = Signal(2), out.addr[-1]
        tops = [Signal(rows, name=f"top_{number}") for number in range(2)]
        m.d.comb += [memory.inject.eq(self.inject), self.bad.eq(memory.bad)]
        with m.If(self.write):
            m.d.sync += written.eq(written | Mux(self.slot, 0b10, 0b01))
        stored = written.bit_select(slot, 1)
        if self._rows > 1:
            for number, top in enumerate(tops):
                with m.If(self.write & (self.slot == number) & (self.row > top)):
                    m.d.sync += top.eq(self.row)
            stored = stored & (out.addr[:-1] <= Mux(slot, tops[1], tops[0]))
        m.d.sync += memory.check.eq(out.en & stored & ~(into.en & (into.addr == out.addr)))
