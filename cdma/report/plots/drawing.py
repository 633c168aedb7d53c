"""Shared by all plots: figures in pixels, colours, and SVG that is the same in every run."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from math import floor, log10
from typing import TYPE_CHECKING, Any

from cdma.workload.extra import package

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "EXTRA", "GREY", "apart", "figure", "place_labels", "require_extra", "svg_file", "ticks"]

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


def figure(width: float, height: float) -> Figure:
    """An empty figure whose points are pixels of the page.

    Raises
    ------
    ValueError
        If matplotlib is not installed.
    """
    # Loaded when a plot is drawn: matplotlib takes longer to start than most commands to run.
    matplotlib = package("matplotlib", EXTRA)
    made = package("matplotlib.figure", EXTRA)
    matplotlib.rcParams.update(_STYLE)
    return made.Figure(figsize=(width / 72, height / 72), dpi=72)


def svg_file(drawn: Figure, title: str, tips: Mapping[str, str] | None = None) -> str:
    """A figure as an SVG file.

    Parameters
    ----------
    drawn
        The figure.
    title
        Description of the plot for screen readers.
    tips
        Text that a browser shows when the pointer is over an artist, by the group identifier of the artist.
    """
    out = _svg(drawn, title, tips or {})
    return out[out.index("<svg"):]


def _svg(drawn: Figure, title: str, tips: Mapping[str, str]) -> str:
    matplotlib = package("matplotlib", EXTRA)
    out = io.StringIO()
    # The salt is the title: identifiers of several plots on a page must differ, and be the same in every run.
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": title}):
        drawn.savefig(out, format="svg", metadata=_NO_METADATA)
    text = out.getvalue()
    for name, tip in tips.items():
        text = text.replace(f'<g id="{name}">', f"<g><title>{escape(tip)}</title>")
    # Every figure numbers its groups from 1, so that identifiers would repeat on a page; nothing refers to them.
    text = re.sub(r'(<g) id="[^"]*"', r"\1", text)
    width, height = (f"{size * 72:g}" for size in drawn.get_size_inches())
    return re.sub(r'<svg [^>]*version="1.1">', f'<svg xmlns="http://www.w3.org/2000/svg" '
                  f'xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 {width} {height}" width="{width}" '
                  f'height="{height}" role="img" aria-label="{escape(title, quote=True)}">', text, count=1)


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


def place_labels(axes: Axes, points: Sequence[tuple[float, float]], names: Sequence[str],
                 corners: Sequence[tuple[float, float]] = ()) -> list[Any]:
    """Write a name beside each point, inside the axes and without covering points, other names, or a line.

    The line goes from corner to corner, upright or level. Each name gets the nearest place around its point that is
    free; the nearest place if none is.
    """
    renderer = package("matplotlib.backends.backend_agg", EXTRA).FigureCanvasAgg(axes.figure).get_renderer()
    box_of = package("matplotlib.transforms", EXTRA).Bbox.from_bounds
    at = [tuple(axes.transData.transform(point)) for point in points]
    taken = [box_of(x - 6, y - 6, 12, 12) for x, y in at]
    bends = [tuple(axes.transData.transform(corner)) for corner in corners]
    taken += [box_of(min(x, u) - 2, min(y, v) - 2, abs(x - u) + 4, abs(y - v) + 4)
              for (x, y), (u, v) in pairwise(bends)]
    room = axes.get_window_extent(renderer)
    texts = []
    for (x, y), name in zip(at, names, strict=True):
        text = axes.text(0, 0, name, transform=None, clip_on=False)
        size = text.get_window_extent(renderer)
        places = [(x + across * (7 + size.width / 2 + far) - size.width / 2, y + up * (7 + size.height / 2 + far)
                   - size.height / 2) for far in (0, 8, 16, 24)
                  for across, up in ((1, -1), (-1, 1), (1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))]
        left, low = next((place for place in places if _free(box_of(*place, size.width, size.height), taken, room)),
                         places[0])
        text.set_position((left, low))
        text.set_verticalalignment("bottom")
        taken.append(box_of(left, low, size.width, size.height))
        texts.append(text)
    return texts


def _free(box: Any, taken: Sequence[Any], room: Any) -> bool:
    inside = room.x0 <= box.x0 and box.x1 <= room.x1 + 12 and room.y0 <= box.y0 and box.y1 <= room.y1 + 12
    return inside and not any(box.overlaps(other) for other in taken)
