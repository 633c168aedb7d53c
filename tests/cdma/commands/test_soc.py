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
