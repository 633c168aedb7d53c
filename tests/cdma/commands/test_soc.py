"""``cdma soc``: mistakes in the call, which need neither LiteX nor a compiler. What it simulates: tests/soc."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cdma.commands import soc


def test_a_missing_extra_is_named(fails: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    def found(name: str) -> Any:
        return None if name == "litex" else importlib.util.find_spec(name)

    monkeypatch.setattr(soc, "importlib", SimpleNamespace(util=SimpleNamespace(find_spec=found)))
    assert "needs the Python package litex: pip install 'cdma-rtl[soc]'" in fails("soc")


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the extra was not installed: mistakes in a call are named before that."""
    monkeypatch.setattr(soc, "importlib", SimpleNamespace(util=SimpleNamespace(find_spec=lambda name: None)))


@pytest.mark.usefixtures("missing")
def test_mistakes_in_the_call(fails: Callable[..., str]) -> None:
    assert "conv99" in fails("soc", "--array", "conv99")
    assert "lanes must be 1 to 16" in fails("soc", "--set", "lanes=17")
    assert "none.npz" in fails("soc", "none.npz")
    assert "--output is for the files of a board" in fails("soc", "-o", "here")
    assert "a board is not simulated and has SDRAM: leave out --waves" in fails("soc", "--board", "b", "--waves")
    assert "no board 'arty' for a SoC: there are ulx3s-85f" in fails("soc", "--board", "arty")
    assert "the tensor must have 4 to 245760 bytes" in fails("soc", "--kib", "0")
    assert "address_bits must be 32 in a SoC, as on its bus, not 40" in fails("soc", "--engine", "engine")
    assert "leave out --memory" in fails("soc", "--board", "ulx3s-85f", "--memory", "ram")
