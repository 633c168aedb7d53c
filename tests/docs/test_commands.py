"""What pages tell users to type is run as it stands."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cdma.workload.data import shipped
from cdma.workload.dumps import load
from tests.docs.pages import PAGES, ROOT, Block, all_blocks, blocks

SET_UP = ("make", "git clone", "cd ", "source ")


def _command(line: str) -> str:
    """A line without its comment."""
    return line.partition("  #")[0].rstrip()


OF_THE_WHEEL = {_command(line) for block in blocks(ROOT / "README.md") for line in block.body.splitlines()
                if line.startswith("cdma ") and not line.startswith(("cdma simulate", "cdma area"))}
"""README's commands that tests/test_package.py runs with the installed wheel; other pages have some of them as well."""

DEFAULT = re.compile(r"^cdma generate engine -o rtl$", re.MULTILINE)
"""Half a minute, of two pages: what it writes is made once for all tests."""


def without_set_up(block: Block) -> str:
    """The commands of a block but for those that set the project up, which need a clone of their own, those that run a
    generated bench, as its own tests do, and those that are run with the wheel."""
    return "\n".join(line for line in block.body.splitlines()
                     if not line.startswith(SET_UP) and _command(line) not in OF_THE_WHEEL)


PAGES_WITH_COMMANDS = [page for page in PAGES
                       if any(block.info == "sh" and without_set_up(block).strip() for block in blocks(page))]


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=lambda page: page.stem)
def test_commands_run(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    # One page is one session; the simulator builds are shared with all other users of this clone.
    shared = ROOT / "build/sim"
    shared.mkdir(parents=True, exist_ok=True)
    (tmp_path / "build").mkdir()
    (tmp_path / "build/sim").symlink_to(shared)
    # Pages that speak of the reader's own dump get one layer of the shipped one.
    np.savez(tmp_path / "my_dump.npz", conv1=load(shipped(), "conv1")["conv1"])
    commands = [without_set_up(block) for block in blocks(page) if block.info == "sh"]
    script = "\n".join(["set -eu -o pipefail", *commands])
    if DEFAULT.search(script):
        script = DEFAULT.sub(f"cp -r {request.getfixturevalue('default_engine')}/rtl .", script)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("block", all_blocks("python"), ids=lambda block: block.title)
def test_python_examples_run(block: Block, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", block.body], cwd=tmp_path, capture_output=True, text=True, check=False,
                          env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr


def test_make_targets_exist() -> None:
    listed = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = {line.split()[1] for line in listed.splitlines()}
    lines = [line for block in all_blocks("sh") for line in block.body.splitlines()
             if line.startswith("make") and not line.startswith("make -C")]
    assert lines
    for line in lines:
        for word in shlex.split(line, comments=True)[1:]:
            assert word in targets or "=" in word, line
