"""Where exponent coding puts everything of a line, and the facts that it stores, by docs/formats.md."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Array, Cat, Const, Mux, Value

from cdma.hdl.codec.coding import WORD_BYTES, tag_bytes
from cdma.hdl.codec.line_record import GROUP_BYTES, GROUPS, WHOLE_BASE, WHOLE_WIDTH
from cdma.verif.formal.harness import Harness

__all__ = ["MOST_WIDTH", "Facts", "Places", "facts_word"]

MOST_WIDTH = 6
"""Bits of the longest distance that is no whole exponent."""

_WHOLE = 7
"""The width of whole exponents in a line header."""

_LESS = 3
"""Most bits that a group may have less than its line."""


class Places:
    """Where everything of a line is in the payload of a short block that has one line, its facts being known.

    Parameters
    ----------
    h : Harness
        Where the logic goes.
    size : int
        Bytes of an element.
    live : sequence of bool
        Whether each element is not zero; at least one is not.
    width, less, signs : Value
        Bits of a distance, 8 for whole exponents; those that each group has less; whether signs are stored.

    Attributes
    ----------
    tag : int
        The tag of the line; None if it has none.
    group_widths, rest_bits : list of Signal
        Bits of a distance, and of a rest, of each group.
    starts : list of Value
        The first byte of each group.
    rests, total : Signal
        Bytes of all rests, and of the payload.
    watched : Signal
        The number of the watched element among those that are not zero.
    group, rest_place, mantissa_place : Signal
        Of that element: its group, the first bit of its rest, and the first byte of its mantissa.
    """

    def __init__(self, h: Harness, size: int, live: Sequence[bool], width: Value, less: Sequence[Value],
                 signs: Value) -> None:
        each = GROUP_BYTES // size
        self.numbers = [k for k in range(len(live)) if live[k]]
        self.tag = None if all(live) else sum(1 << k for k in self.numbers)
        at: Value = Const(WORD_BYTES + (0 if self.tag is None else tag_bytes(size)), 8)
        self.group_widths, self.rest_bits, mantissas = [], [], []
        starts: list[Value] = []
        for group in range(GROUPS):
            count = sum(live[group * each:(group + 1) * each])
            bits = h.named(f"width_of_{group}", (width - less[group])[:4])
            rest = h.named(f"rest_of_{group}", Mux(signs, bits, bits - bits.any())[:4])
            self.group_widths.append(bits)
            self.rest_bits.append(rest)
            starts.append(at)
            rests = Array([Const(-(-count * number // 8), 8) for number in range(1 << len(rest))])[rest]
            behind = h.named(f"mantissas_of_{group}", (at + rests)[:8])
            mantissas.append(behind)
            at = h.named(f"behind_{group}", (behind + count * (size - 1))[:8])
        self.starts, self.total = starts, at
        self.rests = h.named("rests", sum((end - start for start, end in zip(starts, mantissas, strict=True)),
                                          Const(0))[:8])
        watched = h.fixed(range(len(self.numbers)), "watched")
        h.assume("an_element", h.begun | (watched < len(self.numbers)))
        self.watched = watched
        rest_places, mantissa_places, groups = [], [], []
        for number in self.numbers:
            group = number // each
            rank = sum(live[group * each:number])
            groups.append(Const(group, 2))
            rest_places.append((starts[group] * 8 + self.rest_bits[group] * rank)[:11])
            mantissa_places.append((mantissas[group] + rank * (size - 1))[:8])
        self.group = h.named("group", Array(groups)[watched])
        self.rest_place = h.named("rest_place", Array(rest_places)[watched])
        self.mantissa_place = h.named("mantissa_place", Array(mantissa_places)[watched])


class Facts:
    """The facts that the compressors choose for a line of elements, by docs/formats.md.

    Parameters
    ----------
    h : Harness
        Where the logic goes.
    size : int
        Bytes of an element.
    elements : sequence of Value
        The elements.
    live : sequence of bool
        Which of them are not zero; at least one is not.

    Attributes
    ----------
    width, less, signs, escape, base : Value
        As in :func:`cdma.hdl.codec.line_record.line_record_layout`.
    has_base, has_widths : Signal
        Whether there is a byte of base, and one of widths.
    dense : bool
        Whether no element is zero.
    """

    def __init__(self, h: Harness, size: int, elements: Sequence[Value], live: Sequence[bool]) -> None:
        each = GROUP_BYTES // size
        exponents, signs = [element[-9:-1] for element in elements], [element[-1] for element in elements]
        numbers = [k for k in range(len(live)) if live[k]]
        largest: Value = Const(0, 8)
        for k in numbers:
            largest = h.named(f"largest_{k}", Mux(exponents[k] > largest, exponents[k], largest))
        tiny = Cat(exponents[k] == 0 for k in numbers).any()
        escape = h.named("escape", tiny & largest.any())
        widths = []
        for group in range(GROUPS):
            smallest: Value = Const(255, 8)
            mine = [k for k in numbers if k // each == group]
            for k in mine:
                smaller = exponents[k].any() & (exponents[k] < smallest)
                smallest = h.named(f"smallest_{k}", Mux(smaller, exponents[k], smallest))
            some = Cat(exponents[k].any() for k in mine).any() if mine else Const(0)
            distance = h.named(f"distance_{group}", (largest - smallest + escape)[:8])
            widths.append(h.named(f"wanted_{group}", Mux(some, _bits(distance), 0)[:3]))
        longest: Value = Const(0, 3)
        for group, width in enumerate(widths):
            longest = h.named(f"longest_{group}", Mux(width > longest, width, longest))
        whole = h.named("whole", longest == _WHOLE)
        there = [any(live[group * each:(group + 1) * each]) for group in range(GROUPS)]
        narrower = Cat(width != longest for width, some in zip(widths, there, strict=True) if some).any() & ~whole
        self.less = []
        for group, width in enumerate(widths):
            short = longest - width
            self.less.append(h.named(f"less_{group}", Mux(narrower, Mux(short > _LESS, _LESS, short), 0)[:2]))
        self.signs = h.named("signs", Cat(signs[k] for k in numbers).any())
        self.width = h.named("width", Mux(whole, WHOLE_WIDTH, longest))
        self.base = h.named("base", Mux(whole, WHOLE_BASE, largest)[:8])
        self.escape = h.named("stored_escape", escape & ~whole)
        self.has_base = h.named("has_base", ~whole & largest.any())
        self.has_widths = h.named("has_widths", narrower)
        self.dense = all(live)

    def word(self) -> Value:
        """Header, base, widths and filler."""
        return facts_word(self.width, self.signs, self.dense, self.escape, self.has_widths, self.has_base, self.base,
                          self.less)


def facts_word(width: Value, signs: Value, dense: bool, escape: Value, has_widths: Value, has_base: Value, base: Value,
               less: Sequence[Value]) -> Value:
    """The facts of a line that is not all zeros: line header, base, widths, and zeros to a multiple of 4 bytes."""
    bits = width[:3] | width[3].replicate(3)
    header = Cat(bits, signs, Const(dense, 1), escape, has_widths, has_base)
    widths = Mux(has_widths, Cat(less), 0)
    return Cat(header, Mux(has_base, Cat(base, widths), widths)[:16], Const(0, 8))


def _bits(distance: Value) -> Value:
    """Bits that a distance needs; 7 if it needs more than 6."""
    found: Value = Const(_WHOLE, 3)
    for bits in reversed(range(MOST_WIDTH + 1)):
        found = Mux(distance < 1 << bits, bits, found)
    return found
