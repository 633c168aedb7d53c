"""The examples of the pages that need PyTorch are run as they stand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, Block, blocks

ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT),
                            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def marked(info: str) -> list[Block]:
    return [block for page in PAGES for block in blocks(page) if block.info == info]


def test_commands(tmp_path: Path) -> None:
    script = "\n".join(["set -eu -o pipefail", *(block.body for block in marked("sh torch"))])
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("block", marked("py torch"), ids=lambda block: block.title)
def test_python_examples(block: Block, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", block.body], cwd=tmp_path, env=ENVIRONMENT, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
