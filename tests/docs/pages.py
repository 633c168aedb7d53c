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
