"""Plain names: of modules by their classes, and of signals without escapes, dollars and keywords."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from cdma.hdl.config.settings import KEYWORDS

__all__ = ["PlainNames", "module_names", "snake_case"]

_OTHER = re.compile(r"[^A-Za-z0-9_]+")
_NUMBER = re.compile(r"\$\d+$")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class PlainNames:
    """Gives each name of a scope a plain one that no other has.

    Parameters
    ----------
    taken : iterable of str
        Plain names that nothing else may get.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def plain(self, wanted: str) -> str:
        """The plain name for a wanted one: ``i.data`` is ``i_data``, a second one ``i_data_2``, ``end`` is ``end_``.

        Parameters
        ----------
        wanted : str
            Any text, with or without a backslash; a number behind a dollar at its end, by which Amaranth tells equal
            names apart, is left out.
        """
        base = _OTHER.sub("_", _NUMBER.sub("", wanted.removeprefix("\\"))).strip("_") or "signal"
        base = f"n{base}" if base[0].isdigit() else base
        name = f"{base}_" if base in KEYWORDS else base
        number = self._next.get(base, 2)
        while name in self._taken:
            name = f"{base}_{number}"
            number += 1
        self._next[base] = number
        self._taken.add(name)
        return name

    def numbered(self, base: str) -> str:
        """A name that ends with a number, from 1 on."""
        number = self._next.get(base, 1)
        while (name := f"{base}_{number}") in self._taken:
            number += 1
        self._next[base] = number + 1
        self._taken.add(name)
        return name


def snake_case(name: str) -> str:
    """``BlockCompressor`` as ``block_compressor``."""
    return _CAPITAL.sub("_", name.strip("_")).lower()


def module_names(top: str, kinds: Sequence[str]) -> list[str]:
    """Names of modules by their kinds, the top's own first: ``top_kind``, or ``top_kind_1`` where several are of one.

    Parameters
    ----------
    top : str
        Name of the top, which comes first.
    kinds : sequence of str
        Of the modules below it, in the order in which they get their numbers.
    """
    names = PlainNames([top, f"{top}_sram"])
    return [top, *(names.plain(f"{top}_{kind}") if kinds.count(kind) == 1 else names.numbered(f"{top}_{kind}")
                   for kind in kinds)]
