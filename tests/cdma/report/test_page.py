"""Pages: the same sections as text, Markdown and HTML."""

from __future__ import annotations

import re

from cdma.report.page import Page, Section, part_markdown
from cdma.report.parts import Fenced, Image, Table, bars, lines, prose

PAGE = Page("Figures & more", [
    Section("", [("**First.** Of `all`.", "Second.")]),
    Section("One", [
        *prose("A [link](other.md) and {number:.1f},\nthen more.\n\n- an item\n  of two lines\n- another", number=2.26),
        Table(["name", "value", "note"], [["a <b>", "1", "x"], ["c", "22", "y"]], left=(0, 2), title="Values"),
        bars("Bars", ["one", "two"], {f"group {number}": [1.0, None] for number in range(8)}, {"group 1": 2.0}, "mark"),
        lines("Lines", ["0 %", "100 %"], {"layer": [0.5, 0.25]})])])


def test_prose() -> None:
    assert prose("One\nline.\n\n- a\n- b\n  c") == ["One line.", ("a", "b c")]
    assert prose("- {x}", x=3) == [("3",)]


def test_text() -> None:
    assert PAGE.text() == """\
Figures & more
==============

- First. Of `all`.
- Second.

One
---

A link and 2.3, then more.

- an item of two lines
- another

Values:

name   value  note
-----  -----  ----
a <b>      1  x
c         22  y
"""


def test_markdown() -> None:
    assert PAGE.markdown() == """\
# Figures & more

- **First.** Of `all`.
- Second.

## One

A [link](other.md) and 2.3, then more.

- an item of two lines
- another

Values:

| name | value | note |
| --- | ---: | --- |
| a <b> | 1 | x |
| c | 22 | y |
"""


def test_html() -> None:
    html = PAGE.html()
    assert html.startswith("<!doctype html>")
    assert "<title>Figures &amp; more</title>" in html
    assert "<strong>First.</strong> Of <code>all</code>." in html
    assert "<p>A link and 2.3, then more.</p>" in html
    assert '<td class="left">a &lt;b&gt;</td><td>1</td><td class="left">x</td>' in html
    # Eight groups are two plots of four.
    assert html.count('class="bars"') == 2
    assert html.count("<b>1.00</b>") == 8
    assert html.count("<svg") == 1
    # What stands below a list of series: the line across bars, and nothing of bars that are cut.
    assert "mark</span>" in html and "beyond the scale" not in html
    # Nothing is loaded from elsewhere.
    assert not re.search(r'https?://|src=|<script|<link|href="(?!#)|url\((?!#)', html)


def test_bars_beyond_the_scale_are_explained() -> None:
    groups = {str(number): [2.0] for number in range(8)} | {"z": [99.0]}
    html = Page("Ratios", [Section("", [bars("", ["ratio"], groups)])]).html()
    assert html.count('class="cut"') == 1 and "<b>99.00</b>" in html
    assert "<b>»</b> beyond the scale" in html


def test_long_lines_are_wrapped() -> None:
    page = Page("Long", [Section("", ["word " * 60, ("item " * 60,)])])
    assert max(map(len, page.text().splitlines())) <= 120
    assert max(map(len, page.markdown().splitlines())) <= 120


_BLOCK = Page("Block", [Section("", [
    Fenced("a  <b>\n  indented\n\nlast"), Fenced("x = 1", "python"),
    Image("A plot", "plot.svg", lambda: "<svg>5</svg>")])])


def test_fenced_blocks_and_images() -> None:
    assert _BLOCK.text() == "Block\n=====\n\na  <b>\n  indented\n\nlast\n\nx = 1\n"
    assert _BLOCK.markdown() == ("# Block\n\n```text\na  <b>\n  indented\n\nlast\n```\n\n```python\nx = 1\n```\n\n"
                                 "![A plot](plot.svg)\n")
    html = _BLOCK.html()
    assert "<pre>a  &lt;b&gt;\n  indented\n\nlast</pre>" in html
    # The plot itself, not a file that would have to be loaded.
    assert "<figcaption>A plot</figcaption>" in html and "<svg>5</svg>" in html and "plot.svg" not in html


def test_cells_with_bars_are_one_cell() -> None:
    assert part_markdown(Table(["a|b"], [["`x|y`"]])) == "| a\\|b |\n| --- |\n| `x\\|y` |"
