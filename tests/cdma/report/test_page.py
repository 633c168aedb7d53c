"""Pages: the same sections as text, Markdown and HTML."""

from __future__ import annotations

import re

from cdma.report.page import Page, Section, part_markdown
from cdma.report.parts import Fenced, Image, Table, bars, lines, prose
from tests.docs.pages import check_html

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


def test_a_verdict_and_results_are_marked() -> None:
    page = Page("Result", [Section("", ["**FAILED: it.**"]), Section("Steps", [
        Table(["step", "result"], [["a", "passed"], ["b", "failed"], ["c", "not run"]], left=(0, 1))])], passed=False)
    html = page.html()
    check_html(html, "failed")
    assert [f'<td class="left {state}">' in html for state in ("passed", "failed", "not run")] == [True, True, False]
    # A mark as well as a colour, each with a text of its own.
    assert all(f"{rule}::before {{ content" in html for rule in ("td.passed", "td.failed"))


def test_colours_are_readable_by_day_and_night() -> None:
    """All are variables with two values, and words stand out from what is behind them by 4.5 to 1 at least."""
    css = re.findall(r"<style>(.*?)</style>", PAGE.html(), re.DOTALL)[0]
    day, night = (dict(re.findall(r"--(\w+): (#\w+)", each)) for each in re.findall(r":root \{(.*?)\}", css, re.DOTALL))
    assert day.keys() == night.keys()
    names = ("text", "quiet", "accent", "good", "bad")
    assert [(name, behind) for colours in (day, night) for name in names for behind in ("paper", "box")
            if _contrast(colours[name], colours[behind]) < 4.5] == []
    # What is not a variable: marks on bars and behind pictures of light paper, which are the same at night.
    rules = css.partition("\nbody")[2]
    assert set(re.findall(r"#[0-9a-f]{3,8}\b", rules)) == {"#000", "#fff", "#0000"}
    assert set(re.findall(r"var\(--(\w+)\)", rules)) == {*day, "step"}


def _contrast(one: str, other: str) -> float:
    """As WCAG 2 has it."""
    def light(colour: str) -> float:
        digits = colour[1:] if len(colour) == 7 else "".join(2 * each for each in colour[1:])
        parts = [int(digits[at:at + 2], 16) / 255 for at in (0, 2, 4)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05

    return max(light(one), light(other)) / min(light(one), light(other))


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
