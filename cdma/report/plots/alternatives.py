"""Ways to fit the memory of a device as a plot: the time of a step and its memory, as bars in two panels that share
the names of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cdma.report.plots.drawing import COLOURS, GREY, Picture

__all__ = ["alternatives_plot"]

_WIDTH, _LEFT, _RIGHT, _TOP, _BELOW, _BETWEEN = 1000, 236, 40, 80, 46, 90
_ROW, _TALL = 27, 0.66  # height of a row, and share of it that the bar has
_VALUE = 0.14  # room for the figure behind the longest bar, in lengths of that bar


def alternatives_plot(rows: Sequence[Mapping[str, Any]], memory_gb: float, title: str) -> str:
    """The SVG file; rows have their ``name``, ``values`` for both panels, a ``group`` in the legend, a ``tip`` that a
    browser shows under the pointer, and whether they ``fit``, else they are drawn pale."""
    drawn = Picture(_WIDTH, _TOP + _ROW * len(rows) + _BELOW, title, 16)
    groups = list(dict.fromkeys(row["group"] for row in rows))
    colours: dict[str, str] = dict(zip(groups, COLOURS, strict=False))
    wide = (_WIDTH - _LEFT - _RIGHT - _BETWEEN) / 2
    for number, (axis, digits, limit) in enumerate((("step, times that with memory enough", 3, None),
                                                    ("memory on the device, GB", 1, memory_gb))):
        axes = drawn.rows(_LEFT + number * (wide + _BETWEEN), _TOP, wide, _ROW * len(rows),
                          ["" if number else row["name"] for row in rows])
        longest = max(*(row["values"][number] for row in rows), limit or 0.0) or 1.0
        axes.set(xlim=(0, longest * (1 + _VALUE)), xlabel=axis)
        axes.grid(axis="x")
        for line, row in enumerate(rows):
            value = row["values"][number]
            drawn.bar(axes, line + 0.5, _TALL, 0, value, row["tip"], color=colours[row["group"]],
                      alpha=1.0 if row["fits"] else 0.35)
            # Opaque, so that a limit's line does not cross the figure.
            axes.annotate(f"{value:.{digits}f}", (value, line + 0.5), (4, 0), textcoords="offset points", va="center",
                          size=10, color=GREY, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
        if limit is not None:
            axes.axvline(limit, color=GREY, linestyle="--", linewidth=1)
            axes.annotate(f"{limit:g} GB", (limit, 0), (0, 3), textcoords="offset points", ha="center", va="bottom",
                          size=10, color=GREY)
    # What does not fit is pale.
    drawn.legend(colours if all(row["fits"] for row in rows) else {**colours, "does not fit": "#bfbfbf"}, 12, 32)
    return drawn.svg()
