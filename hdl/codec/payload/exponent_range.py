"""Finds what the exponents of a group have in common: largest and smallest, signs, values without an exponent."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.codec.line_record import GROUP_BYTES

__all__ = ["ExponentRange", "range_layout"]

_LEFT = 4
"""Candidates that are left after the first cycle."""


def range_layout() -> data.StructLayout:
    """What the exponents of a group have in common.

    ``largest``; ``smallest`` of those that are not 0, with ``live``: there is one; ``signs``: an element is negative;
    ``tiny``: an element that is not zero has the exponent 0.
    """
    return data.StructLayout({"largest": 8, "smallest": 8, "live": 1, "signs": 1, "tiny": 1})


class ExponentRange(wiring.Component):
    """Compares the exponents of a group in pairs, bfloat16 or float32.

    ::

                 +-----------------------+   +-----------------------+
        data --->| pairs, pairs of pairs |-->| pairs, pairs of pairs |--> found
                 +-----------------------+   +-----------------------+
                             0                           1

    The exponent is in the same bits of a float32 and of a bfloat16 in its upper half, so one tree serves both: lower
    halves of float32 values count as exponents of 0. The smallest exponent is the largest one of the inverted ones,
    where no exponent counts as 0, as above.

    Latency: 2 cycles. Throughput: a group per cycle.

    Members
    -------
    data : In(8 * GROUP_BYTES)
        Elements.
    wide : In(1)
        float32 instead of bfloat16.
    found : Out(range_layout())
        Two cycles later. ``smallest`` is undefined without ``live``.

    Source: docs/formats.md, "Exponents".
    """

    def __init__(self) -> None:
        super().__init__({"data": In(8 * GROUP_BYTES), "wide": In(1), "found": Out(range_layout())})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        largest, smallest, alive, tiny, signs = [], [], [], [], []
        for k in range(GROUP_BYTES // 2):
            half = self.data.word_select(k, 16)
            # Whether the half has a sign and an exponent.
            upper = k % 2 == 1
            counts = Const(1) if upper else ~self.wide
            rest = half[:7].any() | half[15]
            if upper:
                rest = rest | (self.wide & self.data.word_select(k - 1, 16).any())
            exponent, live = Signal(8, name=f"exponent_{k}"), Signal(name=f"live_{k}")
            m.d.comb += [exponent.eq(half[7:15] & counts.replicate(8)), live.eq(exponent.any())]
            largest.append(exponent)
            smallest.append(~exponent & live.replicate(8))
            alive.append(live)
            tiny.append(rest & ~live & counts)
            signs.append(half[15] & counts)
        left = {name: _registered(m, _greatest(m, values, _LEFT, f"{name}_first"), name)
                for name, values in (("largest", largest), ("smallest", smallest))}
        flags = Signal(3, reset_less=True)
        (most,) = _greatest(m, left["largest"], 1, "largest_second")
        (least,) = _greatest(m, left["smallest"], 1, "smallest_second")
        m.d.sync += [
            flags.eq(Cat(Cat(alive).any(), Cat(signs).any(), Cat(tiny).any())),
            self.found.largest.eq(most), self.found.smallest.eq(~least),
            Cat(self.found.live, self.found.signs, self.found.tiny).eq(flags),
        ]
        return m


def _registered(m: Module, values: Sequence[Value], name: str) -> list[Value]:
    """The values a cycle later."""
    found = [Signal(8, name=f"{name}_{k}", reset_less=True) for k in range(len(values))]
    m.d.sync += [later.eq(value) for later, value in zip(found, values, strict=True)]
    return list(found)


def _greatest(m: Module, values: Sequence[Value], left: int, name: str) -> list[Value]:
    """The greatest of the values, by comparing pairs until so many are left."""
    while len(values) > left:
        found = []
        for k in range(0, len(values), 2):
            most = Signal(8, name=f"{name}_{len(values) // 2}_{k // 2}")
            m.d.comb += most.eq(Mux(values[k] > values[k + 1], values[k], values[k + 1]))
            found.append(most)
        values = found
    return list(values)
