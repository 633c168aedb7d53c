"""Networks that were captured: the file is read into steps and tensors, and mistakes are one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdma.golden.results import to_json
from cdma.workload.networks.captured import (
    FORMAT,
    NETWORK,
    VERSION,
    CapturedStep,
    CapturedTensor,
    Part,
    Table,
    read_captured,
)
from cdma.workload.timeline.compute import roofline
from cdma.workload.timeline.gpus import GPUS, gpu
from cdma.workload.timeline.profiles import captured_profile
from cdma.workload.timeline.scenario import Scenario

TABLE = Table(
    FORMAT, VERSION, "Net", 3, 4, "bfloat16", "cuda", "NVIDIA A100-SXM4-40GB",
    {"data": CapturedTensor((4, 3, 8, 8), "float32", "input"),
     "conv": CapturedTensor((4, 16, 8, 8), "bfloat16", "relu"),
     "fc": CapturedTensor((4, 10), "bfloat16", "linear"), "fc/unsaved": CapturedTensor((4, 10), "bfloat16", "sum")},
    (CapturedStep("conv", ("data",), ("conv",), ("data", "conv"), 448, (Part("conv", 221184, 11264),), 1.0, 2.0),
     CapturedStep("fc", ("conv",), ("fc/unsaved", "fc"), ("conv",), 10250,
                  (Part("fc", 81920, 8272), Part("attention", 800, 100)), 0.5, 0.25),
     CapturedStep("sum", ("fc/unsaved",), (), ("fc",), 0, ())))


def written(folder: Path, change: Callable[[Any], None] = lambda content: None) -> Path:
    """A folder with the table, changed."""
    content = to_json(TABLE)
    for step in content["steps"]:
        if step["forward_ms"] is None:
            step["forward_ms"] = step["backward_ms"] = 0.0
    change(content)
    (folder / NETWORK).write_text(json.dumps(content))
    return folder


def test_steps_and_tensors(tmp_path: Path) -> None:
    found = read_captured(written(tmp_path))
    plan = found.tensors
    assert [(step.name, step.reads, step.writes, step.keeps) for step in plan.steps] == [
        ("conv", ("data",), "conv", ("data", "conv")), ("fc", ("conv",), "fc/unsaved", ("conv",)),
        ("sum", ("fc/unsaved",), "", ("fc",))]
    assert (plan.network.name, plan.network.batch, plan.network.dtype, plan.network.compute) == (
        "Net", 4, "bfloat16", "bfloat16")
    assert plan.network.params == 10698 and plan.network.flops == (221184 + 81920 + 800) // 4
    conv = plan.tensors["conv"]
    assert (conv.elements, conv.size, conv.role, conv.sparse) == (4096, 8192, "relu", True)
    assert (conv.written, conv.read, conv.kept, conv.last_use) == ((0,), (1,), (0, 1), 1)
    assert plan.tensors["data"].feeds_conv and not conv.feeds_conv
    assert not plan.tensors["fc/unsaved"].saved
    # The gradient of the input is not computed; fused attention computes its scores again.
    assert [[layer.gradients for layer in step.layers] for step in plan.steps] == [[1.0], [2.0, 2.5], [1.0]]
    assert read_captured(tmp_path, "float8").tensors.network.compute == "float8"


def test_times_and_roofline(tmp_path: Path) -> None:
    found = read_captured(written(tmp_path))
    assert found.times == {"conv": (0.001, 0.002), "fc": (0.0005, 0.00025), "sum": (0.0, 0.0)}
    profile = captured_profile(found)
    assert profile is not None
    assert [name for name in GPUS if profile.suits(gpu(name))] == ["a100"]
    conv, fc, _ = roofline(found.tensors, gpu("a100"))
    # Counted bytes, and weights in the type of the values.
    assert (conv.forward_traffic, fc.forward_traffic) == (11264 + 2 * 448, 8272 + 2 * 10250 + 100)
    assert conv.forward == pytest.approx((11264 + 896) / 1555e9)
    assert read_captured(written(tmp_path, lambda content: content["steps"][1].update(forward_ms=None))).times is None


def test_the_timeline_takes_arrays_and_times_of_the_folder(tmp_path: Path) -> None:
    folder = written(tmp_path)
    values = np.ones((1, 16, 8, 8), np.float16)
    values[:, ::2] = 0
    arrays: dict[str, Any] = {"step000003/conv": values}
    np.savez(folder / "step000003.npz", **arrays)
    (folder / "manifest.json").write_text(json.dumps(
        {"format": "cdma-dump", "version": 1, "files": [{"file": "step000003.npz"}]}))
    own, other = Scenario(str(folder), "a100"), Scenario(str(folder), "v100")
    done = own.study()
    assert done.fillings["conv"].density == 0.5
    # The array is one sample, the tensor that is swapped is the whole batch.
    assert done.plan.tensors["conv"].size == 8192
    assert done.rows["oracle"].seconds == pytest.approx(0.00375)
    assert own.times is not None and other.times is None
    assert other.study().rows["oracle"].seconds < 1e-5
    with pytest.raises(ValueError, match="was captured as it is: leave --batch, --dtype and --positions out"):
        Scenario(str(folder), batch=8).study()


@pytest.mark.parametrize(("change", "said"), [
    (lambda content: content.update(format="other"), 'it does not say "format": "cdma-network"'),
    (lambda content: content.update(version=2), "is of version 2, and 1 is known"),
    (lambda content: content.update(steps=[]), "there are no steps"),
    (lambda content: content.update(batch=0), "the batch must be 1 or more, not 0"),
    (lambda content: content.update(compute="int8"), "Net cannot be computed in 'int8'"),
    (lambda content: content.pop("model"), "has no 'model'"),
    (lambda content: content.update(more=1), "has 'more', which Table has not"),
    (lambda content: content["tensors"]["conv"].update(role="tanh"), "the role of conv is 'tanh': input, relu"),
    (lambda content: content["tensors"]["conv"].update(dtype="bf16"), "there is no type 'bf16'"),
    (lambda content: content["tensors"]["conv"].update(dtype="int8"), "the type of conv is int8, which is none of"),
    (lambda content: content["tensors"]["conv"].update(shape=[4, 0]), "sizes of 1 or more, not [4, 0]"),
    (lambda content: content["steps"][1].update(name="conv"), "there are two steps 'conv'"),
    (lambda content: content["steps"][1].update(reads=["x"]), "fc names the tensor 'x', which is not in tensors"),
    (lambda content: content["steps"][1].update(params=-1), "the numbers of fc must be 0 or more"),
    (lambda content: content["steps"][0]["parts"][0].update(kind="magic"), "conv has a part of the kind 'magic'"),
])
def test_malformed(tmp_path: Path, change: Callable[[Any], None], said: str) -> None:
    with pytest.raises(ValueError) as error:
        read_captured(written(tmp_path, change))
    assert said in str(error.value) and NETWORK in str(error.value)
    assert "\n" not in str(error.value)


def test_no_table(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is a folder without network\.json: give one that cdma capture wrote"):
        read_captured(tmp_path)
    (tmp_path / NETWORK).write_text("{")
    with pytest.raises(ValueError, match="is not JSON"):
        read_captured(tmp_path)
