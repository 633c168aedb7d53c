"""Shared by all plots: pictures in pixels with bars and tips, colours, ticks, and labels that keep apart."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from html import escape
from math import floor, log10
from typing import TYPE_CHECKING, Any

from cdma.workload.extra import package

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLOURS", "EXTRA", "GREY", "Picture", "apart", "require_extra", "ticks"]

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Colours of series in order, which the colour-blind can tell apart (Okabe and Ito)."""

GREY = "#555555"
"""The colour of values and of the labels of axes."""

EXTRA = "report"
"""The extra of this project that installs what draws plots and fills templates."""

_STYLE = {"svg.fonttype": "none", "text.parse_math": False, "font.size": 11, "font.family": "sans-serif",
          "font.sans-serif": ["DejaVu Sans"], "axes.edgecolor": "#888888", "axes.linewidth": 0.8,
          "grid.color": "#dddddd", "xtick.color": GREY, "ytick.color": GREY, "xtick.labelsize": 10,
          "ytick.labelsize": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True}
_NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))


def require_extra() -> None:
    """Check that plots can be drawn and pages filled, before the work whose result they show.

    Raises
    ------
    ValueError
        If matplotlib or Jinja2 is not installed.
    """
    for name in ("matplotlib", "jinja2"):
        package(name, EXTRA)


class Picture:
    """An SVG file that is drawn in pixels, from the upper left corner on.

    Parameters
    ----------
    width, height
        Of the picture.
    title
        Heading, at the place ``left``; where there is none, only screen readers get the title.
    left
        Pixels to the left of the heading.

    Raises
    ------
    ValueError
        If matplotlib is not installed.
    """

    def __init__(self, width: float, height: float, title: str, left: float | None = None) -> None:
        # Loaded when a plot is drawn: matplotlib takes longer to start than most commands to run.
        package("matplotlib", EXTRA).rcParams.update(_STYLE)
        self._width, self._height, self._title = width, height, title
        self._drawn = package("matplotlib.figure", EXTRA).Figure(figsize=(width / 72, height / 72), dpi=72)
        self._tips: list[str] = []
        if left is not None:
            self._drawn.text(left / width, 1 - 24 / height, title, size=15, weight="bold")

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Axes at a place."""
        return self._drawn.add_axes((left / self._width, 1 - (top + height) / self._height, width / self._width,
                                     height / self._height))

    def rows(self, left: float, top: float, width: float, height: float, names: Sequence[str]) -> Axes:
        """Axes with a row for each name, from top to bottom: row ``n`` has its middle at ``n + 0.5``."""
        axes = self.axes(left, top, width, height)
        axes.set_ylim(len(names), 0)
        axes.set_yticks([line + 0.5 for line in range(len(names))], names)
        axes.tick_params(axis="y", length=0)
        return axes

    def bar(self, axes: Axes, row: float, height: float, left: float, width: float, tip: str, **how: Any) -> Any:
        """A bar from left to right, with a text that a browser shows when the pointer is over it."""
        (bar,) = axes.barh(row, width, height, left=left, **how)
        bar.set_gid(f"bar{len(self._tips)}")
        self._tips.append(tip)
        return bar

    def legend(self, colours: Mapping[str, str], left: float, top: float, *more: Any) -> None:
        """What colours mean, in a row; ``more`` are other artists with labels."""
        patch = package("matplotlib.patches", EXTRA).Patch
        marks = [*(patch(color=colour, label=name) for name, colour in colours.items()), *more]
        self._drawn.legend(handles=marks, loc="upper left", ncols=len(marks), frameon=False, borderaxespad=0,
                           bbox_to_anchor=(left / self._width, 1 - top / self._height), labelcolor=GREY)

    def svg(self) -> str:
        """The file, the same in every run."""
        out = io.StringIO()
        # The salt is the title: identifiers of several plots on a page must differ, and be the same in every run.
        with package("matplotlib", EXTRA).rc_context({**_STYLE, "svg.hashsalt": self._title}):
            self._drawn.savefig(out, format="svg", metadata=_NO_METADATA)
        text = out.getvalue()
        for number, tip in enumerate(self._tips):
            text = text.replace(f'<g id="bar{number}">', f"<g><title>{escape(tip)}</title>")
        # Every figure numbers its groups from 1, so that identifiers would repeat on a page; nothing refers to them.
        text = re.sub(r'(<g) id="[^"]*"', r"\1", text[text.index("<svg"):])
        return re.sub(r'<svg [^>]*version="1.1">', f'<svg xmlns="http://www.w3.org/2000/svg" '
                      f'xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 {self._width:g} {self._height:g}" '
                      f'width="{self._width:g}" height="{self._height:g}" role="img" '
                      f'aria-label="{escape(self._title, quote=True)}">', text, count=1)


def ticks(top: float, about: int = 5) -> list[float]:
    """About ``about`` round values, from 0 to the first that is ``top`` or more."""
    rough = top / about
    power = 10.0 ** floor(log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    values = [0.0]
    while values[-1] < top:
        values.append(round(values[-1] + step, 9))
    return values


def apart(places: Sequence[float], height: float) -> list[float]:
    """Places of labels of a height, moved apart where they would overlap, as little as possible."""
    order = sorted(range(len(places)), key=lambda number: (places[number], number))
    runs: list[tuple[float, list[int]]] = []  # the lowest place of labels that touch, and which these are
    for number in order:
        own, low = [number], places[number]
        while runs and runs[-1][0] + height * len(runs[-1][1]) > low:
            own = runs.pop()[1] + own
            middle = sum(places[each] for each in own) / len(own)
            low = middle - height * (len(own) - 1) / 2
        runs.append((low, own))
    return [place for _, place in sorted((number, low + height * at) for low, own in runs
                                         for at, number in enumerate(own))]
