"""The glossary: one row a word, in order."""

from tests.docs.pages import ROOT, table


def test_every_word_stands_once_and_in_order() -> None:
    words = [row[0] for row in table(ROOT / "docs/glossary.md", "word")]
    assert len(words) == len(set(words))
    assert words == sorted(words)
