"""The figures of the shipped dumps: density and ratios by array, layout and step of training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workload.characterise.arrays import Array, Coded, characterise, in_all
from workload.data import shipped_dumps

__all__ = ["dump_figures", "dumps"]

_CODINGS = {"zvc": "blocks", "rle": "rle", "zlib": "zlib"}
"""The engine's stream and the paper's baselines, by the names that characterise has."""


def dumps() -> list[dict[str, Any]]:
    """The figures of every dump that ships."""
    return [dump_figures(path) for path in shipped_dumps().values()]


def dump_figures(path: Path) -> dict[str, Any]:
    """Densities and ratios of a dump as plain values.

    Parameters
    ----------
    path
        A dump whose arrays have four dimensions in the order NCHW, or fewer.
    """
    arrays = characterise([path], form=None, jobs=1)
    totals = in_all(arrays)
    rows = [{"array": array.layer, "step": _label(array), **_figures(array.stored)} for array in arrays]
    return {"dump": path.stem, "arrays": rows,
            "in_all": _figures(totals[0]), "layouts": [{"layout": total.layout, **_figures(total)} for total in totals],
            "training": _training(arrays)}


def _figures(coded: Coded) -> dict[str, Any]:
    return {"raw_bytes": coded.raw_bytes, "density": coded.density.density, "bound": coded.bound("blocks"),
            "ratio": {name: coded.ratio(coding) for name, coding in _CODINGS.items()}}


def _training(arrays: Sequence[Array]) -> list[dict[str, Any]]:
    """The steps of training in order, each with its layers' densities and all that is stored of it; empty without."""
    stepped = sorted((array for array in arrays if array.step is not None), key=lambda array: array.step or 0)
    found = []
    for label in dict.fromkeys(map(_label, stepped)):
        own = [array for array in stepped if _label(array) == label]
        found.append({"label": label, "density": {array.layer: array.stored.density.density for array in own},
                      "in_all": _figures(in_all(own)[0])})
    return found


def _label(array: Array) -> str | None:
    """The step of training in words, None without."""
    if array.step is None:
        return None
    return f"{array.step} %" if array.step_unit == "% of training" else f"{array.step_unit} {array.step}"
