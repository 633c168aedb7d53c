"""The part of the page of results that is about networks, GPUs and frameworks of today."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cdma.console.output import fixed
from cdma.report import results_words as words
from cdma.report.parts import Bars, Part, Table, prose
from workload.timeline.queued import AHEAD
from workload.timeline.swapping import COPIES

if TYPE_CHECKING:
    from workload.results.records import Results, TodayRow

__all__ = ["today", "today_summary"]

_SCHEDULES = {"layer": "sync", "queue": "async"}


def today(figures: Results) -> Iterator[Part]:
    """Text, a plot and a table."""
    yield from prose(words.TODAY, ahead=AHEAD)
    yield Bars("Gain over plain offload in per cent, exponents", list(_SCHEDULES.values()), {
        f"{row.network}, {row.gpu}": [max(row.gain[name]["exponents"], 0.0) for name in _SCHEDULES]
        for row in figures.today}, digits=0)
    yield Table(["network", "batch", "GPU", "GB/s", "GB swapped", "ratio, zvc", "ratio, exponents",
                 *(f"{name}, {row}" for name in _SCHEDULES.values() for row in ("vdnn", "exponents")),
                 *(f"gain, {name}" for name in _SCHEDULES.values())],
                [_row(row) for row in figures.today], left=(0, 2))
    relu = next(row.relu_density for row in figures.today if row.relu_density is not None)
    yield from prose(words.TODAY_BELOW, density=relu, copies=COPIES,
                     llama_gb=next(row.memory_gb["vdnn"] for row in figures.today if row.network == "llama"))


def _row(row: TodayRow) -> list[str]:
    return [row.network, str(row.batch), row.gpu_name, fixed(row.gb_per_s, 1), fixed(row.swapped_gb, 1),
            fixed(row.ratio["zvc"], 2), fixed(row.ratio["exponents"], 2),
            *(fixed(row.slowdown[name][way], 2) for name in _SCHEDULES for way in ("vdnn", "exponents")),
            *(f"{row.gain[name]['exponents']:.0f} %" for name in _SCHEDULES)]


def today_summary(figures: Results) -> dict[str, float]:
    """The figures of the first sentences: of dense networks, and of the one with zeros."""
    dense = [row for row in figures.today if row.density > 0.9]
    sparse = next(row for row in figures.today if row.density <= 0.9)
    ratios = [row.ratio["exponents"] for row in dense]
    sync, queue = ([row.gain[name]["exponents"] for row in dense] for name in _SCHEDULES)
    plain, swap = ([row.slowdown["queue"][name] for row in dense] for name in ("vdnn", "exponents"))
    found = {"dense_zvc": dense[0].ratio["zvc"], "relu_zvc": sparse.ratio["zvc"],
             "relu_exponents": sparse.ratio["exponents"]}
    for name, values in (("dense", ratios), ("sync", sync), ("async", queue), ("swap", swap), ("plain", plain)):
        found |= {f"{name}_least": min(values), f"{name}_most": max(values)}
    return found
