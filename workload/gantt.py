"""A timeline as a picture: one self-contained SVG with two bars a row, computing above transfers."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from math import floor, log10

from workload.timeline import Slot, Timeline

__all__ = ["gantt"]

_WIDTH, _LEFT, _RIGHT, _TOP = 1000, 96, 24, 78
_BAR, _GAP, _ROW = 22, 3, 66
_COLOURS = {"forward": "#2f6db5", "backward": "#7a4fa3", "offload": "#e08a1e", "prefetch": "#3f9b57"}
_WORDS = {"forward": "forward", "backward": "backward", "offload": "offload", "prefetch": "prefetch",
          "stall": "stall"}
_STYLE = ("text{font:13px system-ui,sans-serif;fill:#222}.small{font-size:11px;fill:#555}.title{font-size:16px;"
          "font-weight:600}rect{shape-rendering:crispEdges}svg{max-width:100%;height:auto;background:#fff}"
          ".row{fill:none;stroke:#999}")


def gantt(rows: Mapping[str, Timeline], title: str) -> str:
    """The SVG of several timelines on one axis.

    Every bar has the layer, its times and its bytes as a title that browsers show. Computing is drawn from the begin of
    a slot and transfers as well; what is left white is the stall.

    Parameters
    ----------
    rows
        Timelines by label, drawn from top to bottom.
    title
        Heading.

    Raises
    ------
    ValueError
        If there are no rows or none takes any time.
    """
    longest = max((line.seconds for line in rows.values()), default=0.0)
    if longest <= 0:
        raise ValueError("there is nothing to draw: no timeline takes any time")
    scale = (_WIDTH - _LEFT - _RIGHT) / longest
    height = _TOP + _ROW * len(rows) + 34
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {_WIDTH} {height}">',
             f"<title>{escape(title)}</title>",
             f"<style>{_STYLE}</style>", f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
             f'<text class="title" x="{_LEFT}" y="24">{escape(title)}</text>', *_legend()]
    parts += _axis(longest, scale, height)
    for number, (label, line) in enumerate(rows.items()):
        parts += _row(label, line, _TOP + _ROW * number, scale)
    return "\n".join([*parts, "</svg>", ""])


def _legend() -> list[str]:
    parts, x = [], _LEFT
    for word in _WORDS:
        colour, edge = _COLOURS.get(word, "#fff"), "#999" if word == "stall" else "none"
        parts.append(f'<rect x="{x}" y="38" width="14" height="14" fill="{colour}" stroke="{edge}"/>'
                     f'<text class="small" x="{x + 19}" y="49">{_WORDS[word]}</text>')
        x += 100
    return parts


def _axis(longest: float, scale: float, height: int) -> list[str]:
    """Marks at round milliseconds, 4 to 10 of them."""
    total = longest * 1e3
    power = 10.0 ** floor(log10(total))
    pace = next(step * power for step in (0.1, 0.2, 0.5, 1) if total / (step * power) <= 10)
    parts = []
    for mark in range(int(total / pace) + 1):
        x = _LEFT + mark * pace / 1e3 * scale
        parts.append(f'<path d="M{x:.1f} {_TOP - 6}V{height - 26}" stroke="#ddd"/><text class="small" x="{x:.1f}" '
                     f'y="{height - 10}" text-anchor="middle">{mark * pace:g} ms</text>')
    return parts


def _row(label: str, line: Timeline, top: int, scale: float) -> list[str]:
    end = f'x="{_LEFT - 10}" text-anchor="end"'
    parts = [f'<g><text {end} y="{top + 16}">{escape(label)}</text>',
             f'<text class="small" {end} y="{top + 36}">{line.seconds * 1e3:,.1f} ms</text>',
             f'<rect x="{_LEFT}" y="{top}" width="{line.seconds * scale:.2f}" height="{2 * _BAR + _GAP}" class="row"/>']
    for slot in line.slots:
        parts += _slot(slot, top, scale)
    return [*parts, "</g>"]


def _slot(slot: Slot, top: int, scale: float) -> list[str]:
    way = "offload" if slot.direction == "forward" else "prefetch"
    bars = [(slot.compute, top, _COLOURS[slot.direction],
             f"{slot.step}, {slot.direction}: {slot.compute * 1e3:.3f} ms, stall {slot.stall * 1e3:.3f} ms"),
            (slot.transfer, top + _BAR + _GAP, _COLOURS[way],
             f"{way} of {', '.join(slot.tensors)}: {slot.moved / 1e6:,.1f} MB in {slot.transfer * 1e3:.3f} ms")]
    return [f'<rect x="{_LEFT + slot.start * scale:.2f}" y="{y}" width="{seconds * scale:.2f}" height="{_BAR}" '
            f'fill="{colour}" stroke="#fff" stroke-width="0.4"><title>{escape(text)}</title></rect>'
            for seconds, y, colour, text in bars if seconds > 0]
