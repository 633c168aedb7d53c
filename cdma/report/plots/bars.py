"""Rows with two figures each as a plot: horizontal bars in two panels that share the names of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cdma.report.plots.drawing import COLOURS, GREY, figure, svg_file

__all__ = ["Bar", "Panel", "bars"]

_WIDTH, _LEFT, _RIGHT, _TOP, _BELOW, _BETWEEN = 1000, 236, 40, 80, 46, 90
_ROW, _TALL = 27, 0.66  # height of a row, and share of it that the bar has
_VALUE = 0.14  # room for the figure behind the longest bar, in lengths of that bar


@dataclass(frozen=True)
class Bar:
    """A row: its name, a value for each panel, its group in the legend, what a browser shows under the pointer, and
    whether it is drawn pale."""

    name: str
    values: tuple[float, float]
    group: str
    tip: str
    pale: bool = False


@dataclass(frozen=True)
class Panel:
    """A panel: what its axis is, digits of its figures after the point, and a vertical line with a name."""

    axis: str
    digits: int
    limit: float | None = None
    limit_name: str = ""


def bars(rows: Sequence[Bar], panels: tuple[Panel, Panel], title: str, pale_means: str = "") -> str:
    """The SVG file of rows with two figures each.

    Parameters
    ----------
    rows
        From top to bottom, at least one.
    panels
        Left and right.
    title, pale_means
        Heading, and what a pale bar is.

    Raises
    ------
    ValueError
        If there are no rows.
    """
    if not rows:
        raise ValueError("there is nothing to draw: no rows")
    height = _TOP + _ROW * len(rows) + _BELOW
    drawn = figure(_WIDTH, height)
    drawn.text(16 / _WIDTH, 1 - 24 / height, title, size=15, weight="bold")
    groups = list(dict.fromkeys(row.group for row in rows))
    tips: dict[str, str] = {}
    wide = (_WIDTH - _LEFT - _RIGHT - _BETWEEN) / 2
    for number, panel in enumerate(panels):
        axes = drawn.add_axes(((_LEFT + number * (wide + _BETWEEN)) / _WIDTH, _BELOW / height, wide / _WIDTH,
                               _ROW * len(rows) / height))
        longest = max(*(row.values[number] for row in rows), panel.limit or 0.0) or 1.0
        axes.set(xlim=(0, longest * (1 + _VALUE)), ylim=(len(rows), 0), xlabel=panel.axis)
        axes.set_yticks([line + 0.5 for line in range(len(rows))], [row.name for row in rows] if not number else [])
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        for line, row in enumerate(rows):
            _bar(axes, line, row, number, panel, COLOURS[groups.index(row.group) % len(COLOURS)], tips)
        if panel.limit is not None:
            axes.axvline(panel.limit, color=GREY, linestyle="--", linewidth=1)
            axes.annotate(panel.limit_name, (panel.limit, 0), (0, 3), textcoords="offset points", ha="center",
                          va="bottom", size=10, color=GREY)
    _legend(drawn, groups, any(row.pale for row in rows) and pale_means, height)
    return svg_file(drawn, title, tips)


def _bar(axes: Any, line: int, row: Bar, number: int, panel: Panel, colour: str, tips: dict[str, str]) -> None:
    value = row.values[number]
    (bar,) = axes.barh(line + 0.5, value, _TALL, color=colour, alpha=0.35 if row.pale else 1.0)
    name = f"bar{len(tips)}"
    bar.set_gid(name)
    tips[name] = row.tip
    # Opaque, so that a limit's line does not cross the figure.
    axes.annotate(f"{value:.{panel.digits}f}", (value, line + 0.5), (4, 0), textcoords="offset points", va="center",
                  size=10, color=GREY, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})


def _legend(drawn: Any, groups: Sequence[str], pale: str | bool, height: float) -> None:
    from matplotlib.patches import Patch

    marks = [Patch(color=COLOURS[number % len(COLOURS)], label=group) for number, group in enumerate(groups)]
    if pale:
        marks.append(Patch(color="#000000", alpha=0.25, label=str(pale)))
    drawn.legend(handles=marks, loc="upper left", bbox_to_anchor=(12 / _WIDTH, 1 - 32 / height), ncols=len(marks),
                 frameon=False, borderaxespad=0, labelcolor=GREY)
