"""What the tests of synthesis share: a library of a few cells, and the ways to change it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from cdma.hdl.config.engine import EngineConfig
from cdma.synth.cells.library import Library
from cdma.synth.tools import opensta
from cdma.synth.units import hierarchy
from cdma.verif.engine.build import engine_text

TINY = Path(__file__).parent / "tiny.lib"

needs_opensta = pytest.mark.skipif(not opensta.available(), reason="needs OpenSTA (apt install opensta)")
"""For tests that calculate clocks in cells."""


@pytest.fixture
def kept_engines(monkeypatch: pytest.MonkeyPatch, build_dir: Path) -> None:
    """The Verilog of an engine is generated once for all tests: it takes ten seconds."""
    made = hierarchy.emit
    monkeypatch.setattr(hierarchy, "emit", lambda config: SimpleNamespace(
        text=engine_text(config, build_dir), ports=()) if isinstance(config, EngineConfig) else made(config))


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
