"""Scripts that are captured: what is shown of their errors."""

from __future__ import annotations

import runpy
import sys
import traceback
from pathlib import Path
from types import ModuleType

import pytest

from cdma.workload import capturing


@pytest.mark.parametrize("name", ["train.py", "./train.py", ".//train.py"])
def test_errors_are_shown_from_the_script_on(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # What is tested needs no PyTorch.
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    within = runpy.run_path(f"{capturing.__path__[0]}/script.py")["within"]
    (tmp_path / "train.py").write_text("def learn():\n    raise ValueError('out of luck')\nlearn()\n")
    with pytest.raises(ValueError, match="out of luck") as caught:
        runpy.run_path(str(Path(name)))
    shown = traceback.extract_tb(within(caught.value, name))
    assert [(frame.filename, frame.lineno) for frame in shown] == [("train.py", 3), ("train.py", 2)]
