"""A page of sections with text, lists, tables and plots, written once: as plain text, Markdown, or one HTML file.

In text, ``code`` stands between back quotes, strong words between two asterisks, and links are Markdown's. Plots are in
the HTML alone; what they show must stand in a table as well.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import ceil
from typing import Any

from cdma.output import markdown, table

__all__ = ["Bars", "Lines", "Page", "Part", "Section", "Table", "prose"]

_WIDTH = 120
_GROUPS = 6  # of bars in a plot
_LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")
_STYLE = """\
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 1100px; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.6rem; margin-bottom: .3rem } h2 { font-size: 1.25rem; margin-top: 2.2rem }
p, ul { max-width: 46rem } ul { padding-left: 1.2rem } li { margin: .3rem 0 } li::marker { color: #0072b2 }
.lead { background: #f3f7fb; border-left: 4px solid #0072b2; padding: .6rem 1rem; max-width: none }
.lead ul { margin: 0; max-width: none }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 320px), 1fr)); gap: 1rem 2rem }
figure { margin: .8rem 0 } figure.many { grid-column: 1 / -1 } figcaption { font-weight: 600; font-size: .9rem }
figure:not(.many), figure svg { break-inside: avoid } figcaption, .legend { break-after: avoid }
figure svg { display: block; width: 100%; max-width: 460px; height: auto } svg { font-family: inherit }
.lines { display: flex; flex-wrap: wrap; gap: .5rem 1rem } .lines svg { width: 160px }
svg text { fill: #1a1a1a } svg text.title { font-weight: 600 } svg text.value { font-size: 10px; fill: #555 }
svg line.grid { stroke: #ddd } svg line.mark { stroke: #000; stroke-width: 1.5 }
.legend { font-size: .85rem; margin: .3rem 0 } .key { margin-right: 1rem; white-space: nowrap }
.key i { display: inline-block; width: .8em; height: .8em; margin-right: .35em }
.key i.mark { width: 2px; background: #000 }
.wide { overflow-x: auto; margin: .8rem 0 }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums }
caption { text-align: left; font-weight: 600; padding: .2rem 0 }
th, td { padding: .25rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #e5e5e5 }
td.left, th.left { text-align: left } td.long { white-space: normal; min-width: 14rem }
th { border-bottom: 1px solid #999; vertical-align: bottom; white-space: normal } code { font-size: .9em }
@media (max-width: 600px) { td.left { white-space: normal; min-width: 6rem } }
@media print { body { max-width: none; padding: 0; font-size: 10pt } .wide { overflow: visible }
  table { font-size: 7.5pt } th, td { padding: .1rem .3rem; white-space: normal } h2 { break-after: avoid }
  tr { break-inside: avoid } * { -webkit-print-color-adjust: exact; print-color-adjust: exact } }"""


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
    """Bars of several series in groups, see :func:`workload.plots.bars`, with the meaning of the mark."""

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
                lines = _text(part)
                out += ["", lines] if lines else []
        return "\n".join(out) + "\n"

    def markdown(self) -> str:
        """The page as Markdown."""
        out = [f"# {self.title}"]
        for section in self.sections:
            out += [f"## {section.title}"] if section.title else []
            out += filter(None, map(_markdown, section.parts))
        return "\n\n".join(out) + "\n"

    def html(self) -> str:
        """The page as one HTML file that needs nothing else."""
        body = [f"<h1>{escape(self.title)}</h1>"]
        for section in self.sections:
            parts = "\n".join(_html(section.parts))
            body.append(f"<h2>{escape(section.title)}</h2>\n{parts}" if section.title
                        else f'<div class="lead">{parts}</div>')
        return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
                '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
                f"<title>{escape(self.title)}</title>\n<style>\n{_STYLE}\n</style></head><body>\n"
                + "\n".join(body) + "\n</body></html>\n")


def _wrapped(text: str, first: str = "", rest: str = "") -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
                         break_on_hyphens=False)


def _plain(text: str) -> str:
    return _LINK.sub(r"\1", text).replace("**", "")


def _text(part: Part) -> str:
    if isinstance(part, str):
        return _wrapped(_plain(part))
    if isinstance(part, tuple):
        return "\n".join(_wrapped(_plain(item), "- ", "  ") for item in part)
    if isinstance(part, Table):
        body = table(part.head, part.rows, part.left)
        return f"{part.title}:\n\n{body}" if part.title else body
    return ""


def _markdown(part: Part) -> str:
    if isinstance(part, str):
        return _wrapped(part)
    if isinstance(part, tuple):
        return "\n".join(_wrapped(item, "- ", "  ") for item in part)
    if isinstance(part, Table):
        body = markdown(part.head, part.rows, part.left)
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
            out.append(f'<div class="plots">{"".join(plots)}</div>')
            plots = []
        if part is not None:
            out.append(_block(part))
    return out


def _block(part: str | tuple[str, ...] | Table | Lines) -> str:
    if isinstance(part, str):
        return f"<p>{_inline(part)}</p>"
    if isinstance(part, tuple):
        return f"<ul>{''.join(f'<li>{_inline(item)}</li>' for item in part)}</ul>"
    return _html_table(part) if isinstance(part, Table) else _lines(part)


def _inline(text: str) -> str:
    text = escape(_LINK.sub(r"\1", text), quote=False)
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text))


def _html_table(part: Table) -> str:
    def cell(kind: str, column: int, text: str) -> str:
        names = " ".join(name for name, on in (("left", column in part.left), ("long", len(text) > 40)) if on)
        return f'<{kind} class="{names}">{_inline(text)}</{kind}>' if names else f"<{kind}>{_inline(text)}</{kind}>"

    def row(kind: str, cells: Sequence[str]) -> str:
        return f"<tr>{''.join(cell(kind, column, text) for column, text in enumerate(cells))}</tr>"

    caption = f"<caption>{escape(part.title)}</caption>" if part.title else ""
    return (f'<div class="wide"><table>{caption}<thead>{row("th", part.head)}</thead>'
            f"<tbody>{''.join(row('td', cells) for cells in part.rows)}</tbody></table></div>")


def _bars(part: Bars) -> str:
    """Many groups are drawn in several plots of one scale, which stand side by side where there is room."""
    from workload import plots

    names, values = list(part.groups), [*part.groups.values(), list(part.marks.values())]
    top = part.top or max((value for row in values for value in row if value is not None), default=1.0)
    pieces = max(1, ceil(len(names) / _GROUPS))
    size = max(1, ceil(len(names) / pieces))
    drawn = [plots.bars(part.title, {name: part.groups[name] for name in names[at:at + size]}, part.marks, part.digits,
                        top) for at in range(0, len(names), size)]
    head = f"<figcaption>{escape(part.title)}</figcaption>{plots.legend(part.series, part.mark)}"
    return (f'<figure class="many">{head}<div class="plots">{"".join(drawn)}</div></figure>' if pieces > 1
            else f"<figure>{head}{''.join(drawn)}</figure>")


def _lines(part: Lines) -> str:
    from workload import plots

    drawn = "".join(plots.line(name, part.labels, values) for name, values in part.rows.items())
    return f'<figure><figcaption>{escape(part.title)}</figcaption><div class="lines">{drawn}</div></figure>'
