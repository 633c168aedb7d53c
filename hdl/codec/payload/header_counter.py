"""Counts the line headers of a block ahead: where its line metadata ends, and how many tags there are."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from cdma.hdl.codec.coding import LINE_BYTES
from cdma.hdl.codec.payload.metadata_memory import word_place_layout, word_read_signature
from cdma.hdl.common.bits import thermometer

__all__ = ["HeaderCounter"]

_WHOLE = 7
"""Width of a line header whose distances are whole exponents."""


class HeaderCounter(wiring.Component):
    """Reads all line headers of a block, a word per cycle, adds up what they announce, and finds the first bad one.

    ::

        start --> [next word] --> read --> (memory) --> word --> [flags of each header] --> [sums, bad]

    Cycles of a block whose headers are in two words::

        cycle         0     1     2     3     4     5
        start         x
        read.want           a     b
        word                      a     b
        flags                           a     b
        sums                                  a     a, b
        done                                        x

    In the pipeline ``fast`` the word has a register in front of the flags, since memories show it late: a cycle more.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat: 8 times those of a word.
    block_bytes : int
        Raw bytes of the largest block.
    rows : int
        Rows of a slot of the memory.
    pipeline : str
        ``small`` or ``fast``.

    Members
    -------
    start : In(1)
        Counts a block: everything else starts again.
    lines : In(range(block_bytes // LINE_BYTES + 1)), slot : In(1)
        Its lines, and where it is in the memory. ``slot`` stays until ``done``.
    go : In(1)
        It may read in this cycle.
    read : Out(word_read_signature(rows)), word : In(beat_bytes)
        To the memory.
    done : Out(1)
        From now on the following hold.
    widths_at, facts_end : Out(range(3 * block_bytes // LINE_BYTES + 1))
        The byte at which the widths begin, and the one behind them.
    tags : Out(range(block_bytes // LINE_BYTES + 1))
        Lines that have a tag.
    bad : Out(1), bad_line : Out(range(block_bytes // LINE_BYTES))
        Whether there is a bad header, which has width 7 and one of bits 5 to 7 and is not that of a line of zeros; and
        the line of the first one.

    Source: docs/formats.md, "Exponents".
    """

    def __init__(self, beat_bytes: int, block_bytes: int, rows: int, pipeline: str = "small"):
        self._fast = pipeline == "fast"
        self._headers = beat_bytes // 8     # headers of a word
        self._lines = lines = block_bytes // LINE_BYTES
        self._place = word_place_layout(rows)
        super().__init__({
            "start": In(1), "lines": In(range(lines + 1)), "slot": In(1), "go": In(1),
            "read": Out(word_read_signature(rows)), "word": In(beat_bytes), "done": Out(1),
            "widths_at": Out(range(3 * lines + 1)), "facts_end": Out(range(3 * lines + 1)),
            "tags": Out(range(lines + 1)), "bad": Out(1), "bad_line": Out(range(lines)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count, shift = self._headers, exact_log2(self._headers)
        words = -(-self._lines // count)
        at, left = Signal(range(words + 1), reset_less=True), Signal(range(words + 1))
        asked, flagged, last = Signal(), Signal(), Signal(reset_less=True)
        rest = Signal(range(self._lines + 1), reset_less=True)      # headers that are still to come
        m.d.comb += [
            self.read.want.eq((left != 0) & self.go), self.read.at.word.eq(at), self.read.at.slot.eq(self.slot),
        ]
        bases, widths, tags, bad = (Signal(count, name=name, reset_less=True)
                                    for name in ("bases", "widths", "tagged", "wrong"))
        full = rest[shift:].any()
        present = Cat(thermometer(rest[:shift], count)) | full.replicate(count)
        word: Value = self.word
        given: Value = self.read.given
        if self._fast:
            word, given = Signal.like(self.word, name="word_read", reset_less=True), Signal(name="given")
            m.d.sync += [word.eq(self.word), given.eq(self.read.given & ~self.start)]
        m.d.sync += [asked.eq(given), flagged.eq(asked), last.eq(rest <= count)]
        for number in range(count):
            header, here = word.word_select(number, 8), present[number] & ~word.word_select(number, 8).all()
            m.d.sync += [
                bases[number].eq(here & header[7]), widths[number].eq(here & header[6]),
                tags[number].eq(here & ~header[4]),
                bad[number].eq(here & (header[:3] == _WHOLE) & header[5:].any()),
            ]
        with m.If(self.start):
            m.d.sync += [
                at.eq(0), left.eq((self.lines + (count - 1)) >> shift), rest.eq(self.lines),
                asked.eq(0), flagged.eq(0), self.done.eq(0), self.bad.eq(0), self.bad_line.eq(0),
                self.widths_at.eq(self.lines), self.facts_end.eq(self.lines), self.tags.eq(0),
            ]
        with m.Else():
            with m.If(self.read.given):
                m.d.sync += [at.eq(at + 1), left.eq(left - 1)]
            with m.If(asked):
                m.d.sync += rest.eq(rest - count)
            with m.If(flagged):
                m.d.sync += [
                    self.widths_at.eq(self.widths_at + _ones(bases)),
                    self.facts_end.eq(self.facts_end + (_ones(bases) + _ones(widths))),
                    self.tags.eq(self.tags + _ones(tags)), self.done.eq(last), self.bad.eq(self.bad | bad.any()),
                ]
                with m.If(~self.bad):
                    m.d.sync += self.bad_line.eq(Mux(
                        bad.any(), Cat(_first(bad), self.bad_line[shift:]), self.bad_line + count))
        return m


def _ones(bits: Value) -> Value:
    """How many bits are set."""
    result: Value = Const(0)
    for bit in bits:
        result = result + bit
    return result[:ceil_log2(len(bits) + 1)]


def _first(bits: Value) -> Value:
    """The number of the first bit that is set."""
    result: Value = Const(0, exact_log2(len(bits)))
    for number in reversed(range(len(bits))):
        result = Mux(bits[number], Const(number, exact_log2(len(bits))), result)
    return result
