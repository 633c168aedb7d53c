"""The page of ``cdma characterise``: one HTML file that needs nothing else, with plots of what the tables have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from cdma.console.output import count, fixed
from cdma.report.characterise_tables import (
    CODINGS,
    Measured,
    array_table,
    group_table,
    over_steps,
    total_table,
    training,
)
from cdma.report.page import Page, Section
from cdma.report.parts import Part, Plots, Tiles, bars, histograms, lines, trend
from cdma.workload.dumps.steps import step_text

if TYPE_CHECKING:
    from cdma.workload.characterise.arrays import Array, Coded
    from cdma.workload.characterise.groups import Group

__all__ = ["characterise_page"]

_SHOWN = ("rle", "zlib", "tags_first", "exponents")  # codings in the plots of groups
_LONGEST = 512  # zeros: longer runs share the last bin of a histogram
_MOST = 24      # groups in a plot
_DENSE = 0.995  # density that is shown as 1
_BOUND = "bound of mask coding"


def characterise_page(found: Measured, every: bool = False) -> Page:
    """The page.

    Parameters
    ----------
    found
        What was found of the dumps.
    every
        Whether it has a table of every array, not only of groups.
    """
    last = _last(found.groups)
    sections = [_totals(found), _groups(found, last), *_training(found), *_density(found, last),
                *_exponents(found, last), *_runs(found, last), *_clustering(last)]
    if every:
        sections.append(Section("Every array", [
            "As stored. Runs are of zeros, in elements; p90 is the 90th percentile of their lengths.",
            array_table(found)]))
    return Page(f"{', '.join(found.dumps)}: what compression would gain", [_head(found), *sections],
                "What compression would gain")


def _last(groups: Sequence[Group]) -> list[Group]:
    """The groups that plots show: of each layer the last step, the largest of all."""
    last = list({group.layer: group for group in sorted(groups, key=lambda group: group.first.step or 0)}.values())
    largest = sorted(last, key=lambda group: -group.stored.raw_bytes)[:_MOST]
    return [group for group in last if group in largest]


def _head(found: Measured) -> Section:
    whole, offload = found.totals[0], found.offload(found.arrays)
    tiles = {"raw bytes": count(whole.raw_bytes), "arrays": count(len(found.arrays)),
             "groups of alike arrays": count(len(found.groups)), "density": fixed(whole.density.density, 3),
             "ratio, zero-value coding": fixed(whole.ratio("tags_first"), 2),
             "ratio, exponents": fixed(whole.ratio("exponents"), 2), "ratio, best": fixed(whole.best_ratio, 2),
             "ratio, zlib": fixed(whole.ratio("zlib"), 2), "offload, uncompressed": f"{offload.raw_us:,.0f} us",
             "offload, engine": f"{offload.engine_us:,.0f} us"}
    parts: list[Part] = [f"**{found.verdict.sentence}**"]
    parts += [tuple(found.verdict.items)] if found.verdict.items else []
    return Section("", [*parts, Tiles(tiles),
                        (f"{', '.join(found.dumps)}: {whole.format} values, stored as {whole.layout}. Times are "
                         f"predicted for {found.engine}, and a link of {found.path.link:g} GB/s. {found.made}.")])


def _totals(found: Measured) -> Section:
    totals = found.shown_totals
    parts: list[Part] = [("Raw bytes over packed bytes, all arrays together. " + (
        "No array has four dimensions, so that all layouts are the same." if found.flat else
        "Zero-value coding of the values' own element size does not depend on the layout; all other codings do."))]
    for narrowed, form in dict.fromkeys((total.narrowed, total.format) for total in totals):
        group = [total for total in totals if (total.narrowed, total.format) == (narrowed, form)]
        parts.append(bars(f"Ratio, {form}{', narrowed' if narrowed else ', as stored'}",
                          [total.layout for total in group] if not found.flat else ["ratio"],
                          {label: [total.ratio(coding) for total in group] for coding, label in CODINGS.items()},
                          {label: group[0].bound(coding) for coding, label in CODINGS.items()}, _BOUND))
    return Section("In all", [*parts, total_table(totals)])


def _groups(found: Measured, last: Sequence[Group]) -> Section:
    return Section("Groups of alike arrays", [
        ("The same layer of every block of a network is one group, with a star for the number of the block. "
         f"Ratios as stored{_when(found.arrays)}{_largest(found.groups, last)}."),
        _ratio_bars({group.layer: group.stored for group in last}),
        ("The times are those of an offload of all arrays of the group, one behind the other: as they are, and with "
         "the best coding through the engine."), group_table(found)])


def _ratio_bars(named: dict[str, Coded]) -> Plots:
    return bars("ratio", [CODINGS[coding] for coding in _SHOWN],
                {name: [coded.ratio(coding) for coding in _SHOWN] for name, coded in named.items()},
                {name: coded.bound("tags_first") for name, coded in named.items()}, _BOUND, caption=False)


def _training(found: Measured) -> Iterator[Section]:
    """What changes over the steps: densities by layer, and the ratios of all layers together."""
    labels, layers = training(found.groups)
    if labels:
        yield Section("Density over training", ["Share of elements that are not zero, layer by layer.",
                                                lines("", labels, layers)])
    sums = {step_text(*step): reduce(add, (array.stored for array in arrays))
            for step, arrays in over_steps(found.arrays).items()}
    if len(sums) > 1:
        rows = {CODINGS[coding]: [coded.ratio(coding) for coded in sums.values()] for coding in _SHOWN}
        rows[_BOUND] = [coded.bound("tags_first") for coded in sums.values()]
        yield Section("Ratio over training", ["Raw bytes over packed bytes, all arrays of a step together, as stored.",
                                              trend(list(sums), rows)], kept=True)


def _density(found: Measured, last: Sequence[Group]) -> Iterator[Section]:
    alone = {group.layer: [group.stored.density.density] for group in last if group.first.step is None}
    # Bars of the full width, all of them, say no more than the table.
    if any(density is not None and density < _DENSE for (density,) in alone.values()):
        yield Section("Density", [f"Share of elements that are not zero{_largest(found.groups, last)}.",
                                  bars("density", [], alone, top=1.0, caption=False)])


def _exponents(found: Measured, last: Sequence[Group]) -> Iterator[Section]:
    """How many bits the distances of exponents have, where types have a coding of them."""
    rows = {group.layer: (shares, ()) for group in last if (shares := _distances(group.arrays))}
    whole = _distances(found.arrays)
    if not whole:
        return
    labels = [str(bits) for bits in range(len(whole))]
    parts: list[Part] = [
        ("Exponent coding stores how far each exponent lies below the largest of its line, in as few bits as its group "
         "of 16 bfloat16 or 8 float32 elements needs. Share of the elements that are not zero, by these bits; 8 are "
         "whole exponents, from which nothing is gained. The column \"entropy\" of the table has the bits that an "
         "exponent tells if only the frequencies of exponents are known."),
        histograms("", labels, {"all arrays": (whole, ())}, ["elements with distances of so many bits"], large=True)]
    if len(rows) > 1:
        parts.append(histograms(f"Each group{_when(found.arrays)}", labels, rows))
    yield Section("Exponents", parts, kept=True)


def _distances(arrays: Sequence[Array]) -> list[float]:
    """Shares of the elements by the bits of their distance; empty if no array has a coding of exponents."""
    found = [about.distances for array in arrays
             if (about := array.stored.exponent_statistics) and any(about.distances)]
    total = sum(map(sum, found))
    return [sum(numbers) / total for numbers in zip(*found, strict=True)]


def _runs(found: Measured, last: Sequence[Group]) -> Iterator[Section]:
    """Histograms of the zeros by the length of their run, of all arrays, and of each group at the last step."""
    classes = [1 << power for power in range(_LONGEST.bit_length())]
    labels = [*map(str, classes[:-1]), f"{_LONGEST}+"]
    few = [label if number % 3 == 0 else "" for number, label in enumerate(labels)]
    rows = {group.layer: _zeros(group.arrays, classes) for group in last if _has_zeros(group.arrays)}
    if not rows:
        return
    whole = _zeros([array for array in found.arrays if _has_zeros([array])], classes)
    parts: list[Part] = [
        ("Share of the zeros that lie in runs of a length: of 1, 2 to 3, 4 to 7 elements and so on, in the order of "
        "memory. Run-length coding gains on long runs only; zero-value coding gains on every zero."),
        histograms("", labels, {"all arrays": whole}, ["zeros in such runs"],
                   "if as many zeros lay at random places", large=True)]
    if len(rows) > 1:
        parts.append(histograms(f"Each group{_when(found.arrays)}", few, rows))
    yield Section("Runs of zeros", parts, kept=True)


def _has_zeros(arrays: Sequence[Array]) -> bool:
    return any(array.stored.density.zero_runs > 0 for array in arrays)


def _zeros(arrays: Sequence[Array], classes: Sequence[int]) -> tuple[list[float], list[float]]:
    """Share of the zeros in runs of each class of lengths, found, and expected of zeros at random places."""
    from cdma.workload.characterise.density import strewn

    found, expected, total = [0.0] * len(classes), [0.0] * len(classes), 0
    for array in arrays:
        zeros, density = array.stored.density.elements - array.stored.density.nonzero, array.stored.density.density
        total += zeros
        for number, entry in enumerate(array.stored.density.zero_runs_by_length()):
            found[min(number, len(classes) - 1)] += entry["zeros"]
        beyond = [*(strewn(density or 0.0, shortest) for shortest in classes), 0.0]
        for number in range(len(classes)):
            expected[number] += zeros * (beyond[number] - beyond[number + 1])
    return [value / total for value in found], [value / total for value in expected]


def _clustering(last: Sequence[Group]) -> Iterator[Section]:
    there = {group.layer: [value] for group in last if (value := group.stored.density.clustering)}
    if there:
        yield Section("Clustering", [
            ("How much the density varies from one block of 4 KiB to the next: its variance over that of zeros at "
             "random places. At 1 zeros are independent. The larger the value, the more blocks are nearly empty or "
             "nearly full, which the engine's buffers must compensate."),
            bars("clustering", [], there, digits=1, caption=False)], kept=True)


def _when(arrays: Sequence[Array]) -> str:
    return ", at the last step of training that the dumps have" if any(
        array.step is not None for array in arrays) else ""


def _largest(groups: Sequence[Group], shown: Sequence[Group]) -> str:
    """What is said where a plot does not show all groups."""
    layers = len({group.layer for group in groups})
    return f"; the {len(shown)} largest of {layers} groups" if len(shown) < layers else ""
