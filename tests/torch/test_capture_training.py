"""Training does not notice that it is captured, and whatever happens in it leaves a dump."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdma.workload import capture
from cdma.workload.capturing import CaptureError
from cdma.workload.capturing.manifest import read_manifest
from cdma.workload.dumps import load
from tests.torch.networks import Plain, Residual, images, nn, torch, train

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_forward_hooks_always_called", "_forward_hooks_with_kwargs")


def hooks(model: Any) -> int:
    return sum(len(getattr(module, name)) for module in model.modules() for name in HOOKS)


@pytest.mark.parametrize("make", [Plain, Residual])
def test_training_does_not_notice(make: Callable[[], Any], tmp_path: Path) -> None:
    alone, weights = train(make)
    watched, same = train(make, lambda model: capture(model, tmp_path, every=2, outputs=True))
    assert alone == watched
    assert all(torch.equal(*pair) for pair in zip(weights, same, strict=True))
    assert [entry["step"] for entry in read_manifest(tmp_path)["files"]] == [0, 2]


def test_hooks_are_gone_at_the_end(tmp_path: Path) -> None:
    model = Plain()
    with pytest.raises(RuntimeError, match="expected input"), capture(model, tmp_path):
        assert hooks(model)
        model(torch.zeros(2, 9, 8, 8))
    assert not hooks(model)
    assert torch._C._autograd._top_saved_tensors_default_hooks(False) is None


def test_an_error_in_training_leaves_what_was_written(tmp_path: Path) -> None:
    def fail(model: Any) -> None:
        with capture(model, tmp_path, least=0) as recorder:
            for recorder.epoch in range(3):
                model(images() if recorder.epoch < 2 else images()[:, :2])

    with pytest.raises(RuntimeError, match="expected input"):
        fail(Plain())
    assert [(entry["step"], entry["epoch"]) for entry in read_manifest(tmp_path)["files"]] == [(0, 0), (1, 1)]
    assert len(load(tmp_path)) == 8


def test_a_failed_call_does_not_end_the_capture(tmp_path: Path) -> None:
    model = Plain()
    with capture(model, tmp_path):
        with pytest.raises(RuntimeError):
            model(images()[:, :2])
        try:
            raise KeyError("training goes on while this is handled")
        except KeyError:
            model(images())
    assert [entry["step"] for entry in read_manifest(tmp_path)["files"]] == [1]


def test_interrupted_in_a_call(tmp_path: Path) -> None:
    class Interrupted(Plain):
        def forward(self, images: Any) -> Any:
            super().forward(images)
            raise KeyboardInterrupt

    model = Interrupted()
    with capture(model, tmp_path):
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                model(images())
        model.__class__ = Plain
        model(images())
    assert torch._C._autograd._top_saved_tensors_default_hooks(False) is None
    assert not hooks(model)
    assert [entry["step"] for entry in read_manifest(tmp_path)["files"]] == [2]


def test_testing_is_no_step(tmp_path: Path) -> None:
    model = Plain()
    with capture(model, tmp_path) as recorder:
        model(images())
        with torch.no_grad():
            model(images())
        model.eval()
        model(images())
        model.train()
        model(images())
        assert recorder.step == 2
    assert [entry["step"] for entry in read_manifest(tmp_path)["files"]] == [0, 1]


def test_recomputed_parts_are_not_kept(tmp_path: Path) -> None:
    class Recomputed(Plain):
        def forward(self, images: Any) -> Any:
            again = import_module("torch.utils.checkpoint").checkpoint
            maps = again(lambda maps: torch.relu(self.conv2(torch.relu(self.conv1(maps)))), images, use_reentrant=False)
            return self.fc(self.pool(maps).flatten(1))

    alone, _ = train(Recomputed)
    watched, _ = train(Recomputed, lambda model: capture(model, tmp_path, least=0))
    assert alone == watched
    names = {name.partition("/")[2] for name in load(tmp_path)}
    assert {"pool", "data"} <= names
    assert "conv1" not in names


def test_hooks_of_the_users_own_are_called(tmp_path: Path) -> None:
    packed: list[Any] = []
    unpacked: list[Any] = []

    def pack(tensor: Any) -> Any:
        packed.append(tensor)
        return tensor.numpy(force=True).copy()

    def unpack(array: Any) -> Any:
        unpacked.append(array)
        return torch.from_numpy(array)

    model = Plain()
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack), capture(model, tmp_path, least=0):
        model(images()).sum().backward()
    assert len(packed) == len(unpacked) > 4
    assert len(load(tmp_path)) == 4


def test_capture_ends_where_the_dump_is_full_and_training_goes_on(tmp_path: Path) -> None:
    # A step has 20,352 bytes.
    losses, _ = train(Plain, partial(capture, folder=tmp_path, least=0, max_total=45_000))
    assert len(losses) == 4
    manifest = read_manifest(tmp_path)
    assert [entry["step"] for entry in manifest["files"]] == [0, 1]
    (note,) = manifest["notes"]
    assert note == "stopped at step 2: its arrays would exceed the limit of 45,000 bytes in all, 40,704 are written"
    assert sum(array.nbytes for array in load(tmp_path).values()) == 40_704


def test_a_full_disk_ends_the_capture_and_training_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **arrays: object) -> None:
        raise OSError(28, "No space left on device")

    model = Plain()
    with capture(model, tmp_path) as recorder:
        model(images())
        monkeypatch.setattr(np, "savez", full)
        with pytest.warns(UserWarning, match="capture stopped: cannot write to .*: No space left on device"):
            model(images())
        model(images())
        assert recorder.stopped
    assert len(read_manifest(tmp_path)["files"]) == 1


def test_what_cannot_be_captured(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"only a torch.nn.Module can be captured, not builtin_function_or_method"):
        capture(torch.relu, tmp_path)
    with pytest.raises(CaptureError, match=r"capture the model that was given to torch.compile"):
        capture(torch.compile(Plain()), tmp_path)
    with pytest.raises(CaptureError, match=r"capture the one that was given to torch\.jit"):
        capture(torch.jit.script(nn.Linear(8, 8)), tmp_path)
    with pytest.raises(CaptureError, match="no module fits deconv: there are data, conv1, conv2, pool, fc"):
        capture(Plain(), tmp_path, modules="deconv")
