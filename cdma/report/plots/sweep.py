"""The plot of a sweep as an SVG file: a panel for each design, area across, throughput up, the Pareto front a line."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import floor, log10
from typing import Any

from cdma.report.plots.inline import COLOURS

__all__ = ["sweep_plot", "ticks"]

_WIDTH, _HEIGHT = 330, 300
_LEFT, _RIGHT, _ABOVE, _BELOW = 46, 20, 34, 44
_LEGEND = 26


def ticks(top: float, about: int = 5) -> list[float]:
    """About so many round values, from 0 to the first that is ``top`` or more."""
    rough = top / about
    power = 10.0 ** floor(log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    values = [0.0]
    while values[-1] < top:
        values.append(round(values[-1] + step, 9))
    return values


def sweep_plot(points: Sequence[dict[str, Any]]) -> str:
    """The plot for points as ``cdma timing --sweep --json`` has them."""
    designs = list(dict.fromkeys(point["design"] for point in points))
    pipelines = list(dict.fromkeys(point["pipeline"] for point in points))
    colours: dict[str, str] = dict(zip(pipelines, COLOURS, strict=False))
    width, height = _WIDTH * len(designs), _HEIGHT + _LEGEND
    panels = "".join(
        f'<g transform="translate({number * _WIDTH} 0)">'
        f"{_panel(design, [point for point in points if point['design'] == design], colours)}</g>"
        for number, design in enumerate(designs))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-label="Area and throughput of {escape(", ".join(designs))}" '
            f'font-family="sans-serif" font-size="11" fill="#222">'
            f'<rect width="{width}" height="{height}" fill="#fff"/>{panels}{_legend(colours)}</svg>\n')


def _legend(colours: dict[str, str]) -> str:
    out, x, y = [], _LEFT, _HEIGHT + 12
    for pipeline, colour in colours.items():
        out.append(f'<circle cx="{x}" cy="{y - 4}" r="4.5" fill="{colour}"/>'
                   f'<text x="{x + 9}" y="{y}">pipeline {escape(pipeline)}</text>')
        x += 110
    out.append(f'<path d="M{x - 6} {y - 4}h24" stroke="#222" stroke-width="1.2" stroke-dasharray="4 3"/>'
               f'<text x="{x + 24}" y="{y}">Pareto front; hollow: beaten by another</text>')
    return "".join(out)


def _panel(design: str, points: Sequence[dict[str, Any]], colours: dict[str, str]) -> str:
    across, up = ticks(max(point["kge"] for point in points)), ticks(max(point["gb_per_s"] for point in points))
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BELOW

    def place(point: dict[str, Any]) -> tuple[float, float]:
        return (_LEFT + point["kge"] / across[-1] * (right - _LEFT),
                bottom - point["gb_per_s"] / up[-1] * (bottom - _ABOVE))

    out = [f'<text x="{_LEFT}" y="16" font-size="13" font-weight="bold">{escape(design)}</text>',
           f'<text x="{_LEFT}" y="{_ABOVE - 6}" fill="#555">GB/s of raw data</text>',
           f'<text x="{right}" y="{_HEIGHT - 12}" text-anchor="end" fill="#555">area, kGE</text>']
    for value in up:
        y = bottom - value / up[-1] * (bottom - _ABOVE)
        out.append(f'<path d="M{_LEFT} {y:.1f}H{right}" stroke="#ddd"/>'
                   f'<text x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{value:g}</text>')
    for value in across:
        x = _LEFT + value / across[-1] * (right - _LEFT)
        out.append(f'<path d="M{x:.1f} {bottom}v4" stroke="#888"/>'
                   f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle" fill="#555">{value:g}</text>')
    front = sorted(place(point) for point in points if point["front"])
    # Between two of the front's points nothing is better than the smaller one.
    steps = "".join(f"H{x:.1f}V{y:.1f}" for x, y in front[1:])
    out.append(f'<path d="M{front[0][0]:.1f} {front[0][1]:.1f}{steps}" fill="none" stroke="#222" stroke-width="1.2" '
               f'stroke-dasharray="4 3"/>')
    for point in points:
        x, y = place(point)
        colour = colours[point["pipeline"]]
        name = f"{point['lanes']} lanes" if point["lanes"] > 1 else (
            "1 lane" if design == "engine" else f"{point['beat_bytes']} B")
        beside = (x - 7, y - 6, "end") if point["pipeline"] == "fast" else (x + 7, y + 13, "start")
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour if point["front"] else "#fff"}" '
                   f'stroke="{colour}" stroke-width="2"/>'
                   f'<text x="{beside[0]:.1f}" y="{beside[1]:.1f}" text-anchor="{beside[2]}">{escape(name)}</text>')
    return "".join(out)
