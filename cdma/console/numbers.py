"""Numbers on the command line, for argparse."""

from __future__ import annotations

import argparse
from collections.abc import Callable

__all__ = ["amount", "byte_size", "named", "number", "one_or_more", "positive", "share"]


def number(text: str, what: str, allowed: Callable[[float], bool]) -> float:
    """A number that is allowed; the message says what is."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not allowed(value):
        raise argparse.ArgumentTypeError(f"must be {what}, not {text!r}")
    return value


def positive(text: str) -> float:
    """A number above 0."""
    return number(text, "a number above 0", lambda value: 0 < value < float("inf"))


def amount(text: str) -> float:
    """A number of 0 or more."""
    return number(text, "a number of 0 or more", lambda value: 0 <= value < float("inf"))


def share(text: str) -> float:
    """A number from 0 to 1."""
    return number(text, "a number from 0 to 1", lambda value: 0 <= value <= 1)


def one_or_more(text: str) -> int:
    """A whole number of 1 or more."""
    return int(number(text, "a whole number of 1 or more", lambda value: value >= 1 and value.is_integer()))


def named(read: Callable[[str], float]) -> Callable[[str], tuple[str | None, float]]:
    """What reads ``conv1=10``, or ``10`` for all names, of numbers that ``read`` takes."""
    def pair(text: str) -> tuple[str | None, float]:
        name, _, value = text.rpartition("=")
        return name or None, read(value)

    return pair


def byte_size(text: str) -> int:
    """Bytes, with a unit or without: 65536, 64K, 4M, 1.5G; units are powers of 1024."""
    plain = text.strip().upper().removesuffix("IB").removesuffix("B")
    unit = plain[-1:] if plain[-1:] in "KMGT" else ""
    try:
        size = float(plain.removesuffix(unit)) * 1024 ** " KMGT".index(unit or " ")
    except ValueError:
        size = -1.0
    if not 0 <= size < float("inf"):
        raise argparse.ArgumentTypeError(f"must be bytes, for instance 65536, 64K, 4M or 1.5G, not {text!r}")
    return int(size)
