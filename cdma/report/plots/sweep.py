"""The plot of a sweep: for each design throughput over area, with the Pareto front as a dashed line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cdma.report.plots.drawing import COLOURS, EXTRA, Picture, ticks
from cdma.workload.extra import package

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
    drawn = Picture(_WIDTH * len(designs), _HEIGHT, f"Area and throughput of {', '.join(designs)}")
    for number, design in enumerate(designs):
        _panel(drawn.axes(number * _WIDTH + 50, _ABOVE, _WIDTH - 70, _HEIGHT - _BELOW - _ABOVE), design,
               [point for point in points if point["design"] == design], colours)
    line = package("matplotlib.lines", EXTRA).Line2D
    drawn.legend({f"pipeline {pipeline}": colour for pipeline, colour in colours.items()}, 8, _HEIGHT - 22,
                 line([], [], color="#222222", linewidth=1.2, linestyle="--", label="Pareto front"),
                 line([], [], marker="o", markersize=9, linestyle="", color="#222222", markerfacecolor="white",
                      markeredgewidth=2, label="not on the front"))
    return drawn.svg()


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
        # Nothing is to the left of the front and above it; what is not on it lies on the other side.
        side, across, up = (-1, "right", "bottom") if point["front"] else (1, "left", "top")
        axes.annotate(_name(design, point), (point["kge"], point["gb_per_s"]), (7 * side, -2 * side), size=11,
                      textcoords="offset points", ha=across, va=up)


def _name(design: str, point: Mapping[str, Any]) -> str:
    if point["lanes"] > 1:
        return f"{point['lanes']} lanes"
    return "1 lane" if design == "engine" else f"{point['beat_bytes']} B"
