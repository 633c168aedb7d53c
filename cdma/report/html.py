"""Pages as HTML: one file that loads no other file, filled into the templates beside this module."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.report.parts import LINK, Fenced, Plot, Plots, Table, Tiles
from cdma.report.plots.drawing import EXTRA
from cdma.workload.extra import package

if TYPE_CHECKING:
    from cdma.report.page import Page
    from cdma.report.parts import Part

__all__ = ["html_page"]

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class _Block:
    """A part of a section as the template takes it: its kind, which selects the markup, and its content."""

    kind: str
    content: object


@dataclass(frozen=True)
class _Section:
    title: str
    kept: bool
    blocks: Sequence[_Block]


def html_page(page: Page) -> str:
    """The page as HTML.

    Raises
    ------
    ValueError
        If Jinja2, or matplotlib for a page with plots, is not installed.
    """
    jinja2 = package("jinja2", EXTRA)
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters["words"] = _words
    sections = [_Section(section.title, section.kept, list(_blocks(section.parts))) for section in page.sections]
    return environment.get_template("page.html").render(page=page, heading=page.heading or page.title,
                                                        sections=sections) + "\n"


def _words(text: str) -> Any:
    """Text with code, strong words, and links to other HTML pages as markup; of other links only the words."""
    markup = package("markupsafe", EXTRA)
    out = str(markup.escape(LINK.sub(lambda link: link[0] if link[2].endswith(".html") else link[1], text)))
    out = LINK.sub(r'<a href="\2">\1</a>', out)
    return markup.Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>",
                                re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", out)))


def _blocks(parts: Sequence[Part]) -> Iterator[_Block]:
    """The parts of a section as the template takes them; consecutive plots are one group."""
    group: list[Plots] = []
    for part in (*parts, None):
        if isinstance(part, Plot):
            group.append(part.drawn())
            continue
        if group:
            side_by_side = len(group) > 1 and all(plots.kind == "columns" for plots in group)
            yield from [_Block("group", group)] if side_by_side else [_Block("plots", plots) for plots in group]
            group = []
        if part is not None:
            yield _block(part)


def _block(part: str | tuple[str, ...] | Table | Fenced | Tiles) -> _Block:
    if isinstance(part, str):
        return _Block("text", part)
    if isinstance(part, tuple):
        return _Block("list", part)
    if isinstance(part, Fenced):
        return _Block("fenced", part.text)
    if isinstance(part, Tiles):
        return _Block("tiles", list(part.tiles.items()))
    return _Block("table", part)
