"""The pages of the project and the fenced blocks in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "workload/data/README.md", *sorted(ROOT.glob("docs/*.md"))]
_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, the words after the fence, its text and the line it starts in."""

    page: Path
    info: str
    body: str
    line: int

    @property
    def title(self) -> str:
        """A name for test reports."""
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [Block(page, found["info"].strip(), found["body"], text.count("\n", 0, found.start()) + 1)
            for found in _FENCE.finditer(text)]


def all_blocks(language: str) -> list[Block]:
    """The blocks of all pages whose first word after the fence is, or starts with, a language."""
    return [block for page in PAGES for block in blocks(page) if block.info.split()[:1] == [language]]


def table(page: Path, head: str) -> list[list[str]]:
    """The rows of the table of a page whose head starts with ``| head |``, cells without back quotes."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {head} |"))
    rows = []
    for line in lines[start + 2:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().strip("`") for cell in line.strip("|").split("|")])
    return rows


def check_html(text: str, verdict: str = "") -> None:
    """A page for browsers: it loads nothing, has a verdict at its beginning, fits a phone, and is easily found one's
    way in.

    Parameters
    ----------
    verdict
        ``passed`` or ``failed``, where the page says which; otherwise the page begins with a strong sentence or a list.
    """
    assert text.startswith("<!doctype html>")
    assert not re.search(r"<script|<link|<img|@import|url\((?!#)|src=|https?://", text)
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in text
    assert "@media (prefers-color-scheme: dark)" in text
    assert text.count("<th") - text.count("<thead") == text.count('<th scope="col"')
    assert text.count("<table>") == text.count('<div class="wide"><table>'), "wide tables scroll by themselves"
    headings = re.findall(r'<h2 id="([^"]+)">', text)
    assert len(set(headings)) == len(headings) == text.count("<h2")
    assert re.findall(r'<li><a href="#([^"]+)">', text) == (headings if len(headings) >= 5 else [])
    head = re.search(r'</h1>\s*<div class="lead ?(\w*)">\s*<p>(<strong>)?', text)
    assert head is not None and head[1] == verdict and (head[2] or not verdict)
