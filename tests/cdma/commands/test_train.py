"""``cdma train`` as far as it goes without PyTorch: mistakes in the call, and what it says where that is missing."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest


@pytest.mark.parametrize("call", [("--example", "digits"), ("--example", "sums", "--golden")])
def test_without_pytorch(call: tuple[str, ...], fails: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.startswith(("cdma.workload.capturing", "cdma.workload.training")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "PyTorch is not installed, and this needs it: pip install 'cdma-rtl[torch]'" in fails("train", *call)
