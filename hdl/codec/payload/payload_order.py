"""What follows from the coding and the raw length of a block: its order, and how its payload begins."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import (
    EXPONENTS,
    LINE_BYTES,
    RAW_CODING,
    TAGS_FIRST,
    element_layout,
    most_metadata,
    select,
    tag_bytes,
)
from cdma.hdl.codec.payload.unpacking import PayloadError, order_layout, unit_bytes

__all__ = ["PayloadOrder"]


class PayloadOrder(wiring.Component):
    """Finds the order of a block, and the bytes that its payload begins with. Combinational.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat and of a row.
    sizes : tuple of int
        Element sizes in bytes that are built, in ascending order.
    block_bytes : int
        Raw bytes of the largest block.
    exponents : tuple of int, optional
        Those of the sizes that are built with exponent coding too.
    for_lane : bool
        Whether blocks may be raw.

    Members
    -------
    coding : In(8), raw_bytes : In(16)
        Of the block. Bit 7 of the coding does not count.
    order : Out(order_layout(beat_bytes, sizes, block_bytes, exponents, for_lane))
        Its order but for ``start``, ``half`` and ``bare``, which are 0; with an error if the coding is not built, or
        the raw length is not possible. Then the rest of it is that of a block with an error.
    lines : Out(range(block_bytes // LINE_BYTES + 1))
        Its lines.
    opening : Out(range(most_metadata(block_bytes, sizes, exponents) + 1))
        Bytes of all its tags, or of its line headers if it has exponents; 0 if it is raw.
    """

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], block_bytes: int, exponents: tuple[int, ...] = (),
                 for_lane: bool = False):
        self._beat_bytes = beat_bytes
        self._sizes = sizes
        self._block_bytes = block_bytes
        self._exponents = exponents
        self._for_lane = for_lane
        super().__init__({
            "coding": In(8), "raw_bytes": In(16),
            "order": Out(order_layout(beat_bytes, sizes, block_bytes, exponents, for_lane)),
            "lines": Out(range(block_bytes // LINE_BYTES + 1)),
            "opening": Out(range(most_metadata(block_bytes, sizes, exponents) + 1)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, sizes, raw = self._beat_bytes, self._sizes, self.raw_bytes
        unit = exact_log2(unit_bytes(sizes, self._exponents))
        element = Signal(element_layout(sizes))
        coded = Signal(element_layout(self._exponents))     # the element size, if the block has exponents
        tags = Signal.like(self.opening)
        split, built = Signal(), Signal()
        # Not read from `order`, of which other bits depend on it: a simulator takes that for a loop.
        as_is = Signal()
        for size in sizes:
            m.d.comb += element[f"b{size}"].eq((self.coding[:7] == TAGS_FIRST[size])
                                               | (coded[f"b{size}"] if size in self._exponents else 0))
        known = element.as_value().any()
        if self._for_lane:
            known = known | as_is
            m.d.comb += [as_is.eq(self.coding[:7] == RAW_CODING), self.order.raw.eq(as_is)]
        m.d.comb += [
            *(coded[f"b{size}"].eq(self.coding[:7] == EXPONENTS[size]) for size in self._exponents),
            built.eq(known),
            self.lines.eq((raw + (LINE_BYTES - 1)) >> exact_log2(LINE_BYTES)),
            tags.eq(self._coded(as_is, select(element, {
                size: self.lines << exact_log2(tag_bytes(size)) for size in sizes}))),
            split.eq(self._coded(as_is, select(element, {
                size: raw[:exact_log2(size)].any() if size > 1 else 0 for size in sizes}))),
            self.order.element.eq(element),
            self.opening.eq(tags),
        ]
        if self._exponents:
            some = Value.cast(coded).any()
            m.d.comb += self.order.exponents.eq(some)
            with m.If(some):
                m.d.comb += self.opening.eq(self.lines)
        with m.If(~built):
            m.d.comb += [self.order.error.eq(PayloadError.BAD_CODING), self.order.bare.eq(1)]
        with m.Elif((raw == 0) | (raw > self._block_bytes) | split):
            m.d.comb += [self.order.error.eq(PayloadError.BAD_LENGTH), self.order.bare.eq(1)]
        with m.Else():
            m.d.comb += [self.order.beats.eq((raw - 1) >> exact_log2(n)), self.order.tail.eq(raw[unit:exact_log2(n)])]
        return m

    def _coded(self, as_is: Value, value: Value) -> Value:
        """The value, or 0 for a raw block."""
        return Mux(as_is, 0, value) if self._for_lane else value
