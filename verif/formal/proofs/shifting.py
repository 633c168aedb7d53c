"""Proofs of what joins words of successive parts: the barrel shifter of the aggregator."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import WORD_BYTES
from cdma.hdl.engine.link.barrel_shifter import BarrelShifter
from cdma.verif.formal.harness import Harness
from cdma.verif.formal.proof import Proof

__all__ = ["PROOFS"]

_WORD = 8 * WORD_BYTES


def _barrel_shifter(words: int, sides: int) -> Harness:
    """Rows against the words of all parts one behind the other; every part begins where the one before it ended."""
    h = Harness()
    m = h.m
    dut = h.add("dut", BarrelShifter(words, sides))
    advance, beat, ends = (h.free(1, name) for name in ("advance", "beat", "ends"))
    side, pair = (h.free(1, name) if sides == 2 else Const(0) for name in ("side", "pair"))
    given = [h.free(_WORD * words, f"data_{number}") for number in range(sides)]
    counts = [h.free(range(words + 1), f"words_{number}") for number in range(sides)]

    # The row that is not full yet: its words, and how many there are.
    filled = Signal(exact_log2(words), name="filled")
    opened = Signal(_WORD * words, name="opened", reset_less=True)
    first, second = Mux(side, counts[-1], counts[0]), Mux(side, counts[0], counts[-1])
    behind = Signal(exact_log2(words) + 1, name="behind")       # words up to the end of the first part
    total = Signal(range(3 * words), name="total")
    m.d.comb += [behind.eq(filled + first), total.eq(behind + Mux(pair, second, 0)),
                 dut.advance.eq(advance), dut.beat.eq(beat), dut.side.eq(side), dut.pair.eq(pair),
                 dut.short.eq(~pair & (total < words))]
    for number, part in enumerate(dut.parts):
        m.d.comb += [part.data.eq(given[number]), part.place.eq(Mux(pair & (side != number), behind, filled))]
        for word in range(words):
            h.assume(f"zero_behind_word_{word}_of_{number}",
                     (word < counts[number]) | ~given[number].word_select(word, _WORD).any())
    h.assume("parts_have_words", Cat(count.any() & (count <= words) for count in counts).all())
    # A second part comes if the first one does not fill the row. It is a beat with others of its block behind it.
    h.assume("second_in_the_row", ~pair | (beat & (behind < words)))
    h.assume("second_is_full", ~pair | (second == words))

    # All words, as the format has them: what is open, then the first part, then the second one.
    joined: Value = Mux(side, given[-1], given[0]) << (_WORD * filled)
    row = Signal(_WORD * words, name="expected", reset_less=True)
    made = Signal(name="made")
    after = Mux(side, given[0], given[-1]) << (_WORD * behind)
    known = Cat(Mux(filled > word, opened.word_select(word, _WORD), 0) for word in range(words))
    both = Signal(2 * _WORD * words, name="both")
    m.d.comb += both.eq(known | Mux(beat, joined, 0) | Mux(pair, after, 0))
    with m.If(advance):
        m.d.sync += [row.eq(both), made.eq(1)]
        with m.If(beat):
            m.d.sync += [opened.eq(Mux(total >= words, both[_WORD * words:], both)), filled.eq(total)]
        with m.If(ends):
            m.d.sync += filled.eq(0)
    for word in range(words):
        same = h.inner("dut.rest").word_select(word, _WORD) == opened.word_select(word, _WORD)
        h.check(f"row_{word}", ~made | (dut.row.word_select(word, _WORD) == row.word_select(word, _WORD)))
        h.check(f"rest_{word}", (filled <= word) | same)
    h.cover("full_with_rest", h.past(advance & beat & (total > words), "spills") & (filled > 1))
    h.cover("short_behind_short", h.past(advance & beat & (total < words) & (filled != 0), "grows") & (filled > 2))
    if sides == 2:
        h.cover("pair_with_rest", h.past(advance & pair & (total > words), "pairs") & (filled != 0))
    return h


_PARTS = {1: "one part of any length in a cycle", 2: "one part of any length in a cycle, or a full one behind it, too"}


def _barrel_shifter_proof(words: int, sides: int, which: str = "shallow") -> Proof:
    return Proof(f"barrel_shifter_{words}_{sides}", "hdl/engine/link/barrel_shifter.py", f"Rows of {words} words are "
                 f"the words of all parts one behind the other, without a gap, {_PARTS[sides]}.",
                 lambda: _barrel_shifter(words, sides), "induction", 1, which)


PROOFS = (
    _barrel_shifter_proof(4, 1, "deep"), _barrel_shifter_proof(4, 2, "deep"), _barrel_shifter_proof(8, 2, "deep"),
)
"""Proofs of what joins words."""
