"""The sections of the page of results that are about dumps: densities, ratios, layouts, training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cdma.console.output import count, fixed
from cdma.report import results_words as words
from cdma.report.page import Section
from cdma.report.parts import Bars, Lines, Part, Table, prose

if TYPE_CHECKING:
    from cdma.workload.results.dumps import ArrayFigures, DumpFigures, Figures, StepFigures

__all__ = ["dump_sections"]

_CODINGS = ("zvc", "exponent", "rle", "zlib")


def dump_sections(dumps: Sequence[DumpFigures]) -> Iterator[Section]:
    """A section for each dump; one of training shows its densities over the steps first."""
    for dump in dumps:
        yield Section(f"Densities and ratios: {dump.dump}", list(_parts(dump)))


def _parts(dump: DumpFigures) -> Iterator[Part]:
    training = dump.training
    yield from prose(words.DUMP)
    if training:
        yield from _over_training(training)
    arrays = _of_step(dump.arrays, training)
    yield Bars(f"Ratio of each array{_when(training)}", _CODINGS,
               {row.array: [row.figures.ratio[name] for name in _CODINGS] for row in arrays},
               {row.array: row.figures.bound for row in arrays}, "bound")
    yield Table(["array", "raw bytes", "density", *(f"{name} ratio" for name in _CODINGS), "bound"],
                [*(_row(row.array, row.figures) for row in arrays), _row("in all", dump.in_all)],
                title=f"Every array{_when(training)}, and the whole dump" if training else "")
    if any(row.figures != dump.layouts[0].figures for row in dump.layouts):
        yield from prose(words.LAYOUTS)
        yield Table(["layout", *(f"{name} ratio" for name in _CODINGS)],
                    [[row.layout, *(fixed(row.figures.ratio[name], 2) for name in _CODINGS)] for row in dump.layouts])


def _over_training(training: Sequence[StepFigures]) -> Iterator[Part]:
    labels = [step.label for step in training]
    layers = list(dict.fromkeys(layer for step in training for layer in step.density))
    rows = {layer: [step.density.get(layer) for step in training] for layer in layers}
    yield Lines("Density over training", labels, rows)
    yield Table(["density", *labels],
                [*([layer, *(fixed(value, 3) for value in values)] for layer, values in rows.items()),
                 ["in all", *(fixed(step.in_all.density, 3) for step in training)],
                 ["zvc ratio", *(fixed(step.in_all.ratio["zvc"], 2) for step in training)]],
                title="Density of every layer over training")


def _of_step(arrays: Sequence[ArrayFigures], training: Sequence[StepFigures]) -> Sequence[ArrayFigures]:
    """The arrays of the last step of training; all where there are no steps."""
    return [row for row in arrays if row.step == training[-1].label] if training else arrays


def _when(training: Sequence[StepFigures]) -> str:
    return f" at {training[-1].label}{' of training' if training[-1].label.endswith('%') else ''}" \
        if training else ""


def _row(name: str, row: Figures) -> list[str]:
    return [name, count(row.raw_bytes), fixed(row.density, 3),
            *(fixed(row.ratio[coding], 2) for coding in _CODINGS), fixed(row.bound, 2)]
