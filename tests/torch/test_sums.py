"""The dense worked example: its text, its training, and the dump of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdma.workload import networks
from cdma.workload.capturing import sums
from cdma.workload.capturing.example import example, points
from cdma.workload.capturing.training import train
from cdma.workload.dumps import load, type_name, values
from tests.torch.test_capture_command import cdma


def test_every_line_is_a_sum() -> None:
    numbers = {sums.in_words(number): number for number in range(200)}
    assert len(numbers) == 200
    assert [sums.in_words(number) for number in (0, 13, 20, 42, 100, 101, 119, 199)] == [
        "zero", "thirteen", "twenty", "forty-two", "one hundred", "one hundred one", "one hundred nineteen",
        "one hundred ninety-nine"]
    lines = sums.text(500).splitlines()
    assert len(set(lines)) > 450
    for line in lines:
        left, _, right = line.removesuffix(".").partition(" is ")
        one, _, other = left.partition(" plus ")
        assert numbers[one] + numbers[other] == numbers[right]
    assert max(map(len, lines)) < sums.CONTEXT


def test_the_example(tmp_path: Path) -> None:
    done = cdma(tmp_path, "capture", "--example", "sums", "--max-array", "64K", "--json")
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["model"] == "Gpt" and told["example"]["tested"] == "bytes of new sums predicted"
    assert told["example"]["losses"][-1] < 1 < told["example"]["losses"][0]
    assert told["example"]["accuracy"] > 0.6
    arrays = load(tmp_path / "sums")
    assert {name.partition("/")[0] for name in arrays} == {f"step{step:06d}" for step in points("gpt").values()}
    dense = {name: values(array) for name, array in arrays.items() if type_name(array.dtype) == "bfloat16"}
    assert dense
    last = [array for name, array in dense.items() if name.endswith("blocks.0.mlp.gelu")]
    # The least value of a GELU.
    assert len(last) == 5 and last[-1].min() == pytest.approx(-0.17, abs=0.005)
    assert min(np.count_nonzero(array) / array.size for array in dense.values()) > 0.9


def test_squared_relu_brings_zeros_back(tmp_path: Path) -> None:
    done = example(tmp_path / "relu2", "relu2", max_array=1 << 18)
    assert done.accuracy > 0.6
    last = f"step{points('relu2')[100]:06d}/"
    shares = [np.count_nonzero(values(array)) / array.size for name, array in load(tmp_path / "relu2").items()
              if name.startswith(last) and ".mlp.relu" in name]
    table = json.loads((Path(networks.__file__).parent / "densities.json").read_text(encoding="utf-8"))
    assert len(shares) == 4                               # in each block, of the ReLU and of the square behind it
    assert sum(shares) / 4 == pytest.approx(table["examples"]["relu2"]["density"], abs=0.03)


def test_it_is_repeatable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "EPOCHS", 1)
    monkeypatch.setattr(sums, "_STEPS", 5)
    first, second, other = (train(sums.begin(seed)) for seed in (0, 0, 1))
    assert first == second
    assert first.losses != other.losses


def test_choices_that_do_not_fit(tmp_path: Path) -> None:
    for network in sums.PERCEPTRONS:
        with pytest.raises(ValueError, match=f"the example {network} is not narrowed"):
            example(tmp_path / "dump", network, "bfloat16")
    with pytest.raises(ValueError, match="there is no example 'rnn': there are cnn, gpt, relu2, llama"):
        example(tmp_path / "dump", "rnn")
