"""Which elements of a beat are zero: the mask of a beat, and its slice of the tag."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.codec.coding import element_layout, select

__all__ = ["Scan"]


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
        Which bytes belong to the packet, without gaps from byte 0 on.
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
