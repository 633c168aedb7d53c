"""Plots as inline SVG: bars, columns, stems, and a row of small lines.

Widths are those of a phone; a page scales or repeats them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10

__all__ = ["COLOURS", "bars", "columns", "legend", "line", "stems"]

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Colours of series in order, which the colour-blind can tell apart (Okabe and Ito)."""

_WIDTH = 340
_BAR, _GAP, _LABEL, _TEXT = 12, 8, 15, 11
_RIGHT = 34  # room for the values, one below the other at the right
_SMALL = 160  # width of a small plot
_LETTERS, _SMALL_LETTERS = 56, 22  # of a name that the width of a plot has room for


def legend(names: Sequence[str], mark: str | None = None, flat: bool = False) -> str:
    """The names of series beside their colours, and what the mark across bars, or across columns (``flat``), means."""
    parts = [f'<span class="key"><i style="background:{colour}"></i>{escape(name)}</span>'
             for name, colour in zip(names, _colours(len(names)), strict=True)]
    if mark is not None:
        lying = ' style="width:.9em;height:2px;vertical-align:.25em"' if flat else ""
        parts.append(f'<span class="key"><i class="mark"{lying}></i>{escape(mark)}</span>')
    return f'<p class="legend">{"".join(parts)}</p>'


def bars(title: str, groups: Mapping[str, Sequence[float | None]], marks: Mapping[str, float | None] | None = None,
         digits: int = 2, top: float | None = None) -> str:
    """Horizontal bars, one of each series in every group, under the name of the group.

    Parameters
    ----------
    title
        What a screen reader says of the plot.
    groups
        Values by name of the group, in the order of the series; None leaves a bar out.
    marks
        Value of each group that is marked by a line across its bars.
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
    scale = (_WIDTH - _RIGHT) / full
    out, y = [], 0.0
    for name, row in groups.items():
        y += _LABEL
        out.append(f'<text x="0" y="{y - 4:g}">{escape(_cut(name, _LETTERS))}</text>')
        start = y
        for value, colour in zip(row, _colours(len(row)), strict=True):
            if value is not None:
                out.append(f'<rect x="0" y="{y:g}" width="{_point(value * scale)}" height="{_BAR - 1}" '
                           f'fill="{colour}"/>'
                           f'<text class="value" text-anchor="end" x="{_WIDTH}" y="{y + _BAR - 2:g}">'
                           f'{value:.{digits}f}</text>')
            y += _BAR
        mark = marks.get(name)
        if mark is not None:
            x = _point(mark * scale)
            out.append(f'<line class="mark" x1="{x}" x2="{x}" y1="{start - 2:g}" y2="{y + 1:g}"/>')
        y += _GAP
    return _svg(title, _WIDTH, y, "".join(out))


def line(title: str, labels: Sequence[str], values: Sequence[float | None], colour: str = COLOURS[0]) -> str:
    """A small line of values from 0 to 1 under its title, with its last value written out.

    Parameters
    ----------
    title
        Written above the plot.
    labels
        What stands below the first and the last value.
    values
        At even distances; None leaves a gap.
    colour
        Of line and points.

    Returns
    -------
    str
        An ``<svg>`` element, half as wide as those of :func:`bars`.
    """
    name, above = _heading(title, _SMALL_LETTERS)
    width, height, left, below = _SMALL, above + 86, 24, 16
    bottom = height - below
    step = (width - left - 30) / max(1, len(values) - 1)
    points = [None if value is None else (left + 4 + number * step, bottom - value * (bottom - above))
              for number, value in enumerate(values)]
    out = [name]
    for grid in (0.0, 0.5, 1.0):
        y = _point(bottom - grid * (bottom - above))
        out.append(f'<line class="grid" x1="{left}" x2="{width - 22}" y1="{y}" y2="{y}"/>'
                   f'<text class="value" x="0" y="{float(y) + 4:g}">{grid:.1f}</text>')
    pieces: list[list[str]] = [[]]
    for point in points:
        if point is None:
            pieces.append([])
        else:
            pieces[-1].append(f"{_point(point[0])},{_point(point[1])}")
            out.append(f'<circle cx="{_point(point[0])}" cy="{_point(point[1])}" r="2.5" fill="{colour}"/>')
    out += [f'<polyline points="{" ".join(piece)}" fill="none" stroke="{colour}" stroke-width="2"/>'
            for piece in pieces if len(piece) > 1]
    shown = [(point, value) for point, value in zip(points, values, strict=True)
             if point is not None and value is not None]
    if shown:
        (x, y), value = shown[-1]
        out.append(f'<text class="value" x="{_point(x + 5)}" y="{_point(y + 4)}">{value:.2f}</text>')
    if labels:
        out.append(f'<text class="value" x="{left}" y="{height - 3}">{escape(labels[0])}</text>')
    if len(labels) > 1:
        out.append(f'<text class="value" text-anchor="end" x="{width - 12}" y="{height - 3}">'
                   f'{escape(labels[-1])}</text>')
    return _svg(f"{title}: {', '.join('none' if value is None else f'{value:.2f}' for value in values)}",
                width, height, "".join(out))


def columns(title: str, labels: Sequence[str], values: Sequence[float], marks: Sequence[float] = (),
            top: float = 1.0, large: bool = False) -> str:
    """A histogram of shares: a column for each class, with a line across it at the value to compare with.

    Parameters
    ----------
    title
        Written above the plot.
    labels
        What stands below the columns; empty text leaves the place empty.
    values
        Heights of the columns.
    marks
        Heights of the lines, as many as columns, or none.
    top
        Value of the full height.
    large
        As wide as :func:`bars`, with the values above the columns; otherwise as :func:`line`.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    name, above = _heading(title, _LETTERS if large else _SMALL_LETTERS)
    # Large ones have values above the columns.
    width, height, left, above = (_WIDTH, above + 166, 30, above + 10) if large else (_SMALL, above + 86, 28, above)
    bottom = height - 16
    scale, step = (bottom - above) / top, (width - left) / max(1, len(values))
    out = [name]
    for grid in (0.0, top / 2, top):
        y = _point(bottom - grid * scale)
        out.append(f'<line class="grid" x1="{left}" x2="{width}" y1="{y}" y2="{y}"/>'
                   f'<text class="value" x="0" y="{float(y) + 4:g}">{grid:.0%}</text>')
    for number, (label, value) in enumerate(zip(labels, values, strict=True)):
        x, tall = left + (number + 0.1) * step, min(value, top) * scale
        middle = _point(x + 0.4 * step)
        out.append(f'<rect x="{_point(x)}" y="{_point(bottom - tall)}" width="{_point(0.8 * step)}" '
                   f'height="{_point(tall)}" fill="{COLOURS[0]}"/>')
        if marks:
            y = _point(bottom - min(marks[number], top) * scale)
            out.append(f'<line class="mark" x1="{_point(x - 0.08 * step)}" x2="{_point(x + 0.88 * step)}" y1="{y}" '
                       f'y2="{y}"/>')
        if large:
            # Above the column, or above the line where that would be in the way.
            head = bottom - tall - 4
            if marks and head - 11 < bottom - marks[number] * scale < head + 5:
                head = bottom - marks[number] * scale - 4
            out.append(f'<text class="value" text-anchor="middle" x="{middle}" y="{_point(head)}">'
                       f'{100 * value:.0f}</text>')
        if label:
            place = f'text-anchor="end" x="{width}"' if number == len(labels) - 1 else (
                f'text-anchor="middle" x="{middle}"')
            out.append(f'<text class="value" {place} y="{height - 3}">{escape(label)}</text>')
    return _svg(f"{title}: {', '.join(f'{value:.0%}' for value in values)}", width, height, "".join(out))


def stems(title: str, values: Mapping[str, float | None], lowest: float, highest: float) -> str:
    """A row for each value: a stem from 1 to a dot, on a logarithmic axis with a line at each power of ten.

    Parameters
    ----------
    title
        What a screen reader says of the plot.
    values
        Above 0, by name; None leaves the row empty.
    lowest, highest
        The values that the axis has to hold; it ends at powers of ten.

    Returns
    -------
    str
        An ``<svg>`` element, scaled by the page; empty text when there are no values.
    """
    if not values:
        return ""
    first, last = floor(log10(min(lowest, 1.0))), max(1, ceil(log10(highest)))
    base, row = 12, _LABEL + _BAR
    scale = (_WIDTH - _RIGHT - 2 * base) / (last - first)
    height = len(values) * row + 18

    def place(value: float) -> float:
        return base + (log10(value) - first) * scale

    out = []
    for power in range(first, last + 1):
        x = _point(place(10.0 ** power))
        out.append(f'<line class="{"mark" if power == 0 else "grid"}" x1="{x}" x2="{x}" y1="0" y2="{height - 14}"/>'
                   f'<text class="value" text-anchor="middle" x="{x}" y="{height - 3}">{10.0 ** power:g}</text>')
    for number, (name, value) in enumerate(values.items()):
        y = (number + 1) * row - 6
        out.append(f'<text class="name" x="{base + 4}" y="{y - 8}">{escape(_cut(name, _LETTERS - 8))}</text>')
        if value is not None:
            one, end = _point(place(1.0)), _point(place(min(max(value, 10.0 ** first), 10.0 ** last)))
            out.append(f'<line x1="{one}" x2="{end}" y1="{y}" y2="{y}" stroke="{COLOURS[0]}" stroke-width="3"/>'
                       f'<circle cx="{end}" cy="{y}" r="4" fill="{COLOURS[0]}"/>'
                       f'<text class="value" text-anchor="end" x="{_WIDTH}" y="{y + 4}">{value:.1f}</text>')
    return _svg(title, _WIDTH, height, "".join(out))


def _heading(title: str, letters: int) -> tuple[str, float]:
    """A title in one line or two, broken behind a dot or slash where there is one, and where the plot below begins."""
    lines = [title]
    if len(title) > letters:
        at = max((number for number, letter in enumerate(title[:letters], start=1) if letter in "./:_- "),
                 default=letters)
        lines = [title[:at], _cut(title[at:], letters)]
    drawn = "".join(f'<text class="title" x="0" y="{11 + 13 * number}">{escape(line)}</text>'
                    for number, line in enumerate(lines))
    return drawn, 11.0 + 13 * len(lines)


def _cut(name: str, letters: int) -> str:
    """A name with its middle left out where it is too long: its beginning and end say most."""
    return name if len(name) <= letters else f"{name[:letters // 2 - 1]}…{name[-(letters - letters // 2):]}"


def _colours(number: int) -> list[str]:
    return [COLOURS[index % len(COLOURS)] for index in range(number)]


def _point(value: float) -> str:
    return f"{value:.1f}"


def _svg(title: str, width: float, height: float, body: str) -> str:
    return (f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
            f'aria-label="{escape(title, quote=True)}" font-size="{_TEXT}">{body}</svg>')
