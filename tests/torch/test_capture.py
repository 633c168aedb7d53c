"""What a capture holds, against a walk through autograd's graph."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdma.workload import capture
from cdma.workload.capturing import CaptureError
from cdma.workload.capturing.manifest import read_manifest
from cdma.workload.dumps import load, values
from tests.torch.networks import BATCH, Plain, Residual, images, nn, torch


def kept(model: Any, output: Any) -> list[Any]:
    """The floating-point tensors that a graph keeps and that are no weights; those at the same place count once."""
    weights = {tensor.data_ptr() for tensor in (*model.parameters(), *model.buffers())}
    found: dict[Any, Any] = {}
    todo, met = [output.grad_fn], set()
    while todo:
        node = todo.pop()
        if node is None or node in met:
            continue
        met.add(node)
        todo += [following for following, _ in node.next_functions]
        for name in dir(node):
            value: Any = getattr(node, name) if name.startswith("_saved_") else None
            for tensor in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(tensor, torch.Tensor) and tensor.is_floating_point() and tensor.numel():
                    found[tensor.data_ptr(), tensor.numel()] = tensor.detach()
    return [tensor for (address, _), tensor in found.items() if address not in weights]


def dump(model: Any, folder: Path, inputs: Any = None, **choices: Any) -> dict[str, np.ndarray]:
    """The arrays of one step, without its name."""
    with capture(model, folder, **{"least": 0, **choices}):
        model(images() if inputs is None else inputs)
    if not read_manifest(folder)["files"]:
        return {}
    return {name.removeprefix("step000000/"): array for name, array in load(folder).items()}


@pytest.mark.parametrize("make", [
    Plain, Residual,
    lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Dropout(0.5), nn.Linear(144, 5), nn.GELU()),
    lambda: nn.Sequential(nn.Flatten(2), nn.TransformerEncoderLayer(64, 4, 32, 0.0, batch_first=True)),
    lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4), nn.Sigmoid(), nn.AvgPool2d(2), nn.Tanh()),
], ids=["plain", "residual", "sequential", "transformer", "norms"])
def test_all_that_the_graph_keeps_is_captured_once(make: Callable[[], Any], tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = make()
    with capture(model, tmp_path, least=0):
        output = model(images())
    graph = kept(model, output)
    arrays = load(tmp_path)
    assert sorted(array.tobytes() for array in arrays.values()) == \
        sorted(tensor.contiguous().numpy().tobytes() for tensor in graph)
    manifest = read_manifest(tmp_path)
    assert manifest["files"][0]["saved_bytes"] == sum(tensor.nbytes for tensor in graph)
    for name, array in arrays.items():
        entry = manifest["arrays"][name]
        assert entry["kind"] == "saved"
        assert tuple(entry["shape"]) == array.shape
        assert entry["density"] == np.count_nonzero(array.view(np.uint32)) / array.size


def test_names_are_those_of_the_modules(tmp_path: Path) -> None:
    torch.manual_seed(1)
    model, batch = Plain(), images()
    arrays = dump(model, tmp_path, batch)
    assert {name: array.shape for name, array in arrays.items()} == {
        "data": (6, 3, 8, 8), "conv1": (6, 4, 8, 8), "conv2": (6, 5, 8, 8), "pool": (6, 5, 4, 4)}
    with torch.no_grad():
        conv1 = torch.relu(model.conv1(batch))
        conv2 = torch.relu(model.conv2(conv1))
        expected = {"data": batch, "conv1": conv1, "conv2": conv2, "pool": model.pool(conv2)}
    for name, tensor in expected.items():
        np.testing.assert_array_equal(arrays[name], tensor.numpy())


def test_a_module_that_is_called_twice_has_two_arrays(tmp_path: Path) -> None:
    torch.manual_seed(1)
    arrays = dump(Residual(), tmp_path)
    assert {name for name in arrays if "norm" not in name} == {"data", "conv1", "relu", "relu#2"}
    assert (arrays["relu"] >= 0).all() and (arrays["relu#2"] >= 0).all()
    assert (arrays["conv1"] < 0).any()


def test_modules_within_modules(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), nn.Sequential(nn.Conv2d(4, 4, 3), nn.ReLU()))
    assert set(dump(model, tmp_path / "all")) == {"data", "0.1", "1.1"}
    assert set(dump(model, tmp_path / "some", modules="1.*")) == {"1.1"}
    assert set(dump(model, tmp_path / "class", modules=["Conv2d", "data"])) == {"data"}


def test_outputs_that_backward_does_not_keep(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True), nn.Conv2d(4, 4, 3), nn.AvgPool2d(2))
    arrays = dump(model, tmp_path, outputs=True)
    kinds = {stored["module"]: stored["kind"] for stored in read_manifest(tmp_path)["arrays"].values()}
    assert kinds == {"data": "saved", "0": "output", "1": "saved", "2": "saved", "3": "output"}
    np.testing.assert_array_equal(np.maximum(arrays["0"], 0), arrays["1"])


def test_parts_without_gradients_are_not_kept(tmp_path: Path) -> None:
    class Frozen(Plain):
        def forward(self, images: Any) -> Any:
            with torch.no_grad():
                maps = torch.relu(self.conv1(images))
            return self.conv2(maps)

    assert set(dump(Frozen(), tmp_path)) == {"conv1"}


def test_weights_that_autocast_casts_are_none(tmp_path: Path) -> None:
    class Cast(Plain):
        def forward(self, images: Any) -> Any:
            with torch.autocast("cpu", torch.bfloat16):
                return super().forward(images)

    model = Cast()
    dump(model, tmp_path)
    entries = list(read_manifest(tmp_path)["arrays"].values())
    assert {tuple(entry["full_shape"]) for entry in entries} == {
        (6, 3, 8, 8), (6, 4, 8, 8), (6, 5, 8, 8), (6, 5, 4, 4)}
    assert {entry["dtype"] for entry in entries} == {"bfloat16"}


class Attention(nn.Module):
    """The weights of query, key and value are one parameter, of which autocast casts the rows in use."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, images: Any) -> Any:
        query = images.flatten(1, 2).requires_grad_().tanh()
        return self.attention(query, query * 2, query * 2, need_weights=False)[0]


@pytest.mark.parametrize("make", [
    # A cast weight is saved transposed, which the shape of a square one does not show.
    lambda: nn.Sequential(nn.Flatten(), nn.Linear(192, 192), nn.ReLU(), nn.Linear(192, 192), nn.ReLU()), Attention],
    ids=["square", "rows"])
def test_cast_weights_are_none(make: Callable[[], Any], tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = make()
    with torch.autocast("cpu", torch.bfloat16):
        arrays = [values(array) for array in dump(model, tmp_path).values()]
    weights = [weight.detach().bfloat16().float().numpy() for weight in model.parameters() if weight.dim() == 2]
    parts = [part for weight in weights for part in (weight, weight[:8], weight[8:])]
    assert arrays
    assert not [array for array in arrays for part in parts
                if np.array_equal(array, part) or np.array_equal(array, part.T)]


@pytest.mark.parametrize("kind", ["bfloat16", "float8_e4m3fn", "float16", "float64"])
def test_values_are_kept_bit_for_bit(kind: str, tmp_path: Path) -> None:
    class Kept(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, values: Any) -> Any:
            context.save_for_backward(values)
            return values.float()

    class Model(nn.Module):
        def forward(self, values: Any) -> Any:
            # Only what a gradient is asked of is kept.
            return Kept.apply(values.requires_grad_())

    codes = torch.arange(256, dtype=torch.uint8).repeat(64).view(32, -1)
    values = codes.view(getattr(torch, kind))
    (array,) = dump(Model(), tmp_path, values).values()
    assert array.tobytes() == codes.numpy().tobytes()
    suffix = ".npz" if kind in ("float16", "float64") else ".safetensors"
    assert read_manifest(tmp_path)["files"][0]["file"] == f"step000000{suffix}"


def test_npz_is_refused_for_bfloat16(tmp_path: Path) -> None:
    model = Plain().to(torch.bfloat16)
    with pytest.raises(CaptureError, match=r"has bfloat16 values, which \.npz cannot hold bit for bit: choose "
                                           r"safetensors"), capture(model, tmp_path, form="npz", least=0):
        model(images().to(torch.bfloat16))


def test_safetensors(tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = Plain()
    one, two = dump(model, tmp_path / "one"), dump(model, tmp_path / "two", form="safetensors")
    assert [path.suffix for path in sorted((tmp_path / "two").iterdir())] == [".json", ".json", ".safetensors"]
    assert set(one) == set(two)
    for name, array in one.items():
        np.testing.assert_array_equal(array, two[name])


def test_a_sample_is_the_first_images(tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = Plain()
    whole, part = dump(model, tmp_path / "whole"), dump(model, tmp_path / "part", max_array=3000)
    # 768, 1024, 1280 and 320 bytes an image.
    assert {name: len(array) for name, array in part.items()} == {"data": 3, "conv1": 2, "conv2": 2, "pool": 6}
    for name, array in part.items():
        np.testing.assert_array_equal(array, whole[name][:len(array)])
    entry = read_manifest(tmp_path / "part")["arrays"]["step000000/conv1"]
    assert entry["full_shape"][0] == BATCH
    assert entry["density"] == np.count_nonzero(whole["conv1"]) / whole["conv1"].size


def test_arrays_of_too_large_samples_are_left_out(tmp_path: Path) -> None:
    assert set(dump(Plain(), tmp_path, max_array=1100)) == {"data", "conv1", "pool"}
    assert read_manifest(tmp_path)["notes"] == [
        "conv2 is left out: one sample has more bytes than the limit of 1,100 an array"]


def test_small_arrays_are_left_out(tmp_path: Path) -> None:
    # All but 4,608 and 1,920 bytes.
    assert set(dump(Plain(), tmp_path, least=5000)) == {"conv1", "conv2"}
    assert read_manifest(tmp_path)["files"][0]["saved_bytes"] == 6 * 4 * 64 * (3 + 4 + 5) + 6 * 4 * 80


def test_what_has_no_memory_of_its_own_is_passed_by(tmp_path: Path) -> None:
    class Mapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.scripted = nn.Linear(8, 8), torch.jit.script(nn.Linear(8, 4))

        def forward(self, values: Any) -> Any:
            maps = torch.func.vmap(lambda row: torch.relu(self.fc(row)))(values)
            return torch.sparse.mm(torch.eye(len(values)).to_sparse(), self.scripted(maps))

    arrays = dump(Mapped(), tmp_path, torch.ones(6, 8))
    assert {array.shape for array in arrays.values()} == {(6, 8)}
    assert len(arrays) == 2


def test_layout_in_device_memory(tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = Plain()
    one = dump(model, tmp_path / "one")
    two = dump(model.to(memory_format=torch.channels_last), tmp_path / "two",
               images().to(memory_format=torch.channels_last))
    layouts = [[stored["layout"] for stored in read_manifest(tmp_path / name)["arrays"].values()]
               for name in ("one", "two")]
    # Flattening maps of NHWC copies them.
    assert layouts == [["NCHW"] * 4, ["NHWC"] * 3 + [None]]
    for name, array in one.items():
        np.testing.assert_allclose(array, two[name].reshape(array.shape), atol=1e-6)
