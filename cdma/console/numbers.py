"""Numbers on the command line, for argparse."""

from __future__ import annotations

import argparse
from collections.abc import Callable

__all__ = ["amount", "number", "positive", "share"]


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
