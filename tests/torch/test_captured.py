"""The table of a captured network: that of both worked examples, of views and of memory that is written in place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cdma.workload.capturing import capture, digits, sums
from cdma.workload.capturing.manifest import read_manifest
from cdma.workload.capturing.training import train as train_example
from cdma.workload.networks.captured import NETWORK, Captured, read_captured
from tests.torch.networks import Residual, nn, torch, train


def saved_bytes(found: Captured) -> int:
    return sum(tensor.size for tensor in found.tensors.tensors.values() if tensor.saved)


@pytest.mark.parametrize(("example", "layers"), [(digits.begin, 8), (sums.begin, 18)])
def test_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: Callable[..., Any],
                      layers: int) -> None:
    monkeypatch.setattr(digits, "EPOCHS", 1)
    monkeypatch.setattr(sums, "EPOCHS", 1)
    monkeypatch.setattr(sums, "_STEPS", 10)
    model: list[Any] = []

    def watch(seen: Any) -> Any:
        model.append(seen)
        return capture(seen, tmp_path / "dump", steps=[1], times=True, max_array=4096)

    train_example(example(), watch=watch)
    found, manifest = read_captured(tmp_path / "dump"), read_manifest(tmp_path / "dump")
    # All that autograd saved, also where the dump has a sample or nothing of it.
    assert saved_bytes(found) == manifest["files"][0]["saved_bytes"]
    assert {name.partition("/")[2] for name in manifest["arrays"]} <= set(found.tensors.tensors)
    for name, array in manifest["arrays"].items():
        tensor = found.tensors.tensors[name.partition("/")[2]]
        assert tensor.elements == torch.Size(array["full_shape"]).numel()
    assert len(found.tensors.steps) == layers
    weights = list(model[0].parameters())
    assert found.tensors.network.params == sum(weight.numel() for weight in weights)
    assert found.times is not None and set(found.times) == {step.name for step in found.tensors.steps}
    assert sum(forward for forward, _ in found.times.values()) > 0
    assert found.device == "cpu"


def test_roles_and_operations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "EPOCHS", 1)
    monkeypatch.setattr(sums, "_STEPS", 1)
    train_example(sums.begin(), watch=lambda model: capture(model, tmp_path / "dump"))
    found = read_captured(tmp_path / "dump")
    assert found.times is None
    plan = found.tensors
    roles = {name: tensor.role for name, tensor in plan.tensors.items()}
    assert {name: roles[name] for name in (
        "tokens", "blocks.0.norm1", "blocks.0.norm1#3", "blocks.0.qkv", "blocks.0.qkv#4", "blocks.0.qkv#5",
        "blocks.0.out", "blocks.0.mlp.up", "blocks.0.mlp.gelu", "blocks.1.mlp.silu", "blocks.1.mlp.up#2")} == {
        "tokens": "sum", "blocks.0.norm1": "statistics", "blocks.0.norm1#3": "norm", "blocks.0.qkv": "attention",
        "blocks.0.qkv#4": "statistics", "blocks.0.qkv#5": "attention", "blocks.0.out": "sum",
        "blocks.0.mlp.up": "linear", "blocks.0.mlp.gelu": "gelu", "blocks.1.mlp.silu": "swiglu",
        "blocks.1.mlp.up#2": "swiglu"}
    layers = {layer.name: layer for layer in plan.network.layers}
    # Of a sequence: 64 positions of 64 features, and 64 x 64 scores in each of four heads of 16 features.
    assert layers["blocks.0.mlp.up"].flops == 2 * 64 * 64 * 256
    assert layers["blocks.0.qkv"].flops == 2 * 64 * 64 * 192
    assert layers["blocks.0.qkv/attention"].flops == 4 * 64 * 64 * 64
    assert (plan.network.compute, plan.network.dtype) == ("bfloat16", "bfloat16")


def test_in_place_and_shared_memory(tmp_path: Path) -> None:
    losses, weights = train(Residual)
    seen, found_weights = train(Residual, lambda model: capture(model, tmp_path / "dump", steps=[0], least=0))
    assert seen == losses
    assert all(torch.equal(one, other) for one, other in zip(weights, found_weights, strict=True))
    found = read_captured(tmp_path / "dump")
    assert saved_bytes(found) == read_manifest(tmp_path / "dump")["files"][0]["saved_bytes"]
    # The ReLU works in place in what the normalisation wrote: one tensor, with its zeros.
    sparse = [tensor for tensor in found.tensors.tensors.values() if tensor.role == "relu"]
    assert len(sparse) == 2
    assert [step.name for step in found.tensors.steps] == ["conv1", "norm", "conv2", "fc"]


def test_a_layer_that_is_called_twice(tmp_path: Path) -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.act, self.out = nn.Linear(192, 192), nn.GELU(), nn.Linear(192, 10)

        def forward(self, images: Any) -> Any:
            return self.out(self.act(self.fc(self.act(self.fc(images.flatten(1))))))

    train(Twice, lambda model: capture(model, tmp_path / "dump", least=0, steps=[0], times=True), 12)
    found = read_captured(tmp_path / "dump")
    assert [step.name for step in found.tensors.steps] == ["fc", "act", "fc#2", "act#2", "out"]
    assert found.tensors.network.params == 192 * 193 + 1930
    assert found.times is not None and found.times["fc"][0] > 0 and found.times["fc#2"][0] > 0


def test_no_table_where_nothing_was_captured(tmp_path: Path) -> None:
    train(Residual, lambda model: capture(model, tmp_path / "dump", steps=[99]))
    assert not (tmp_path / "dump" / NETWORK).exists()
