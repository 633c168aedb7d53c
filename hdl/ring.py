"""The decompressor's input rows, and the two places it reads from: the next data and the next tag."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.coding import element_layout, tag_bytes
from hdl.routing import thermometer

__all__ = ["Ring", "pick", "row_facts", "turn"]


def row_facts(beat_bytes: int, sizes: tuple[int, ...]) -> data.StructLayout:
    """What is known of a row besides its bytes.

    ``last``: the packet ends with it; ``units``: units in use, all of them unless it is the last; ``ragged``: more
    bytes follow those that make no unit; ``element``: element size of the packet.
    """
    return data.StructLayout({
        "last": 1,
        "units": exact_log2(beat_bytes // min(sizes)) + 1,
        "ragged": 1,
        "element": element_layout(sizes),
    })


def turn(one_hot: Value, steps: int = 1) -> Value:
    """The place ``steps`` further round the ring."""
    return one_hot.rotate_left(steps)


def pick(one_hot: Value, choices: list[Value]) -> Value:
    """The choice that ``one_hot`` points at, as a sum of products."""
    result: Value = Const(0)
    for chosen, choice in zip(one_hot, choices, strict=True):
        result = result | Mux(chosen, choice, 0)
    return result


class Ring(wiring.Component):
    """A ring of rows, with one reader for data and one for tags.

    ::

        data --> [row 0] [row 1] [row 2] [row 3]
                    |       |       |       |
                    +-------+---+---+-------+--> window: one row long, each byte on its own lane
                                |
                                +--------------> segment: as long as the longest tag, each byte on its own lane

    Both readers begin anywhere and run on into the next row. Neither shifts: a byte comes out on the lane it came in
    by, which is what the routing network expects.

    Parameters
    ----------
    beat_bytes : int
        Bytes of a row.
    grain : int
        Bytes of a unit.

    Members
    -------
    write : In(ROWS)
        Row to write, one-hot; none when zero.
    data : In(8 * beat_bytes)
        What to write.
    row : In(ROWS), lane : In(range(units))
        Where the window begins: row, one-hot, and unit.
    window : Out(8 * beat_bytes)
        The bytes from there on.
    tag_row : In(ROWS), tag_lane : In(range(units))
        Where the segment begins.
    segment : Out(8 * tag_bytes(grain))
        The bytes from there on, those before lane ``tag_lane`` modulo the segment's length being the later ones.
    """

    ROWS = 4

    def __init__(self, beat_bytes: int, grain: int):
        self._beat_bytes = beat_bytes
        self._grain = grain
        lane = exact_log2(beat_bytes // grain)
        super().__init__({
            "write": In(self.ROWS),
            "data": In(8 * beat_bytes),
            "row": In(self.ROWS),
            "lane": In(lane),
            "window": Out(8 * beat_bytes),
            "tag_row": In(self.ROWS),
            "tag_lane": In(lane),
            "segment": Out(8 * tag_bytes(grain)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = 8 * self._grain
        units = self._beat_bytes // self._grain
        rows = [Signal(8 * self._beat_bytes, name=f"row_{k}", reset_less=True) for k in range(self.ROWS)]
        for k, row in enumerate(rows):
            with m.If(self.write[k]):
                m.d.sync += row.eq(self.data)

        def bytes_at(unit: int) -> list[Value]:
            return [row.word_select(unit, width) for row in rows]

        passed = thermometer(self.lane, units)
        for unit in range(units):
            source = Signal(self.ROWS, name=f"window_from_{unit}")
            m.d.comb += [
                source.eq(Mux(passed[unit], turn(self.row), self.row)),
                self.window.word_select(unit, width).eq(pick(source, bytes_at(unit))),
            ]

        # The ring as segments: `begin` points at the one the tag begins in.
        length = tag_bytes(self._grain) // self._grain
        parts = units // length
        inside = exact_log2(length)
        part = self.tag_lane[inside:]
        begin = Signal(self.ROWS * parts)
        m.d.comb += begin.eq(Cat(self.tag_row[k // parts] & (part == k % parts) for k in range(len(begin))))
        passed = thermometer(self.tag_lane[:inside], length)
        for unit in range(length):
            source = Signal(len(begin), name=f"segment_from_{unit}")
            m.d.comb += [
                source.eq(Mux(passed[unit], turn(begin), begin)),
                self.segment.word_select(unit, width).eq(pick(source, [
                    choice for k in range(self.ROWS)
                    for choice in (rows[k].word_select(h * length + unit, width) for h in range(parts))])),
            ]
        return m
