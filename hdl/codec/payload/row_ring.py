"""The rows of data that beats take their units from, and how far a block has come in them."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.payload.unpacking import data_row_layout, unit_bytes
from cdma.hdl.common.bits import pick, thermometer

__all__ = ["RowRing", "place_layout"]

_ROWS = 3
"""The last beat of a block may touch two rows; the first one of the next block then needs two others."""


def place_layout(beat_bytes: int, sizes: tuple[int, ...], exponents: tuple[int, ...] = ()) -> data.StructLayout:
    """Where a beat finds its units.

    ``lane`` is its first unit in the block's current row, 0 if that row is used up or there is none yet; ``after`` the
    same for the beat behind it. ``crosses``: it needs the next row, too. ``opens``: it is the first beat of a block
    whose data begin inside a row; this row becomes the current one. ``last``: it is the last beat of its block.
    ``bare``: the block has no rows.
    """
    position = exact_log2(beat_bytes // unit_bytes(sizes, exponents))
    return data.StructLayout({"lane": position, "after": position, "crosses": 1, "opens": 1, "last": 1, "bare": 1})


class RowRing(wiring.Component):
    """Shows each beat the rows that its units are in, and finds out whether the block ends where its tags say.

    ::

        i --+--> [row 0] --+
            +--> [row 1] --+--> window: lanes from `lane` on of the current row, lanes before it of the next one
            +--> [row 2] --+
                    ^
        place --> [place, row of each lane] --> shown, truncated, surplus

    Rows are loaded in turn. A row is free when a beat has crossed into the next one, or with the last beat of its
    block; a new row is loaded at the same clock edge. A beat whose tags claim more than the last row of its block gets
    no further row. The last beat of a block waits until the last row is the current one; rows that are passed while it
    waits are data left over. Cycles, with a beat ``a`` that ends inside row 0, a beat ``b`` that crosses into row 1,
    and ``c`` into row 2::

        cycle                  0     1     2     3     4
        i, taken               0     1     2     3
        rows held                    0     0 1   1 2   2 3
        place, taken           a     b     c
        shown                        a     b     c

    Parameters
    ----------
    beat_bytes : int
        Bytes of a row.
    sizes : tuple of int
        Element sizes in bytes that blocks may choose from.
    exponents : tuple of int, optional
        Those of the sizes that may have exponent coding. With them, a unit is a byte.
    pipeline : str, optional
        ``small`` or ``fast``: in ``fast``, whether rows are there is kept in the order in which beats need them, so
        that ``move`` is found in few levels; and the ends of both rows are compared, then one is chosen.

    Members
    -------
    i : In(stream.Signature(data_row_layout(beat_bytes, sizes, exponents)))
        Rows. ``ready`` depends on ``leave``, and on no other input.
    place : In(place_layout(beat_bytes, sizes, exponents)), valid : In(1)
        The next beat; taken when ``move`` is high.
    move : Out(1)
        The place of the beat is free.
    leave : In(1)
        The beat may leave.
    shown : Out(1)
        A beat is here with all its rows. With ``leave``, it leaves.
    window : Out(8 * beat_bytes)
        Its units, each on the lane that it has in its row.
    truncated : Out(1)
        Up to this beat, the tags of the block claim more than it has.
    surplus : Out(1)
        Valid with the last beat if it is not truncated: data are left over.
    """

    i: stream.Interface

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...], exponents: tuple[int, ...] = (),
                 pipeline: str = "small"):
        self._beat_bytes = beat_bytes
        self._pipeline = pipeline
        self._unit = unit_bytes(sizes, exponents)
        super().__init__({
            "i": In(stream.Signature(data_row_layout(beat_bytes, sizes, exponents))),
            "place": In(place_layout(beat_bytes, sizes, exponents)), "valid": In(1), "move": Out(1),
            "leave": In(1), "shown": Out(1), "window": Out(8 * beat_bytes), "truncated": Out(1), "surplus": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        units, place = self._beat_bytes // self._unit, self.place
        row_state_layout = data.StructLayout({"last": 1, "end": range(units + 1), "ragged": 1})
        # `current` is the block's row, if it `has` one.
        current, has = Signal(_ROWS, init=1), Signal()
        held, last, crosses = Signal(), Signal(), Signal()
        bare = Signal(reset_less=True)
        after = Signal.like(place.after, reset_less=True)
        facts = [Signal(row_state_layout, name=f"facts_{k}", reset_less=True) for k in range(_ROWS)]
        full, turn = Signal(_ROWS), Signal(_ROWS, init=0b010)
        following = current.rotate_left(1)
        here, there, end = Signal(row_state_layout), Signal(row_state_layout), Signal(row_state_layout)
        seen = [each.as_value() for each in facts]
        m.d.comb += [here.eq(pick(current, seen)), there.eq(pick(following, seen))]

        # With `ended`, no row of the block comes behind those of the beat.
        here_full, there_full, at_end, steps, ended, ready = Signal(), Signal(), Signal(), Signal(), Signal(), Signal()
        drops, goes = Signal(), Signal()
        fast = self._pipeline == "fast"
        # Of the current row, the next one, and the one behind that: whether they are full, and end their block.
        near, near_last, near_turn = Signal(_ROWS), Signal(_ROWS), Signal(_ROWS, init=0b010)
        here_last, there_last = (near_last[0], near_last[1]) if fast else (here.last, there.last)
        m.d.comb += [
            here_full.eq(near[0] if fast else (current & full).any()),
            there_full.eq(near[1] if fast else (following & full).any()),
            at_end.eq(Mux(has, here_last, bare)),
            steps.eq(crosses & ~at_end),
            ended.eq(at_end | (crosses & there_last)),
            ready.eq((~has | here_full) & (~crosses | at_end | there_full)),
            self.shown.eq(held & ready & (~last | ended)),
            goes.eq(self.shown & self.leave),
            self.move.eq(~held | goes),
            drops.eq(held & self.leave & last & (~has | here_full) & there_full & ~ended),
        ]
        opens, stays, begins = Signal(), Signal(_ROWS), Signal(_ROWS)
        m.d.comb += [
            opens.eq(self.valid & place.opens),
            stays.eq(Mux(steps, following, current)), begins.eq(Mux(opens, stays.rotate_left(1), stays)),
        ]
        with m.If(self.move):
            m.d.sync += [
                held.eq(self.valid), crosses.eq(self.valid & place.crosses), last.eq(self.valid & place.last),
                bare.eq(place.bare), after.eq(place.after),
                current.eq(begins), has.eq(((has | steps) & ~last) | opens),
            ]
        with m.Elif(drops):
            m.d.sync += [current.eq(following), has.eq(1), crosses.eq(0)]
        free = Signal(_ROWS)
        room = Signal()
        m.d.comb += [
            free.eq(Mux(has & ((goes & (steps | last)) | drops), current, 0) | Mux(goes & last & steps, following, 0)),
            # While all are full, the current one is the next to be loaded, and nothing else keeps a beat.
            room.eq(~(near if fast else full).all() | (has & self.leave & (last | (crosses & ~here_last)))),
        ]
        if fast:
            comes = self.i.valid & room
            frees = Cat(has & ((goes & (steps | last)) | drops), goes & last & steps, 0)
            one, two = drops | (self.move & (steps ^ opens)), self.move & steps & opens
            for register, value in (
                    (near, (near & ~frees) | Mux(comes, near_turn, 0)),
                    (near_last, (near_last & ~frees) | Mux(comes & self.i.payload.last, near_turn, 0)),
                    (near_turn, Mux(comes, near_turn.rotate_left(1), near_turn))):
                m.d.sync += register.eq(Mux(two, value.rotate_right(2), Mux(one, value.rotate_right(1), value)))
        else:
            m.d.sync += full.eq((full & ~free) | Mux(self.i.valid & room, turn, 0))
        self._rows(m, facts, begins, turn, room)

        # How the block stands with this beat.
        over, overran, passed, used = Signal(), Signal(), Signal(), Signal(range(units + 1))
        above, unlike = used > end.end, (used != end.end) | end.ragged
        if fast:
            above = Mux(steps, used > there.end, used > here.end)
            unlike = Mux(steps, (used != there.end) | there.ragged, (used != here.end) | here.ragged)
        m.d.comb += [
            end.eq(Mux(steps, there, here)),
            used.eq(Cat(after, after == 0)),
            over.eq((crosses & at_end) | ((has | steps) & ended & ~passed & above)),
            self.truncated.eq(overran | over),
            self.surplus.eq(passed | ((has | steps) & unlike)),
        ]
        with m.If(goes):
            m.d.sync += [overran.eq(self.truncated & ~last), passed.eq(0)]
        with m.Elif(drops):
            m.d.sync += passed.eq(passed | ~crosses)
        return m

    def _rows(self, m: Module, facts: list[data.View], begins: Value, turn: Signal, room: Value) -> None:
        """The rows, loaded in ``turn`` where there is ``room``, and the window on them; ``begins``: current row of the
        next beat."""
        width, units = 8 * self._unit, self._beat_bytes // self._unit
        rows = [Signal(8 * self._beat_bytes, name=f"row_{k}", reset_less=True) for k in range(_ROWS)]
        row, lane = self.i.payload, self.place.lane
        m.d.comb += self.i.ready.eq(room)
        with m.If(self.i.valid & room):
            m.d.sync += turn.eq(turn.rotate_left(1))
        for k in range(_ROWS):
            with m.If(turn[k] & room):
                m.d.sync += [rows[k].eq(row.data), facts[k].last.eq(row.last), facts[k].end.eq(row.end),
                             facts[k].ragged.eq(row.ragged)]

        # The row of each lane: the next one before the place, and on all lanes where the current row is used up.
        crossed = Signal(units)
        m.d.comb += crossed.eq(Cat(thermometer(lane, units)) | (lane == 0).replicate(units))
        for unit in range(units):
            source = Signal(_ROWS, name=f"source_{unit}", reset_less=True)
            with m.If(self.move):
                m.d.sync += source.eq(Mux(crossed[unit], begins.rotate_left(1), begins))
            m.d.comb += self.window.word_select(unit, width).eq(
                pick(source, [each.word_select(unit, width) for each in rows]))
