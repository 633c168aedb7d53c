"""What ``cdma characterise`` prints: the verdict and the tables, which its page has as well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from cdma.console.about import project_version
from cdma.console.output import fixed
from cdma.report.table import Column, Table, wrapped
from cdma.workload.dumps.steps import step_text

if TYPE_CHECKING:
    from cdma.workload.characterise.arrays import Array, Coded
    from cdma.workload.characterise.groups import Group
    from cdma.workload.verdict.offloads import Offload

__all__ = ["CODINGS", "Measured", "array_table", "characterise_text", "group_table", "over_steps",
           "total_table", "training"]

CODINGS = {"zvc8": "ZVC 8", "zvc16": "ZVC 16", "zvc32": "ZVC 32", "rle": "RLE", "zlib": "zlib", "blocks": "blocks",
           "tags_first": "tags first", "exponents": "exponents"}
"""What the codings are called in tables and plots."""


def _ratio(coding: str) -> Column:
    return Column(CODINGS[coding], lambda row: row["coded"].ratio(coding), ".3f")


_RAW_BYTES, _DENSITY = Column("raw bytes", "coded.raw_bytes", ","), Column("density", "coded.density.density", ".3f")
_EXPONENTS = (Column("entropy", "coded.exponent_statistics.entropy", ".2f"),
              Column("distance", "coded.exponent_statistics.distance_bits", ".2f"))
_RATIOS = (*map(_ratio, CODINGS), Column("bound", lambda row: row["coded"].bound("blocks"), ".3f"))
_BEST = Column("best", "coded.best")
_TIMES = (Column("raw us", "offload.raw_us", ",.1f"), Column("engine us", "offload.engine_us", ",.1f"))


class Measured:
    """What was found of dumps, and what follows from it.

    Parameters
    ----------
    dumps
        What the dumps are called.
    arrays
        What :func:`cdma.workload.characterise.arrays.characterise` gives.
    link
        10^9 bytes a second.
    engine, clock
        Preset of the engine, and its clock in MHz.
    date
        The date.

    Members
    -------
    groups, totals
        Groups of alike arrays, and the sums by format and layout.
    verdict
        The verdict.
    path
        The link and the engine of the predicted times.
    engine
        The engine in words.
    made
        Version of the project, and date.

    Raises
    ------
    ValueError
        If the preset was not measured.
    """

    def __init__(self, dumps: Sequence[str], arrays: Sequence[Array], link: float, engine: str, clock: float,
                 date: str) -> None:
        from cdma.workload.characterise.arrays import in_all
        from cdma.workload.characterise.groups import groups
        from cdma.workload.timeline.scenario import build_engine
        from cdma.workload.verdict.offloads import Path
        from cdma.workload.verdict.verdict import verdict

        self.dumps, self.arrays, self.groups, self.totals = dumps, arrays, groups(arrays), in_all(arrays)
        self.path = Path(link, build_engine(engine, clock))
        self.verdict = verdict(arrays, self.groups, self.path)
        self.engine, self.made = f"the engine {engine} at {clock:g} MHz", f"cdma {project_version()}, {date}"

    @property
    def flat(self) -> bool:
        """Whether no array has four dimensions, so that all layouts are the same."""
        return all(len(array.shape) != 4 for array in self.arrays)

    @property
    def shown_totals(self) -> Sequence[Coded]:
        """The totals to show: of one layout where all are the same."""
        return [total for total in self.totals if total.layout == self.totals[0].layout] if self.flat else self.totals

    def offload(self, arrays: Sequence[Array]) -> Offload:
        """The predicted time of offloads of arrays, each with its best coding."""
        return self.path.of_all(array.stored for array in arrays)


def characterise_text(found: Measured, every: bool = False) -> str:
    """What is printed: the verdict, the totals, the groups, what changes over training; with ``every`` each array."""
    parts = ["\n".join([wrapped(found.verdict.sentence), *(wrapped(item, "- ", "  ")
                                                           for item in found.verdict.items)]),
             f"{found.made}; {found.engine}, a link of {found.path.link:g} GB/s",
             ("In all, by format and layout; ratios are raw bytes over packed bytes:\n\n"
              f"{total_table(found.shown_totals).text()}"),
             f"Groups of alike arrays, as stored:\n\n{group_table(found).text()}"]
    if every:
        parts.append(f"Every array, as stored:\n\n{array_table(found).text()}")
    labels, layers = training(found.groups)
    if labels:
        rows = [[layer, *(fixed(density, 3) for density in row)] for layer, row in layers.items()]
        parts.append(f"Density over training:\n\n{Table(['layer', *labels], rows).text()}")
        steps = [(step_text(*step), own) for step, own in over_steps(found.arrays).items()]
        parts.append(f"All arrays of a step:\n\n{_coded_table('step', steps, found).text()}")
    return "\n\n".join(parts)


def group_table(found: Measured) -> Table:
    """The groups of alike arrays, and all together; ranges over the arrays of a group."""
    whole = found.totals[0]
    rows = [{"name": group.name, "arrays": group.arrays, "shape": group.first.shape, "type": group.first.dtype,
             "coded": group.stored, "density": _between(group.density_range, 3),
             "ratio": _between(group.ratio_range, 2), "offload": found.offload(group.arrays)} for group in found.groups]
    rows.append({"name": "in all", "arrays": found.arrays, "shape": (), "type": whole.format, "coded": whole,
                 "density": fixed(whole.density.density, 3), "ratio": fixed(whole.best_ratio, 2),
                 "offload": found.offload(found.arrays)})
    return Table([
        Column("group", "name"), Column("arrays", lambda row: len(row["arrays"]), ","),
        Column("shape", lambda row: "x".join(map(str, row["shape"]))), Column("type", "type"), _RAW_BYTES,
        Column("density", "density"), *_EXPONENTS, *map(_ratio, ("zlib", "tags_first", "exponents")),
        Column("best ratio", "ratio"), _BEST, *_TIMES], rows)


def array_table(found: Measured) -> Table:
    """Every array as stored, then their sum."""
    return _coded_table("array", [*((array.name, [array]) for array in found.arrays), ("in all", found.arrays)], found)


def total_table(totals: Sequence[Coded]) -> Table:
    """The sums by format and layout."""
    return Table([Column("format", "coded.format"), Column("layout", "coded.layout"), _RAW_BYTES, _DENSITY, *_RATIOS,
                  _BEST], [{"coded": total} for total in totals])


def _coded_table(heading: str, arrays: Iterable[tuple[str, Sequence[Array]]], found: Measured) -> Table:
    """A row for the arrays of each name, together."""
    zeros = [Column("run mean", "coded.density.zero_run_mean", ".1f"),
             Column("p90", lambda row: row["coded"].density.zero_run_percentile(90), ","),
             Column("clustering", "coded.density.clustering", ".1f")]
    return Table([Column(heading, "name"), _RAW_BYTES, _DENSITY, *zeros, *_EXPONENTS, *_RATIOS, _BEST, *_TIMES],
                 [{"name": name, "coded": reduce(add, (array.stored for array in own)), "offload": found.offload(own)}
                  for name, own in arrays])


def training(groups: Sequence[Group]) -> tuple[list[str], dict[str, list[float | None]]]:
    """The steps of training as labels, and the density of the layers at each, alike ones together; both empty without
    steps."""
    stepped = [group for group in groups if group.first.step is not None]
    steps = sorted({_step(group.first) for group in stepped})
    found = {(group.layer, _step(group.first)): group.stored.density.density for group in stepped}
    return [step_text(*step) for step in steps], {layer: [found.get((layer, step)) for step in steps]
                                                   for layer in dict.fromkeys(group.layer for group in stepped)}


def over_steps(arrays: Sequence[Array]) -> dict[tuple[str, int], list[Array]]:
    """The arrays of each step of training, by unit and number of the step."""
    steps: dict[tuple[str, int], list[Array]] = {}
    for array in arrays:
        if array.step is not None:
            steps.setdefault(_step(array), []).append(array)
    return dict(sorted(steps.items(), key=lambda entry: entry[0]))


def _step(array: Array) -> tuple[str, int]:
    return array.step_unit or "", array.step or 0


def _between(values: tuple[float, float] | None, digits: int) -> str:
    """A range of values, or the one where both ends look the same."""
    if values is None:
        return ""
    low, high = (fixed(value, digits) for value in values)
    return low if low == high else f"{low} to {high}"
