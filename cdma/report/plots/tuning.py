"""Self-tuning as a plot: the exposed time of each rule over the iterations, and the treatment of each tensor below."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from cdma.report.plots.drawing import COLOURS, GREY, Picture, apart
from cdma.workload.plan.tuning_replay import Replay

__all__ = ["picture"]

_WIDTH, _LEFT, _RIGHT, _TOP = 1000, 130, 190, 44
_PLOT, _BETWEEN, _LINE, _BELOW = 240, 84, 22, 40
_RAW = "#b8b8b8"


def picture(done: Replay, title: str) -> str:
    """The SVG file of a training run.

    Parameters
    ----------
    done
        The run.
    title
        Heading.

    Raises
    ------
    ValueError
        If matplotlib is not installed.
    """
    strips = _LINE * len(done.tracks)
    drawn = Picture(_WIDTH, _TOP + _PLOT + _BETWEEN + strips + _BELOW, title, _LEFT)
    wide, top = _WIDTH - _LEFT - _RIGHT, _TOP + _PLOT + _BETWEEN
    _lines(drawn.axes(_LEFT, _TOP, wide, _PLOT), done)
    drawn.legend(_strips(drawn, drawn.rows(_LEFT, top, wide, strips, [track.name for track in done.tracks]), done),
                 _LEFT, top - 22)
    return drawn.svg()


def _lines(axes: Any, done: Replay) -> None:
    """Exposed microseconds of each iteration; rules with the same values share a line."""
    rows: dict[tuple[float, ...], list[str]] = {}
    for row in done.rows:
        rows.setdefault(tuple((row.exposed * 1e6).tolist()), []).append(row.name)
    last = done.tuned.exposed.size - 1
    top = max((max(values) for values in rows), default=0.0) or 1.0
    axes.set(xlim=(0, last), ylim=(0, top * 1.03), xlabel="iteration", ylabel="exposed, us")
    axes.grid(axis="y")
    for number, (values, names) in enumerate(rows.items()):
        axes.plot(values, color=COLOURS[number % len(COLOURS)], linewidth=2.5 if "tuned" in names else 1.5,
                  clip_on=False)
    ends = apart([values[-1] / (top * 1.03) * _PLOT for values, names in rows.items() for _ in names], 13)
    labels = [(name, COLOURS[number % len(COLOURS)]) for number, names in enumerate(rows.values()) for name in names]
    for (name, colour), end in zip(labels, ends, strict=True):
        axes.annotate(name, (1, end / _PLOT), (8, 0), xycoords="axes fraction", textcoords="offset points",
                      va="center", size=10, color=colour)


def _strips(drawn: Picture, axes: Any, done: Replay) -> dict[str, str]:
    """A bar for each tensor, in the colours of its treatments; those that were used."""
    treatments = list(dict.fromkeys(how.name for track in done.tracks for how in track.options))
    colours = {name: _RAW if name == "raw" else COLOURS[(number - 1) % len(COLOURS)]
               for number, name in enumerate(treatments)}
    tuned, used = done.tuned, {}
    axes.set(xlim=(0, tuned.exposed.size), xlabel="iteration")
    axes.spines["left"].set_visible(False)
    for line, track in enumerate(done.tracks):
        chosen = tuned.chosen[track.name].tolist()
        edges = [0, *(at for at in range(1, len(chosen)) if chosen[at] != chosen[at - 1]), len(chosen)]
        for first, end in pairwise(edges):
            name = track.options[chosen[first]].name
            drawn.bar(axes, line + 0.5, 0.66, first, end - first,
                      f"{track.name}: {name}, iterations {first} to {end - 1}", color=colours[name])
            used[name] = colours[name]
        axes.annotate(f"density {track.density[0]:.2f} to {track.density[-1]:.2f}", (1, line + 0.5), (8, 0),
                      xycoords=("axes fraction", "data"), textcoords="offset points", va="center", size=10, color=GREY)
    return used
