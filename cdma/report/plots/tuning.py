"""Self-tuning as a picture: exposed time of every rule over the iterations, below what was done with each tensor."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from math import floor, log10

from cdma.report.plots.inline import COLOURS
from workload.plan.tuning_replay import Replay, Row

__all__ = ["picture"]

_WIDTH, _LEFT, _RIGHT, _TOP = 1000, 130, 190, 56
_PLOT, _BAR, _LINE = 240, 14, 22
_GREY = "#b8b8b8"
_STYLE = ("text{font:13px system-ui,sans-serif;fill:#222}.small{font-size:11px;fill:#555}"
          ".title{font-size:16px;font-weight:600}svg{max-width:100%;height:auto;background:#fff}")


def picture(done: Replay, title: str) -> str:
    """The SVG of a training run; self-contained.

    Parameters
    ----------
    done
        The run.
    title
        Heading.
    """
    treatments = list(dict.fromkeys(how.name for track in done.tracks for how in track.options))
    colour = {name: _GREY if name == "raw" else COLOURS[(number - 1) % len(COLOURS)]
              for number, name in enumerate(treatments)}
    strips = _TOP + _PLOT + 56
    height = strips + _LINE * len(done.tracks) + 34
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {_WIDTH} {height}">',
        f"<title>{escape(title)}</title>", f"<style>{_STYLE}</style>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text class="title" x="{_LEFT}" y="24">{escape(title)}</text>',
        *_lines(done), *_strips(done, colour, strips), "</svg>", ""])


def _lines(done: Replay) -> list[str]:
    """Microseconds that are exposed in each iteration; rows that are the same share a label."""
    rows: dict[tuple[float, ...], list[str]] = {}
    for row in done.rows:
        rows.setdefault(tuple((row.exposed * 1e6).tolist()), []).append(row.name)
    top = max((max(values) for values in rows), default=0.0) or 1.0
    power = 10.0 ** floor(log10(top))
    pace = next(step * power for step in (0.2, 0.5, 1, 2) if top / (step * power) <= 6)
    bottom, parts = _TOP + _PLOT, []
    for mark in range(int(top / pace) + 1):
        y = bottom - mark * pace / top * _PLOT
        parts.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#ddd"/><text class="small" '
                     f'x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{mark * pace:g} us</text>')
    last = done.tuned.exposed.size - 1
    for at, x in ((0, _LEFT), (last, _WIDTH - _RIGHT)):
        parts.append(f'<text class="small" x="{x}" y="{bottom + 18}" text-anchor="middle">iteration {at}</text>')
    ends = _apart([bottom - values[-1] / top * _PLOT for values, names in rows.items() for _ in names])
    labels = iter(ends)
    for number, (values, names) in enumerate(rows.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(f"{_across(at, last):.1f},{bottom - value / top * _PLOT:.1f}"
                          for at, value in enumerate(values))
        width = 2.5 if "tuned" in names else 1.5
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
        parts += [f'<text class="small" x="{_WIDTH - _RIGHT + 8}" y="{next(labels) + 4:.1f}" style="fill:{colour}">'
                  f'{escape(name)}</text>' for name in names]
    return parts


def _strips(done: Replay, colour: dict[str, str], top: int) -> list[str]:
    """A bar for each tensor, in the colours of its treatments."""
    tuned: Row = done.tuned
    last = tuned.exposed.size - 1
    used = dict.fromkeys(track.options[number].name for track in done.tracks
                         for number in tuned.chosen[track.name].tolist())
    parts, x = [], _LEFT
    for name in used:
        parts.append(f'<rect x="{x}" y="{top - 20}" width="12" height="12" fill="{colour[name]}"/>'
                     f'<text class="small" x="{x + 17}" y="{top - 10}">{escape(name)}</text>')
        x += 40 + 7 * len(name)
    for line, track in enumerate(done.tracks):
        y = top + line * _LINE
        parts.append(f'<text class="small" x="{_LEFT - 8}" y="{y + 11}" text-anchor="end">{escape(track.name)}</text>')
        chosen = tuned.chosen[track.name].tolist()
        edges = [0, *(at for at in range(1, len(chosen)) if chosen[at] != chosen[at - 1]), len(chosen)]
        for first, end in pairwise(edges):
            name = track.options[chosen[first]].name
            left, right = _across(first, last + 1), _across(end, last + 1)
            parts.append(f'<rect x="{left:.1f}" y="{y}" width="{max(right - left, 1):.1f}" height="{_BAR}" '
                         f'fill="{colour[name]}"><title>{escape(track.name)}: {escape(name)}, iterations {first} to '
                         f'{end - 1}</title></rect>')
        parts.append(f'<text class="small" x="{_WIDTH - _RIGHT + 8}" y="{y + 11}">density '
                     f'{track.density[0]:.2f} to {track.density[-1]:.2f}</text>')
    return parts


def _across(at: float, last: int) -> float:
    return _LEFT + at / max(1, last) * (_WIDTH - _LEFT - _RIGHT)


def _apart(places: Sequence[float]) -> list[float]:
    """Places of labels, moved up where they would lie on each other."""
    moved = list(places)
    highest = float("inf")
    for number in sorted(range(len(places)), key=lambda number: (-places[number], -number)):
        highest = moved[number] = min(places[number], highest - 13)
    return moved
