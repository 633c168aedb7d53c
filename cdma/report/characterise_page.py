"""The page of ``cdma characterise``: one HTML file that needs nothing else, with plots of what the tables have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cdma.console.output import count, fixed
from cdma.report.characterise_tables import CODINGS, array_table, over_steps, step_label, total_table, training
from cdma.report.page import Page, Section
from cdma.report.parts import Bars, Histograms, Lines, Part, Stems, Table, Tiles

if TYPE_CHECKING:
    from workload.characterise.arrays import Array, Coded

__all__ = ["characterise_page"]

_SHOWN = ("rle", "zlib", "blocks", "exponents")  # codings in the plots of each array
_LONGEST = 512  # zeros: longer runs share the last bin of a histogram
_BOUND = "bound of mask coding"


def characterise_page(dumps: Sequence[str], arrays: Sequence[Array], totals: Sequence[Coded]) -> Page:
    """The page.

    Parameters
    ----------
    dumps
        What the dumps are called.
    arrays, totals
        What :func:`workload.characterise.arrays.characterise` and :func:`workload.characterise.arrays.in_all` give.
    """
    last = list({array.layer: array for array in sorted(arrays, key=lambda array: array.step or 0)}.values())
    sections = [*_density(arrays), *_steps(arrays), _totals(totals), _ratios(last), *_runs(arrays, last),
                *_clustering(last), *_tables(arrays, totals)]
    return Page(f"{', '.join(dumps)}: what compression would gain",
                [_head(dumps, arrays, totals[0]), *sections], "What compression would gain")


def _head(dumps: Sequence[str], arrays: Sequence[Array], whole: Coded) -> Section:
    tiles = {"arrays": count(len(arrays)), "raw bytes": count(whole.raw_bytes),
             "density": fixed(whole.density.density, 3), "ratio, block stream": fixed(whole.ratio("blocks"), 2),
             "ratio, exponents": fixed(whole.ratio("exponents"), 2), "ratio, zlib": fixed(whole.ratio("zlib"), 2),
             _BOUND: fixed(whole.bound("blocks"), 2), "best coding": whole.best}
    return Section("", [f"{', '.join(dumps)}: {whole.format} values, stored as {whole.layout}.", Tiles(tiles)])


def _density(arrays: Sequence[Array]) -> Iterator[Section]:
    labels, layers = training(arrays)
    if labels:
        yield Section("Density over training", ["Share of elements that are not zero, layer by layer.",
                                                Lines("", labels, layers)])
    alone = {array.name: [array.stored.density.density] for array in arrays if array.step is None}
    if alone:
        yield Section("Density of each array", ["Share of elements that are not zero.",
                                                Bars("density", [], alone, top=1.0, caption=False)])


def _steps(arrays: Sequence[Array]) -> Iterator[Section]:
    """The ratios of all layers together, step by step."""
    sums = over_steps(arrays)
    if len(sums) > 1:
        named = {step_label(*step): coded for step, coded in sums.items()}
        yield Section("Ratio over training", ["Raw bytes over packed bytes, all arrays of a step together, as stored.",
                                              _ratio_bars(named)], kept=True)


def _ratio_bars(named: dict[str, Coded]) -> Bars:
    return Bars("ratio", [CODINGS[coding] for coding in _SHOWN],
                {name: [coded.ratio(coding) for coding in _SHOWN] for name, coded in named.items()},
                {name: coded.bound("blocks") for name, coded in named.items()}, _BOUND, caption=False)


def _totals(totals: Sequence[Coded]) -> Section:
    parts: list[Part] = [("Raw bytes over packed bytes, all arrays together. Zero-value coding of the values' own "
                         "element size does not depend on the layout; all other codings do.")]
    for narrowed, form in dict.fromkeys((total.narrowed, total.format) for total in totals):
        group = [total for total in totals if (total.narrowed, total.format) == (narrowed, form)]
        parts.append(Bars(f"Ratio, {form}{', narrowed' if narrowed else ', as stored'}",
                          [total.layout for total in group],
                          {label: [total.ratio(coding) for total in group] for coding, label in CODINGS.items()},
                          {label: group[0].bound(coding) for coding, label in CODINGS.items()}, _BOUND))
    return Section("Ratio by coding and layout", parts, kept=True)


def _ratios(last: Sequence[Array]) -> Section:
    return Section("Ratio of each layer", [f"As stored{_when(last)}.",
                                           _ratio_bars({array.layer: array.stored for array in last})], kept=True)


def _runs(arrays: Sequence[Array], last: Sequence[Array]) -> Iterator[Section]:
    """Histograms of the zeros by the length of their run, of all arrays, and of each layer at the last step."""
    classes = [1 << power for power in range(_LONGEST.bit_length())]
    labels = [*map(str, classes[:-1]), f"{_LONGEST}+"]
    few = [label if number % 3 == 0 else "" for number, label in enumerate(labels)]
    rows = {array.layer: _zeros([array], classes) for array in last if _has_zeros(array)}
    if not rows:
        return
    whole = _zeros([array for array in arrays if _has_zeros(array)], classes)
    parts: list[Part] = [
        ("Share of the zeros that lie in runs of a length: of 1, 2 to 3, 4 to 7 elements and so on, in the order of "
        "memory. Run-length coding gains on long runs only; zero-value coding gains on every zero."),
        Histograms("", labels, {"all arrays": whole}, ["zeros in such runs"],
                   "if as many zeros lay at random places", large=True)]
    if len(rows) > 1:
        parts.append(Histograms(f"Each layer{_when(arrays)}", few, rows))
    yield Section("Runs of zeros", parts, kept=True)


def _has_zeros(array: Array) -> bool:
    return array.stored.density.runs.number > 0


def _zeros(arrays: Sequence[Array], classes: Sequence[int]) -> tuple[list[float], list[float]]:
    """Share of the zeros in runs of each class of lengths, found, and expected of zeros at random places."""
    from workload.characterise.density import strewn

    found, expected, total = [0.0] * len(classes), [0.0] * len(classes), 0
    for array in arrays:
        zeros, density = array.stored.density.elements - array.stored.density.nonzero, array.stored.density.density
        total += zeros
        for number, entry in enumerate(array.stored.density.runs.by_powers()):
            found[min(number, len(classes) - 1)] += entry["zeros"]
        beyond = [*(strewn(density or 0.0, shortest) for shortest in classes), 0.0]
        for number in range(len(classes)):
            expected[number] += zeros * (beyond[number] - beyond[number + 1])
    return [value / total for value in found], [value / total for value in expected]


def _clustering(last: Sequence[Array]) -> Iterator[Section]:
    values = {array.layer: array.stored.density.spread.clustering for array in last}
    there = {name: value for name, value in values.items() if value}
    if there:
        yield Section("Clustering", [
            ("How much the density varies from one block of 4 KiB to the next: its variance over that of zeros at "
            "random places. At 1 zeros are independent. The larger the value, the more blocks are nearly empty or "
            "nearly full, which the engine's buffers must compensate."), Stems("clustering", there)], kept=True)


def _tables(arrays: Sequence[Array], totals: Sequence[Coded]) -> Iterator[Section]:
    yield Section("Figures", [("Every array as stored. Runs are of zeros, in elements; p90 is the 90th "
                               "percentile of their lengths."), Table(*array_table(arrays, totals))])
    yield Section("In all", [Table(*total_table(totals), left=(0, 1))])


def _when(arrays: Sequence[Array]) -> str:
    return ", at the last step of training that the dumps have" if any(
        array.step is not None for array in arrays) else ""
