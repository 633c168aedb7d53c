"""The page of ``cdma characterise``: one HTML file that needs nothing else, with plots of what the tables have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from math import ceil
from typing import TYPE_CHECKING

from cdma.console.output import count, fixed
from cdma.report.characterise_tables import (
    CODINGS,
    array_table,
    over_steps,
    step_label,
    total_table,
    training,
)
from cdma.report.html import document, html_table

if TYPE_CHECKING:
    from workload.characterise.arrays import Array, Coded

__all__ = ["characterise_page"]

_SHOWN = ("rle", "zlib", "blocks")  # codings in the plots of each array
_GROUPS = 6  # arrays in a plot at most
_LONGEST = 512  # zeros: longer runs share the last bin of a histogram


def characterise_page(dumps: Sequence[str], arrays: Sequence[Array], totals: Sequence[Coded]) -> str:
    """The page.

    Parameters
    ----------
    dumps
        What the dumps are called.
    arrays, totals
        What :func:`workload.characterise.arrays.characterise` and :func:`workload.characterise.arrays.in_all` give.
    """
    last = list({array.layer: array for array in sorted(arrays, key=lambda array: array.step or 0)}.values())
    plots = (_steps(arrays), _totals(totals), _ratios(last), _runs(arrays, last), _clustering(last))
    body = [*_head(dumps, arrays, totals[0]), *_density(arrays), *map(_kept, plots), *_tables(arrays, totals)]
    return document(f"{', '.join(dumps)}: what compression would gain", "\n".join(body))


def _kept(parts: Iterator[str]) -> str:
    """Heading, words, legend and plots, which print does not part where a page has room for them."""
    return f'<section class="kept">{"".join(parts)}</section>'


def _head(dumps: Sequence[str], arrays: Sequence[Array], whole: Coded) -> Iterator[str]:
    tiles = {"arrays": count(len(arrays)), "raw bytes": count(whole.raw_bytes),
             "density": fixed(whole.density.density, 3), "ratio, block stream": fixed(whole.ratio("blocks"), 2),
             "ratio, zlib": fixed(whole.ratio("zlib"), 2), "bound of mask coding": fixed(whole.bound("blocks"), 2)}
    yield "<h1>What compression would gain</h1>"
    yield f"<p>{escape(', '.join(dumps))}: {escape(whole.format)} values, stored as {whole.layout}.</p>"
    yield f'<dl class="tiles">{"".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in tiles.items())}'
    yield "</dl>"


def _density(arrays: Sequence[Array]) -> Iterator[str]:
    from cdma.report.plots.inline import line

    labels, layers = training(arrays)
    if labels:
        yield "<h2>Density over training</h2><p>Share of elements that are not zero, layer by layer.</p>"
        yield _plots((line(layer, labels, row) for layer, row in layers.items()), "small")
    alone = {array.name: [array.stored.density.density] for array in arrays if array.step is None}
    if alone:
        yield "<h2>Density of each array</h2><p>Share of elements that are not zero.</p>"
        yield _plots(_in_parts("density", alone, top=1.0))


def _steps(arrays: Sequence[Array]) -> Iterator[str]:
    """The ratios of all layers together, step by step."""
    from cdma.report.plots.inline import legend

    sums = over_steps(arrays)
    if len(sums) < 2:
        return
    yield ("<h2>Ratio over training</h2><p>Raw bytes over packed bytes, all arrays of a step together, as stored.</p>")
    yield legend([CODINGS[coding] for coding in _SHOWN], "bound of mask coding")
    yield _plots(_in_parts("ratio", {step_label(*step): [coded.ratio(coding) for coding in _SHOWN]
                                     for step, coded in sums.items()},
                           {step_label(*step): coded.bound("blocks") for step, coded in sums.items()}))


def _runs(arrays: Sequence[Array], last: Sequence[Array]) -> Iterator[str]:
    """Histograms of the zeros by the length of their run, of all arrays, and of each layer at the last step."""
    from cdma.report.plots.inline import columns, legend

    classes = [1 << power for power in range(_LONGEST.bit_length())]
    labels = [*map(str, classes[:-1]), f"{_LONGEST}+"]
    few = [label if number % 3 == 0 else "" for number, label in enumerate(labels)]
    rows = {array.layer: _zeros([array], classes) for array in last if _has_zeros(array)}
    if not rows:
        return
    whole, strewn = _zeros([array for array in arrays if _has_zeros(array)], classes)
    top = _full([*whole, *strewn])
    yield ("<h2>Runs of zeros</h2><p>Share of the zeros that lie in runs of a length: of 1, 2 to 3, 4 to 7 elements "
           "and so on, in the order of memory. Long runs are what run-length coding lives on; zero-value coding takes "
           "zeros wherever they are.</p>")
    yield legend(["zeros in such runs"], "if as many zeros were strewn at random", flat=True)
    yield _plots([columns("all arrays", labels, whole, strewn, top, large=True)])
    if len(rows) > 1:
        scale = _full([value for pair in rows.values() for part in pair for value in part])
        yield f"<h3>Each layer{_when(arrays)}</h3>"
        yield _plots((columns(layer, few, *pair, scale) for layer, pair in rows.items()), "small")


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


def _full(values: Iterable[float]) -> float:
    """The share at the top of a histogram: a fifth, two fifths, ... that holds all."""
    return next(top for top in (0.2, 0.4, 0.6, 0.8, 1.0) if top >= min(1.0, max(values)))


def _clustering(last: Sequence[Array]) -> Iterator[str]:
    from cdma.report.plots.inline import stems

    values = {array.layer: array.stored.density.spread.clustering for array in last}
    there = [value for value in values.values() if value]
    if not there:
        return
    yield ("<h2>Clustering</h2><p>How much the density varies from one block of 4 KiB to the next: its variance over "
           "that of zeros strewn at random. At 1 blocks are filled as evenly as chance would; the more, the more of "
           "them are nearly empty while others are nearly full, and the engine's buffers have to even that out.</p>")
    names = [name for name in values if values[name]]
    yield _plots(stems("clustering", {name: values[name] for name in part}, min(there), max(there))
                 for part in _parts(names))


def _totals(totals: Sequence[Coded]) -> Iterator[str]:
    from cdma.report.plots.inline import bars, legend

    yield ("<h2>Ratio by coding and layout</h2><p>Raw bytes over packed bytes, all arrays together. Zero-value "
           "coding of the values' own element size does not depend on the layout; run-length coding and zlib do.</p>")
    forms = list(dict.fromkeys((total.narrowed, total.format) for total in totals))
    first = [total.layout for total in totals if (total.narrowed, total.format) == forms[0]]
    yield legend(first, "bound of mask coding")
    out = []
    for narrowed, form in forms:
        group = [total for total in totals if (total.narrowed, total.format) == (narrowed, form)]
        chart = {label: [total.ratio(coding) for total in group] for coding, label in CODINGS.items()}
        marks = {label: group[0].bound(coding) for coding, label in CODINGS.items()}
        out.append(f"<figcaption>{escape(form)}{', narrowed' if narrowed else ', as stored'}</figcaption>"
                   f"{bars(f'ratio, {form}', chart, marks)}")
    yield _plots(out)


def _ratios(last: Sequence[Array]) -> Iterator[str]:
    from cdma.report.plots.inline import legend

    yield f"<h2>Ratio of each layer</h2><p>As stored{_when(last)}.</p>"
    yield legend([CODINGS[coding] for coding in _SHOWN], "bound of mask coding")
    yield _plots(_in_parts("ratio", {array.layer: [array.stored.ratio(coding) for coding in _SHOWN] for array in last},
                           {array.layer: array.stored.bound("blocks") for array in last}))


def _tables(arrays: Sequence[Array], totals: Sequence[Coded]) -> Iterator[str]:
    yield ("<h2>Figures</h2><p>Every array as stored. Runs are of zeros, in elements; p90 is the length that "
           "nine runs in ten do not exceed.</p>")
    yield html_table(*array_table(arrays, totals))
    yield "<h2>In all</h2>"
    yield html_table(*total_table(totals), left=(0, 1))


def _when(arrays: Sequence[Array]) -> str:
    return ", at the last step of training that the dumps have" if any(
        array.step is not None for array in arrays) else ""


def _in_parts(title: str, groups: Mapping[str, Sequence[float | None]],
              marks: Mapping[str, float | None] | None = None, top: float | None = None) -> list[str]:
    """Bars in several plots of one scale, so that a wide page sets them side by side and print breaks between them."""
    from cdma.report.plots.inline import bars

    values = [value for row in [*groups.values(), list((marks or {}).values())] for value in row if value is not None]
    scale = top or max(values, default=1.0)
    return [bars(title, {name: groups[name] for name in part}, marks, top=scale) for part in _parts(list(groups))]


def _parts(names: Sequence[str]) -> list[Sequence[str]]:
    """Names in parts of about the same size."""
    size = ceil(len(names) / max(1, ceil(len(names) / _GROUPS)))
    return [names[at:at + size] for at in range(0, len(names), max(1, size))]


def _plots(charts: Iterable[str], kind: str = "plots") -> str:
    return f'<div class="{kind}">{"".join(f"<figure>{chart}</figure>" for chart in charts)}</div>'
