"""Writes the tags of a block into rows, and counts its elements that are not zero."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.codec.coding import LINE_BYTES, element_layout, select
from hdl.codec.routing import block_counts
from hdl.codec.scan import Scan

__all__ = ["TagWriter"]


class TagWriter(wiring.Component):
    """Scans the beats of a block on their way into the store.

    ::

                  +------+        +------+
        beat ---->| scan |---+--->| row  |-----> row
                  +------+   |    +------+
                      0      |  1
                             |    +-------+   +-------+
                             +--->| count |-->| total |-----> elements, done
                                  +-------+   +-------+
                                      1           2

    Each beat has a slice of the tag of its line, of a length that divides that of a row; so every slice has a place in
    the row. The first slice of a line sets the places of the others to 0, for a last line that is not whole. A row
    lasts 8 beats for each byte of an element; the last row of a block may be partly filled, and what is in its rest is
    undefined.

    =====  =====================================================================
    cycle  for a beat that is taken in cycle 0
    =====  =====================================================================
    0      ``take``, ``data``
    2      the row holds its slice; ``row_done`` if the row is full, or the block ends
    3      ``elements`` includes it; ``done`` if the block ends
    =====  =====================================================================

    Parameters
    ----------
    beat_bytes, block_bytes : int
        Bytes of a beat, and of a block at most.
    sizes : tuple of int
        Element sizes in bytes that can be chosen.

    Members
    -------
    take : In(1)
        A beat is transferred.
    data : In(8 * beat_bytes)
        The beat; bytes that are missing in a block's last beat are 0.
    last : In(1)
        The beat is the block's last.
    element : In(element_layout(sizes))
        Element size, beside each beat.
    row : Out(8 * beat_bytes)
        Tags of the lines; valid in the cycle of ``row_done`` only.
    row_done : Out(1)
        The row is to be stored.
    elements : Out(range(block_bytes // grain + 1))
        Elements of the block that are not zero, with ``done``.
    done : Out(1)
        The block has been counted.

    Source: docs/formats.md, "Tags first".
    """

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], block_bytes: int):
        self._beat_bytes = beat_bytes
        self._sizes = tuple(sorted(sizes))
        super().__init__({
            "take": In(1), "data": In(8 * beat_bytes), "last": In(1), "element": In(element_layout(self._sizes)),
            "row": Out(8 * beat_bytes), "row_done": Out(1),
            "elements": Out(range(block_bytes // self._sizes[0] + 1)), "done": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, sizes = self._beat_bytes, self._sizes
        m.submodules.scan = scan = Scan(n, sizes)
        m.d.comb += [scan.data.eq(self.data), scan.present.eq(-1), scan.element.eq(self.element)]
        # Beats since the row began. A row lasts 8 beats for each byte of an element.
        place = Signal(exact_log2(8 * sizes[-1]))
        came = Signal()
        slice_, element = Signal(n // sizes[0], reset_less=True), Signal(element_layout(sizes), reset_less=True)
        at = Signal.like(place, reset_less=True)
        ends, closes = Signal(reset_less=True), Signal(reset_less=True)
        closing = Signal()
        m.d.comb += closing.eq(self.last | select(self.element, {
            size: place[:exact_log2(8 * size)].all() for size in sizes}))
        m.d.sync += [came.eq(self.take), slice_.eq(scan.slice), element.eq(self.element), at.eq(place),
                     ends.eq(self.last), closes.eq(closing), self.row_done.eq(came & closes)]
        with m.If(self.take):
            m.d.sync += place.eq(Mux(closing, 0, place + 1))
        self._place(m, came, slice_, element, at)
        self._count(m, came, slice_, ends)
        return m

    def _place(self, m: Module, came: Signal, slice_: Signal, element: Any, at: Signal) -> None:
        """Writes the slice into its place of the row."""
        n = self._beat_bytes
        beats = exact_log2(LINE_BYTES // n)
        row = Signal(8 * n, reset_less=True)
        m.d.comb += self.row.eq(row)
        # The shortest slice is the unit of writing.
        step = n // self._sizes[-1]
        for k in range(0, n * 8, step):
            loads: dict[int, Value] = {}
            bits: dict[int, Value] = {}
            for size in self._sizes:
                length = n // size
                place = at[:exact_log2(8 * size)]
                own = Signal(name=f"own_{size}_{k}")
                begins = Signal(name=f"begins_{size}_{k}")
                m.d.comb += [own.eq(place == k // length),
                             begins.eq(~place[:beats].any() & (place[beats:] == k // length >> beats))]
                loads[size] = own | begins
                bits[size] = slice_[k % length:k % length + step] & own.replicate(step)
            with m.If(came & select(element, loads)):
                m.d.sync += row[k:k + step].eq(select(element, bits))

    def _count(self, m: Module, came: Signal, slice_: Signal, ends: Signal) -> None:
        """Counts the set bits of the slices."""
        counts = block_counts(m, slice_)
        half = len(slice_) // 2
        low, high = (Signal(range(half + 1), name=name, reset_less=True) for name in ("low", "high"))
        counted, last, fresh = Signal(), Signal(reset_less=True), Signal(init=1)
        m.d.sync += [low.eq(counts[0, half]), high.eq(counts[half, half]), counted.eq(came), last.eq(ends),
                     self.done.eq(counted & last)]
        with m.If(counted):
            m.d.sync += [self.elements.eq(Mux(fresh, Const(0), self.elements) + (low + high)), fresh.eq(last)]
