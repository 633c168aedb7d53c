"""Reads the next tag from the ring of rows, wherever it lies."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.coding import element_layout, select, tag_bytes
from hdl.ring import ROWS, RowFacts, advanced, pick, row_facts
from hdl.routing import thermometer

__all__ = ["TagReader"]


class TagReader(wiring.Component):
    """Shows the tag behind a line's data, or the one that begins the next packet.

    ::

        rows --> pick the tag's bytes, each on its own lane --> turn to lane 0 --+--> tag
          |                       ^                                             |
          |          row, lane (registers, set by `move`)                        | at_start
          +----> first bytes of row `start` -------------------------------------+

    Where to read is known a cycle before it is read, and is kept decoded. Whether a packet ends there is known late:
    the tag at the start of the next packet, which needs no turning, therefore has a way of its own.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a row.
    sizes : tuple of int
        Element sizes in bytes that can be chosen.

    Members
    -------
    rows, valid, facts : In
        From :class:`~hdl.ring.Ring`.
    move : In(1), move_row : In(ROWS), move_lane : In(range(units)), move_crossed : In(1)
        Read from there from the next cycle on; whether the data before it began in the row before.
    row : Out(ROWS), lane : Out(range(units))
        Where the reader stands.
    closing, past : Out(1)
        A packet ends exactly there; or it ended before. Of use while the data before that place is being read.
    start : In(ROWS), at_start : In(1)
        Read the first tag of the packet in that row instead.
    whole : Out(1)
        The tag is there.
    torn : Out(1)
        The packet ends inside it or, if ``clean``, in front of it. Not for ``at_start``.
    clean : Out(1)
        Nothing is left of the packet.
    tag : Out(8 * tag_bytes(grain))
        The tag, with ones in the bits its element size does not use.
    element : Out(element_layout(sizes))
        Element size of its packet.
    end_row : Out(ROWS), end_lane : Out(range(units)), wraps : Out(1), passes_end : Out(1)
        The place behind the tag, whether it lies in the row after the one the tag begins in, and whether that means
        that the packet's last row is used up.
    """

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...]):
        self._beat_bytes = beat_bytes
        self._sizes = sizes
        grain = min(sizes)
        lane = exact_log2(beat_bytes // grain)
        super().__init__({
            "rows": In(data.ArrayLayout(8 * beat_bytes, ROWS)),
            "valid": In(ROWS),
            "facts": In(data.ArrayLayout(row_facts(beat_bytes, sizes), ROWS)),
            "move": In(1),
            "move_row": In(ROWS),
            "move_lane": In(lane),
            "move_crossed": In(1),
            "row": Out(ROWS),
            "lane": Out(lane),
            "closing": Out(1),
            "past": Out(1),
            "start": In(ROWS),
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

        # The ring as segments as long as the longest tag: `begin` is the one the tag begins in, `before` the bytes of
        # a segment that lie before its beginning, so that the tag's are in the next.
        begin = Signal(ROWS * parts, init=1)
        before = Signal(length)
        row = Signal(ROWS, init=1)
        crossed = Signal()
        m.d.comb += self.row.eq(row)
        with m.If(self.move):
            m.d.sync += [
                row.eq(self.move_row),
                self.lane.eq(self.move_lane),
                crossed.eq(self.move_crossed),
                before.eq(thermometer(self.move_lane[:inside], length)),
                begin.eq(Cat(self.move_row[k // parts] & (self.move_lane[inside:] == k % parts)
                             for k in range(ROWS * parts))),
            ]
        picked = Signal(8 * tag_bytes(grain))
        for unit in range(length):
            source = Signal(ROWS * parts, name=f"source_{unit}")
            m.d.comb += [
                source.eq(Mux(before[unit], advanced(begin), begin)),
                picked.word_select(unit, width).eq(pick(source, [
                    self.rows[k // parts].word_select(k % parts * length + unit, width)
                    for k in range(ROWS * parts)])),
            ]
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

        # Behind the line.
        here = RowFacts.at(m, "here", self.row, self.valid, self.facts)
        there = RowFacts.at(m, "there", advanced(self.row), self.valid, self.facts)
        previous = RowFacts.at(m, "previous", advanced(self.row, ROWS - 1), self.valid, self.facts)
        end = Signal(lane_bits + 1)
        ends_here = Signal(ROWS)
        fits = Signal()
        over = Signal()
        rest = Signal(lane_bits)
        m.d.comb += [
            end.eq(self.lane + units_of(here.element)),
            fits.eq(end <= here.units),
            over.eq(~here.last & (end > units) & there.valid),
            rest.eq(end),
            self.torn.eq(here.valid & ~fits & (here.last | (over & (rest > there.units)))),
            self.clean.eq(here.last & (self.lane == here.units) & ~here.ragged),
            # A last row that is full has its end at the start of the row after. For the others the lane is compared
            # with the end of every row and the right one picked then: both take time.
            self.closing.eq((crossed & previous.last & previous.units[-1] & (self.lane == 0))
                            | (~self.past & (row & self.valid & ends_here).any())),
            ends_here.eq(Cat(fact.last & ~fact.ragged & (fact.units == self.lane)
                             for fact in (self.facts[k] for k in range(ROWS)))),
            self.past.eq(crossed & previous.last),
        ]

        # At the start of the next packet; a tag is never longer than a row.
        first = RowFacts.at(m, "first", self.start, self.valid, self.facts)
        first_units = Signal(lane_bits + 1)
        first_tag = Signal(len(picked))
        m.d.comb += [
            first_units.eq(units_of(first.element)),
            first_tag.eq(pick(self.start, [self.rows[k][:len(picked)] for k in range(ROWS)])),
        ]
        start = self.at_start
        m.d.comb += [
            self.tag.eq(Mux(start, first_tag | ones_from(first.element), picked | ones_from(here.element))),
            self.element.eq(Mux(start, first.element.as_value(), here.element.as_value())),
            self.whole.eq(Mux(start, first.valid & (first_units <= first.units),
                              here.valid & (fits | (over & (rest <= there.units))))),
            self.wraps.eq(Mux(start, first_units, end)[-1]),
            self.passes_end.eq(self.wraps & Mux(start, first.last, here.last)),
            self.end_row.eq(Mux(start, Mux(self.wraps, advanced(self.start), self.start),
                                Mux(self.wraps, advanced(self.row), self.row))),
            self.end_lane.eq(Mux(start, first_units, end)),
        ]
        return m
