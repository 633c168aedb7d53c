"""Tables in plain text and in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["markdown", "table"]


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Rows under a head in aligned columns; the columns whose number is in ``left`` are flush left.

    Raises
    ------
    ValueError
        If a row has more or fewer cells than the head.
    """
    _check(head, rows)
    columns = range(len(head))
    widths = [max(len(row[column]) for row in [head, *rows]) for column in columns]

    def line(row: Sequence[str]) -> str:
        cells = (row[c].ljust(widths[c]) if c in left else row[c].rjust(widths[c]) for c in columns)
        return "  ".join(cells).rstrip()

    return "\n".join([line(head), "  ".join("-" * width for width in widths), *map(line, rows)])


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """A Markdown table; the columns whose number is in ``left`` are flush left. Errors as for :func:`table`."""
    _check(head, rows)
    bar = "\\|"
    lines = [head, ["---" if column in left else "---:" for column in range(len(head))], *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', bar) for cell in line)} |" for line in lines)


def _check(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for row in rows:
        if len(row) != len(head):
            raise ValueError(f"a row has {len(row)} cells and the head {len(head)}: {', '.join(row)}")
