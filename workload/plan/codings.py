"""The codings of blocks that a plan may choose from, and those that engines build."""

from __future__ import annotations

from collections.abc import Sequence

from golden.codec.coding import Coding, coding_name
from hdl.config.engine import EngineConfig

__all__ = ["BUILT", "CODINGS", "EXPONENTS", "check_built", "coding_of", "exponents", "lines", "zero_value"]

CODINGS = ("lines", "zvc", "exponents")
"""Families of codings: zero-value coding as lines, zero-value coding with the tags first, and exponents."""

BUILT = ("lines",)
"""The families that engines read and write; others are predictions."""

EXPONENTS = frozenset(coding_name(coding) for coding in Coding if coding.exponents)
"""The names of the codings with exponents."""


def lines(element_bytes: int) -> str:
    """The name of the coding of lines in elements of a size."""
    return f"lines{8 * element_bytes}"


def zero_value(codings: Sequence[str], element_bytes: int) -> str | None:
    """The zero-value coding of a choice for elements of a size; None if it has none."""
    if "lines" in codings:
        return lines(element_bytes)
    return coding_name(Coding(0x10 | element_bytes)) if "zvc" in codings else None


def exponents(codings: Sequence[str], suiting: Coding) -> str | None:
    """The coding with exponents that suits values of a type; None if the choice has none, or the type."""
    return coding_name(suiting) if "exponents" in codings and suiting.exponents else None


def coding_of(name: str) -> Coding:
    """The coding of a name.

    Raises
    ------
    ValueError
        If there is none, or it codes nothing.
    """
    known = {coding_name(coding): coding for coding in Coding if coding is not Coding.RAW}
    if name not in known:
        raise ValueError(f"coding must be one of {', '.join(known)}, not {name!r}")
    return known[name]


def check_built(config: EngineConfig, tensor: str, treatment: str, coding: str) -> None:
    """Raise ValueError if an engine does not build the coding of a tensor's blocks."""
    if coding not in map(lines, config.element_bytes):
        raise ValueError(f"the plan moves {tensor} as {treatment} in blocks of {coding}, which {config.name} does not "
                         f"build (it builds {', '.join(map(lines, sorted(config.element_bytes)))}): make a plan "
                         "without --codings")
