"""The decompressor's input: a ring of packed beats, and a window that reads it from any byte on."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.coding import element_layout, one_hot_element
from cdma.hdl.codec.packets import coded_beat_stream
from cdma.hdl.common.bits import length, pick, thermometer

__all__ = ["ROWS", "RowBuffer", "RowState", "advanced", "row_state_layout"]

ROWS = 5
"""Rows of the ring: the window and the next tag may touch three, one is being freed and one is being written."""


def row_state_layout(beat_bytes: int, sizes: tuple[int, ...]) -> data.StructLayout:
    """State of a row.

    ``last``: the packet ends with this row; ``units``: units in use, all of them except in a last row; ``ragged``:
    bytes follow that are no whole unit; ``element``: element size of the packet.
    """
    return data.StructLayout({
        "last": 1,
        "units": exact_log2(beat_bytes // min(sizes)) + 1,
        "ragged": 1,
        "element": element_layout(sizes),
    })


def advanced(one_hot: Value, steps: int = 1) -> Value:
    """A one-hot place in a ring, moved on by ``steps``."""
    return one_hot.rotate_left(steps)


class RowState:
    """State of a row, as signals of ``m``; ``last`` is low for rows that hold no beat.

    Made by :meth:`at`, for the row that a one-hot signal points at, and by :meth:`either`, which chooses between two
    when the choice settles late in the cycle.
    """

    def __init__(self, name: str, facts: data.View):
        self.valid, self.last, self.ragged = (Signal(name=f"{name}_{what}") for what in ("valid", "last", "ragged"))
        self.units = Signal(len(facts[0].units), name=f"{name}_units")
        self.element: data.View = Signal(facts[0].element.shape(), name=f"{name}_element")  # type: ignore[assignment]
        self._facts = facts

    @classmethod
    def at(cls, m: Module, name: str, where: Value, valid: Value, facts: data.View) -> RowState:
        """State of the row ``where``."""
        rows, result = range(ROWS), cls(name, facts)
        m.d.comb += [
            result.valid.eq((where & valid).any()),
            result.last.eq((where & valid & Cat(facts[k].last for k in rows)).any()),
            result.ragged.eq((where & Cat(facts[k].ragged for k in rows)).any()),
            result.units.eq(pick(where, [facts[k].units for k in rows])),
            result.element.eq(pick(where, [facts[k].element.as_value() for k in rows])),
        ]
        return result

    @classmethod
    def either(cls, m: Module, name: str, choice: Value, chosen: RowState, other: RowState) -> RowState:
        """State of ``chosen`` if ``choice`` is set, else of ``other``."""
        result = cls(name, other._facts)
        m.d.comb += [getattr(result, fact).eq(Mux(choice, getattr(chosen, fact), getattr(other, fact)))
                     for fact in ("valid", "last", "ragged", "units")]
        m.d.comb += result.element.eq(Mux(choice, chosen.element.as_value(), other.element.as_value()))
        return result


class RowBuffer(wiring.Component):
    """Takes packed beats into a ring of rows and outputs one row's length of bytes from any place on.

    ::

        i --> [row 0] [row 1] [row 2] [row 3] [row 4] --> rows, facts, valid
                 |       |       |       |       |
                 +-------+-------+-------+-------+------> window

    Bytes are not shifted: every byte leaves on the lane it arrived on, and the lanes before the beginning of the
    window show the next row. The routing network undoes this rotation.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a row.
    sizes : tuple of int
        Element sizes in bytes that can be chosen.

    Members
    -------
    i : In(coded_beat_stream(beat_bytes))
        Packed beats; ``ready`` comes from a register.
    leave, leave_late : In(ROWS)
        Rows that are free from the next cycle on. ``leave_late`` may settle late in the cycle: ``i.ready`` rises one
        cycle later than with ``leave``.
    row : In(ROWS), lane : In(range(units))
        Where the window begins: row, one-hot, and unit.
    window : Out(8 * beat_bytes)
        The bytes from there on.
    valid : Out(ROWS)
        Rows that hold a beat.
    rows : Out(ArrayLayout(8 * beat_bytes, ROWS)), facts : Out(ArrayLayout(row_state_layout(beat_bytes, sizes), ROWS))
        The rows, and what is known of them.
    """

    i: stream.Interface

    def __init__(self, beat_bytes: int, sizes: tuple[int, ...]):
        self._beat_bytes = beat_bytes
        self._sizes = sizes
        super().__init__({
            "i": In(coded_beat_stream(beat_bytes)),
            "leave": In(ROWS),
            "leave_late": In(ROWS),
            "row": In(ROWS),
            "lane": In(exact_log2(beat_bytes // min(sizes))),
            "window": Out(8 * beat_bytes),
            "valid": Out(ROWS),
            "rows": Out(data.ArrayLayout(8 * beat_bytes, ROWS)),
            "facts": Out(data.ArrayLayout(row_state_layout(beat_bytes, sizes), ROWS)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        grain = min(self._sizes)
        units = self._beat_bytes // grain
        write = Signal(ROWS, init=1)
        ready = Signal()
        between = Signal(init=1)
        kept = Signal(ROWS)
        pushed = Signal(ROWS)
        element = Signal(element_layout(self._sizes), reset_less=True)
        coming = Signal(row_state_layout(self._beat_bytes, self._sizes))
        beat = self.i.payload
        whole = Signal(units)
        m.d.comb += [
            self.i.ready.eq(ready),
            pushed.eq(Mux(ready & self.i.valid, write, 0)),
            kept.eq((self.valid & ~self.leave) | pushed),
            whole.eq(Cat(beat.keep[(k + 1) * grain - 1] for k in range(units))),
            coming.last.eq(beat.last),
            coming.units.eq(Mux(beat.last, length(whole), units)),
            coming.ragged.eq(beat.last & Cat(
                beat.keep[k * grain] & ~beat.keep[(k + 1) * grain - 1] for k in range(units)).any()),
            coming.element.eq(Mux(between, one_hot_element(beat.element, self._sizes), element)),
        ]
        m.d.sync += [self.valid.eq(kept & ~self.leave_late), ready.eq(~kept.all())]
        with m.If(ready & self.i.valid):
            m.d.sync += [write.eq(advanced(write)), between.eq(beat.last), element.eq(coming.element)]

        rows = [Signal(8 * self._beat_bytes, name=f"row_{k}", reset_less=True) for k in range(ROWS)]
        facts = [Signal(coming.shape(), name=f"facts_{k}", reset_less=True) for k in range(ROWS)]
        for k in range(ROWS):
            with m.If(ready & write[k]):
                m.d.sync += [rows[k].eq(beat.data), facts[k].eq(coming)]
            m.d.comb += [self.rows[k].eq(rows[k]), self.facts[k].eq(facts[k])]

        before = Signal(units)
        m.d.comb += before.eq(thermometer(self.lane, units))
        for unit in range(units):
            source = Signal(ROWS, name=f"source_{unit}")
            m.d.comb += [
                source.eq(Mux(before[unit], advanced(self.row), self.row)),
                self.window.word_select(unit, 8 * grain).eq(
                    pick(source, [row.word_select(unit, 8 * grain) for row in rows])),
            ]
        return m
