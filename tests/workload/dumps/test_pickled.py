"""Reading of PyTorch's files through a stand-in of it: names of tensors, their bits, and every way to fail.

What the true package gives is tested in tests/torch.
"""

import pickle
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cdma.workload.dumps import entries, load, type_name
from cdma.workload.dumps.reading import DumpWarning


class Tensor:
    """A tensor as the reading sees it, of NumPy's values and a name of a type."""

    is_nested = is_quantized = False

    def __init__(self, array: np.ndarray, dtype: str | None = None, layout: str = "strided", device: str = "cpu"):
        self._array = array
        self.dtype = f"torch.{dtype or array.dtype}"
        self.layout, self.is_meta, self.shape = f"torch.{layout}", device == "meta", list(array.shape)

    def detach(self) -> "Tensor":
        return self

    resolve_conj = resolve_neg = detach

    def element_size(self) -> int:
        return self._array.itemsize

    def contiguous(self) -> "Tensor":
        return Tensor(np.ascontiguousarray(self._array), self.dtype.removeprefix("torch."))

    def reshape(self, length: int) -> "Tensor":
        return Tensor(self._array.reshape(length), self.dtype.removeprefix("torch."))

    def view(self, dtype: type) -> "Tensor":
        return Tensor(self._array.view(dtype))

    def numpy(self) -> np.ndarray:
        return self._array


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The stand-in; what its ``load`` gives or raises is put into ``content``."""
    calls: list[dict[str, Any]] = []
    stand_in: Any = ModuleType("torch")
    stand_in.Tensor, stand_in.uint8 = Tensor, np.uint8
    state = SimpleNamespace(content={}, calls=calls, mapped=True)

    def loaded(path: Path, **options: Any) -> Any:
        calls.append(options)
        if options["mmap"] and not state.mapped:
            raise RuntimeError("mmap can only be used with files of new releases")
        if isinstance(state.content, Exception):
            raise state.content
        return state.content

    stand_in.load = loaded
    monkeypatch.setitem(sys.modules, "torch", stand_in)
    return state


def test_nested_tensors_are_named_by_what_is_around_them(torch: SimpleNamespace) -> None:
    one = np.arange(6, dtype=np.float32).reshape(2, 3)
    torch.content = {"step10": {"conv1": Tensor(one), "lr": 0.1}, "list": [Tensor(one.T), "text", (Tensor(one[0]),)],
                     3: Tensor(np.array(7, np.float32)), "nothing": None}
    found = load("net.pt")
    assert {name: array.tolist() for name, array in found.items()} == {
        "step10/conv1": one.tolist(), "list/0": one.T.tolist(), "list/2/0": [0, 1, 2], "3": 7}
    assert found["list/0"].flags.c_contiguous
    assert entries("net.pth", "3") == [(Path("net.pth"), "3")]
    assert list(load("net.pt", ["3", "list/0"])) == ["3", "list/0"]


def test_a_lone_tensor_has_the_name_of_the_file(torch: SimpleNamespace) -> None:
    torch.content = Tensor(np.ones(2, np.int8))
    assert load("folder/conv1.pt")["conv1"].tolist() == [1, 1]


@pytest.mark.parametrize(("theirs", "ours", "kind"), [
    ("bfloat16", "bfloat16", np.uint16), ("float8_e4m3fn", "float8_e4m3", np.uint8),
    ("float8_e5m2", "float8_e5m2", np.uint8), ("float16", "float16", np.uint16), ("bool", "bool", np.uint8)])
def test_types(torch: SimpleNamespace, theirs: str, ours: str, kind: type) -> None:
    torch.content = {"a": Tensor(np.array([[0, 1]], kind), theirs)}
    found = load("net.pt")["a"]
    assert (type_name(found.dtype), found.shape) == (ours, (1, 2))
    assert found.tobytes() == np.array([0, 1], kind).tobytes()


def test_nothing_in_a_file_is_run(torch: SimpleNamespace) -> None:
    torch.content = {"a": Tensor(np.zeros(1))}
    load("net.pt")
    assert all(call == {"map_location": "cpu", "weights_only": True, "mmap": True} for call in torch.calls)


def test_files_of_old_releases_are_not_mapped(torch: SimpleNamespace) -> None:
    torch.content, torch.mapped = {"a": Tensor(np.zeros(1))}, False
    assert list(load("net.pt")) == ["a"]
    assert all(call["weights_only"] for call in torch.calls)


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(("content", "words"), [
    (FileNotFoundError(2, "No such file or directory"), r"cannot read net\.pt: No such file"),
    (pickle.UnpicklingError("Weights only load failed.\nIn PyTorch 2.6 ..."), "more than tensors in dicts and lists"),
    (RuntimeError("failed finding central directory\nand more"), "as PyTorch file: failed finding central directory$"),
    (EOFError(), "as PyTorch file: EOFError"),
    ({"a": 3}, "holds no arrays"),
    (CYCLE, "as PyTorch file: maximum recursion depth"),
    ({"a/b": Tensor(np.zeros(1)), "a": {"b": Tensor(np.zeros(1))}}, "two of its tensors would be called a/b"),
    ({"a": Tensor(np.zeros(1), layout="sparse_coo")}, r"no arrays with plain values: a \(sparse_coo float64\)"),
    ({"a": Tensor(np.zeros(1), device="meta")}, r"no arrays with plain values: a \(meta\)")])
def test_what_cannot_be_read_is_told_in_a_sentence(torch: SimpleNamespace, content: Any, words: str) -> None:
    torch.content = content
    with pytest.raises(ValueError, match=words) as caught:
        load("net.pt")
    assert "net.pt" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_not_known_is_read_as_bytes_or_left_out(torch: SimpleNamespace) -> None:
    torch.content = {"a": Tensor(np.array([[1, 2]], np.uint8), "float8_e4m3fnuz"), "b": Tensor(np.ones(2, np.int8)),
                     "c": Tensor(np.zeros(1), layout="sparse_coo")}
    with pytest.warns(DumpWarning) as told:
        found = load("net.pt")
    assert [str(each.message) for each in told] == [
        "net.pt: arrays of types that are not known here (float8_e4m3fnuz) are read as plain bytes: a",
        "net.pt: arrays of types that are not known here (sparse_coo float64) are left out: c"]
    assert {name: array.tolist() for name, array in found.items()} == {"a": [1, 2], "b": [1, 1]}
    assert load("net.pt", "b")["b"].tolist() == [1, 1]
    with pytest.raises(ValueError, match="c is sparse_coo float64: only dense tensors"):
        load("net.pt", "c")


def test_without_pytorch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ValueError, match=r"^PyTorch is not installed, .*pip install 'cdma-rtl\[torch\]'$"):
        load("net.pt")
