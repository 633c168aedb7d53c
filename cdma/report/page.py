"""A page of sections with text, lists, tables and plots, written once: as plain text, Markdown, or one HTML file.

In text, ``code`` stands between back quotes, strong words between two asterisks, and links are Markdown's. Plots are in
the HTML alone; what they show must stand in a table as well.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import ceil
from typing import Any

from cdma.console.output import markdown, table
from cdma.report.html import document, html_table

__all__ = ["Bars", "Lines", "Page", "Part", "Section", "Table", "prose"]

_WIDTH = 120
_GROUPS = 6  # of bars in a plot
_LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")


@dataclass(frozen=True)
class Table:
    """A table.

    Parameters
    ----------
    head, rows
        Cells in words.
    left
        Numbers of the columns that are set flush left.
    title
        Written above it, empty for none.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[int] = (0,)
    title: str = ""


@dataclass(frozen=True)
class Bars:
    """Bars of several series in groups, see :func:`cdma.report.plots.inline.bars`, with the meaning of the mark."""

    title: str
    series: Sequence[str]
    groups: Mapping[str, Sequence[float | None]]
    marks: Mapping[str, float | None] = field(default_factory=dict)
    mark: str | None = None
    digits: int = 2
    top: float | None = None


@dataclass(frozen=True)
class Lines:
    """Small lines of values from 0 to 1 over the same labels, one beside the other."""

    title: str
    labels: Sequence[str]
    rows: Mapping[str, Sequence[float | None]]


Part = str | tuple[str, ...] | Table | Bars | Lines
"""A paragraph, the items of a list, a table, a plot."""


def prose(text: str, **values: Any) -> list[Part]:
    """Paragraphs and lists of a text, with values in place of their names in braces.

    Parameters
    ----------
    text
        Paragraphs, set apart by empty lines; one that begins with a dash is a list.
    values
        What the names stand for, as for :meth:`str.format`.
    """
    found: list[Part] = []
    for paragraph in text.format(**values).split("\n\n"):
        items = re.split(r"(?:^|\n)- ", paragraph)
        found.append(_joined(paragraph) if len(items) == 1 else tuple(map(_joined, items[1:])))
    return found


def _joined(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it; without a heading, the section that leads the page."""

    title: str
    parts: Sequence[Part]


@dataclass(frozen=True)
class Page:
    """A page."""

    title: str
    sections: Sequence[Section]

    def text(self) -> str:
        """The page for a terminal."""
        out = [self.title, "=" * len(self.title)]
        for section in self.sections:
            if section.title:
                out += ["", section.title, "-" * len(section.title)]
            for part in section.parts:
                lines = _written(part, _plain, table)
                out += ["", lines] if lines else []
        return "\n".join(out) + "\n"

    def markdown(self) -> str:
        """The page as Markdown."""
        out = [f"# {self.title}"]
        for section in self.sections:
            out += [f"## {section.title}"] if section.title else []
            out += filter(None, (_written(part, str, markdown) for part in section.parts))
        return "\n\n".join(out) + "\n"

    def html(self) -> str:
        """The page as one HTML file that needs nothing else."""
        body = [f"<h1>{escape(self.title)}</h1>"]
        for section in self.sections:
            parts = "\n".join(_html(section.parts))
            body.append(f"<h2>{escape(section.title)}</h2>\n{parts}" if section.title
                        else f'<div class="lead">{parts}</div>')
        return document(self.title, "\n".join(body))


def _wrapped(text: str, first: str = "", rest: str = "") -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
                         break_on_hyphens=False)


def _plain(text: str) -> str:
    return _LINK.sub(r"\1", text).replace("**", "")


def _written(part: Part, words: Callable[[str], str], rows: Callable[..., str]) -> str:
    """A part as lines, with the words and rows of the kind of page; empty for plots."""
    if isinstance(part, str):
        return _wrapped(words(part))
    if isinstance(part, tuple):
        return "\n".join(_wrapped(words(item), "- ", "  ") for item in part)
    if isinstance(part, Table):
        body = rows(part.head, part.rows, part.left)
        return f"{part.title}:\n\n{body}" if part.title else body
    return ""


def _html(parts: Sequence[Part]) -> list[str]:
    """The parts of a section; plots that follow each other stand side by side where there is room."""
    out: list[str] = []
    plots: list[str] = []
    for part in (*parts, None):
        if isinstance(part, Bars):
            plots.append(_bars(part))
            continue
        if plots:
            out.append(f'<div class="columns">{"".join(plots)}</div>')
            plots = []
        if part is not None:
            out.append(_block(part))
    return out


def _block(part: str | tuple[str, ...] | Table | Lines) -> str:
    if isinstance(part, str):
        return f"<p>{_inline(part)}</p>"
    if isinstance(part, tuple):
        return f"<ul>{''.join(f'<li>{_inline(item)}</li>' for item in part)}</ul>"
    return html_table(part.head, part.rows, part.left, part.title, _inline) if isinstance(part, Table) else _lines(part)


def _inline(text: str) -> str:
    text = escape(_LINK.sub(r"\1", text), quote=False)
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text))


def _bars(part: Bars) -> str:
    """Many groups are drawn in several plots of one scale, which stand side by side where there is room."""
    from cdma.report.plots import inline as plots

    names, values = list(part.groups), [*part.groups.values(), list(part.marks.values())]
    top = part.top or max((value for row in values for value in row if value is not None), default=1.0)
    pieces = max(1, ceil(len(names) / _GROUPS))
    size = max(1, ceil(len(names) / pieces))
    drawn = [plots.bars(part.title, {name: part.groups[name] for name in names[at:at + size]}, part.marks, part.digits,
                        top) for at in range(0, len(names), size)]
    head = f"<figcaption>{escape(part.title)}</figcaption>{plots.legend(part.series, part.mark)}"
    return (f'<figure class="many">{head}<div class="columns">{"".join(drawn)}</div></figure>' if pieces > 1
            else f"<figure>{head}{''.join(drawn)}</figure>")


def _lines(part: Lines) -> str:
    from cdma.report.plots import inline as plots

    drawn = "".join(plots.line(name, part.labels, values) for name, values in part.rows.items())
    return f'<figure><figcaption>{escape(part.title)}</figcaption><div class="plots">{drawn}</div></figure>'
