"""Files that PyTorch and its library for .safetensors write are read bit for bit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdma.workload.dumps import entries, load, type_name, values
from cdma.workload.dumps.reading import DumpWarning

torch: Any = import_module("torch")

OLD_TYPES = ("float32", "float16", "bfloat16", "float64", "int8", "uint8", "int16", "int32", "int64", "bool",
             "complex64")
TYPES = (*OLD_TYPES, "float8_e4m3fn", "float8_e5m2", "uint16")


def tensors(types: Sequence[str] = TYPES) -> dict[str, Any]:
    """A tensor of each type, with some values zero."""
    maps = torch.relu(torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(1))) * 3
    return {name: maps.to(getattr(torch, name)) for name in types}


def bits(tensor: Any) -> bytes:
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).tolist())


def check(found: dict[str, np.ndarray]) -> None:
    for name, tensor in tensors(list(found)).items():
        array = found[name]
        assert type_name(array.dtype) == name.removesuffix("fn")
        assert array.shape == (2, 3, 4, 5)
        assert array.tobytes() == bits(tensor)
        if tensor.is_floating_point():
            assert values(array).astype(np.float64).tolist() == tensor.double().tolist()


@pytest.mark.parametrize(("zipped", "types"), [(True, TYPES), (False, OLD_TYPES)])
def test_files_as_they_are_and_as_they_were(tmp_path: Path, zipped: bool, types: tuple[str, ...]) -> None:
    torch.save(tensors(types), tmp_path / "net.pt", _use_new_zipfile_serialization=zipped)
    found = load(tmp_path / "net.pt")
    assert list(found) == list(types)
    check(found)


def test_safetensors(tmp_path: Path) -> None:
    import_module("safetensors.torch").save_file(tensors(), tmp_path / "net.safetensors", {"format": "pt"})
    found = load(tmp_path / "net.safetensors")
    assert set(found) == set(TYPES)
    check(found)


def test_state_of_a_model_and_its_optimizer(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model(torch.ones(1, 1, 5, 5)).sum().backward()
    optimizer.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, tmp_path / "net.pth")
    found = load(tmp_path / "net.pth")
    assert found["model/0.weight"].tolist() == model[0].weight.tolist()
    assert found["model/1.num_batches_tracked"].shape == ()
    assert "optimizer/state/0/momentum_buffer" in found


def test_a_lone_parameter_a_view_and_a_map_with_channels_last(tmp_path: Path) -> None:
    maps = tensors()["float32"]
    torch.save(torch.nn.Parameter(maps), tmp_path / "alone.pt")
    assert load(tmp_path / "alone.pt")["alone"].tobytes() == bits(maps)
    torch.save([maps[:, 1:2], maps.to(memory_format=torch.channels_last), torch.complex(maps, maps).conj()],
               tmp_path / "list.pt")
    found = load(tmp_path / "list.pt")
    assert found["0"].tobytes() == bits(maps[:, 1:2])
    assert found["1"].tobytes() == bits(maps)
    assert np.array_equal(found["2"], maps.numpy() * (1 - 1j))


def test_nested_tensors_are_named_by_what_is_around_them(tmp_path: Path) -> None:
    path, one = tmp_path / "net.pt", torch.arange(6.0).view(2, 3)
    torch.save({"step10": {"conv1": one, "lr": 0.1}, "list": [one.t(), "text", (one[0],)], 3: torch.tensor(7.0),
                "nothing": None}, path)
    found = load(path)
    assert {name: array.tolist() for name, array in found.items()} == {
        "step10/conv1": one.tolist(), "list/0": one.t().tolist(), "list/2/0": [0, 1, 2], "3": 7}
    assert found["list/0"].flags.c_contiguous
    assert entries(path, "3") == [(path, "3")]
    assert list(load(path, ["3", "list/0"])) == ["3", "list/0"]


def test_what_is_not_known_is_read_as_bytes_or_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"a": torch.tensor([[1, 2]], dtype=torch.uint8).view(torch.float8_e4m3fnuz),
                "b": torch.ones(2, dtype=torch.int8), "c": torch.zeros(1).to_sparse()}, "net.pt")
    with pytest.warns(DumpWarning) as told:
        found = load("net.pt")
    # PyTorch may warn of sparse tensors itself.
    assert [str(each.message) for each in told if each.category is DumpWarning] == [
        "net.pt: arrays of types that are not known here (float8_e4m3fnuz) are read as plain bytes: a",
        "net.pt: arrays of types that are not known here (sparse_coo float32) are left out: c"]
    assert {name: array.tolist() for name, array in found.items()} == {"a": [1, 2], "b": [1, 1]}
    assert load("net.pt", "b")["b"].tolist() == [1, 1]
    with pytest.raises(ValueError, match="c is sparse_coo float32: only dense tensors"):
        load("net.pt", "c")


class Script:
    """An object whose reading would run a command."""

    def __reduce__(self) -> Any:
        return os.system, ("touch ran",)


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(("content", "words"), [
    ({"a": Script()}, "holds more than tensors in dicts and lists"),
    ({"a": 3}, "holds no arrays"), (CYCLE, "as PyTorch file: maximum recursion depth"),
    ({"a/b": torch.zeros(1), "a": {"b": torch.zeros(1)}}, "two of its tensors would be called a/b"),
    ({"a": torch.zeros(3).to_sparse()}, r"no arrays with plain values: a \(sparse_coo float32\)"),
    ({"a": torch.zeros(3, device="meta")}, r"no arrays with plain values: a \(meta\)")])
def test_what_cannot_be_read_is_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: Any,
                                                   words: str) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save(content, "net.pt")
    with pytest.raises(ValueError, match=words) as caught:
        load("net.pt")
    assert "net.pt" in str(caught.value) and "\n" not in str(caught.value)
    assert not Path("ran").exists()


@pytest.mark.parametrize("content", [b"", b"no file of PyTorch", b"PK\x03\x04" + bytes(60)])
def test_other_files_are_told_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "net.pt").write_bytes(content)
    with pytest.raises(ValueError, match=r"cannot read .*net\.pt as PyTorch file: ") as caught:
        load(tmp_path / "net.pt")
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="No such file"):
        load(tmp_path / "gone.pt")
