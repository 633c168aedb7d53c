"""The plots of pages as inline SVG: bars, columns, stems, and small lines.

Plots are as wide as the screen of a phone. A wider page scales them, or has several in a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10

from cdma.report.plots.drawing import COLOURS, GREY, figure, inline_svg, shorten, ticks

__all__ = ["bars", "columns", "line", "stems"]

_WIDTH = 340
_BAR, _GAP, _LABEL = 12, 8, 16
_RIGHT = 38  # room for the values at the right
_SMALL = 160  # width of a small plot
_LETTERS, _SMALL_LETTERS = 48, 21  # letters of a name that fit into the width of a plot


def bars(title: str, groups: Mapping[str, Sequence[float | None]], marks: Mapping[str, float | None] | None = None,
         digits: int = 2, top: float | None = None) -> str:
    """Horizontal bars: under the name of each group a bar for each series.

    Parameters
    ----------
    title
        Description of the plot for screen readers.
    groups
        Values by name of the group, in the order of the series; None leaves a bar out.
    marks
        Value of each group that a line across its bars shows.
    digits
        Digits after the point of the values at the right.
    top
        Value of the full width; the largest value or mark when None.

    Returns
    -------
    str
        An ``<svg>`` element, scaled by the page; empty text when there are no groups.
    """
    if not groups:
        return ""
    marks = marks or {}
    values = [value for row in groups.values() for value in row if value is not None]
    full = top or max([*values, *(value for value in marks.values() if value is not None)], default=0) or 1.0
    height = sum(_LABEL + _BAR * len(row) + _GAP for row in groups.values())
    drawn = figure(_WIDTH, height + 18)
    axes = drawn.add_axes((4 / _WIDTH, 18 / (height + 18), (_WIDTH - _RIGHT - 4) / _WIDTH, height / (height + 18)))
    axes.set(xlim=(0, full), ylim=(height, 0), yticks=[],
             xticks=[tick for tick in ticks(full, 4) if tick <= full])
    axes.grid(axis="x")
    axes.tick_params(length=0, pad=3)
    right = axes.get_yaxis_transform()
    y = 0.0
    for name, row in groups.items():
        axes.text(0.003, y + _LABEL - 4, shorten(name, _LETTERS), transform=right, backgroundcolor="white",
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 0})
        y += _LABEL
        start = y
        for value, colour in zip(row, _colours(len(row)), strict=True):
            if value is not None:
                axes.barh(y + _BAR / 2, value, height=_BAR - 1, color=colour, clip_on=False)
                axes.text(_WIDTH - 4, y + _BAR - 2.5, f"{value:.{digits}f}", ha="right", size=10, color=GREY,
                          transform=_pixels_across(axes))
            y += _BAR
        mark = marks.get(name)
        if mark is not None:
            axes.plot([mark, mark], [start - 2, y + 1], color="black", linewidth=1.5, clip_on=False)
        y += _GAP
    return inline_svg(drawn, title)


def line(title: str, labels: Sequence[str], values: Sequence[float | None], colour: str = COLOURS[0]) -> str:
    """A small line plot of values from 0 to 1 with a title; the last value is shown as a number.

    Parameters
    ----------
    title
        Text above the plot.
    labels
        Labels of the values; the first and the last are shown.
    values
        The values, at equal distances; None leaves a gap.
    colour
        Colour of line and points.

    Returns
    -------
    str
        An ``<svg>`` element, half as wide as those of :func:`bars`.
    """
    lines = _heading(title, _SMALL_LETTERS)
    drawn, axes = _small_axes(_SMALL, lines, 74, 28, 32)
    last = max(1, len(values) - 1)
    axes.set(xlim=(-0.04 * last, last * 1.02), ylim=(-0.04, 1.04), yticks=[0, 0.5, 1], yticklabels=["0", "0.5", "1"],
             xticks=[])
    axes.plot(range(len(values)), [float("nan") if value is None else value for value in values], color=colour,
              linewidth=2, marker="o", markersize=5, clip_on=False)
    shown = [(number, value) for number, value in enumerate(values) if value is not None]
    if shown:
        number, value = shown[-1]
        axes.annotate(f"{value:.2f}", (number, value), (5, 0), textcoords="offset points", va="center", size=10,
                      color=GREY, annotation_clip=False)
    for at, label, side in ((0.0, labels[:1], "left"), (1.0, labels[1:][-1:], "right")):
        for text in label:
            axes.annotate(text, (at, 0), (0, -4), xycoords="axes fraction", textcoords="offset points", va="top",
                          ha=side, size=10, color=GREY)
    said = ", ".join("none" if value is None else f"{value:.2f}" for value in values)
    return inline_svg(drawn, f"{title}: {said}")


def columns(title: str, labels: Sequence[str], values: Sequence[float], marks: Sequence[float] = (),
            top: float = 1.0, large: bool = False) -> str:
    """A histogram of shares: a column for each class, and a line across it at the value that it is compared with.

    Parameters
    ----------
    title
        Text above the plot.
    labels
        Labels of the columns; empty text for none.
    values
        Heights of the columns.
    marks
        Heights of the lines: one for each column, or none.
    top
        Value of the full height.
    large
        Whether it is as wide as :func:`bars`, with the values above the columns, or as small as :func:`line`.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    lines = _heading(title, _LETTERS if large else _SMALL_LETTERS)
    drawn, axes = _small_axes(_WIDTH if large else _SMALL, lines, 154 if large else 74, 36, 8)
    axes.set(xlim=(-0.6, len(values) - 0.4), ylim=(0, top), yticks=[0, top / 2, top],
             yticklabels=[f"{tick:.0%}" for tick in (0, top / 2, top)], xticks=range(len(labels)))
    axes.set_xticklabels(labels, size=9)
    axes.bar(range(len(values)), [min(value, top) for value in values], width=0.8, color=COLOURS[0])
    for number, mark in enumerate(marks):
        axes.plot([number - 0.48, number + 0.48], [min(mark, top)] * 2, color="black", linewidth=1.5, clip_on=False)
    if large:
        # A value is above its column, or above the line if the line would cross it. It is 14 of 154 pixels high.
        for number, value in enumerate(values):
            head, high = min(value, top), 14 / 154 * top
            if marks and head - 0.1 * high < min(marks[number], top) < head + high:
                head = min(marks[number], top)
            axes.annotate(f"{100 * value:.0f}", (number, head), (0, 3), textcoords="offset points", ha="center",
                          size=10, color=GREY, annotation_clip=False)
    return inline_svg(drawn, f"{title}: {', '.join(f'{value:.0%}' for value in values)}")


def stems(title: str, values: Mapping[str, float | None], lowest: float, highest: float) -> str:
    """A row for each value: a stem from 1 to a dot, on a logarithmic axis with a grid line at each power of ten.

    Parameters
    ----------
    title
        Description of the plot for screen readers.
    values
        The values, above 0, by name; None leaves the row empty.
    lowest, highest
        The least range of the axis, which ends at powers of ten.

    Returns
    -------
    str
        An ``<svg>`` element, scaled by the page; empty text when there are no values.
    """
    if not values:
        return ""
    first, last = floor(log10(min(lowest, 1.0))), max(1, ceil(log10(highest)))
    row = _LABEL + _BAR
    height = row * len(values)
    drawn = figure(_WIDTH, height + 20)
    axes = drawn.add_axes((14 / _WIDTH, 20 / (height + 20), (_WIDTH - _RIGHT - 28) / _WIDTH, height / (height + 20)))
    powers = range(first, last + 1)
    axes.set(xscale="log", xlim=(10.0 ** first, 10.0 ** last), ylim=(height, 0), yticks=[])
    axes.minorticks_off()
    axes.set_xticks([10.0 ** power for power in powers], [f"{10.0 ** power:g}" for power in powers])
    axes.tick_params(length=0)
    axes.grid(axis="x")
    axes.axvline(1, color="black", linewidth=1.5)
    axes.spines["left"].set_visible(False)
    for number, (name, value) in enumerate(values.items()):
        y = (number + 1) * row - 7
        axes.text(0.02, y - 8, shorten(name, _LETTERS - 8), transform=axes.get_yaxis_transform(),
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})
        if value is not None:
            end = min(max(value, 10.0 ** first), 10.0 ** last)
            axes.plot([1, end], [y, y], color=COLOURS[0], linewidth=3, clip_on=False)
            axes.plot([end], [y], color=COLOURS[0], marker="o", markersize=8, clip_on=False)
            axes.text(_WIDTH - 4, y, f"{value:.1f}", ha="right", va="center", size=10, color=GREY,
                      transform=_pixels_across(axes))
    return inline_svg(drawn, title)


def _small_axes(width: float, lines: Sequence[str], tall: float, left: float, right: float):
    """A figure with a heading, and axes below it with horizontal grid lines."""
    above, below = 6 + 14 * len(lines), 18
    height = above + tall + below
    drawn = figure(width, height)
    for number, text in enumerate(lines):
        drawn.text(0, 1 - (12 + 14 * number) / height, text, weight="bold")
    axes = drawn.add_axes((left / width, below / height, (width - left - right) / width, (tall - 4) / height))
    axes.tick_params(length=0, pad=3)
    axes.grid(axis="y")
    axes.spines["left"].set_visible(False)
    return drawn, axes


def _pixels_across(axes):
    """Coordinates: across in pixels of the figure, down in values of the axis."""
    from matplotlib.transforms import IdentityTransform, blended_transform_factory

    return blended_transform_factory(IdentityTransform(), axes.transData)


def _heading(title: str, letters: int) -> list[str]:
    """A title in one line or two, broken after punctuation or a space if there is any."""
    if len(title) <= letters:
        return [title]
    at = max((number for number, letter in enumerate(title[:letters], start=1) if letter in "./:_- "), default=letters)
    return [title[:at], shorten(title[at:], letters)]


def _colours(number: int) -> list[str]:
    return [COLOURS[index % len(COLOURS)] for index in range(number)]
