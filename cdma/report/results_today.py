"""The part of the page of results that is about networks, GPUs and frameworks of today."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cdma.console.output import fixed
from cdma.report import results_words as words
from cdma.report.parts import Bars, Part, Table, prose
from cdma.workload.timeline.swapping import copies

if TYPE_CHECKING:
    from cdma.workload.results.records import Results, TodayRow

__all__ = ["today", "today_summary"]

_RECOMPUTED = 4 / 3
"""Step time with all activations computed again: forward twice, and backward, which takes two of it."""
_SCHEDULES = {"layer": "sync", "queue": "async"}


def today(figures: Results) -> Iterator[Part]:
    """Text, a plot and a table."""
    yield from prose(words.TODAY, shards=figures.today[0].shards)
    yield Bars("Gain over plain offload in per cent, exponents", list(_SCHEDULES.values()), {
        f"{row.network}, {row.gpu}": [max(row.gain[name]["exponents"], 0.0) for name in _SCHEDULES]
        for row in figures.today}, digits=0)
    yield Table(["network", "batch", "GPU", "GB/s", "GB, not swapped", "GB swapped", "ratio, zvc", "ratio, exponents",
                 *(f"{name}, {row}" for name in _SCHEDULES.values() for row in ("vdnn", "exponents")),
                 *(f"gain, {name}" for name in _SCHEDULES.values())],
                [_row(row) for row in figures.today], left=(0, 2))
    relu = next(row.relu_density for row in figures.today if row.relu_density is not None)
    yield from prose(words.TODAY_BELOW, density=relu, copies=copies(figures.today[0].dtype))
    yield from prose(words.OFFLOADS)
    yield Table(["budget, GiB", "blocks behind", "GB offloaded", "memory saved, published", "memory saved, here",
                 "loss, published", "loss, here", "loss, half the link's rate", "loss, exponents"],
                [[str(row.published.budget_gib), str(row.published.blocks), fixed(row.moved_gb, 1),
                  f"{row.published.saved} %", f"{row.saved:.1f} %", f"below {row.published.loss:g} %",
                  *(f"{loss:.1f} %" for loss in (row.loss["vdnn"], row.half_link, row.loss["exponents"]))]
                 for row in figures.offloads])
    yield from prose(words.OFFLOADS_BELOW, **{
        f"{name}{row.published.budget_gib}": value for row in figures.offloads
        for name, value in (("here", row.loss["vdnn"]), ("half", row.half_link), ("saved", row.saved),
                            ("published", row.published.saved))})


def _row(row: TodayRow) -> list[str]:
    return [row.network, str(row.batch), row.gpu_name, fixed(row.gb_per_s, 1), fixed(row.memory_gb["oracle"], 0),
            fixed(row.swapped_gb, 1),
            fixed(row.ratio["zvc"], 2), fixed(row.ratio["exponents"], 2),
            *(fixed(row.slowdown[name][way], 2) for name in _SCHEDULES for way in ("vdnn", "exponents")),
            *(f"{round(row.gain[name]['exponents'])} %" for name in _SCHEDULES)]


def today_summary(figures: Results) -> dict[str, float]:
    """The figures of the first sentences: of dense networks, and of the one with zeros."""
    dense = [row for row in figures.today if row.density > 0.9]
    sparse = next(row for row in figures.today if row.density <= 0.9)
    ratios = [row.ratio["exponents"] for row in dense]
    sync, queue = ([row.gain[name]["exponents"] for row in dense] for name in _SCHEDULES)
    plain, swap = ([row.slowdown["queue"][name] for row in dense] for name in ("vdnn", "exponents"))
    worth = [round(row.gain["queue"]["exponents"]) for row in figures.today
             if row.slowdown["queue"]["vdnn"] <= _RECOMPUTED]
    found = {"dense_zvc": dense[0].ratio["zvc"], "relu_zvc": sparse.ratio["zvc"],
             "relu_exponents": sparse.ratio["exponents"]}
    for name, values in (("dense", ratios), ("sync", sync), ("async", queue), ("swap", swap), ("plain", plain),
                         ("worth", worth)):
        found |= {f"{name}_least": min(values), f"{name}_most": max(values)}
    return found
