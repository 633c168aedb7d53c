"""Tables: one description of columns, which text, Markdown and HTML are made from; JSON prints the same rows.

Rows are whatever a measurement gives: mappings, dataclasses, or plain sequences. A command keeps them as they are for
``--json`` (``print_json(rows)``) and describes once what people read::

    COLUMNS = [Column("unit", "unit"),                        # key or attribute of a row
               Column("cells", "cells", ","),                 # with a format, as format() takes it
               Column("share", lambda row: row["part"] / row["all"], ".1%"),
               Column("um2", "um2", ".0f", optional=True)]    # left out if no row has it
    print(Table(COLUMNS, rows).text())                        # on a terminal
    Section("Area", [Table(COLUMNS, rows, "By unit")])        # on a Page, for text, Markdown and HTML

Dots lead into values of values (``"total.kge"``). A value that is None is an empty cell, text is printed as it is, and
a ``unit`` follows each value. Columns of text are flush left, others right. Where rows are sequences of cells that are
ready to print, headings alone are enough: ``Table(["core", "MHz"], [["compressor", "512"]])``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Column", "Table", "fit", "inside", "wrapped"]

_NUMBER = re.compile(r"[-+<>~]?\d|-?$")
"""How cells of a column of numbers begin."""

_SHORTEST = 12
"""Characters that a cut column keeps at least."""

_columns: int | None = None


@dataclass(frozen=True)
class Column:
    """A column.

    Parameters
    ----------
    heading
        Its heading.
    value
        What a row has in it: a key or attribute, with dots into values of values, or a function of the row.
    form
        Format of values that are not text, as :func:`format` takes it.
    unit
        Printed after every value.
    optional
        Whether the column is left out where no row has a value.
    left
        Whether it is flush left; None: if not all of its cells are numbers.
    """

    heading: str
    value: str | Callable[[Any], object]
    form: str = ""
    unit: str = ""
    optional: bool = False
    left: bool | None = None

    def cell(self, row: Any) -> str:
        """What is printed of a row."""
        found = self.value(row) if callable(self.value) else inside(row, self.value)
        if found is None or found == "":
            return ""
        return (found if isinstance(found, str) else format(found, self.form)) + self.unit


class Table:
    """Rows under columns, to be printed by itself or on a page.

    Parameters
    ----------
    columns
        The columns, or their headings where rows are sequences of cells.
    rows
        What the cells are taken from.
    title
        Text above the table; empty for none.
    left
        Numbers of the columns that are flush left; None: those that say so, and those whose cells are not numbers.
    """

    def __init__(self, columns: Sequence[Column] | Sequence[str], rows: Sequence[Any], title: str = "",
                 left: Sequence[int] | None = None) -> None:
        if any(isinstance(column, str) and len(row) != len(columns) for column in columns for row in rows):
            raise ValueError(f"a row has more or fewer cells than the head: {', '.join(map(str, columns))}")
        self.title = title
        drawn = []
        for number, column in enumerate(columns):
            cells = [column.cell(row) if isinstance(column, Column) else row[number] for row in rows]
            if isinstance(column, str) or any(cells) or not column.optional:
                drawn.append((column, cells))
        self.head = [column if isinstance(column, str) else column.heading for column, _ in drawn]
        self.rows = [list(row) for row in zip(*(cells for _, cells in drawn), strict=True)]
        self.left = [number for number, (column, cells) in enumerate(drawn)
                     if (number in left if left is not None else _is_left(column, cells))]

    def text(self) -> str:
        """In aligned columns, without the title; columns of text are cut where :func:`fit` asks for less."""
        widths = [max(map(len, cells)) for cells in zip(self.head, *self.rows, strict=True)]
        over = 0 if _columns is None else max(0, sum(widths) + 2 * (len(widths) - 1) - _columns)
        hint = f"\n(wider than {_columns} columns: --wide prints all)" * bool(over)
        while over and self.left and widths[longest := max(self.left, key=widths.__getitem__)] > _SHORTEST:
            widths[longest] -= 1
            over -= 1
        lines = ["  ".join(_cut(cell, width).ljust(width) if number in self.left else cell.rjust(width)
                           for number, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
                 for row in [self.head, *self.rows]]
        return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]]) + hint

    def markdown(self) -> str:
        """As Markdown, without the title."""
        rule = ["---" if number in self.left else "---:" for number in range(len(self.head))]
        return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
                         for row in [self.head, rule, *self.rows])


def inside(row: Any, path: str) -> Any:
    """A value of a row, with dots into values of values; None where there is none."""
    for name in path.split("."):
        if row is None:
            return None
        row = row[name] if isinstance(row, Mapping) else getattr(row, name)
    return row


def fit(columns: int | None) -> None:
    """Cut the tables that are printed from now on to the columns of a terminal; None: print them whole."""
    global _columns
    _columns = columns


def _cut(cell: str, width: int) -> str:
    return cell if len(cell) <= width else cell[:width - 1] + "…"


def _is_left(column: Column | str, cells: Sequence[str]) -> bool:
    if isinstance(column, Column) and column.left is not None:
        return column.left
    return not all(map(_NUMBER.match, cells))


def wrapped(text: str, first: str = "", rest: str = "") -> str:
    """Prose in lines of at most 120 characters, the first behind ``first``, the others behind ``rest``."""
    return textwrap.fill(text, 120, initial_indent=first, subsequent_indent=rest, break_long_words=False,
                         break_on_hyphens=False)
