"""The figures of the shipped dumps: density and ratios by array, layout and step of training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cdma.golden.results import INLINED
from cdma.workload.characterise.arrays import Array, Coded, characterise, in_all
from cdma.workload.data import shipped_dumps

__all__ = ["ArrayFigures", "DumpFigures", "Figures", "LayoutFigures", "StepFigures", "dump_figures", "dumps"]

_CODINGS = {"zvc": "blocks", "exponent": "exponents", "rle": "rle", "zlib": "zlib"}
"""The engine's stream, exponent coding and the paper's baselines, by their names in characterise."""


@dataclass(frozen=True)
class Figures:
    """An array, or many: its density, the ratio at the bound of mask coding, and the ratio of each coding."""

    raw_bytes: int
    density: float | None
    bound: float | None
    ratio: Mapping[str, float | None]


@dataclass(frozen=True)
class ArrayFigures:
    """An array of a dump, and its step of training in words."""

    array: str
    step: str | None
    figures: Figures = field(metadata=INLINED)


@dataclass(frozen=True)
class LayoutFigures:
    """All arrays of a dump in one layout."""

    layout: str
    figures: Figures = field(metadata=INLINED)


@dataclass(frozen=True)
class StepFigures:
    """A step of training: density by layer, and all that is stored of the step."""

    label: str
    density: Mapping[str, float | None]
    in_all: Figures


@dataclass(frozen=True)
class DumpFigures:
    """A dump; ``training`` is empty if its arrays have no step."""

    dump: str
    arrays: tuple[ArrayFigures, ...]
    in_all: Figures
    layouts: tuple[LayoutFigures, ...]
    training: tuple[StepFigures, ...]


def dumps() -> tuple[DumpFigures, ...]:
    """The figures of every shipped dump."""
    return tuple(dump_figures(path) for path in shipped_dumps().values())


def dump_figures(path: Path) -> DumpFigures:
    """Densities and ratios of a dump.

    Parameters
    ----------
    path
        A dump whose arrays have four dimensions in the order NCHW, or fewer.
    """
    arrays = characterise([path], form=None, jobs=1)
    totals = in_all(arrays)
    rows = tuple(ArrayFigures(array.layer, _label(array), _figures(array.stored)) for array in arrays)
    return DumpFigures(path.stem, rows, _figures(totals[0]),
                       tuple(LayoutFigures(total.layout, _figures(total)) for total in totals),
                       tuple(_training(arrays)))


def _figures(coded: Coded) -> Figures:
    return Figures(coded.raw_bytes, coded.density.density, coded.bound("blocks"),
                   {name: coded.ratio(coding) for name, coding in _CODINGS.items()})


def _training(arrays: Sequence[Array]) -> Iterator[StepFigures]:
    """The steps of training in order."""
    stepped = sorted((array for array in arrays if array.step is not None), key=lambda array: array.step or 0)
    for label in dict.fromkeys(label for array in stepped if (label := _label(array)) is not None):
        own = [array for array in stepped if _label(array) == label]
        yield StepFigures(label, {array.layer: array.stored.density.density for array in own},
                          _figures(in_all(own)[0]))


def _label(array: Array) -> str | None:
    """The step of training in words, None without."""
    if array.step is None:
        return None
    return f"{array.step} %" if array.step_unit == "% of training" else f"{array.step_unit} {array.step}"
