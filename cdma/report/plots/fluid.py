"""Plots of pages in HTML: bars, columns and lines that fill the width they get, with text that keeps its size.

A value far beyond all others does not set the scale: it is cut, and its number says how large it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil

from cdma.report.plots.drawing import COLOURS, apart, ticks

__all__ = ["bars", "columns", "lines", "scale"]

_OUTLIER = 4      # times the upper quartile: values beyond are cut
_FEW = 4          # values, below which none is an outlier
_NARROW = 280     # pixels of a plot on a phone
_LETTER, _SPACE = 7, 12  # pixels of a letter of a label, and between labels
_LARGE, _SMALL = 150, 70  # pixels of the height of a plot, as in templates/style.css
_TEXT = 14        # pixels of the height of a number


def scale(values: Sequence[float | None], factor: float = _OUTLIER) -> float:
    """The largest value that is no outlier: none that is more than ``factor`` times the upper quartile.

    Returns 1 where no value is above 0.
    """
    known = sorted(value for value in values if value is not None and value > 0)
    if len(known) < _FEW:
        return known[-1] if known else 1.0
    quartile = known[ceil(0.75 * len(known)) - 1]
    return max(value for value in known if value <= factor * quartile)


def bars(title: str, groups: Mapping[str, Sequence[float | None]], marks: Mapping[str, float | None], digits: int,
         top: float) -> str:
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
        Value of the full width.
    """
    shown = [tick for tick in ticks(top, 4) if tick <= top * 1.0001]
    out = []
    for name, row in groups.items():
        mark = marks.get(name)
        line = "" if mark is None or mark > top else f'<u style="left:{_percent(mark / top)}"></u>'
        out.append(f'<div class="set"><span class="name">{escape(name)}</span>')
        for number, value in enumerate(row):
            if value is not None:
                cut = ' class="cut"' if value > top else ""
                out.append(f'<div class="bar"><span class="track"><i{cut} style="width:'
                           f'{_percent(min(max(value, 0) / top, 1))};background:{_colour(number)}"></i>{line}</span>'
                           f"<b>{value:.{digits}f}</b></div>")
        out.append("</div>")
    labels = _across([(tick / top, f"{tick:g}") for tick in shown])
    step = shown[1] / top if len(shown) > 1 else 1.0
    return (f'<div class="bars" role="group" aria-label="{escape(title, quote=True)}" style="--step:{_percent(step)}">'
            f"{''.join(out)}{labels}</div>")


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
        Whether it is high, with the values above the columns.
    """
    high = _TEXT / (_LARGE if large else _SMALL) * top
    out = []
    for number, value in enumerate(values):
        head = min(value, top)
        out.append(f'<div><i style="height:{_percent(head / top)}"></i>')
        if marks:
            mark = min(marks[number], top)
            out.append(f'<u style="bottom:{_percent(mark / top)}"></u>')
            # A number is above its column, or above the line if the line would cross it.
            head = mark if head - 0.1 * high < mark < head + high else head
        if large:
            out.append(f'<b style="bottom:{_percent(head / top)}">{100 * value:.0f}</b>')
        out.append(f"<span>{escape(labels[number])}</span></div>")
    said = ", ".join(f"{value:.0%}" for value in values)
    return _framed(title, said, [(tick, f"{tick:.0%}") for tick in (0, top / 2, top)], top, large,
                   f'<div class="classes">{"".join(out)}</div>')


def lines(title: str, labels: Sequence[str], rows: Mapping[str, Sequence[float | None]], top: float | None = None,
          large: bool = False) -> str:
    """Values over the same labels as lines, the last value of each as a number.

    Parameters
    ----------
    title
        Text above the plot.
    labels
        Labels of the values, at equal distances; as many are shown as fit on a phone.
    rows
        The values by name of the line; None leaves a gap.
    top
        Value of the full height; by :func:`scale` when None.
    large
        Whether it is high.
    """
    over = [value for values in rows.values() for value in values]
    marked = [0, 0.5, 1] if top == 1 else ticks(top or scale(over), 4)
    full = top or marked[-1]
    last = max(1, len(labels) - 1)
    drawn, ends = [], []
    for number, values in enumerate(rows.values()):
        points = [None if value is None else (100 * at / last, 100 * (1 - min(max(value / full, 0), 1)))
                  for at, value in enumerate(values)]
        path = "".join(f"{'L' if at and points[at - 1] else 'M'}{point[0]:.2f} {point[1]:.2f}"
                       for at, point in enumerate(points) if point)
        dots = "".join(f"M{point[0]:.2f} {point[1]:.2f}h0" for point in points if point)
        drawn.append(f'<path d="{path}" stroke="{_colour(number)}"/><path class="dots" d="{dots}" '
                     f'stroke="{_colour(number)}"/>')
        known = [(value, point) for value, point in zip(values, points, strict=True) if value is not None and point]
        if known:
            ends.append((1 - known[-1][1][1] / 100, f"{known[-1][0]:.2f}", _colour(number)))
    height = _LARGE if large else _SMALL
    places = apart([at * height for at, _, _ in ends], _TEXT)
    numbers = "".join(f'<b style="bottom:{place:.0f}px;border-bottom:2px solid {colour}">{text}</b>'
                      for place, (_, text, colour) in zip(places, ends, strict=True))
    said = "; ".join(f"{name} {', '.join('none' if value is None else f'{value:.2f}' for value in values)}".strip()
                     for name, values in rows.items())
    shown = _fitting(labels, _NARROW if large else _NARROW / 2)
    return _framed(title, said, [(tick, f"{tick:g}") for tick in marked if tick <= full], full, large,
                   f'<div class="over"><svg viewBox="0 0 100 100" preserveAspectRatio="none">{"".join(drawn)}</svg>'
                   f"{numbers}{_across([(at / last, labels[at]) for at in shown])}</div>")


def _framed(title: str, said: str, marked: Sequence[tuple[float, str]], top: float, large: bool, inside: str) -> str:
    """A plot with its title above it, and an axis with grid lines at its left."""
    grid = "".join(f'<s style="bottom:{_percent(tick / top)}"></s><span style="bottom:{_percent(tick / top)}">{text}'
                   "</span>" for tick, text in marked)
    name = f'<span class="name">{escape(title)}</span>' if title else ""
    label = escape(f"{title}: {said}", quote=True)
    return (f'<div class="plot{" large" if large else ""}" role="img" aria-label="{label}">{name}'
            f'<div class="frame"><div class="grid">{grid}</div>{inside}</div></div>')


def _across(places: Sequence[tuple[float, str]]) -> str:
    """Labels below a plot, at shares of its width; the outer ones do not stand out."""
    def side(at: float) -> str:
        return ' class="first"' if at <= 0 else ' class="last"' if at >= 0.9999 else ""

    return ('<div class="axis">' + "".join(f'<span{side(at)} style="left:{_percent(at)}">{escape(text)}</span>'
                                           for at, text in places) + "</div>")


def _fitting(labels: Sequence[str], width: float) -> list[int]:
    """Numbers of the labels that fit into a width: the first, the last, and what is evenly between."""
    if not labels:
        return []
    fit = max(2, int(width // (_LETTER * max(map(len, labels)) + _SPACE)))
    step = ceil(max(1, len(labels) - 1) / (fit - 1))
    inner = [at for at in range(0, len(labels), step) if at == 0 or len(labels) - 1 - at >= step]
    return sorted({*inner, len(labels) - 1})


def _percent(share: float) -> str:
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]
