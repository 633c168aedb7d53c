"""Which bytes of a coded group are there: both directions of exponent coding move bytes by this mask."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.codec.coding import element_layout, select
from cdma.hdl.codec.line_record import GROUP_BYTES

__all__ = ["MOST_REST_BITS", "GroupMask", "mantissa_place", "rest_bits"]

MOST_REST_BITS = 8
"""Bits of the longest rest: a whole exponent, its sign below it and so in the lowest bit of the tail."""


def rest_bits(group: data.View[data.StructLayout]) -> Value:
    """Bits of a rest of a group: its tail without the lowest bit, 0 to 8."""
    length = group.width + group.signs
    return Mux(length == 0, 0, length - 1)[:4]


def mantissa_place(size: int, element: int) -> int:
    """The byte of a coded group where the mantissa of an element begins; it has one byte less than the element."""
    return GROUP_BYTES // size + element * (size - 1)


class GroupMask(wiring.Component):
    """Finds the bytes of a coded group, each at a place of its own. Combinational.

    ::

        byte        0 .. 15              16 .. 31
        bfloat16    rests                mantissa of element k in byte 16 + k

        byte        0 .. 7    8 .. 31
        float32     rests     mantissa of element k in bytes 8 + 3k to 10 + 3k

    Rests fill bytes from byte 0 on, together up to a whole one; an element that is zero has no mantissa. Moved
    together, these bytes are the data of the group.

    Parameters
    ----------
    exponents : tuple of int
        Element sizes that are built: 2 for bfloat16, 4 for float32, or both.

    Members
    -------
    elements : In(32 // min(exponents))
        Bit k: element k is not zero. float32 has bits 0 to 7 only; the others do not count.
    at_least : In(32 // min(exponents))
        How many these are, in unary: bit k, if more than k elements are not zero.
    rest : In(4)
        Bits of a rest, 0 to 8, from :func:`rest_bits`.
    element : In(element_layout(exponents))
        Element size.
    mask : Out(32)
        Bytes that are there.

    Source: docs/formats.md, "Exponents".
    """

    def __init__(self, exponents: tuple[int, ...]):
        self._exponents = tuple(sorted(exponents))
        most = GROUP_BYTES // self._exponents[0]
        super().__init__({
            "elements": In(most), "at_least": In(most), "rest": In(4),
            "element": In(element_layout(self._exponents)), "mask": Out(GROUP_BYTES),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        most = GROUP_BYTES // self._exponents[0]
        # Rests reach into byte k if count * rest > 8 * k: for each length of a rest, from a certain count on. That
        # needs no multiplication.
        length = Signal(MOST_REST_BITS + 1)
        m.d.comb += length.eq(Cat(self.rest == bits for bits in range(MOST_REST_BITS + 1)))
        rests: list[Value] = []
        for byte in range(most):
            reaches = [length[bits] & self.at_least[8 * byte // bits]
                       for bits in range(1, MOST_REST_BITS + 1) if 8 * byte < most * bits]
            rests.append(Cat(reaches).any())
        for byte in range(GROUP_BYTES):
            there: dict[int, Value] = {}
            for size in self._exponents:
                begin = mantissa_place(size, 0)
                there[size] = rests[byte] if byte < begin else self.elements[(byte - begin) // (size - 1)]
            m.d.comb += self.mask[byte].eq(select(self.element, there))
        return m
