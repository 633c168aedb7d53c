"""Rotates link beats so that a block begins at the first word of a row."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import WORD_BYTES
from cdma.hdl.common.bits import thermometer

__all__ = ["Realigner"]


class Realigner(wiring.Component):
    """Makes rows of the words after a header: every row but a block's last is full.

    ::

                +------+                 +-----+
        beat -->| turn |---------------->|     |   +-----+
                +------+ |  +--------+   | mix |-->| row |--> row
                         +->| before |-->|     |   +-----+
                            +--------+   +-----+

    All beats of a block are rotated by the same number of words, so that the block's first word comes first. A row is
    made of the rotated words of two beats in succession.

    Parameters
    ----------
    words : int
        4-byte words of a beat, a power of two.

    Members
    -------
    beat : In(32 * words)
        A link beat.
    place : In(range(words))
        Word of its beat in which the block's header is; must not change during the block's beats.
    carried : Out(words)
        Which words of a row come from the previous beat; they are the first ones.
    keep : In(1)
        The beat belongs to the block.
    make : In(1)
        Make a row of the previous beat and this one.
    flush : In(1)
        With ``make``: make a row of the previous beat alone.
    row : Out(32 * words)
        The row, from the next cycle on. Words after the block's end are undefined.
    """

    def __init__(self, words: int):
        self._words = words
        super().__init__({
            "beat": In(8 * WORD_BYTES * words), "place": In(exact_log2(words)), "carried": Out(words), "keep": In(1),
            "make": In(1), "flush": In(1), "row": Out(8 * WORD_BYTES * words),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = 8 * WORD_BYTES

        def split(value: Value) -> list[Value]:
            return [value.word_select(word, width) for word in range(self._words)]

        turned: Value = self.beat.rotate_right(width)
        for rank, bit in enumerate(self.place):
            further = Signal.like(self.beat, name=f"turned_{1 << rank}")
            m.d.comb += further.eq(Mux(bit, turned.rotate_right(width << rank), turned))
            turned = further
        before = Signal.like(self.beat, reset_less=True)
        row = Signal.like(self.beat, reset_less=True)
        held = Signal(self._words)
        m.d.comb += [
            self.row.eq(row),
            self.carried.eq(thermometer(~self.place, self._words)),
            held.eq(self.carried | self.flush.replicate(self._words)),
        ]
        with m.If(self.keep):
            m.d.sync += before.eq(turned)
        with m.If(self.make):
            m.d.sync += row.eq(Cat(
                Mux(held[word], old, new) for word, (old, new) in enumerate(zip(split(before), split(turned)))))
        return m
