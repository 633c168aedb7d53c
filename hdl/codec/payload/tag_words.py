"""Reads the words of a block that hold its tags."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hdl.codec.payload.metadata_memory import word_place_layout, word_read_signature

__all__ = ["TagWords"]


class TagWords(wiring.Component):
    """Reads the words of the memory from one place to another, and sends one per cycle while they are taken.

    ::

        load --> [next word, end] --> read --> (memory) --> word --> [word] --> words
                                                                      [word]

    At most two words are held or being read. Cycles of a block of two words::

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

    Members
    -------
    load : In(1)
        There is a block whose words are to be read. Only while ``ends`` is high.
    some : In(1), place : In(word_place_layout(rows)), end : In of a word's number
        With ``load``: whether the block has words of tags, the first one, and the number of the word behind the last
        one.
    ends : Out(1)
        No words are to be read any more, or the last one is read in this cycle. Depends on ``words.ready``.
    easy : Out(1)
        No word has to be read soon: all are read, or two are held. A function of registers.
    read : Out(word_read_signature(rows)), word : In(beat_bytes)
        To the memory. ``read.want`` depends on ``words.ready``.
    words : Out(stream.Signature(beat_bytes))
        The words.
    """

    words: stream.Interface

    def __init__(self, beat_bytes: int, rows: int):
        self._beat_bytes = beat_bytes
        self._place = word_place_layout(rows)
        super().__init__({
            "load": In(1), "some": In(1), "place": In(self._place), "end": In(self._place["word"].shape),
            "ends": Out(1), "easy": Out(1), "read": Out(word_read_signature(rows)), "word": In(beat_bytes),
            "words": Out(stream.Signature(beat_bytes)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        place, end = Signal(self._place, reset_less=True), Signal(self._place["word"].shape, reset_less=True)
        # `some`: words are to be read; `asked`: one comes in this cycle; `held`, `both`: words held here.
        some, asked, held, both = Signal(), Signal(), Signal(), Signal()
        head, behind = Signal(self._beat_bytes, reset_less=True), Signal(self._beat_bytes, reset_less=True)
        final, takes, following = Signal(), Signal(), Signal.like(end)
        m.d.comb += [
            self.words.valid.eq(held), self.words.payload.eq(head), takes.eq(held & self.words.ready),
            following.eq(place.word + 1), final.eq(following == end),
            self.read.want.eq(some & (takes | ~(both | (held & asked)))), self.read.at.eq(place),
            self.ends.eq(~some | (self.read.given & final)), self.easy.eq(~some | both),
        ]
        with m.If(self.load):
            m.d.sync += [some.eq(self.some), place.eq(self.place), end.eq(self.end)]
        with m.Elif(self.read.given):
            m.d.sync += [some.eq(~final), place.word.eq(following)]
        m.d.sync += asked.eq(self.read.given)
        with m.If(takes | ~held):
            m.d.sync += [held.eq(both | asked), both.eq(0), head.eq(Mux(both, behind, self.word))]
        with m.Else():
            m.d.sync += both.eq(both | asked)
        with m.If(~both):
            m.d.sync += behind.eq(self.word)
        return m
