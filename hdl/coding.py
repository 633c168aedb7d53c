"""Zero-value coding as the cores see it: element sizes as one-hot signals, tags and masks of a beat.

This is the one place in ``hdl`` that knows how the coding of a line depends on the element size; other codings join
here. Names: a *unit* is the smallest element a build can code, the grain of all its byte routing.
"""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hdl.config import LINE_BYTES

__all__ = ["Scan", "element_layout", "one_hot_element", "select", "tag_bytes"]


def tag_bytes(element_bytes: int) -> int:
    """Bytes of the tag of a line: one bit per element."""
    return LINE_BYTES // element_bytes // 8


def element_layout(sizes: tuple[int, ...]) -> data.StructLayout:
    """One bit per element size (in bytes) a build can code; exactly one is set."""
    return data.StructLayout({f"b{size}": 1 for size in sizes})


def one_hot_element(element: Value, sizes: tuple[int, ...]) -> Value:
    """The value of :func:`element_layout` for an element size in bytes; sizes not built count as the largest built."""
    others = [element == size for size in sizes[:-1]]
    return Cat(*others, ~Cat(*others).any() if others else 1)


def select(element: data.View, choices: Mapping[int, ValueLike]) -> Value:
    """The choice for the element size that is set, as a sum of products."""
    sizes = list(choices)
    if len(sizes) == 1:
        return Value.cast(choices[sizes[0]])
    result = None
    for size in sizes:
        value = Value.cast(choices[size])
        term = Mux(element[f"b{size}"], value, 0)
        result = term if result is None else result | term
    assert result is not None
    return result


class Scan(wiring.Component):
    """Finds the zeros of a beat: which units carry a non-zero element, and the beat's slice of the tag. Combinational.

    Parameters
    ----------
    beat_bytes : int
        Bytes of the beat.
    sizes : tuple of int
        Element sizes in bytes that can be chosen.

    Members
    -------
    data : In(8 * beat_bytes)
        The beat.
    present : In(beat_bytes)
        Which bytes belong to the packet: the first ones.
    element : In(element_layout(sizes))
        Element size of the packet.
    mask : Out(beat_bytes // grain)
        Units of present, non-zero elements.
    slice : Out(beat_bytes // grain)
        Tag bits of the beat's elements from bit 0 on: set for a non-zero element and for a missing one.
    some : Out(1)
        Whether there is at least one whole element.
    ragged : Out(1)
        Whether the present bytes end inside an element.
    """

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...]):
        self._beat_bytes = beat_bytes
        self._sizes = sizes
        units = beat_bytes // min(sizes)
        super().__init__({
            "data": In(8 * beat_bytes),
            "present": In(beat_bytes),
            "element": In(element_layout(sizes)),
            "mask": Out(units),
            "slice": Out(units),
            "some": Out(1),
            "ragged": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        grain = min(self._sizes)
        units = self._beat_bytes // grain
        live: dict[int, Value] = {}
        tag: dict[int, Value] = {}
        ragged: dict[int, Value] = {}
        some: dict[int, Value] = {}
        nonzero: list[Value] = []
        for size in self._sizes:
            elements = self._beat_bytes // size
            if not nonzero:
                nonzero = [self.data.word_select(k, 8 * size).any() for k in range(elements)]
            else:
                group = len(nonzero) // elements
                nonzero = [Cat(nonzero[k * group:(k + 1) * group]).any() for k in range(elements)]
            whole = [self.present[(k + 1) * size - 1] for k in range(elements)]
            begun = [self.present[k * size] for k in range(elements)]
            bits = Signal(elements, name=f"tag_{size}")
            kept = Signal(elements, name=f"live_{size}")
            m.d.comb += [
                bits.eq(Cat(nz | ~there for nz, there in zip(nonzero, whole, strict=True))),
                kept.eq(Cat(nz & there for nz, there in zip(nonzero, whole, strict=True))),
            ]
            tag[size] = Cat(bits, Const(0, units - elements)) if units > elements else bits
            live[size] = Cat(kept[unit * grain // size] for unit in range(units))
            ragged[size] = Cat(a & ~b for a, b in zip(begun, whole, strict=True)).any()
            some[size] = whole[0]
        m.d.comb += [
            self.mask.eq(select(self.element, live)),
            self.slice.eq(select(self.element, tag)),
            self.ragged.eq(select(self.element, ragged)),
            self.some.eq(select(self.element, some)),
        ]
        return m
