"""What commands print: tables in plain text, JSON, sizes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

__all__ = ["count", "fixed", "print_json", "table"]


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Rows under a head in aligned columns; those whose number is in ``left`` are set flush left."""
    columns = range(len(head))
    widths = [max(len(row[column]) for row in [head, *rows]) for column in columns]

    def line(row: Sequence[str]) -> str:
        cells = (row[c].ljust(widths[c]) if c in left else row[c].rjust(widths[c]) for c in columns)
        return "  ".join(cells).rstrip()

    return "\n".join([line(head), "  ".join("-" * width for width in widths), *map(line, rows)])


def print_json(value: Any) -> None:
    """Print a value as indented JSON on standard output."""
    print(json.dumps(value, indent=2))


def count(number: int | None) -> str:
    """A whole number with thousands set apart, empty for None."""
    return "" if number is None else f"{number:,}"


def fixed(number: float | None, digits: int) -> str:
    """A number with a fixed count of digits after the point, empty for None."""
    return "" if number is None else f"{number:.{digits}f}"
