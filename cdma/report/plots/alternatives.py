"""Ways to fit the memory of a device as a plot: the time of a step and its memory, as bars in two panels that share
the names of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cdma.report.plots.drawing import COLOURS, GREY, figure, svg_file

__all__ = ["alternatives_plot"]

_WIDTH, _LEFT, _RIGHT, _TOP, _BELOW, _BETWEEN = 1000, 236, 40, 80, 46, 90
_ROW, _TALL = 27, 0.66  # height of a row, and share of it that the bar has
_VALUE = 0.14  # room for the figure behind the longest bar, in lengths of that bar


def alternatives_plot(rows: Sequence[Mapping[str, Any]], memory_gb: float, title: str) -> str:
    """The SVG file; rows have their ``name``, ``values`` for both panels, a ``group`` in the legend, a ``tip`` that a
    browser shows under the pointer, and whether they ``fit``, else they are drawn pale."""
    height = _TOP + _ROW * len(rows) + _BELOW
    drawn = figure(_WIDTH, height)
    drawn.text(16 / _WIDTH, 1 - 24 / height, title, size=15, weight="bold")
    colours = {group: COLOURS[number % len(COLOURS)]
               for number, group in enumerate(dict.fromkeys(row["group"] for row in rows))}
    tips: dict[str, str] = {}
    wide = (_WIDTH - _LEFT - _RIGHT - _BETWEEN) / 2
    for number, (axis, digits, limit) in enumerate((("step, times that with memory enough", 3, None),
                                                    ("memory on the device, GB", 1, memory_gb))):
        axes = drawn.add_axes(((_LEFT + number * (wide + _BETWEEN)) / _WIDTH, _BELOW / height, wide / _WIDTH,
                               _ROW * len(rows) / height))
        longest = max(*(row["values"][number] for row in rows), limit or 0.0) or 1.0
        axes.set(xlim=(0, longest * (1 + _VALUE)), ylim=(len(rows), 0), xlabel=axis)
        axes.set_yticks([line + 0.5 for line in range(len(rows))], [] if number else [row["name"] for row in rows])
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        for line, row in enumerate(rows):
            value = row["values"][number]
            (bar,) = axes.barh(line + 0.5, value, _TALL, color=colours[row["group"]],
                               alpha=1.0 if row["fits"] else 0.35)
            bar.set_gid(f"bar{len(tips)}")
            tips[f"bar{len(tips)}"] = row["tip"]
            # Opaque, so that a limit's line does not cross the figure.
            axes.annotate(f"{value:.{digits}f}", (value, line + 0.5), (4, 0), textcoords="offset points", va="center",
                          size=10, color=GREY, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
        if limit is not None:
            axes.axvline(limit, color=GREY, linestyle="--", linewidth=1)
            axes.annotate(f"{limit:g} GB", (limit, 0), (0, 3), textcoords="offset points", ha="center", va="bottom",
                          size=10, color=GREY)
    _legend(drawn, colours, height, all(row["fits"] for row in rows))
    return svg_file(drawn, title, tips)


def _legend(drawn: Any, colours: Mapping[str, str], height: float, all_fit: bool) -> None:
    from matplotlib.patches import Patch

    marks = [Patch(color=colour, label=group) for group, colour in colours.items()]
    if not all_fit:
        marks.append(Patch(color="#000000", alpha=0.25, label="does not fit"))
    drawn.legend(handles=marks, loc="upper left", bbox_to_anchor=(12 / _WIDTH, 1 - 32 / height), ncols=len(marks),
                 frameon=False, borderaxespad=0, labelcolor=GREY)
