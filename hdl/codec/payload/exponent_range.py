"""Finds what the exponents of a group have in common: largest and smallest, signs, values without an exponent."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.codec.line_record import GROUP_BYTES

__all__ = ["ExponentRange", "range_layout"]

def range_layout() -> data.StructLayout:
    """What the exponents of a group have in common.

    ``largest``; ``smallest`` of those that are not 0, with ``live``: there is one; ``signs``: an element is negative;
    ``tiny``: an element that is not zero has the exponent 0.
    """
    return data.StructLayout({"largest": 8, "smallest": 8, "live": 1, "signs": 1, "tiny": 1})


class ExponentRange(wiring.Component):
    """Compares the exponents of a group in pairs, bfloat16 or float32.

    ::

                 +--------------------+   +----------------------------+
        data --->| pairs within words |-->| 8 words, in pairs, 3 times |--> found
                 +--------------------+   +----------------------------+
                            0                           1

    A float32 and a bfloat16 in its upper half have their exponents in the same bits, so one tree of comparisons serves
    both types. Its leaves are 4 bytes wide: one float32, or two bfloat16 values, which are compared with each other.
    The smallest exponent is found as the largest of the inverted exponents; leaves without an exponent count as 0
    there.

    ``present`` arrives late in its cycle, so it is used only behind the first comparison.

    Latency: 2 cycles. Throughput: a group per cycle.

    Parameters
    ----------
    pipeline : str
        ``small``, or ``fast``: with more comparisons, 2 rounds of them in place of 3.

    Members
    -------
    data : In(8 * GROUP_BYTES)
        Elements.
    present : In(GROUP_BYTES // 2)
        Which 2 bytes belong to whole elements, without gaps from bit 0 on. The others count as zeros.
    wide : In(1)
        float32 instead of bfloat16.
    found : Out(range_layout())
        Two cycles later. ``smallest`` is undefined without ``live``.

    Source: docs/formats.md, "Exponents".
    """

    def __init__(self, pipeline: str = "small") -> None:
        self._pipeline = pipeline
        super().__init__({"data": In(8 * GROUP_BYTES), "present": In(GROUP_BYTES // 2), "wide": In(1),
                          "found": Out(range_layout())})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        largest, smallest, alive, tiny, signs = [], [], [], [], []
        narrow = ~self.wide
        for k in range(GROUP_BYTES // 4):
            low, high = self.data.word_select(2 * k, 16), self.data.word_select(2 * k + 1, 16)
            low_there, high_there = self.present[2 * k], self.present[2 * k + 1]
            low_live, high_live, above, takes_low = (
                Signal(name=f"{name}_{k}") for name in ("low_live", "high_live", "above", "takes_low"))
            low_some, least = Signal(name=f"low_some_{k}"), Signal(8, name=f"least_{k}")
            m.d.comb += [
                low_live.eq(narrow & low_there & low[7:15].any()), high_live.eq(high_there & high[7:15].any()),
                low_some.eq(low_there & (low[:7].any() | low[15])),
                # One comparison finds the larger and the smaller one, as far as both count.
                above.eq(narrow & ((low[7:15] > high[7:15]) | ~high_there)),
                takes_low.eq(low_live & ~(high_live & above)),
                least.eq(Mux(takes_low, low[7:15], high[7:15])),
            ]
            largest.append(Mux(above, low[7:15], high[7:15]) & low_there.replicate(8))
            smallest.append(~least & (low_live | high_live).replicate(8))
            alive.append(low_live | high_live)
            tiny.append((narrow & low_some & ~low[7:15].any())
                        | (high_there & (high[:7].any() | high[15] | (self.wide & low.any())) & ~high_live))
            signs.append((high_there & high[15]) | (narrow & low_there & low[15]))
        flags = Signal(3, reset_less=True)
        greatest = _greatest_of_fours if self._pipeline == "fast" else _greatest
        most, inverted = (greatest(m, _registered(m, values, name), name)
                          for name, values in (("largest", largest), ("smallest", smallest)))
        m.d.sync += [
            flags.eq(Cat(Cat(alive).any(), Cat(signs).any(), Cat(tiny).any())),
            self.found.largest.eq(most), self.found.smallest.eq(~inverted),
            Cat(self.found.live, self.found.signs, self.found.tiny).eq(flags),
        ]
        return m


def _registered(m: Module, values: Sequence[Value], name: str) -> list[Value]:
    """The values a cycle later."""
    found = [Signal(8, name=f"{name}_{k}", reset_less=True) for k in range(len(values))]
    m.d.sync += [later.eq(value) for later, value in zip(found, values, strict=True)]
    return list(found)


def _greatest(m: Module, values: Sequence[Value], name: str) -> Value:
    """The greatest of the values, by comparing pairs."""
    while len(values) > 1:
        found = []
        for k in range(0, len(values), 2):
            most = Signal(8, name=f"{name}_of_{len(values) // 2}_{k // 2}")
            m.d.comb += most.eq(Mux(values[k] > values[k + 1], values[k], values[k + 1]))
            found.append(most)
        values = found
    return values[0]


def _greatest_of_fours(m: Module, values: Sequence[Value], name: str) -> Value:
    """The same of eight values, in two rounds of comparisons: in the first one, all pairs of four values."""
    found = []
    for first in range(0, len(values), 4):
        four = values[first:first + 4]
        above = {(a, b): four[a] > four[b] for a, b in combinations(range(4), 2)}
        low, high, upper = Signal(name=f"{name}_low_{first}"), Signal(name=f"{name}_high_{first}"), Signal(
            name=f"{name}_upper_{first}")
        most = Signal(8, name=f"{name}_of_2_{first}")
        m.d.comb += [
            low.eq(above[0, 1]), high.eq(above[2, 3]),
            upper.eq(~Mux(low, Mux(high, above[0, 2], above[0, 3]), Mux(high, above[1, 2], above[1, 3]))),
            most.eq(Mux(upper, Mux(high, four[2], four[3]), Mux(low, four[0], four[1]))),
        ]
        found.append(most)
    return _greatest(m, found, name)
