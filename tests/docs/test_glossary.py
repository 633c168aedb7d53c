"""The glossary: one row a word, in order; words that were replaced are gone everywhere."""

from __future__ import annotations

import re
import subprocess

from tests.docs.pages import ROOT, table

_REPLACED = ("cutter", "fitter", "hopper", "joiner")
"""Old names of the burst splitter, the header parser, the barrel shifter, and of units that are gone."""


def test_every_word_stands_once_and_in_order() -> None:
    words = [row[0] for row in table(ROOT / "docs/glossary.md", "word")]
    assert len(words) == len(set(words))
    assert words == sorted(words)


def test_replaced_words_are_gone() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    old = re.compile(rf"(?i)(?<![a-z])({'|'.join(_REPLACED)})s?(?![a-z])")
    found = []
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path.suffix not in (".py", ".md", ".h", ".v", ".c", ".toml"):
            continue
        if name in ("CHANGELOG.md", "tests/docs/test_glossary.py"):
            continue
        found += [f"{name}:{number}: {line.strip()}" for number, line in
                  enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if old.search(line)]
    assert not found, "\n".join(found)
