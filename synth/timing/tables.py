"""Delays of cells as a library tells them: tables over slew and load, and the arcs they belong to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from synth.cells.liberty import Group, LibertyError
from synth.cells.library import Library

__all__ = ["FALL", "RISE", "Arc", "Table", "WireLoad", "arcs", "loads"]

RISE, FALL = 0, 1
"""The two directions a signal goes; they index pairs."""

_SENSES = {
    "positive_unate": ((RISE, RISE), (FALL, FALL)),
    "negative_unate": ((RISE, FALL), (FALL, RISE)),
    "non_unate": ((RISE, RISE), (RISE, FALL), (FALL, RISE), (FALL, FALL)),
}
_EDGES = {"rising_edge": RISE, "falling_edge": FALL}
_COMBINATIONAL = ("combinational", "combinational_rise", "combinational_fall")


@dataclass(frozen=True)
class Table:
    """A value over slew and load, or over the slews of data and clock; linear between the points and beyond.

    Parameters
    ----------
    first, second : tuple of float
        The points: of input slew and load, or of data slew and clock slew, in the library's units. One point or none
        means that the value does not depend on it.
    values : tuple of tuple of float
        By first, then by second.
    """

    first: tuple[float, ...]
    second: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]

    def at(self, x: float, y: float) -> float:
        """The value at a point."""
        row, part = _place(self.first, x)
        column, rest = _place(self.second, y)
        above = self.values[row]
        value = above[column]
        if rest:
            value += rest * (above[column + 1] - value)
        if part:
            below = self.values[row + 1]
            other = below[column]
            if rest:
                other += rest * (below[column + 1] - other)
            value += part * (other - value)
        return value


def _place(points: Sequence[float], x: float) -> tuple[int, float]:
    if len(points) < 2:
        return 0, 0.0
    index = min(max(bisect_right(points, x) - 1, 0), len(points) - 2)
    return index, (x - points[index]) / (points[index + 1] - points[index])


@dataclass(frozen=True)
class Arc:
    """How one pin of a cell depends on another.

    Parameters
    ----------
    kind : str
        ``through`` (an output follows an input), ``launch`` (an output follows the clock) or ``capture`` (an input has
        to be there before the clock).
    source, pin : str
        The pin it starts from, and the one it is told at.
    edges : tuple of (int, int)
        The directions it takes: of the source, of the pin.
    delays, slews : (Table or None, Table or None)
        For the pin rising and falling: delay and slew; for ``capture`` the set-up time, and no slew.
    """

    kind: str
    source: str
    pin: str
    edges: tuple[tuple[int, int], ...]
    delays: tuple[Table | None, Table | None]
    slews: tuple[Table | None, Table | None]


@lru_cache(maxsize=1024)
def arcs(library: Library, cell: str) -> tuple[Arc, ...]:
    """The arcs of a cell that decide how long a path takes."""
    return tuple(arc for pin in library.cells[cell].group.all("pin") for name in pin.arguments
                 for timing in pin.all("timing") for arc in _arcs(library, timing, name))


def _arcs(library: Library, timing: Group, pin: str) -> Iterator[Arc]:
    kind = timing.values.get("timing_type", "combinational")
    tables = {group.kind: _table(library, group) for group in timing.groups}
    slews = tables.get("rise_transition"), tables.get("fall_transition")
    delays = tables.get("cell_rise"), tables.get("cell_fall")
    for source in timing.values.get("related_pin", "").split():
        if kind in _COMBINATIONAL:
            sense = timing.values.get("timing_sense", "non_unate")
            yield Arc("through", source, pin, _SENSES.get(sense, _SENSES["non_unate"]), delays, slews)
        elif kind in _EDGES:
            yield Arc("launch", source, pin, tuple((_EDGES[kind], edge) for edge in (RISE, FALL)), delays, slews)
        elif kind in ("setup_rising", "setup_falling"):
            clock = RISE if kind == "setup_rising" else FALL
            setup = tables.get("rise_constraint"), tables.get("fall_constraint")
            yield Arc("capture", source, pin, tuple((clock, edge) for edge in (RISE, FALL)), setup, (None, None))


_SECOND = ("total_output_net_capacitance", "related_pin_transition")


def _table(library: Library, group: Group) -> Table:
    template = _templates(library).get(group.name)
    known = template.values if template else {}
    own = group.values
    found = [(known.get(f"variable_{axis}", ""), own.get(f"index_{axis}", known.get(f"index_{axis}", "")))
             for axis in (1, 2)]
    axes = [(variable, _numbers(library, points)) for variable, points in found if variable and points]
    flat = _numbers(library, own.get("values", ""))
    size = 1
    for _, points in axes:
        size *= len(points)
    if not flat or len(flat) != size:
        raise LibertyError(f"cell library {library.path}: a table {group.kind} ({group.name}) has {len(flat)} values "
                           f"where its indices ask for {size}")
    if not axes:
        return Table((), (), (flat,))
    if len(axes) == 1:
        (variable, points), = axes
        return Table((), points, (flat,)) if variable in _SECOND else Table(points, (), tuple((v,) for v in flat))
    (_, rows), (_, columns) = axes
    values = tuple(flat[row * len(columns):(row + 1) * len(columns)] for row in range(len(rows)))
    if axes[0][0] in _SECOND:
        return Table(columns, rows, tuple(zip(*values, strict=True)))
    return Table(rows, columns, values)


@lru_cache(maxsize=4)
def _templates(library: Library) -> dict[str, Group]:
    return {group.name: group for group in library.group.all("lu_table_template")}


def _numbers(library: Library, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(number) for number in text.replace(",", " ").split())
    except ValueError:
        raise LibertyError(f"cell library {library.path}: {text[:40]!r} is no list of numbers") from None


class WireLoad:
    """The library's guess at what wires add to the load of a net: by its number of readers, none if it has no guess."""

    def __init__(self, library: Library) -> None:
        name = library.group.values.get("default_wire_load", "")
        group = next((group for group in library.group.all("wire_load") if group.name == name), None)
        self._points: list[tuple[float, ...]] = []
        self._slope = self._scale = 0.0
        if group is not None:
            # The same attribute stands there once per number of readers: the parser joins them.
            numbers = _numbers(library, group.values.get("fanout_length", ""))
            self._points = sorted(zip(numbers[::2], numbers[1::2], strict=True))
            (self._slope,) = _numbers(library, group.values.get("slope", "0"))
            (self._scale,) = _numbers(library, group.values.get("capacitance", "0"))

    def load(self, readers: int) -> float:
        """What the wires of a net with so many readers add, in the library's unit."""
        if not self._points or not readers:
            return 0.0
        last, length = self._points[-1]
        if readers > last:
            return self._scale * (length + self._slope * (readers - last))
        points, lengths = zip(*self._points, strict=True)
        return self._scale * Table(points, (), tuple((length,) for length in lengths)).at(float(readers), 0.0)


@lru_cache(maxsize=1024)
def loads(library: Library, cell: str) -> dict[str, tuple[float, float]]:
    """What each input of a cell loads its net with when it rises and when it falls, in the library's unit."""
    found: dict[str, tuple[float, float]] = {}
    for pin in library.cells[cell].group.all("pin"):
        both = pin.values.get("capacitance", "0")
        rise, fall = (_numbers(library, pin.values.get(f"{edge}_capacitance", both))[0] for edge in ("rise", "fall"))
        found |= dict.fromkeys(pin.arguments, (rise, fall))
    return found
