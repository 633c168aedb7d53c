"""Groups of alike arrays: the same layer of every block of a network, at the same step of training."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any

from cdma.workload.characterise.arrays import Array, Coded

__all__ = ["Group", "groups"]

_PARTS = re.compile(r"[^/.:]+|[/.:]")
_NUMBER = re.compile(r"\d+$")


@dataclass(frozen=True)
class Group:
    """Alike arrays: their common name, and their figures together.

    Parameters
    ----------
    name
        The name of the arrays, with a star for each number in which they differ; with the shape or the type behind it
        where another group of the step would have the same name.
    layer
        The same of the layer, without the step of training.
    arrays
        The arrays.
    """

    name: str
    layer: str
    arrays: tuple[Array, ...]

    @property
    def first(self) -> Array:
        """The first array, which has the shape, type and step of all."""
        return self.arrays[0]

    @cached_property
    def stored(self) -> Coded:
        """The sum over the arrays, as they are stored."""
        return reduce(add, (array.stored for array in self.arrays))

    @property
    def density_range(self) -> tuple[float, float] | None:
        """Lowest and highest density of the arrays; None for empty ones."""
        return _range(array.stored.density.density for array in self.arrays)

    @property
    def ratio_range(self) -> tuple[float, float] | None:
        """Lowest and highest ratio of the arrays, each with its best coding; None for empty ones."""
        return _range(array.stored.best_ratio for array in self.arrays)

    def as_json(self) -> dict[str, Any]:
        """Names, figures of the sum, and ranges over the arrays."""
        return {"name": self.name, "layer": self.layer, "members": [array.name for array in self.arrays],
                **{name: getattr(self.first, name) for name in ("shape", "dtype", "step", "step_unit")},
                **{name: getattr(self, name) for name in ("stored", "density_range", "ratio_range")}}


def groups(arrays: Sequence[Array]) -> list[Group]:
    """The groups of alike arrays, in the order of their first ones.

    Arrays are alike if their names differ only in the numbers of blocks, and shape, type and step of training are the
    same. A number of a block is one that ends a part of the name before the last, as in ``blocks.3.qkv`` and
    ``l3/qkv``; the last part too if it is a number and other arrays are inside it: ``blocks.3`` beside
    ``blocks.3.qkv``.
    """
    inside = {parent for array in arrays for parent in _parents(array.layer)}
    found: dict[tuple[object, ...], list[Array]] = {}
    for array in arrays:
        key = _pattern(array.layer, inside), array.shape, array.dtype, array.step, array.step_unit
        found.setdefault(key, []).append(array)
    return _distinct([Group(_common([array.name for array in own]), _common([array.layer for array in own]), tuple(own))
                      for own in found.values()])


def _distinct(found: list[Group]) -> list[Group]:
    """The groups; where a step has several of one name, all of this name say in which shape or type they differ."""
    number = Counter((group.layer, group.first.step, group.first.step_unit) for group in found)
    kinds = {group.layer: [other.first for other in found if other.layer == group.layer]
             for group in found if number[group.layer, group.first.step, group.first.step_unit] > 1}
    named = []
    for group in found:
        alike, more = kinds.get(group.layer, ()), ""
        if len({array.shape for array in alike}) > 1:
            more += f" {'x'.join(map(str, group.first.shape)) or 'scalar'}"
        if len({array.dtype for array in alike}) > 1:
            more += f" {group.first.dtype}"
        named.append(Group(group.name + more, group.layer + more, group.arrays))
    return named


def _pattern(name: str, inside: set[str]) -> str:
    """A name without the numbers of blocks."""
    *before, last = _PARTS.findall(name) or [name]
    if name.partition("#")[0] in inside:
        last = re.sub(r"^\d+", "*", last)
    return "".join([*(_NUMBER.sub("*", part) for part in before), last])


def _parents(name: str) -> list[str]:
    """The beginnings of a name that are names of modules around it."""
    return [name[:at] for at, letter in enumerate(name) if letter in "/."]


def _common(names: list[str]) -> str:
    """Names that differ in numbers only, as one with a star for each such number."""
    columns = list(zip(*map(_PARTS.findall, names), strict=True))
    return "".join(same[0] if len(set(same)) == 1 else re.sub(r"^\d+|\d+$", "*", same[0], count=1) for same in columns)


def _range(values: Iterable[float | None]) -> tuple[float, float] | None:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else None
