"""Reads the words of a block that hold its tags."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.codec.payload.metadata_memory import word_place_layout, word_read_signature

__all__ = ["TagWords"]


class TagWords(wiring.Component):
    """Reads the words of the memory from one place to another, and sends one per cycle while they are taken.

    ::

        load --> [next word, end] --> read --> (memory) --> word --> [word] --> words
                                                                      [word]
                                                                      [word, if there are 3 places]

    With three places, what is read follows from registers, not from ``words.ready``, which comes late. With two, a word
    is read while one is taken, so that there is no gap either. Cycles of a block of two words::

        cycle         0     1     2     3     4
        load          x
        read.want           a     b
        word                      a     b
        words                           a     b

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat, and bits of a word.
    rows : int
        Rows of a slot of the memory.
    places : int
        Words that are held at most, 2 or 3.

    Members
    -------
    load : In(1)
        There is a block whose words are to be read. Only while ``ends`` is high.
    some : In(1), place : In(word_place_layout(rows)), end : In of a word's number
        With ``load``: whether the block has words of tags, the first one, and the number of the word behind the last
        one.
    ends : Out(1)
        No words are to be read any more, or the last one is read in this cycle. Depends on ``words.ready`` if there are
        two places.
    easy : Out(1)
        No word has to be read soon: all are read, or two are held. A function of registers.
    read : Out(word_read_signature(rows)), word : In(beat_bytes)
        To the memory. ``read.want`` depends on ``words.ready`` if there are two places.
    words : Out(stream.Signature(beat_bytes))
        The words.
    """

    words: stream.Interface

    def __init__(self, beat_bytes: int, rows: int, places: int):
        self._beat_bytes = beat_bytes
        self._places = places
        self._place = word_place_layout(rows)
        super().__init__({
            "load": In(1), "some": In(1), "place": In(self._place), "end": In(self._place["word"].shape),
            "ends": Out(1), "easy": Out(1), "read": Out(word_read_signature(rows)), "word": In(beat_bytes),
            "words": Out(stream.Signature(beat_bytes)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        place, end = Signal(self._place, reset_less=True), Signal(self._place["word"].shape, reset_less=True)
        # `some`: words are to be read; `asked`: one comes in this cycle; `held`, `both`, `full`: one, two, three words
        # are held here.
        some, asked, held, both, full = Signal(), Signal(), Signal(), Signal(), Signal()
        head, behind, third = (Signal(self._beat_bytes, name=name, reset_less=True)
                               for name in ("head", "behind", "third"))
        final, takes, following = Signal(), Signal(), Signal.like(end)
        room = ~(full | (both & asked)) if self._places == 3 else takes | ~(both | (held & asked))
        m.d.comb += [
            self.words.valid.eq(held), self.words.payload.eq(head), takes.eq(held & self.words.ready),
            following.eq(place.word + 1), final.eq(following == end),
            self.read.want.eq(some & room), self.read.at.eq(place),
            self.ends.eq(~some | (self.read.given & final)), self.easy.eq(~some | both),
        ]
        with m.If(self.load):
            m.d.sync += [some.eq(self.some), place.eq(self.place), end.eq(self.end)]
        with m.Elif(self.read.given):
            m.d.sync += [some.eq(~final), place.word.eq(following)]
        m.d.sync += asked.eq(self.read.given)
        shifts = takes | ~held
        more: Value = Const(0)
        if self._places == 3:
            more = both & asked
            with m.If(shifts):
                m.d.sync += full.eq(0)
            with m.Else():
                m.d.sync += full.eq(full | more)
            with m.If(~full):
                m.d.sync += third.eq(self.word)
        with m.If(shifts):
            m.d.sync += [held.eq(both | asked), both.eq(full | more), head.eq(Mux(both, behind, self.word))]
        with m.Else():
            m.d.sync += both.eq(both | asked)
        with m.If(~both | (takes & (full | more))):
            m.d.sync += behind.eq(Mux(full, third, self.word))
        return m
