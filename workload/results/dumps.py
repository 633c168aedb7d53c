"""The figures of the shipped dumps: density and ratios by array, layout and step of training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cdma.workload.characterise.arrays import Array, Coded, characterise, in_all
from cdma.workload.dumps.steps import step_text

__all__ = ["dump_figures"]

_CODINGS = {"zvc": "blocks", "exponent": "exponents", "rle": "rle", "zlib": "zlib"}
"""The engine's stream, exponent coding and the paper's baselines, by their names in characterise."""


def dump_figures(path: Path) -> dict[str, Any]:
    """Densities and ratios of a dump: of each array, of all, by layout, and by step of training if names have one.

    Parameters
    ----------
    path
        A dump whose arrays have four dimensions in the order NCHW, or fewer.
    """
    arrays = characterise([path], form=None, jobs=1)
    totals = in_all(arrays)
    return {"dump": path.stem,
            "arrays": [{"array": array.layer, "step": _label(array), **_figures(array.stored)} for array in arrays],
            "in_all": _figures(totals[0]),
            "layouts": [{"layout": total.layout, **_figures(total)} for total in totals],
            "training": list(_training(arrays))}


def _figures(coded: Coded) -> dict[str, Any]:
    """Of one or more arrays: density, the ratio at the bound of mask coding, and the ratio of each coding."""
    return {"raw_bytes": coded.raw_bytes, "density": coded.density.density, "bound": coded.bound("blocks"),
            "ratio": {name: coded.ratio(coding) for name, coding in _CODINGS.items()}}


def _training(arrays: Sequence[Array]) -> Iterator[dict[str, Any]]:
    """Of each step of training the density by layer, and all that is stored."""
    stepped = sorted((array for array in arrays if array.step is not None), key=lambda array: array.step or 0)
    for label in dict.fromkeys(map(_label, stepped)):
        own = [array for array in stepped if _label(array) == label]
        yield {"label": label, "density": {array.layer: array.stored.density.density for array in own},
               "in_all": _figures(in_all(own)[0])}


def _label(array: Array) -> str | None:
    return None if array.step is None else step_text(array.step_unit, array.step)
