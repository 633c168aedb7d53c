"""A page as one HTML file that needs nothing else: filled into the templates beside this module."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.report.parts import Plot, Table, Tiles
from cdma.report.plots.drawing import EXTRA
from workload.extra import package

if TYPE_CHECKING:
    from cdma.report.page import Page
    from cdma.report.parts import Part

__all__ = ["html_page"]

_TEMPLATES = Path(__file__).parent / "templates"
_LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")


def html_page(page: Page) -> str:
    """The file.

    Raises
    ------
    ValueError
        If Jinja2, or matplotlib for a page with plots, is not installed.
    """
    jinja2 = package("jinja2", EXTRA)
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters["words"] = _words
    sections = [{"title": section.title, "kept": section.kept, "parts": list(_blocks(section.parts))}
                for section in page.sections]
    return environment.get_template("page.html").render(page=page, heading=page.heading or page.title,
                                                        sections=sections) + "\n"


def _words(text: str) -> Any:
    """Code, strong words and links to other HTML pages as HTML; of other links the words alone."""
    markup = package("markupsafe", EXTRA)
    out = str(markup.escape(_LINK.sub(lambda link: link[0] if link[2].endswith(".html") else link[1], text)))
    out = _LINK.sub(r'<a href="\2">\1</a>', out)
    return markup.Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>",
                                re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", out)))


def _blocks(parts: Sequence[Part]) -> Iterator[dict[str, Any]]:
    """The parts of a section as the template takes them; plots that follow each other are one group."""
    group: list[Any] = []
    for part in (*parts, None):
        if isinstance(part, Plot):
            group.append(part.drawn())
            continue
        if group:
            side_by_side = len(group) > 1 and all(plots.kind == "columns" for plots in group)
            yield from ([{"kind": "group", "plots": group}] if side_by_side
                        else [{"kind": "plots", "plots": plots} for plots in group])
            group = []
        if part is not None:
            yield _block(part)


def _block(part: str | tuple[str, ...] | Table | Tiles) -> dict[str, Any]:
    if isinstance(part, str):
        return {"kind": "text", "text": part}
    if isinstance(part, tuple):
        return {"kind": "list", "entries": part}
    if isinstance(part, Tiles):
        return {"kind": "tiles", "tiles": list(part.tiles.items())}
    return {"kind": "table", "table": part}
