"""What follows from the coding and the raw length of a block: its order, and where its data begin."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.codec.coding import LINE_BYTES, TAGS_FIRST, element_layout, most_tag_rows, select, tag_bytes
from hdl.codec.payload.unpacking import PayloadError, order_layout

__all__ = ["PayloadFacts"]


class PayloadFacts(wiring.Component):
    """Finds the order of a block, and its rows of tags. Combinational.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a beat and of a row.
    sizes : tuple of int
        Element sizes in bytes that are built, in ascending order.
    block_bytes : int
        Raw bytes of the largest block.

    Members
    -------
    coding : In(8), raw_bytes : In(16)
        Of the block. Bit 7 of the coding does not count.
    order : Out(order_layout(beat_bytes, sizes, block_bytes))
        Its order, for a block that has data; with an error if the coding is not built, or the raw length is not
        possible. Then the rest of it is that of a block with an error.
    whole_rows : Out(range(most_tag_rows(beat_bytes, sizes, block_bytes) + 1))
        Rows that hold tags only: the row of this number is the first one with data.
    """

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], block_bytes: int):
        self._beat_bytes = beat_bytes
        self._sizes = sizes
        self._block_bytes = block_bytes
        super().__init__({
            "coding": In(8), "raw_bytes": In(16), "order": Out(order_layout(beat_bytes, sizes, block_bytes)),
            "whole_rows": Out(range(most_tag_rows(beat_bytes, sizes, block_bytes) + 1)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, sizes, raw = self._beat_bytes, self._sizes, self.raw_bytes
        grain = exact_log2(min(sizes))
        element = Signal(element_layout(sizes))
        lines = Signal(range(self._block_bytes // LINE_BYTES + 1))
        tags = Signal(range(self._block_bytes // LINE_BYTES * tag_bytes(min(sizes)) + 1))
        split, built = Signal(), Signal()
        m.d.comb += [
            *(element[f"b{size}"].eq(self.coding[:7] == TAGS_FIRST[size]) for size in sizes),
            built.eq(element.as_value().any()),
            lines.eq((raw + (LINE_BYTES - 1)) >> exact_log2(LINE_BYTES)),
            tags.eq(select(element, {size: lines << exact_log2(tag_bytes(size)) for size in sizes})),
            split.eq(select(element, {size: raw[:exact_log2(size)].any() if size > 1 else 0 for size in sizes})),
            self.order.element.eq(element),
        ]
        with m.If(~built):
            m.d.comb += [self.order.error.eq(PayloadError.BAD_CODING), self.order.bare.eq(1)]
        with m.Elif((raw == 0) | (raw > self._block_bytes) | split):
            m.d.comb += [self.order.error.eq(PayloadError.BAD_LENGTH), self.order.bare.eq(1)]
        with m.Else():
            m.d.comb += [
                self.order.beats.eq((raw - 1) >> exact_log2(n)),
                self.order.tail.eq(raw[grain:exact_log2(n)]),
                self.order.start.eq(tags[grain:exact_log2(n)]),
                self.whole_rows.eq(tags >> exact_log2(n)),
            ]
        return m
