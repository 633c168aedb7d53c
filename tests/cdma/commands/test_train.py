"""``cdma train`` as far as it goes without PyTorch: mistakes in the call, and what it says where that is missing."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest


@pytest.mark.parametrize("call", [("--example", "digits"), ("--example", "sums", "--model")])
def test_without_pytorch(call: tuple[str, ...], fails: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.startswith(("cdma.workload.capturing", "cdma.workload.training")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "PyTorch is not installed, and this needs it: pip install 'cdma-rtl[torch]'" in fails("train", *call)


@pytest.mark.parametrize(("call", "message"), [
    ((), "give the network to train: --example digits, --example sums or --example llama"),
    (("--example", "digits", "--steps", "0"), "must be a whole number of 1 or more, not '0'"),
    (("--example", "digits", "--pages", "4X"), "must be bytes, for instance 65536, 64K, 4M or 1.5G, not '4X'"),
    (("--example", "digits", "--clock", "0"), "must be a number above 0, not '0'"),
    (("--example", "digits", "--engine", "huge"), "huge"),
    (("--example", "digits", "--engine", "compressor"), "compressor is a core, not an engine"),
    (("--example", "digits", "--set", "lanes=no"), "lanes"),
])
def test_mistakes(call: tuple[str, ...], message: str, fails: Callable[..., str]) -> None:
    assert message in fails("train", *call)
