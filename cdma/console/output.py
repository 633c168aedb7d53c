"""What commands print: JSON and numbers."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from cdma.golden.results import to_json

__all__ = ["arrays_text", "count", "fixed", "lanes_text", "print_json", "show"]


def print_json(value: Any) -> None:
    """Print a value, results in it too, as indented JSON on standard output."""
    print(json.dumps(to_json(value), indent=2))


def show(call: argparse.Namespace, value: Any, text: Callable[[Any], str]) -> None:
    """Print a value: as JSON where the call says so, else as the text that a function makes of it."""
    print_json(value) if call.json else print(text(value))


def count(number: int | None) -> str:
    """A whole number with thousands set apart, empty for None."""
    return "" if number is None else f"{number:,}"


def fixed(number: float | None, digits: int) -> str:
    """A number with a fixed count of digits after the point, empty for None."""
    return "" if number is None else f"{number:.{digits}f}"


def lanes_text(lanes: int, beat_bytes: int) -> str:
    """The lanes of an engine and the bytes of their beats, in words."""
    return f"{lanes} {'lane' if lanes == 1 else 'lanes'} of {beat_bytes} bytes"


def arrays_text(number: int) -> str:
    """A number of arrays, in words."""
    return f"{count(number)} {'array' if number == 1 else 'arrays'}"
