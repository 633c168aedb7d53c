"""What sections of pages are made of: paragraphs, lists, tables, fenced blocks, tiles, plots and images.

In paragraphs, items and cells, ``code`` stands between back quotes, strong words between two asterisks, and links are
Markdown's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from cdma.report.plots import fluid
from cdma.report.plots.drawing import COLOURS
from cdma.report.table import Table

__all__ = ["LINK", "Fenced", "Image", "Part", "Plots", "Table", "Tiles", "bars", "histograms", "lines", "prose",
           "trend"]

LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")
"""A link in text: its words, and where it leads."""

_GROUPS = 6
"""Most groups of bars in one plot."""


@dataclass(frozen=True)
class Tiles:
    """The most important figures by name, in large type. Only HTML has them, so a table must have them too."""

    tiles: Mapping[str, str]


@dataclass(frozen=True)
class Fenced:
    """Lines as they are, in type of one width: what a command prints.

    Parameters
    ----------
    text
        The lines.
    language
        Language of the lines, for Markdown.
    """

    text: str
    language: str = "text"


@dataclass(frozen=True)
class Plots:
    """Drawn plots, ready for the template. Only HTML has them, so a table must have their values too.

    Parameters
    ----------
    drawings
        Caption (empty for none) and markup of each plot.
    kind
        Class of the box around the plots: ``columns``, ``small``, ``whole`` or ``wide``.
    caption
        Common caption; empty for none.
    keys
        Colour and name of each series.
    mark, flat
        Meaning of the line across bars, and whether this line is horizontal, as in columns.
    cut
        Whether bars are longer than the scale.
    """

    drawings: Sequence[tuple[str, str]]
    kind: str
    caption: str = ""
    keys: Sequence[tuple[str, str]] = ()
    mark: str | None = None
    flat: bool = False
    cut: bool = False


@dataclass(frozen=True)
class Image:
    """A plot that is also a file beside the page: Markdown shows the file, HTML has the plot itself.

    Parameters
    ----------
    title
        What the plot shows.
    file
        Path of the file, relative to the page.
    draw
        Returns the SVG file; ValueError if matplotlib is not installed.
    """

    title: str
    file: str
    draw: Callable[[], str]


def bars(title: str, series: Sequence[str], groups: Mapping[str, Sequence[float | None]],
         marks: Mapping[str, float | None] | None = None, mark: str | None = None, digits: int = 2,
         top: float | None = None, caption: bool = True) -> Plots:
    """Bars of several series in groups.

    Many groups are drawn in several plots with the same scale, side by side if there is room.

    Parameters
    ----------
    title
        Above the plots, and for screen readers.
    series
        Names of the series.
    groups
        Values by name of the group, one for each series; None leaves a bar out.
    marks, mark
        Value of each group that a line across its bars shows, and the meaning of this line.
    digits
        Digits after the point of the values at the right.
    top
        Value of the full width; the largest value or mark that is no outlier when None.
    caption
        Whether the title is shown above the plots.
    """
    values, marks = [value for row in groups.values() for value in row], marks or {}
    full = top or fluid.scale([*values, *marks.values()])
    pieces = [{name: groups[name] for name in names} for names in _pieces(list(groups))]
    return Plots([("", fluid.bars(title, piece, marks, digits, full)) for piece in pieces], "columns",
                 title if caption else "", _keys(series), mark,
                 cut=any(value is not None and value > full for value in values))


def lines(title: str, labels: Sequence[str], rows: Mapping[str, Sequence[float | None]]) -> Plots:
    """Small line plots side by side: values from 0 to 1 over the same labels, by name of the plot."""
    return Plots([("", fluid.lines(name, labels, {"": values}, 1.0)) for name, values in rows.items()], "small", title)


def trend(labels: Sequence[str], rows: Mapping[str, Sequence[float | None]]) -> Plots:
    """A line plot of several series over the same labels, by name of the series."""
    return Plots([("", fluid.lines("", labels, rows, large=True))], "whole", "", _keys(list(rows)))


def histograms(title: str, labels: Sequence[str], rows: Mapping[str, tuple[Sequence[float], Sequence[float]]],
               series: Sequence[str] = (), mark: str | None = None, large: bool = False) -> Plots:
    """Histograms of shares over the same classes.

    Parameters
    ----------
    title
        Text above the histograms; empty for none.
    labels
        Labels of the classes.
    rows
        By name of the histogram: the shares, and the values that they are compared with.
    series, mark
        Meaning of the columns and of the lines; without series there is no legend.
    large
        Whether the histograms are as wide as bars.
    """
    highest = max(value for pair in rows.values() for part in pair for value in part)
    top = next(top for top in (0.2, 0.4, 0.6, 0.8, 1.0) if top >= min(1.0, highest))
    return Plots([("", fluid.columns(name, labels, *pair, top, large)) for name, pair in rows.items()],
                 "whole" if large else "small", title, _keys(series), mark, flat=True)


Part = str | tuple[str, ...] | Table | Fenced | Tiles | Plots | Image
"""A paragraph, the items of a list, a table, a fenced block, tiles, plots, or an image."""


def prose(text: str, **values: Any) -> list[Part]:
    """Split a text into paragraphs and lists, and fill in its values.

    Parameters
    ----------
    text
        Paragraphs, separated by empty lines; a paragraph that begins with a dash is a list.
    values
        Values of the names in braces, as for :meth:`str.format`.
    """
    found: list[Part] = []
    for paragraph in text.format(**values).split("\n\n"):
        items = re.split(r"(?:^|\n)- ", paragraph)
        found.append(_joined(paragraph) if len(items) == 1 else tuple(map(_joined, items[1:])))
    return found


def _joined(text: str) -> str:
    return " ".join(text.split())


def _pieces(names: Sequence[str]) -> list[Sequence[str]]:
    """The names, divided into plots of about the same size."""
    size = ceil(len(names) / max(1, ceil(len(names) / _GROUPS)))
    return [names[at:at + size] for at in range(0, len(names), max(1, size))]


def _keys(series: Sequence[str]) -> list[tuple[str, str]]:
    """Colour and name of each series."""
    return [(COLOURS[number % len(COLOURS)], name) for number, name in enumerate(series)]
