"""Timelines as a plot: a row for each timeline, with a bar for computing above a bar for transfers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdma.report.plots.drawing import Picture
from cdma.workload.timeline.schedule import Timeline

__all__ = ["gantt"]

_WIDTH, _LEFT, _RIGHT, _TOP, _BELOW = 1000, 110, 24, 66, 44
_ROW = 66
_BAR, _GAP = 0.34, 0.04  # of the height of a row
_COLOURS = {"forward": "#2f6db5", "backward": "#7a4fa3", "waits": "#f2d3d3", "offload": "#b36a10",
            "prefetch": "#2f7d45"}


def gantt(rows: Mapping[str, Timeline], title: str) -> str:
    """The SVG file of several timelines on one axis.

    Every bar has a title with its layer, times and bytes, which browsers show under the pointer. Where a layer and the
    transfers beside it begin together, a layer that ends first waits at its end; where transfers have a queue, a layer
    waits before it begins.

    Parameters
    ----------
    rows
        Timelines by label, from top to bottom.
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
    drawn = Picture(_WIDTH, _TOP + _ROW * len(rows) + _BELOW, title, _LEFT)
    axes = drawn.rows(_LEFT, _TOP, _WIDTH - _LEFT - _RIGHT, _ROW * len(rows),
                      [f"{label}\n{line.seconds * 1e3:,.1f} ms" for label, line in rows.items()])
    axes.set(xlim=(0, longest * 1e3), xlabel="ms")
    axes.grid(axis="x")
    for number, line in enumerate(rows.values()):
        axes.barh(number + 0.5, line.seconds * 1e3, 2 * _BAR + _GAP, color="none", edgecolor="#999999")
        for kind, start, seconds, tip, name in _pieces(line):
            y = number + 0.5 + (_GAP + _BAR) / 2 * (1 if kind in ("offload", "prefetch") else -1)
            bar = drawn.bar(axes, y, _BAR, start * 1e3, seconds * 1e3, tip, color=_COLOURS[kind], edgecolor="white",
                            linewidth=0.5)
            if name:
                text = axes.text((start + seconds / 2) * 1e3, y, name, size=10, color="white", ha="center",
                                 va="center")
                # A name that is wider than its bar is left out; the tip has it.
                if text.get_window_extent().width > bar.get_window_extent().width - 4:
                    text.remove()
    drawn.legend(_COLOURS, _LEFT - 4, 34)
    return drawn.svg()


def _pieces(line: Timeline) -> Iterator[tuple[str, float, float, str, str]]:
    """The bars of a timeline, without those that take no time: kind, start, seconds, tip, and a name to show inside."""
    for slot in line.slots:
        waits = slot.end - slot.start - slot.compute
        begin = slot.start if slot.wait is None else slot.start + slot.wait
        if slot.compute > 0:
            tip = f"{slot.step}, {slot.direction}: {slot.compute * 1e3:.3f} ms, stall {slot.stall * 1e3:.3f} ms"
            yield slot.direction, begin, slot.compute, tip, slot.step
        if waits > 1e-9 * slot.end:
            yield ("waits", slot.start if slot.wait else slot.start + slot.compute, waits,
                   f"{slot.step} waits {waits * 1e3:.3f} ms", "")
    for move in line.moves:
        if move.end > move.start:
            named, seconds = ", ".join(move.tensors), move.end - move.start
            tip = f"{move.direction} of {named}: {move.bytes / 1e6:,.1f} MB in {seconds * 1e3:.3f} ms"
            yield move.direction, move.start, seconds, tip, named
