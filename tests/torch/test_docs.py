"""The examples of the pages that need PyTorch are run as they stand."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from cdma.workload import networks
from cdma.workload.capturing.example import points
from cdma.workload.dumps import load, type_name, values
from tests.docs.pages import PAGES, ROOT, Block, blocks

ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT),
                            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def marked(info: str) -> list[Block]:
    return [block for page in PAGES for block in blocks(page) if block.info == info]


def run(commands: Sequence[Block], folder: Path) -> str:
    """What commands print; the simulator builds are shared with all other users of this clone."""
    shared = ROOT / "build/sim"
    shared.mkdir(parents=True, exist_ok=True)
    (folder / "build").mkdir()
    (folder / "build/sim").symlink_to(shared)
    script = "\n".join(["set -eu -o pipefail", *(block.body for block in commands)])
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def accuracy(said: str) -> float:
    """The share of new data that an example has right."""
    found, = re.findall(r"^([\d.]+) % of the .* correctly$", said, re.MULTILINE)
    return float(found) / 100


def digits(folder: Path, said: str) -> None:
    assert accuracy(said) > 0.95 and "Digits, 5 steps captured" in said
    assert "step 215" in said
    arrays = load(folder)
    assert len(arrays) == 5 * 8
    # After a ReLU nothing is negative, and training makes the last layers sparser.
    assert all((array >= 0).all() for array in arrays.values())
    first, *_, last = (np.count_nonzero(array) / array.size for name, array in arrays.items()
                       if name.endswith("/conv4"))
    assert last < 0.5 * first


def sums(folder: Path, said: str) -> None:
    assert accuracy(said) > 0.6 and "% of the bytes of new sums predicted correctly" in said
    assert "Gpt, 5 steps captured" in said
    arrays = load(folder)
    assert {name.partition("/")[0] for name in arrays} == {f"step{step:06d}" for step in points("gpt").values()}
    dense = {name: values(array) for name, array in arrays.items() if type_name(array.dtype) == "bfloat16"}
    assert dense
    last = [array for name, array in dense.items() if name.endswith("blocks.0.mlp.gelu")]
    # The least value of a GELU.
    assert len(last) == 5 and last[-1].min() == pytest.approx(-0.17, abs=0.005)
    assert min(np.count_nonzero(array) / array.size for array in dense.values()) > 0.9


def relu2(folder: Path, said: str) -> None:
    """Squared ReLU brings zeros back."""
    assert accuracy(said) > 0.6
    last = f"step{points('relu2')[100]:06d}/"
    shares = [np.count_nonzero(values(array)) / array.size for name, array in load(folder).items()
              if name.startswith(last) and ".mlp.relu" in name]
    table = json.loads((Path(networks.__file__).parent / "densities.json").read_text(encoding="utf-8"))
    assert len(shares) == 4                               # in each block, of the ReLU and of the square behind it
    assert np.mean(shares) == pytest.approx(table["examples"]["relu2"]["density"], abs=0.03)


def trained(example: str) -> list[Block]:
    """The commands that train an example as it is."""
    return [block for block in marked("sh torch") if f"cdma capture --example {example}\n" in block.body]


EXAMPLES: list[Callable[[Path, str], None]] = [sums, relu2, digits]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.__name__)
def test_examples(example: Callable[[Path, str], None], tmp_path: Path) -> None:
    """They take long: what they learned and the dumps are looked at here, and nothing else trains them to the end."""
    said = run(trained(example.__name__), tmp_path)
    example(tmp_path / example.__name__, said)


PAGES_WITH_COMMANDS = list(dict.fromkeys(block.page for block in marked("sh torch")))


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=lambda page: page.stem)
def test_commands(page: Path, tmp_path: Path) -> None:
    """One page is one session; those that train the examples are run by themselves."""
    examples = [block for example in EXAMPLES for block in trained(example.__name__)]
    assert len(examples) == len(EXAMPLES)
    run([block for block in marked("sh torch") if block.page == page and block not in examples], tmp_path)


@pytest.mark.parametrize("block", marked("py torch"), ids=lambda block: block.title)
def test_python_examples(block: Block, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", block.body], cwd=tmp_path, env=ENVIRONMENT, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
