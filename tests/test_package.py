"""The wheel, as users have it: one package, which whatever else is called hdl, verif or golden does not disturb."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
_OTHERS = {"golden.py": "", "workload.py": "", "hdl/__init__.py": "", "synth/__init__.py": "", "verif/__init__.py": "",
           "verif/engine/__init__.py": ""}
"""Modules of a user's own, with the names of the folders; to use one of them is an error that names it."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], cwd=ROOT, check=True,
                   capture_output=True)
    made, = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel holds, and with modules of a user's own."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    for name in _OTHERS:
        (folder / "own" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "own" / name).write_text(f'raise RuntimeError("the user\'s {name} was imported")\n')
    return folder


def _run(installed: Path, *call: str) -> str:
    """What Python prints, which finds the user's modules first, then those of the wheel."""
    path = os.pathsep.join([str(installed / "own"), str(installed)])
    done = subprocess.run([sys.executable, *call], cwd=installed, env=os.environ | {"PYTHONPATH": path},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_holds_the_tracked_files_as_one_package(wheel: Path) -> None:
    packages = ("cdma", "golden", "hdl", "synth", "verif", "workload")
    tracked = subprocess.run(["git", "ls-files", "-z", *packages], cwd=ROOT, capture_output=True, text=True, check=True)
    wanted = {name if name.startswith("cdma/") else f"cdma/{name}" for name in tracked.stdout.split("\0")
              if name and not (ROOT / name).is_symlink()}
    there = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert wanted == there


def test_it_is_the_wheel_that_runs(installed: Path) -> None:
    said = _run(installed, "-c", "import cdma.hdl; print(cdma.hdl.__file__)")
    assert Path(said.strip()) == installed / "cdma/hdl/__init__.py"


@pytest.mark.parametrize("call", [
    ("generate", "compressor", "tiny"),
    ("simulate",),
    ("verify", "paper_compressor", "--step", "compressor"),
], ids=" ".join)
def test_modules_of_the_users_own_change_nothing(installed: Path, call: tuple[str, ...]) -> None:
    _run(installed, "-m", "cdma", *call)


@pytest.mark.parametrize("name", ["golden", "hdl", "synth", "verif", "workload"])
def test_an_old_import_fails_with_the_new_one(name: str) -> None:
    """In a checkout, where the folders are found."""
    done = subprocess.run([sys.executable, "-c", f"import {name}"], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    said = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and said.startswith(f"ImportError: {name} is a part of the package cdma: write ")
