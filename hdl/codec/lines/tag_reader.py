"""Reads the next tag from any place in the ring of rows."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import element_layout, select, tag_bytes
from cdma.hdl.codec.lines.row_buffer import ROWS, RowState, advanced, row_state_layout
from cdma.hdl.common.bits import pick, thermometer

__all__ = ["TagReader"]


class TagReader(wiring.Component):
    """Outputs the tag after a line's data, or the first tag of the next packet.

    ::

        rows --> pick the tag's bytes, each on its own lane --> turn to lane 0 --+--> tag
          |                          ^                                           |
          |          row, lane (registers, set by `move`)                        | at_start
          +----> first bytes of row `start` --> [register] ----------------------+

    The place to read is known a cycle ahead and is registered in decoded form. Whether the packet ends there settles
    late in the cycle, so the first tag of the next packet, which needs no rotation, is read ahead into a register.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a row.
    sizes : tuple of int
        Element sizes in bytes that can be chosen.
    early : bool
        Whether to register the decoded place of every byte, for a higher clock.

    Members
    -------
    rows, valid, facts : In
        From :class:`~cdma.hdl.codec.lines.row_buffer.RowBuffer`.
    move : In(1), move_row : In(ROWS), move_lane : In(range(units)), move_crossed : In(1)
        Read from this row and lane from the next cycle on. ``move_crossed``: the data of the last beat before it began
        in the previous row. The row must be one of the four oldest in the ring: the one after it is read, too.
    row : Out(ROWS), lane : Out(range(units))
        The place that is being read.
    closing, past : Out(1)
        The packet ends exactly at this place; or it ended before it. Valid while the data before it is being read.
    start : In(ROWS)
        Row in which the next packet begins, all zeros while that is not known. If that row is still held from the round
        before, ``at_start`` must not be used.
    anew : In(1)
        The next packet has become the current one: discard what was read ahead.
    at_start : In(1)
        Output the first tag of the next packet instead.
    whole : Out(1)
        All bytes of the tag are there.
    torn : Out(1)
        The packet ends inside the tag or, if ``clean``, exactly before it. Not valid with ``at_start``.
    clean : Out(1)
        The packet has no bytes left.
    tag : Out(8 * tag_bytes(grain))
        The tag, with ones in the bits its element size does not use.
    element : Out(element_layout(sizes))
        Element size of its packet.
    end_row : Out(ROWS), end_lane : Out(range(units)), wraps : Out(1), passes_end : Out(1)
        The place after the tag; whether it is in the next row; and whether the packet's last row is used up by that.
    """

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], early: bool):
        self._beat_bytes = beat_bytes
        self._sizes = sizes
        self._early = early
        grain = min(sizes)
        lane = exact_log2(beat_bytes // grain)
        super().__init__({
            "rows": In(data.ArrayLayout(8 * beat_bytes, ROWS)),
            "valid": In(ROWS),
            "facts": In(data.ArrayLayout(row_state_layout(beat_bytes, sizes), ROWS)),
            "move": In(1),
            "move_row": In(ROWS),
            "move_lane": In(lane),
            "move_crossed": In(1),
            "row": Out(ROWS),
            "lane": Out(lane),
            "closing": Out(1),
            "past": Out(1),
            "start": In(ROWS),
            "anew": In(1),
            "at_start": In(1),
            "whole": Out(1),
            "torn": Out(1),
            "clean": Out(1),
            "tag": Out(8 * tag_bytes(grain)),
            "element": Out(element_layout(sizes)),
            "end_row": Out(ROWS),
            "end_lane": Out(lane),
            "wraps": Out(1),
            "passes_end": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sizes, grain = self._sizes, min(self._sizes)
        units = self._beat_bytes // grain
        width = 8 * grain
        length = tag_bytes(grain) // grain
        parts = units // length
        inside = exact_log2(length)
        lane_bits = len(self.lane)

        # The ring is divided into segments as long as the longest tag. `begin` is the segment in which the tag
        # begins, one-hot. `before` marks the units of a segment before that place: the tag's units of these lanes are
        # in the next segment. With `early`, the segment of every unit (`sources`) is registered.
        begin = Signal(ROWS * parts, init=1)
        before = Signal(length)
        row = Signal(ROWS, init=1)
        crossed = Signal()
        sources = [Signal(ROWS * parts, name=f"source_{unit}", init=1) for unit in range(length)]
        places = [
            before.eq(thermometer(self.move_lane[:inside], length)),
            begin.eq(Cat(self.move_row[k // parts] & (self.move_lane[inside:] == k % parts)
                         for k in range(ROWS * parts))),
        ]
        chosen = [sources[unit].eq(Mux(before[unit], advanced(begin), begin)) for unit in range(length)]
        m.d.comb += [self.row.eq(row), *(places if self._early else chosen)]
        with m.If(self.move):
            m.d.sync += [
                row.eq(self.move_row),
                self.lane.eq(self.move_lane),
                crossed.eq(self.move_crossed),
                *(chosen if self._early else places),
            ]
        picked = Signal(8 * tag_bytes(grain))
        for unit in range(length):
            m.d.comb += picked.word_select(unit, width).eq(pick(sources[unit], [
                self.rows[k // parts].word_select(k % parts * length + unit, width) for k in range(ROWS * parts)]))
        for rank in range(inside):
            turned = Signal.like(picked, name=f"turned_{rank}")
            m.d.comb += turned.eq(Mux(self.lane[rank], picked.rotate_right(width << rank), picked))
            picked = turned

        tag_units = {size: tag_bytes(size) // grain for size in sizes}

        def units_of(element: data.View) -> Value:
            return select(element, {size: Const(tag_units[size], lane_bits + 1) for size in sizes})

        def ones_from(element: data.View) -> Value:
            bits = len(picked)
            return select(element, {
                size: Const((1 << bits) - (1 << bits * grain // size), bits) for size in sizes})

        # The tag after the line.
        here = RowState.at(m, "here", self.row, self.valid, self.facts)
        there = RowState.at(m, "there", advanced(self.row), self.valid, self.facts)
        previous = RowState.at(m, "previous", advanced(self.row, ROWS - 1), self.valid, self.facts)
        ends = [Signal(lane_bits + 1, name=f"end_{k}") for k in range(ROWS)]
        end = Signal(lane_bits + 1)
        ends_here = Signal(ROWS)
        fits = Signal()
        over = Signal()
        rest_fits = Signal()
        # Every row is compared and the result picked afterwards, because comparing and picking in series is slow.
        m.d.comb += [
            *(ends[k].eq(self.lane + units_of(self.facts[k].element)) for k in range(ROWS)),
            end.eq(pick(row, ends)),
            fits.eq((row & Cat(ends[k] <= self.facts[k].units for k in range(ROWS))).any()),
            over.eq((row & Cat(~self.facts[k].last & (ends[k] > units) for k in range(ROWS))).any() & there.valid),
            # Both rows belong to one packet, so both have its element size.
            rest_fits.eq((advanced(row) & Cat(ends[k][:-1] <= self.facts[k].units for k in range(ROWS))).any()),
            self.torn.eq(here.valid & ~fits & (here.last | (over & ~rest_fits))),
            self.clean.eq(here.last & (self.lane == here.units) & ~here.ragged),
            # A packet whose last row is full ends at the start of the next row.
            self.closing.eq((crossed & previous.last & previous.units[-1] & (self.lane == 0))
                            | (~self.past & (row & self.valid & ends_here).any())),
            ends_here.eq(Cat(self.facts[k].last & ~self.facts[k].ragged & (self.facts[k].units == self.lane)
                             for k in range(ROWS))),
            self.past.eq(crossed & previous.last),
        ]

        # At the start of the next packet; a tag is never longer than a row.
        first = RowState.at(m, "first", self.start, self.valid, self.facts)
        first_units = Signal(lane_bits + 1)
        ahead = Signal(data.StructLayout({
            "tag": len(picked), "element": element_layout(sizes), "whole": 1, "wraps": 1, "passes_end": 1,
            "end_row": ROWS, "end_lane": lane_bits}), reset_less=True)
        m.d.comb += first_units.eq(units_of(first.element))
        m.d.sync += [
            ahead.tag.eq(ones_from(first.element) | pick(
                self.start, [self.rows[k][:len(picked)] for k in range(ROWS)])),
            ahead.element.eq(first.element),
            ahead.whole.eq(first.valid & (first_units <= first.units) & ~self.anew),
            ahead.wraps.eq(first_units[-1]),
            ahead.passes_end.eq(first_units[-1] & first.last),
            ahead.end_row.eq(Mux(first_units[-1], advanced(self.start), self.start)),
            ahead.end_lane.eq(first_units),
        ]
        start, wraps = self.at_start, end[-1]
        m.d.comb += [
            self.tag.eq(Mux(start, ahead.tag, picked | ones_from(here.element))),
            self.element.eq(Mux(start, ahead.element.as_value(), here.element.as_value())),
            self.whole.eq(Mux(start, ahead.whole, here.valid & (fits | (over & rest_fits)))),
            self.wraps.eq(Mux(start, ahead.wraps, wraps)),
            self.passes_end.eq(Mux(start, ahead.passes_end, wraps & here.last)),
            self.end_row.eq(Mux(start, ahead.end_row, Mux(wraps, advanced(self.row), self.row))),
            self.end_lane.eq(Mux(start, ahead.end_lane, end)),
        ]
        return m
