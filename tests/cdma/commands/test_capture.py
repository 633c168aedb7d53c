"""``cdma capture`` as far as it goes without PyTorch: mistakes in the call, and what it says where that is missing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cdma.workload.capturing.manifest import Manifest
from tests.cdma.conftest import Outcome


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without the extra [torch]."""
    for name in list(sys.modules):
        if name.startswith("cdma.workload.capturing"):
            monkeypatch.delitem(sys.modules, name)
    for name in ("torch", "sklearn"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.usefixtures("no_torch")
@pytest.mark.parametrize("call", [("-o", "dump", "train.py"), ("--example", "digits", "-o", "dump"), ("--accuracy",)])
def test_without_pytorch(call: tuple[str, ...], fails: Callable[..., str]) -> None:
    Path("train.py").write_text("import torch\n")
    assert "PyTorch is not installed, and this needs it: pip install 'cdma-rtl[torch]'" in fails("capture", *call)
    assert not Path("dump").exists()


@pytest.mark.usefixtures("no_torch")
def test_all_else_works_without_pytorch(cdma: Callable[..., Outcome]) -> None:
    assert cdma("characterise", "--narrow", "none").code == 0


@pytest.mark.usefixtures("no_torch")
@pytest.mark.parametrize("call", [("-o", "dump", "train.py"), ("--example", "digits", "-o", "dump")])
def test_a_dump_is_never_written_over(call: tuple[str, ...], fails: Callable[..., str], tmp_path: Path) -> None:
    Manifest(tmp_path / "dump", "Net").save()
    Path("train.py").write_text("raise SystemExit('the script is not run')\n")
    assert "dump has a dump already: choose another folder, or delete it first" in fails("capture", *call)


@pytest.mark.usefixtures("no_torch")
@pytest.mark.parametrize("call", [("-o", "file/dump", "train.py"), ("--example", "digits", "-o", "file/dump")])
def test_a_folder_that_cannot_be_made_is_found_before_the_training(call: tuple[str, ...], fails: Callable[..., str],
                                                                   tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "train.py").write_text("open('ran', 'w')\n")
    assert "cannot make the folder file/dump: file is not a folder" in fails("capture", *call)
    assert not (tmp_path / "ran").exists()
