"""The aggregator's data path: joins beats of up to two blocks into rows of words."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import WORD_BYTES
from cdma.hdl.common.bits import thermometer

__all__ = ["BarrelShifter", "part_layout"]

_WORD_BITS = 8 * WORD_BYTES


def part_layout(words: int) -> data.StructLayout:
    """A part, a beat to be joined: its words, zero after the last one, and the place of the first word in the row."""
    return data.StructLayout({"data": _WORD_BITS * words, "place": exact_log2(words)})


class BarrelShifter(wiring.Component):
    """Rotates beats to their places in the row and joins them with the words left over from the previous beat.

    ::

        parts[0] --> turn --+--> join --> [row]
        parts[1] --> turn --+     ^
                            |     |
                            +--> [rest]

    A part that goes to place ``p`` is rotated by ``p`` words. Its words that do not fit into the row are then at the
    beginning: they are the rest. The row consists of the rest up to the first part's place, the first part from there
    on, and the second part, if there is one, from its own place on.

    Parameters
    ----------
    words : int
        Words of a row and of a part.
    sides : int
        Parts that may come at once: 1 or 2.

    Members
    -------
    parts : In(part_layout(words)).array(sides)
        The beats.
    side : In(1)
        Which of the parts is the first one.
    advance : In(1)
        The registers load.
    beat, pair, short : In(1)
        ``beat``: there is a first part; ``pair``: there is a second one too; ``short``: the first part does not fill
        the row and there is no second one.
    row : Out(words of 32 bits)
        The joined row. Without a beat: the rest up to the place of the parts, then zeros.
    """

    def __init__(self, words: int, sides: int):
        self._words = words
        self._sides = sides
        super().__init__({
            "parts": In(part_layout(words)).array(sides), "side": In(1), "advance": In(1), "beat": In(1), "pair": In(1),
            "short": In(1), "row": Out(_WORD_BITS * words),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words = self._words
        below, turned = [], []
        for number in range(self._sides):
            part = self.parts[number]
            mask = Signal(words, name=f"below_{number}")
            m.d.comb += mask.eq(thermometer(part.place, words))
            below.append(mask)
            value = part.data
            for step, bit in enumerate(part.place):
                rotated = Signal(len(value), name=f"turned_{number}_{1 << step}")
                m.d.comb += rotated.eq(Mux(bit, value.rotate_left(_WORD_BITS << step), value))
                value = rotated
            turned.append(value)

        rest = Signal(_WORD_BITS * words, reset_less=True)
        row = Signal(_WORD_BITS * words, reset_less=True)
        kept = Signal(words)
        source = Signal()       # the part whose rotated words become the rest
        m.d.comb += [self.row.eq(row), kept.eq(self._chosen(self.side, below)), source.eq(self.side ^ self.pair)]
        uses = []
        for number, mask in enumerate(below):
            used = Signal(words, name=f"used_{number}")
            m.d.comb += used.eq(Mux(self.beat & (self.pair | (self.side == number)), ~mask, 0))
            uses.append(used)
        for word in range(words):
            at = slice(_WORD_BITS * word, _WORD_BITS * (word + 1))
            joined: Value = Mux(kept[word], rest[at], 0)
            for used, value in zip(uses, turned):
                joined = joined | Mux(used[word], value[at], 0)
            with m.If(self.advance):
                m.d.sync += row[at].eq(joined)
            with m.If(self.advance & self.beat & ~(self.short & kept[word])):
                m.d.sync += rest[at].eq(self._chosen(source, [Cat(value[at]) for value in turned]))
        return m

    def _chosen(self, side: Value, values: list[Value]) -> Value:
        return Mux(side, values[1], values[0]) if self._sides == 2 else values[0]
