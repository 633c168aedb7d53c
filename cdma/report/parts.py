"""What sections of pages are made of: paragraphs, lists, tables, tiles and plots."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from cdma.report.plots import inline
from cdma.report.plots.drawing import COLOURS

__all__ = ["Bars", "Histograms", "Lines", "Part", "Plot", "Plots", "Stems", "Table", "Tiles", "prose"]

_GROUPS = 6  # of bars or stems in a plot


@dataclass(frozen=True)
class Table:
    """A table.

    Parameters
    ----------
    head, rows
        Cells in words.
    left
        Numbers of the columns that are set flush left.
    title
        Written above it, empty for none.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[int] = (0,)
    title: str = ""


@dataclass(frozen=True)
class Tiles:
    """Figures that are read first, by name; in HTML alone, so they must stand in a table as well."""

    tiles: Mapping[str, str]


@dataclass(frozen=True)
class Plots:
    """Drawn plots as the template takes them.

    Parameters
    ----------
    drawings
        Caption, empty for none, and ``<svg>`` element of each.
    kind
        Class of the box around them: ``columns`` or ``small``.
    caption
        Of all of them.
    keys
        Colour and name of each series.
    mark, flat
        What the line across bars means, and whether it lies flat, as across columns.
    """

    drawings: Sequence[tuple[str, str]]
    kind: str
    caption: str = ""
    keys: Sequence[tuple[str, str]] = ()
    mark: str | None = None
    flat: bool = False


class Plot:
    """A part that is drawn; in HTML alone, so what it shows must stand in a table as well."""

    def drawn(self) -> Plots:
        """The plots.

        Raises
        ------
        ValueError
            If matplotlib is not installed.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Bars(Plot):
    """Bars of several series in groups, see :func:`cdma.report.plots.inline.bars`, with the meaning of the mark.

    Many groups are drawn in several plots of one scale, which stand side by side where there is room.
    """

    title: str
    series: Sequence[str]
    groups: Mapping[str, Sequence[float | None]]
    marks: Mapping[str, float | None] = field(default_factory=dict)
    mark: str | None = None
    digits: int = 2
    top: float | None = None
    caption: bool = True

    def drawn(self) -> Plots:
        values = [*self.groups.values(), list(self.marks.values())]
        top = self.top or max((value for row in values for value in row if value is not None), default=1.0)
        pieces = [{name: self.groups[name] for name in names} for names in _pieces(list(self.groups))]
        return Plots([("", inline.bars(self.title, piece, self.marks, self.digits, top)) for piece in pieces],
                     "columns", self.title if self.caption else "", _keys(self.series), self.mark)


@dataclass(frozen=True)
class Lines(Plot):
    """Small lines of values from 0 to 1 over the same labels, one beside the other."""

    title: str
    labels: Sequence[str]
    rows: Mapping[str, Sequence[float | None]]

    def drawn(self) -> Plots:
        return Plots([("", inline.line(name, self.labels, values)) for name, values in self.rows.items()], "small",
                     self.title)


@dataclass(frozen=True)
class Histograms(Plot):
    """Histograms of shares over the same classes, see :func:`cdma.report.plots.inline.columns`.

    Parameters
    ----------
    title
        Above them, empty for none.
    labels
        Of the classes.
    rows
        Shares and the values to compare them with, by name.
    series, mark
        What columns and lines mean; no legend when there is no series.
    large
        Drawn as wide as bars.
    """

    title: str
    labels: Sequence[str]
    rows: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    series: Sequence[str] = ()
    mark: str | None = None
    large: bool = False

    def drawn(self) -> Plots:
        highest = max(value for pair in self.rows.values() for part in pair for value in part)
        top = next(top for top in (0.2, 0.4, 0.6, 0.8, 1.0) if top >= min(1.0, highest))
        return Plots([("", inline.columns(name, self.labels, *pair, top, self.large))
                      for name, pair in self.rows.items()],
                     "columns" if self.large else "small", self.title, _keys(self.series), self.mark, flat=True)


@dataclass(frozen=True)
class Stems(Plot):
    """Stems from 1 to values above 0 on a logarithmic axis, see :func:`cdma.report.plots.inline.stems`."""

    title: str
    values: Mapping[str, float]

    def drawn(self) -> Plots:
        lowest, highest = min(self.values.values()), max(self.values.values())
        return Plots([("", inline.stems(self.title, {name: self.values[name] for name in names}, lowest, highest))
                      for names in _pieces(list(self.values))], "columns")


Part = str | tuple[str, ...] | Table | Tiles | Plot
"""A paragraph, the items of a list, a table, tiles, a plot."""


def prose(text: str, **values: Any) -> list[Part]:
    """Paragraphs and lists of a text, with values in place of their names in braces.

    Parameters
    ----------
    text
        Paragraphs, set apart by empty lines; one that begins with a dash is a list.
    values
        What the names stand for, as for :meth:`str.format`.
    """
    found: list[Part] = []
    for paragraph in text.format(**values).split("\n\n"):
        items = re.split(r"(?:^|\n)- ", paragraph)
        found.append(_joined(paragraph) if len(items) == 1 else tuple(map(_joined, items[1:])))
    return found


def _joined(text: str) -> str:
    return " ".join(text.split())


def _pieces(names: Sequence[str]) -> list[Sequence[str]]:
    """Names in parts of about the same size, one for each plot."""
    size = ceil(len(names) / max(1, ceil(len(names) / _GROUPS)))
    return [names[at:at + size] for at in range(0, len(names), max(1, size))]


def _keys(series: Sequence[str]) -> list[tuple[str, str]]:
    """Colour and name of each series."""
    return [(COLOURS[number % len(COLOURS)], name) for number, name in enumerate(series)]
