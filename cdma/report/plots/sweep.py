"""The plot of a sweep: for each design throughput over area, with the Pareto front as a dashed line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from cdma.report.plots.drawing import COLOURS, figure, place_labels, svg_file, ticks

__all__ = ["sweep_plot"]

_WIDTH, _HEIGHT, _BELOW, _ABOVE = 330, 330, 76, 30


def sweep_plot(points: Sequence[Mapping[str, Any]]) -> str:
    """The SVG file for the points of a sweep, as JSON has them.

    Raises
    ------
    ValueError
        If matplotlib is not installed.
    """
    designs = list(dict.fromkeys(point["design"] for point in points))
    pipelines = list(dict.fromkeys(point["pipeline"] for point in points))
    colours: dict[str, str] = dict(zip(pipelines, COLOURS, strict=False))
    width = _WIDTH * len(designs)
    drawn = figure(width, _HEIGHT)
    for number, design in enumerate(designs):
        axes = drawn.add_axes(((number * _WIDTH + 50) / width, _BELOW / _HEIGHT, (_WIDTH - 70) / width,
                               (_HEIGHT - _BELOW - _ABOVE) / _HEIGHT))
        _panel(axes, design, [point for point in points if point["design"] == design], colours)
    _legend(drawn, colours)
    return svg_file(drawn, f"Area and throughput of {', '.join(designs)}")


def _panel(axes: Any, design: str, points: Sequence[Mapping[str, Any]], colours: dict[str, str]) -> None:
    across, up = ticks(max(point["kge"] for point in points)), ticks(max(point["gb_per_s"] for point in points))
    axes.set_title(design, loc="left", size=13, weight="bold")
    axes.set(xlim=(0, across[-1]), ylim=(0, up[-1]), xticks=across, yticks=up, xlabel="area, kGE",
             ylabel="GB/s of raw data")
    axes.grid(axis="y")
    front = sorted((point["kge"], point["gb_per_s"]) for point in points if point["front"])
    # Up to the next point of the front, no design of more area has more throughput: the front is a step.
    axes.step(*zip(*front, strict=True), where="post", color="#222222", linewidth=1.2, linestyle="--")
    for point in points:
        colour = colours[point["pipeline"]]
        axes.plot([point["kge"]], [point["gb_per_s"]], marker="o", markersize=9, color=colour, linestyle="",
                  markerfacecolor=colour if point["front"] else "white", markeredgewidth=2, clip_on=False, zorder=3)
    corners = [corner for (area, rate), (more, higher) in pairwise(front)
               for corner in ((area, rate), (more, rate), (more, higher))]
    place_labels(axes, [(point["kge"], point["gb_per_s"]) for point in points],
                 [_name(design, point) for point in points], corners)


def _name(design: str, point: Mapping[str, Any]) -> str:
    if point["lanes"] > 1:
        return f"{point['lanes']} lanes"
    return "1 lane" if design == "engine" else f"{point['beat_bytes']} B"


def _legend(drawn: Any, colours: dict[str, str]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], marker="o", markersize=9, linestyle="", color=colour, label=f"pipeline {pipeline}")
               for pipeline, colour in colours.items()]
    handles.append(Line2D([], [], color="#222222", linewidth=1.2, linestyle="--", label="Pareto front"))
    handles.append(Line2D([], [], marker="o", markersize=9, linestyle="", color="#222222", markerfacecolor="white",
                          markeredgewidth=2, label="not on the front"))
    drawn.legend(handles=handles, loc="lower left", ncols=2 if drawn.get_size_inches()[0] < 6 else 4, frameon=False)
