"""The codings of blocks that a plan may choose from: those that the engine builds, or a family of them."""

from __future__ import annotations

from collections.abc import Sequence

from cdma.golden.codec.coding import Coding, coding_name
from cdma.hdl.config.engine import EngineConfig

__all__ = ["CODINGS", "allowed", "check_built", "coding_of", "exponents", "zero_value"]

CODINGS = ("zvc", "exponents")
"""Families of codings: zero-value coding, and exponents of bfloat16 and float32."""


def allowed(config: EngineConfig, codings: Sequence[str] | None = None) -> tuple[str, ...]:
    """The families that may be chosen on an engine: those asked for, or all that it builds.

    Raises
    ------
    ValueError
        If exponents are asked for, and the engine builds none.
    """
    if codings is None:
        return CODINGS if config.exponents else CODINGS[:1]
    if "exponents" in codings and not config.exponents:
        raise ValueError(f"{config.name} builds the codings {', '.join(config.codings)}, none with exponents: leave "
                         "exponents out of --codings, or build them (--set codings=zvc8,zvc16,zvc32,bfloat16,float32)")
    return tuple(codings)


def zero_value(element_bytes: int) -> str:
    """The name of zero-value coding in elements of a size."""
    return coding_name(Coding(0x10 | element_bytes))


def exponents(config: EngineConfig, codings: Sequence[str], element_bytes: int) -> str | None:
    """The name of exponent coding in elements of a size; None if there is none, or it is not built or not allowed."""
    names = {coding.element_bytes: coding_name(coding) for coding in Coding if coding.exponents}
    name = names.get(element_bytes)
    return name if "exponents" in codings and name in config.codings else None


def coding_of(name: str) -> Coding:
    """The coding of a name.

    Raises
    ------
    ValueError
        If engines know none of that name.
    """
    known = {coding_name(coding): coding for coding in Coding if coding.sized}
    if name not in known:
        raise ValueError(f"coding must be one of {', '.join(known)}, not {name!r}")
    return known[name]


def check_built(config: EngineConfig, tensor: str, treatment: str, coding: str) -> None:
    """Raise ValueError if an engine does not build the coding of a tensor's blocks."""
    if coding not in config.codings:
        raise ValueError(f"the plan moves {tensor} as {treatment} in blocks of {coding}, which {config.name} does not "
                         f"build (it builds {', '.join(config.codings)}): make a plan for this engine")
