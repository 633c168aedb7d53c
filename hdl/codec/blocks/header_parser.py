"""Finds the headers of the block stream, one link beat per cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import SHORT, WORD_BYTES, header_layout
from cdma.hdl.common.beat import beat_stream

__all__ = ["HeaderParser"]

_BITS = 8 * WORD_BYTES
_SHORT_BIT = 16 + exact_log2(SHORT)     # of a header, in its coding


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

    A short block that is coded begins with a length field between header and payload. Such a header is reported two
    cycles later, together with the word of the field and as if it were there: its payload bytes are 4 less. Only the
    last block of a transfer can be short, so no other block waits.

    ::

        cycle       0            1                2
        pick_at     the header   the field        nothing
        where       the header   the field        the field
        moves       1            0                0
        field       0            1, with `length` 0
        head        0            0                1, with the registered header

    If the header is the last word of its beat, cycle 1 is that of the next beat. If the stream ends there, the header
    is reported in the last beat.

    Parameters
    ----------
    words : int
        4-byte words of a beat.
    largest : int
        Bytes of the longest payload. What is reported behind a header that says more is undefined.

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
        :class:`cdma.hdl.engine.link.realigner.Realigner`.
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
        The header. The payload bytes are those of the payload without a length field.
    moves : Out(1)
        The block of the next header has a length field: its payload begins one word later than without.
    field : Out(1)
        The word ``length`` is that length field; undefined if the stream ends in front of it.
    length : Out(32)
        The word at the place where a header or a length field is.
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

    def __init__(self, words: int, largest: int):
        self._words = words
        self._reach_bits = max((largest // WORD_BYTES + 2).bit_length(), exact_log2(words) + 1)
        super().__init__({
            "i": In(beat_stream(WORD_BYTES * words)), "run": In(1), "drop": In(1), "go": In(1), "final": In(1),
            "carried": In(words), "beat": Out(_BITS * words), "tail": Out(1), "tail_ends": Out(1),
            "tail_spills": Out(1), "head": Out(1), "head_ends": Out(1), "header": Out(header_layout()),
            "moves": Out(1), "field": Out(1), "length": Out(_BITS),
            "place": Out(exact_log2(words)), "over": Out(1), "whole": Out(1), "torn": Out(1), "more": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words = self._words
        rank = exact_log2(words)

        # The current beat and what was computed when it arrived: which words are valid (`counts`) and, taking each
        # word as a header, whether its block ends in this beat (`fits`) and the next header is in it too (`short`), and
        # whether it has no length field (`plain`) or has one (`flagged`).
        beat = Signal(_BITS * words, reset_less=True)
        valid = Signal()
        last = Signal(reset_less=True)
        counts = Signal(words, reset_less=True)
        short = Signal(words, reset_less=True)
        fits = Signal(words, reset_less=True)
        plain = Signal(words, reset_less=True)
        flagged = Signal(words, reset_less=True)
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
            marked = Cat(incoming.data[_BITS * word + _SHORT_BIT] for word in range(words))
            there = Signal(words)
            m.d.comb += there.eq(keep | ~incoming.last.replicate(words))
            m.d.sync += [
                # Bytes after the end of the stream are cleared: they must not look like bad padding of a torn block.
                beat.eq(Cat(incoming.data.word_select(word, _BITS) & there[word].replicate(_BITS)
                            for word in range(words))),
                last.eq(incoming.last),
                counts.eq(there),
                plain.eq(there & ~marked),
                flagged.eq(there & marked),
                fits.eq(Cat(self._at_most(payloads[word], words - 1 - word) for word in range(words))),
                short.eq(Cat(self._at_most(payloads[word], words - 2 - word) for word in range(words))),
            ]

        # Where the next header is: its word, one-hot, and the number of beats until it arrives. `pick_at` is the same,
        # except while a header is reported that is `moved`: then no word is picked.
        where = Signal(words, init=1)
        pick_at = Signal(words, init=1)
        away = Signal(self._reach_bits - rank)
        open_ = Signal()            # a block has begun and has not ended
        here = Signal()
        live = Signal()
        looks = Signal(init=1)      # the next word picked is a header
        reads = Signal()            # the next word picked is a length field
        shows = Signal()            # the header `moved` is to be reported
        moved = Signal(header_layout())
        moved_ends = Signal(reset_less=True)
        moved_short = Signal(reset_less=True)
        leaves = Signal()           # the length field is in the next beat
        crossed = Signal(reset_less=True)
        header = Value.cast(self.header)
        m.d.comb += [
            here.eq(away == 0),
            live.eq(valid & ~self.drop),
            self.moves.eq(live & here & looks & (pick_at & flagged).any()),
            self.field.eq(live & reads),
            self.head.eq(live & here & ((looks & (pick_at & plain).any()) | shows)),
            leaves.eq(where[-1] & ~last),
            hold.eq((self.head & ((pick_at & short).any() | (shows & moved_short))) | (self.moves & ~leaves)
                    | self.field),
            self.length.eq(self._pick(pick_at)),
            header.eq(self.length | Value.cast(moved)),
            self.head_ends.eq((pick_at & fits).any() | (shows & moved_ends)),
        ]
        # Words to the next header, counted from the start of the next beat: the header's word and the payload's
        # words, less one beat. The lowest bit of both operands makes the carry that rounds up.
        back = Signal(rank + 1)
        reach = Signal(self._reach_bits)
        payload = self.header.payload_bytes
        m.d.comb += back.eq(Cat(*(
            Cat(where[word] for word in range(words) if (word + 1 - words) >> bit & 1).any() for bit in range(rank)),
            ~where[-1]))
        rounds = payload[:2].any()
        far = Cat(payload[2:], Const(0, 1))[:len(reach)]
        added = Cat(Const(1, 1), far) + Cat(rounds, back, back[-1].replicate(len(reach) - len(back)))
        m.d.comb += [
            reach.eq(added[1:len(reach) + 1]),
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
                    pick_at.eq(Cat(self.place == word for word in range(words))),
                    away.eq(Mux(hold, 0, reach[rank:])),
                    self.over.eq(self.final),
                    looks.eq(~self.final),
                    shows.eq(0),
                    open_.eq(~self.head_ends),
                ]
            with m.Else():
                m.d.sync += [away.eq(away - 1), open_.eq(open_ & ~self.tail_ends)]
                with m.If(here):
                    m.d.sync += away.eq(0)
                with m.If(self.moves):
                    m.d.sync += [
                        looks.eq(0),
                        reads.eq(1),
                        where.eq(where.rotate_left(1)),
                        pick_at.eq(pick_at.rotate_left(1)),
                        moved.eq(self.length),
                        moved.payload_bytes.eq(self.length[:16] - WORD_BYTES),
                        moved_ends.eq((pick_at & fits).any()),
                        moved_short.eq((pick_at & short).any()),
                        crossed.eq(leaves),
                    ]
                with m.If(self.field):
                    m.d.sync += [reads.eq(0), shows.eq(1), pick_at.eq(0)]
                    with m.If(crossed):
                        m.d.sync += [
                            moved_ends.eq(self._at_most(moved.payload_bytes, words - 1)),
                            moved_short.eq(self._at_most(moved.payload_bytes, words - 2)),
                        ]

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
