"""Writes the tags of a block into rows, and counts its elements that are not zero."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import LINE_BYTES, element_layout, select
from cdma.hdl.codec.line_record import GROUP_BYTES
from cdma.hdl.codec.routing import block_counts
from cdma.hdl.codec.scan import Scan
from cdma.hdl.common.protected import protection
from cdma.hdl.common.row_fifo import RowFifo
from cdma.hdl.common.stage import behind

__all__ = ["SCAN_CYCLES", "TagWriter", "group_counts_layout"]

SCAN_CYCLES = 3
"""Cycles from a block's last beat until its elements are counted: ``done``."""


def group_counts_layout(beat_bytes: int) -> data.ArrayLayout:
    """Elements that are not zero in each group of a beat, of 2 or 4 bytes."""
    return data.ArrayLayout(range(GROUP_BYTES // 2 + 1), beat_bytes // GROUP_BYTES)


class TagWriter(wiring.Component):
    """Scans the beats of a block on their way into the store.

    ::

                      +------------------------------> live
                      |
                  +------+        +--------------+
        beat ---->| scan |---+--->| rows, memory |--> o
                  +------+   |    +--------------+
                      0      |        1
                             |    +-------+   +-------+
                             +--->| count |-->| total |-----> elements, done
                                  +-------+   +-------+
                                      1           2

    Each beat has a slice of the tag of its line, of a length that divides that of a row; so every slice has a place in
    the row, and is written there at once. The first slice of a line sets the places of the others to 0, for a last line
    that is not whole. A row holds the tags of so many lines as fit; it can be read when it is full, or when its block
    ends. Then it may be partly filled, and what is in its rest is undefined.

    With exponents, a line that is dense, or has zeros only, has no tag: the next line is written to the same place.

    =====  ===========================================================================
    cycle  for a beat that is taken in cycle 0
    =====  ===========================================================================
    0      ``take``, ``data``; ``live``
    1      its slice is written; the row is committed if it is full, or the block ends
    2      ``level`` includes the row; ``groups``
    3      ``o.valid`` at the earliest; ``elements`` and ``lines`` include the beat;
           ``done`` if the block ends
    =====  ===========================================================================

    Parameters
    ----------
    beat_bytes, block_bytes : int
        Bytes of a beat, and of a block at most.
    sizes : tuple of int
        Element sizes in bytes that can be chosen.
    rows : int
        Rows of the memory, one more than may be complete.
    exponents : tuple of int
        Element sizes of blocks that may be coded with exponents; if there is one, beats have 32 or 64 bytes.
    protected : bool, optional
        With parity.
    pipeline : str, optional
        ``small``, or ``fast``: then it is seen in front of a register whether a beat has any or no zeros.

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
    exponent : In(1)
        Beside each beat: the block is coded with exponents. Only with ``exponents``.
    o : Out(stream.Signature(8 * beat_bytes))
        Rows of tags.
    level : Out(range(rows + 1))
        Rows that are complete and not yet taken. A beat may be taken only if less than ``rows`` will be.
    elements : Out(range(block_bytes // grain + 1))
        Elements of the block that are not zero, with ``done``.
    lines : Out(range(block_bytes // LINE_BYTES + 1))
        Lines of the block that have a tag in the rows, with ``done``. Only with ``exponents``.
    live : Out(beat_bytes // min(sizes))
        In cycle 0: of the lanes of the smallest element size, the uppermost one of each element that is not zero. Only
        with ``exponents``.
    groups : Out(group_counts_layout(beat_bytes))
        Elements that are not zero in each group of a beat, two cycles after it. Only with ``exponents``.
    done : Out(1)
        The block has been counted.
    inject, bad
        If ``protected``: as :func:`cdma.hdl.common.protected.protection` says.

    Source: docs/formats.md, "Tags first" and "Exponents".
    """

    o: stream.Interface

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], block_bytes: int, rows: int,
                 exponents: tuple[int, ...] = (), protected: bool = False, pipeline: str = "small"):
        self._protected = protected
        self._pipeline = pipeline
        self._beat_bytes = beat_bytes
        self._sizes = tuple(sorted(sizes))
        self._rows = rows
        self._exponents = exponents
        members = {
            "take": In(1), "data": In(8 * beat_bytes), "last": In(1), "element": In(element_layout(self._sizes)),
            "o": Out(stream.Signature(8 * beat_bytes)), "level": Out(range(rows + 1)),
            "elements": Out(range(block_bytes // self._sizes[0] + 1)), "done": Out(1),
            **protection(protected),
        }
        if exponents:
            members |= {"exponent": In(1), "lines": Out(range(block_bytes // LINE_BYTES + 1)),
                        "live": Out(beat_bytes // self._sizes[0]), "groups": Out(group_counts_layout(beat_bytes))}
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, sizes = self._beat_bytes, self._sizes
        m.submodules.scan = scan = Scan(n, sizes)
        # The shortest slice is the unit of writing.
        m.submodules.rows = rows = RowFifo(8 * n, 8 * sizes[-1], self._rows, self._protected)
        if self._protected:
            m.d.comb += [rows.inject.eq(self.inject), self.bad.eq(rows.bad)]
        wiring.connect(m, rows.o, wiring.flipped(self.o))
        m.d.comb += [scan.data.eq(self.data), scan.present.eq(-1), scan.element.eq(self.element),
                     self.level.eq(rows.level)]
        came, ends = Signal(), Signal(reset_less=True)
        slice_, element = Signal(n // sizes[0], reset_less=True), Signal(element_layout(sizes), reset_less=True)
        m.d.sync += [came.eq(self.take), slice_.eq(scan.slice), element.eq(self.element), ends.eq(self.last)]
        # Which slice of its line it is, and which line of the row.
        beat, line = Signal(range(LINE_BYTES // n)), Signal(range(8 * n * sizes[-1] // LINE_BYTES))
        fit = {size: 8 * n * size // LINE_BYTES for size in sizes}
        line_ends, full, keeps = Signal(), Signal(), Signal()
        m.d.comb += [
            line_ends.eq(came & (ends | beat.all())),
            full.eq(select(element, {size: line[:exact_log2(lines)] == lines - 1 for size, lines in fit.items()})),
            keeps.eq(self._kept(m, came, slice_, element, beat, line_ends) if self._exponents else 1),
            rows.commit.eq(line_ends & ((keeps & full) | (ends & (keeps | line.any())))),
        ]
        with m.If(came):
            m.d.sync += beat.eq(Mux(line_ends, 0, beat + 1))
        with m.If(line_ends):
            m.d.sync += line.eq(Mux(ends | rows.commit, 0, line + keeps))
        self._place(m, rows, came, slice_, element, beat, line)
        self._count(m, came, slice_, element, ends)
        if self._exponents:
            m.d.comb += self.live.eq(Cat(
                select(self.element, {size: live if (lane + 1) * sizes[0] % size == 0 else Const(0, 1)
                                      for size in sizes}) for lane, live in enumerate(scan.mask)))
            count, fresh = Signal.like(self.lines, name="count"), Signal(init=1)
            m.d.sync += self.lines.eq(count)
            with m.If(line_ends):
                m.d.sync += [count.eq(Mux(fresh, 0, count) + keeps), fresh.eq(ends)]
        return m

    def _kept(self, m: Module, came: Signal, slice_: Signal, element: Any, beat: Signal, line_ends: Signal) -> Value:
        """Whether the line that ends has a tag."""
        exponent = Signal(reset_less=True)
        zero, dense = Signal(), Signal()
        # Of the slices before this one.
        zero_yet, dense_yet = Signal(init=1), Signal(init=1)
        if self._pipeline == "fast":
            # Of the beat itself, in front of the slice's register.
            some: Value = behind(m, Const(1), self.data.any(), "some")
            every: Value = behind(m, Const(1), select(self.element, {
                size: Cat(self.data.word_select(number, 8 * size).any()
                          for number in range(self._beat_bytes // size)).all() for size in self._sizes}), "every")
        else:
            some = slice_.any()
            every = select(element, {size: slice_[:self._beat_bytes // size].all() for size in self._sizes})
        m.d.comb += [zero.eq(zero_yet & ~some), dense.eq(dense_yet & every)]
        m.d.sync += exponent.eq(self.exponent)
        with m.If(came):
            m.d.sync += [zero_yet.eq(zero | line_ends), dense_yet.eq(dense | line_ends)]
        return ~exponent | ~(zero | (dense & beat.all()))

    def _place(self, m: Module, rows: RowFifo, came: Signal, slice_: Signal, element: Any, beat: Signal,
               line: Signal) -> None:
        """Writes the slice into its place of the row, and 0 into the places behind it if it is the line's first."""
        n, largest = self._beat_bytes, self._sizes[-1]
        slices = LINE_BYTES // n
        step = n // largest
        enables: list[Value] = []
        bits: list[Value] = []
        for part in range(8 * largest):
            writes: dict[int, Value] = {}
            places: dict[int, Value] = {}
            for size in self._sizes:
                # The part's slice among those of the row, if slices are so long.
                place = part * size // largest
                own, first = Signal(name=f"own_{size}_{part}"), Signal(name=f"first_{size}_{part}")
                m.d.comb += [own.eq(beat == place % slices), first.eq(beat == 0)]
                writes[size] = (own | first) & (line[:exact_log2(8 * size // slices)] == place // slices)
                start = part * step % (n // size)
                places[size] = slice_[start:start + step] & own.replicate(step)
            enables.append(came & select(element, writes))
            bits.append(select(element, places))
        m.d.comb += [rows.enable.eq(Cat(enables)), rows.data.eq(Cat(bits))]

    def _count(self, m: Module, came: Signal, slice_: Signal, element: Any, ends: Signal) -> None:
        """Counts the set bits of the slices."""
        counts = block_counts(m, slice_)
        half = len(slice_) // 2
        low, high = (Signal(range(half + 1), name=name, reset_less=True) for name in ("low", "high"))
        counted, last, fresh = Signal(), Signal(reset_less=True), Signal(init=1)
        m.d.sync += [low.eq(counts[0, half]), high.eq(counts[half, half]), counted.eq(came), last.eq(ends),
                     self.done.eq(counted & last)]
        with m.If(counted):
            m.d.sync += [self.elements.eq(Mux(fresh, Const(0), self.elements) + (low + high)), fresh.eq(last)]
        if self._exponents:
            groups = self._beat_bytes // GROUP_BYTES
            if groups == 1:
                m.d.comb += self.groups[0].eq(low + high)
            for group in range(groups) if groups > 1 else ():
                m.d.sync += self.groups[group].eq(select(element, {
                    size: counts[group * GROUP_BYTES // size, GROUP_BYTES // size] for size in self._exponents}))
