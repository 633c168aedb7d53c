"""A page of sections with text, lists, tables and plots, written once: as plain text, Markdown, or one HTML file.

In text, ``code`` stands between back quotes, strong words between two asterisks, and links are Markdown's. Plots and
tiles are in the HTML alone; what they show must stand in a table as well.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cdma.report.html import html_page
from cdma.report.parts import Part, Table
from cdma.report.tables import markdown, table

__all__ = ["Page", "Section"]

_WIDTH = 120
_LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it; without a heading, the section that leads the page.

    Print does not part a section that is ``kept`` where a page has room for it.
    """

    title: str
    parts: Sequence[Part]
    kept: bool = False


@dataclass(frozen=True)
class Page:
    """A page; its heading is the title unless it has one of its own."""

    title: str
    sections: Sequence[Section]
    heading: str = ""

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
        """The page as one HTML file that needs nothing else.

        Raises
        ------
        ValueError
            If Jinja2, or matplotlib for a page with plots, is not installed.
        """
        return html_page(self)


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
