"""Finds the headers of the block stream, one link beat per cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.codec.blocks.header import header_layout
from hdl.codec.coding import WORD_BYTES
from hdl.common.beat import beat_stream

__all__ = ["HeaderParser"]

_BITS = 8 * WORD_BYTES


class HeaderParser(wiring.Component):
    """Finds the header in every beat that has one, and reports which blocks begin and end in each beat.

    ::

                +-------------------+                      +-----------+
        i ----->| beat, and of each |--------------------->| header at |--> header, head, tail ...
                | word as a header: |    short, fits       |  `place`  |
                | does its block    |                      +-----------+
                | end in this beat  |                        ^       | words of its payload
                +-------------------+                        +--[+]<-+
                                                        place, beats to go

    The place of a header and the length in it give the place of the next header in the same cycle. When the next
    header is in the same beat, the beat is held for another cycle. This must be known early in the cycle, so it is
    computed for every word, as if each were a header, when the beat arrives.

    Parameters
    ----------
    words : int
        4-byte words of a beat.

    Members
    -------
    i : In(beat_stream(4 * words))
        The block stream, one packet of whole words.
    run : In(1)
        Beats may be taken. It may fall only while no beat is held.
    drop : In(1)
        All beats are taken and discarded.
    go : In(1)
        The outputs of this cycle are accepted. When low, the outputs keep their values.
    final : In(1)
        The next header is that of the last block.
    carried : In(words)
        Words of the previous beat that are in a row of the open block: see
        :class:`hdl.engine.link.realigner.Realigner`.
    beat : Out(32 * words)
        The current beat.
    tail : Out(1)
        The open block continues in this beat.
    tail_ends : Out(1)
        The open block ends in this beat.
    tail_spills : Out(1)
        With ``tail_ends``: the block's last words need one more row.
    head : Out(1)
        A header is in this beat. Its payload begins in the next word, in this beat or the next.
    head_ends : Out(1)
        The block of that header also ends in this beat.
    header : Out(header_layout())
        The header.
    place : Out(range(words))
        Word of its beat in which the following header will be.
    over : Out(1)
        The header of the last block has been passed.
    whole, torn : Out(1)
        In the last beat: the stream ends with the end of a block; or inside a block.
    more : Out(1)
        Words follow the last block.
    """

    i: stream.Interface

    def __init__(self, words: int):
        self._words = words
        super().__init__({
            "i": In(beat_stream(WORD_BYTES * words)), "run": In(1), "drop": In(1), "go": In(1), "final": In(1),
            "carried": In(words), "beat": Out(_BITS * words), "tail": Out(1), "tail_ends": Out(1),
            "tail_spills": Out(1), "head": Out(1), "head_ends": Out(1), "header": Out(header_layout()),
            "place": Out(exact_log2(words)), "over": Out(1), "whole": Out(1), "torn": Out(1), "more": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words = self._words
        rank = exact_log2(words)

        # The current beat and what was computed when it arrived: which words are valid (`counts`) and, taking each
        # word as a header, whether its block ends in this beat (`fits`) and the next header is in it too (`short`).
        beat = Signal(_BITS * words, reset_less=True)
        valid = Signal()
        last = Signal(reset_less=True)
        counts = Signal(words, reset_less=True)
        short = Signal(words, reset_less=True)
        fits = Signal(words, reset_less=True)
        hold = Signal()
        take = Signal()
        m.d.comb += [
            self.i.ready.eq(self.drop | (self.run & (~valid | (self.go & ~hold)))),
            self.beat.eq(beat),
            take.eq(self.i.valid & self.i.ready & ~self.drop),
        ]
        with m.If(self.drop):
            m.d.sync += valid.eq(0)
        with m.Elif(self.i.ready):
            m.d.sync += valid.eq(self.i.valid)
        with m.If(take):
            incoming = self.i.payload
            keep = Cat(incoming.keep[WORD_BYTES * word] for word in range(words))
            payloads = [incoming.data.word_select(word, _BITS)[:16] for word in range(words)]
            there = Signal(words)
            m.d.comb += there.eq(keep | ~incoming.last.replicate(words))
            m.d.sync += [
                # Bytes after the end of the stream are cleared: they must not look like bad padding of a torn block.
                beat.eq(Cat(incoming.data.word_select(word, _BITS) & there[word].replicate(_BITS)
                            for word in range(words))),
                last.eq(incoming.last),
                counts.eq(there),
                fits.eq(Cat(self._at_most(payloads[word], words - 1 - word) for word in range(words))),
                short.eq(Cat(self._at_most(payloads[word], words - 2 - word) for word in range(words))),
            ]

        # Where the next header is: its word, one-hot, and the number of beats until it arrives.
        where = Signal(words, init=1)
        away = Signal(16 - rank)
        open_ = Signal()            # a block has begun and has not ended
        here = Signal()
        live = Signal()
        header = Value.cast(self.header)
        m.d.comb += [
            here.eq(away == 0),
            live.eq(valid & ~self.drop),
            self.head.eq(live & here & ~self.over & (where & counts).any()),
            hold.eq(self.head & (where & short).any()),
            header.eq(self._pick(where)),
            self.head_ends.eq((where & fits).any()),
        ]
        # Words to the next header, counted from the start of the next beat: the header's word and the payload's
        # words, less one beat. The lowest bit of both operands makes the carry that rounds up.
        back = Signal(rank + 1)
        reach = Signal(17)
        payload = self.header.payload_bytes
        m.d.comb += back.eq(Cat(*(
            Cat(where[word] for word in range(words) if (word + 1 - words) >> bit & 1).any() for bit in range(rank)),
            ~where[-1]))
        rounds = payload[:2].any()
        added = Cat(Const(1, 1), payload[2:], Const(0, 2)) + Cat(rounds, back, back[-1].replicate(15 - rank))
        m.d.comb += [
            reach.eq(added[1:]),
            self.place.eq(reach[:rank]),
            self.tail.eq(live & open_),
            self.tail_ends.eq(here | ((away == 1) & where[0])),
            self.tail_spills.eq(Mux(
                here, Cat(where[word] & self.carried[words - word] for word in range(1, words)).any(),
                self.carried[0])),
        ]
        with m.If(self.go & live):
            with m.If(self.head):
                m.d.sync += [
                    where.eq(Cat(self.place == word for word in range(words))),
                    away.eq(Mux(hold, 0, reach[rank:])),
                    self.over.eq(self.final),
                    open_.eq(~self.head_ends),
                ]
            with m.Else():
                m.d.sync += [away.eq(away - 1), open_.eq(open_ & ~self.tail_ends)]
                with m.If(here):
                    m.d.sync += away.eq(0)

        # The end of the stream, and words after the last block.
        exactly = Signal()      # the next header would be the first word after the stream
        inside = Signal()       # the next header would be inside the stream
        m.d.comb += [
            exactly.eq(Mux(
                here, Cat(where[word] & counts[word - 1] & ~counts[word] for word in range(1, words)).any(),
                (away == 1) & where[0] & counts[-1])),
            inside.eq(here & (where & counts).any()),
            self.whole.eq(live & last & ~hold & Mux(self.head, self.head_ends & counts[-1], exactly)),
            self.torn.eq(live & last & ~hold & Mux(self.head, ~(self.head_ends & counts[-1]), ~exactly & ~inside)),
            self.more.eq(live & self.over & inside),
        ]
        return m

    @staticmethod
    def _at_most(payload: Value, words: int) -> Value:
        """Whether a payload takes no more than so many words."""
        return payload <= WORD_BYTES * words if words >= 0 else Const(0)

    def _pick(self, where: Value) -> Value:
        """The word that ``where`` points at, as a sum of products."""
        result: Value = Const(0, _BITS)
        for word in range(self._words):
            result = result | (self.beat.word_select(word, _BITS) & where[word].replicate(_BITS))
        return result
