"""What the tests of synthesis share: a library of a few cells, and the ways to change it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cdma.synth.cells.library import Library
from cdma.synth.tools import opensta

TINY = Path(__file__).parent / "tiny.lib"

needs_opensta = pytest.mark.skipif(not opensta.available(), reason="needs OpenSTA (apt install opensta)")
"""For tests that calculate clocks in cells."""


@pytest.fixture(scope="session")
def text() -> str:
    """The text of the small library."""
    return TINY.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def tiny(text: str) -> Library:
    """The small library."""
    return Library(TINY, text)


@pytest.fixture
def changed(text: str) -> Callable[..., Library]:
    """The small library with texts replaced, given as pairs; each has to be there."""
    def change(*pairs: tuple[str, str]) -> Library:
        result = text
        for before, after in pairs:
            assert before in result
            result = result.replace(before, after)
        return Library(Path("changed.lib"), result)

    return change
