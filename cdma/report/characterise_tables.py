"""What ``cdma characterise`` prints: the tables, which its page has as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cdma.console.output import count, fixed
from cdma.report.tables import table

if TYPE_CHECKING:
    from workload.characterise.arrays import Array, Coded

__all__ = ["CODINGS", "array_table", "characterise_text", "over_steps", "step_label", "total_table", "training"]

CODINGS = {"zvc8": "ZVC 8", "zvc16": "ZVC 16", "zvc32": "ZVC 32", "rle": "RLE", "zlib": "zlib", "blocks": "blocks",
           "tags_first": "tags first", "exponents": "exponents"}
"""What the codings are called in tables and plots."""

_HEAD = ("raw bytes", "density", "run mean", "p90", "clustering", *CODINGS.values(), "bound", "best")


def characterise_text(arrays: Sequence[Array], totals: Sequence[Coded]) -> str:
    """The tables that are printed: every array as stored, all of them by layout and format, and density over steps."""
    parts = [f"As stored, ratios are raw bytes over packed bytes:\n\n{table(*array_table(arrays, totals))}",
             f"In all, by format and layout:\n\n{table(*total_table(totals), left=(0, 1))}"]
    labels, layers = training(arrays)
    if labels:
        rows = [[layer, *(fixed(density, 3) for density in row)] for layer, row in layers.items()]
        parts.append(f"Density over training:\n\n{table(['layer', *labels], rows)}")
        rows = [_row(step_label(*step), coded) for step, coded in over_steps(arrays).items()]
        parts.append(f"All arrays of a step:\n\n{table(['step', *_HEAD], rows)}")
    return "\n\n".join(parts)


def array_table(arrays: Sequence[Array], totals: Sequence[Coded]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: every array as stored, then their sum."""
    return ["array", *_HEAD], [*(_row(array.name, array.stored) for array in arrays), _row("in all", totals[0])]


def total_table(totals: Sequence[Coded]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: the sums by format and layout."""
    head = ["format", "layout", "raw bytes", "density", *CODINGS.values(), "bound", "best"]
    return head, [[total.format, total.layout, count(total.raw_bytes), fixed(total.density.density, 3), *_ratios(total)]
                  for total in totals]


def training(arrays: Sequence[Array]) -> tuple[list[str], dict[str, list[float | None]]]:
    """The steps of training as labels, and the density of every layer at each; both empty without steps."""
    stepped = [array for array in arrays if array.step is not None]
    steps = sorted({_step(array) for array in stepped})
    found = {(array.layer, _step(array)): array.stored.density.density for array in stepped}
    return [step_label(*step) for step in steps], {layer: [found.get((layer, step)) for step in steps]
                                                   for layer in dict.fromkeys(array.layer for array in stepped)}


def over_steps(arrays: Sequence[Array]) -> dict[tuple[str, int], Coded]:
    """The sums over the arrays of each step of training, as stored, by unit and number of the step."""
    sums: dict[tuple[str, int], Coded] = {}
    for array in arrays:
        if array.step is not None:
            step = _step(array)
            sums[step] = sums[step] + array.stored if step in sums else array.stored
    return dict(sorted(sums.items(), key=lambda entry: entry[0]))


def step_label(unit: str, number: int) -> str:
    """What a step is called."""
    return f"{number} %" if unit == "% of training" else f"{unit} {number}"


def _step(array: Array) -> tuple[str, int]:
    return array.step_unit or "", array.step or 0


def _row(name: str, coded: Coded) -> list[str]:
    runs = coded.density.runs
    return [name, count(coded.raw_bytes), fixed(coded.density.density, 3), fixed(runs.mean, 1),
            count(runs.percentile(90)), fixed(coded.density.spread.clustering, 1), *_ratios(coded)]


def _ratios(coded: Coded) -> list[str]:
    return [*(fixed(coded.ratio(coding), 3) for coding in CODINGS), fixed(coded.bound("blocks"), 3), coded.best]
