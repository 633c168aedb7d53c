"""A timeline as a picture: one self-contained SVG with two bars a row, computing above transfers."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from math import floor, log10

from workload.timeline.schedule import Slot, Timeline

__all__ = ["gantt"]

_WIDTH, _LEFT, _RIGHT, _TOP = 1000, 96, 24, 78
_BAR, _GAP, _ROW = 22, 3, 66
_COLOURS = {"forward": "#2f6db5", "backward": "#7a4fa3", "waits": "#f2d3d3", "offload": "#e08a1e",
            "prefetch": "#3f9b57"}
_LETTER = 6.5  # pixels of a letter, about: layers are named where there is room
_STYLE = ("text{font:13px system-ui,sans-serif;fill:#222}.small{font-size:11px;fill:#555}.title{font-size:16px;"
          "font-weight:600}rect{shape-rendering:crispEdges}"
          "svg{max-width:100%;height:auto;background:#fff}"
          ".row{fill:none;stroke:#999}"
          ".name{font-size:11px;fill:#fff;text-anchor:middle;pointer-events:none}")


def gantt(rows: Mapping[str, Timeline], title: str) -> str:
    """The SVG of several timelines on one axis.

    Every bar has the layer, its times and its bytes as a title that browsers show. Computing and transfers are drawn
    from the begin of a slot; where computing ends first, it waits until the slot's end.

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
    for word, colour in _COLOURS.items():
        parts.append(f'<rect x="{x}" y="38" width="14" height="14" fill="{colour}"/>'
                     f'<text class="small" x="{x + 19}" y="49">{word}</text>')
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
    below, wait = top + _BAR + _GAP, slot.end - slot.start - slot.compute
    parts = _bar(slot.start, slot.compute, top, scale, _COLOURS[slot.direction],
                 f"{slot.step}, {slot.direction}: {slot.compute * 1e3:.3f} ms, stall {slot.stall * 1e3:.3f} ms",
                 slot.step)
    if wait > 1e-9 * slot.end:
        parts += _bar(slot.start + slot.compute, wait, top, scale, _COLOURS["waits"],
                      f"{slot.step} waits {wait * 1e3:.3f} ms")
    named = ", ".join(slot.tensors)
    return parts + _bar(slot.start, slot.transfer, below, scale, _COLOURS[way],
                        f"{way} of {named}: {slot.moved / 1e6:,.1f} MB in {slot.transfer * 1e3:.3f} ms", named)


def _bar(start: float, seconds: float, y: int, scale: float, colour: str, about: str, label: str = "") -> list[str]:
    """A bar with its title, and a label where it has room."""
    if seconds <= 0:
        return []
    x, width = _LEFT + start * scale, seconds * scale
    edge = ' stroke="#fff" stroke-width="1"' if width > 3 else ""
    bar = (f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{_BAR}" fill="{colour}"{edge}>'
           f"<title>{escape(about)}</title></rect>")
    if not label or len(label) * _LETTER > width:
        return [bar]
    return [bar, f'<text class="name" x="{x + width / 2:.2f}" y="{y + _BAR - 7}">{escape(label)}</text>']
