"""Pages: sections of the parts in :mod:`cdma.report.parts`, printed as plain text, Markdown, or one HTML file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdma.report.parts import LINK, Fenced, Image, Part, Plots, Table
from cdma.report.plots.drawing import EXTRA
from cdma.report.table import wrapped
from cdma.workload.extra import package

__all__ = ["Page", "Section", "part_markdown"]

_LONG = 5
"""Sections with a title, from which on a page in HTML begins with a table of contents."""
_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Section:
    """A section of a page.

    Parameters
    ----------
    title
        The heading; empty for the section at the beginning of a page.
    parts
        What the section consists of.
    kept
        Whether a printer keeps the section on one sheet if it fits there.
    """

    title: str
    parts: Sequence[Part]
    kept: bool = False


@dataclass(frozen=True)
class Page:
    """A page.

    Parameters
    ----------
    title
        The title.
    sections
        The sections in order.
    heading
        The heading of the HTML page; empty for the title.
    passed
        What the section at the beginning says as a verdict, in colour and with a mark; None where it is none.
    """

    title: str
    sections: Sequence[Section]
    heading: str = ""
    passed: bool | None = None

    def text(self) -> str:
        """The page for a terminal."""
        out = [self.title, "=" * len(self.title)]
        for section in self.sections:
            if section.title:
                out += ["", section.title, "-" * len(section.title)]
            for part in section.parts:
                lines = _lines(part, _plain, Table.text)
                out += ["", lines] if lines else []
        return "\n".join(out) + "\n"

    def markdown(self) -> str:
        """The page as Markdown."""
        out = [f"# {self.title}"]
        for section in self.sections:
            out += [f"## {section.title}"] if section.title else []
            out += filter(None, map(part_markdown, section.parts))
        return "\n\n".join(out) + "\n"

    def html(self) -> str:
        """The page as one HTML file that loads no other file.

        Raises
        ------
        ValueError
            If Jinja2, or matplotlib for a page with an image, is not installed.
        """
        jinja2 = package("jinja2", EXTRA)
        environment = jinja2.Environment(loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True,
                                         lstrip_blocks=True, undefined=jinja2.StrictUndefined)
        environment.filters |= {"words": _markup, "anchor": lambda title: re.sub(r"\W+", "-", title.lower()).strip("-")}
        sections = [(section, list(_blocks(section.parts))) for section in self.sections]
        titled = [section.title for section in self.sections if section.title]
        return environment.get_template("page.html").render(
            page=self, sections=sections, contents=titled if len(titled) >= _LONG else []) + "\n"


def part_markdown(part: Part) -> str:
    """A part as Markdown; empty for a part that only HTML has."""
    if isinstance(part, Fenced):
        return f"```{part.language}\n{part.text}\n```"
    if isinstance(part, Image):
        return f"![{part.title}]({part.file})"
    return _lines(part, str, Table.markdown)


def _plain(text: str) -> str:
    return LINK.sub(r"\1", text).replace("**", "")


def _lines(part: Part, words: Callable[[str], str], rows: Callable[[Table], str]) -> str:
    """A part as lines of plain text or Markdown, with the functions for text and tables; empty for plots."""
    if isinstance(part, str):
        return wrapped(words(part))
    if isinstance(part, tuple):
        return "\n".join(wrapped(words(item), "- ", "  ") for item in part)
    if isinstance(part, Fenced):
        return part.text
    if isinstance(part, Table):
        body = rows(part)
        return f"{part.title}:\n\n{body}" if part.title else body
    return ""


def _markup(text: str) -> Any:
    """Text with code, strong words, and links to other HTML pages as markup; of other links only the words."""
    markup = package("markupsafe", EXTRA)
    out = str(markup.escape(LINK.sub(lambda link: link[0] if link[2].endswith(".html") else link[1], text)))
    out = LINK.sub(r'<a href="\2">\1</a>', out)
    return markup.Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>",
                                re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", out)))


def _blocks(parts: Sequence[Part]) -> Iterator[tuple[str, object]]:
    """The parts of a section as the template takes them, by the name of its kind; consecutive plots are one group."""
    group: list[Plots] = []
    for part in (*parts, ""):
        if isinstance(part, Plots | Image):
            group.append(Plots([("", part.draw())], "wide", part.title) if isinstance(part, Image) else part)
            continue
        if len(group) > 1 and all(plots.kind == "columns" for plots in group):
            yield "group", group
        else:
            yield from (("plots", plots) for plots in group)
        group = []
        if part:
            yield type(part).__name__.lower(), part
