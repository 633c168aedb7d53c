"""Loading of dumps: what comes back, and the one sentence when nothing can."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from cdma.workload.dumps import is_floating, load, own_element_bytes, type_name, values
from cdma.workload.dumps.types import element_type


def test_npy_is_named_after_its_file(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.float16).reshape(2, 3)
    np.save(tmp_path / "layer.npy", array)
    loaded = load(tmp_path / "layer.npy")
    assert list(loaded) == ["layer"]
    assert loaded["layer"].dtype == np.float16
    assert np.array_equal(loaded["layer"], array)


def test_npz_keeps_names_and_order(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", **{"b/one": np.ones(3, np.int8), "a": np.zeros((2, 2), np.float32)})
    assert list(load(tmp_path / "d.npz")) == ["b/one", "a"]
    assert list(load(tmp_path / "d.npz", array="a")) == ["a"]
    assert list(load(tmp_path / "d.npz", array=["a", "b/one"])) == ["a", "b/one"]


def test_threads_parse_one_header_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask's workers are threads, and CPython 3.11 fails now and then when two of them parse Python at once."""
    np.save(tmp_path / "one.npy", np.arange(3))
    np.savez(tmp_path / "two.npz", x=np.arange(3))
    read_array, inside, most = np.lib.format.read_array, [], []

    def slow(*args: Any, **options: Any) -> np.ndarray:
        inside.append(None)
        most.append(len(inside))
        time.sleep(0.05)
        inside.pop()
        return read_array(*args, **options)

    for module in ("numpy.lib.format", "numpy.lib._npyio_impl.format"):
        monkeypatch.setattr(f"{module}.read_array", slow)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(load, [tmp_path / "one.npy", tmp_path / "two.npz"] * 2))
    assert most == [1] * 4


def test_bits_are_little_endian_whatever_the_file_says(tmp_path: Path) -> None:
    np.save(tmp_path / "big.npy", np.array([1, 2], ">f4"))
    assert load(tmp_path / "big.npy")["big"].tobytes() == np.array([1, 2], "<f4").tobytes()


def test_fortran_order_comes_back_contiguous(tmp_path: Path) -> None:
    np.save(tmp_path / "f.npy", np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)))
    assert load(tmp_path / "f.npy")["f"].tobytes() == np.arange(6, dtype=np.int32).tobytes()


def test_raw_takes_a_type_or_an_element_size(tmp_path: Path) -> None:
    (tmp_path / "d.bin").write_bytes(bytes(range(8)))
    assert load(tmp_path / "d.bin", element_bytes=2)["d.bin"].tolist() == [0x100, 0x302, 0x504, 0x706]
    assert load(tmp_path / "d.bin", dtype="float32")["d.bin"].dtype == np.float32


def test_raw_takes_a_shape(tmp_path: Path) -> None:
    (tmp_path / "d.bin").write_bytes(bytes(range(12)))
    assert load(tmp_path / "d.bin", dtype="int8", shape=(2, 3, 2))["d.bin"].tolist() == [
        [[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9], [10, 11]]]


# Bits of 0, -0, 1, -2.5, the largest value, infinity or the NaN that stands for it, and the smallest value.
SHORT = {
    "bfloat16": ("<u2", [0, 0x8000, 0x3F80, 0xC020, 0x7F7F, 0x7F80, 1],
                 [0, -0.0, 1, -2.5, (2 - 2**-7) * 2.0**127, np.inf, 2.0**-133]),
    "float8_e4m3": ("u1", [0, 0x80, 0x38, 0xC2, 0x7E, 0x7F, 1], [0, -0.0, 1, -2.5, 448, np.nan, 2.0**-9]),
    "float8_e5m2": ("u1", [0, 0x80, 0x3C, 0xC1, 0x7B, 0x7C, 1], [0, -0.0, 1, -2.5, 57344, np.inf, 2.0**-16]),
}


@pytest.mark.parametrize("name", SHORT)
def test_short_floats_have_their_bits_size_name_and_values(tmp_path: Path, name: str) -> None:
    kind, codes, expected = SHORT[name]
    bits = np.array(codes, kind)
    (tmp_path / "d.bin").write_bytes(bits.tobytes())
    array = load(tmp_path / "d.bin", dtype=name)["d.bin"]
    assert (type_name(array.dtype), array.shape, own_element_bytes(array)) == (name, (7,), bits.itemsize)
    assert is_floating(array.dtype)
    assert array.tobytes() == bits.tobytes()
    assert np.array_equal(np.signbit(values(array)), np.signbit(expected))
    assert np.array_equal(values(array), np.array(expected, np.float32), equal_nan=True)
    # The type survives .safetensors, and what layouts do with arrays; NumPy's own files keep the bits alone.
    maps = {"maps": np.ascontiguousarray(array.reshape(1, 7, 1, 1).transpose(0, 2, 3, 1))}
    save_file(maps, tmp_path / "d.safetensors")
    np.savez(tmp_path / "d.npz", maps=maps["maps"])
    readable = [("d.safetensors", array.dtype)]
    if name != "float8_e5m2":  # which np.savez writes as a type that NumPy does not read
        readable.append(("d.npz", np.dtype(f"V{bits.itemsize}")))
    for file, dtype in readable:
        again = load(tmp_path / file)["maps"]
        assert (again.dtype, again.shape) == (dtype, (1, 1, 1, 7))
        assert again.tobytes() == bits.tobytes()


def test_names_of_types() -> None:
    assert element_type("float8_e4m3fn") == element_type("float8_e4m3")
    assert type_name(np.dtype(">f4")) == "float32"
    for name in ("float16", "float32", "float64"):
        assert is_floating(np.dtype(name))
    for name in ("int8", "bool", "complex64", "V2", "longdouble"):
        assert not is_floating(np.dtype(name))
    whole = np.arange(3)
    assert values(whole) is whole


@pytest.mark.parametrize(("dtype", "size"), [
    ("float64", 4), ("float32", 4), ("float16", 2), ("int8", 1), ("bool", 1), ("complex64", 4), ("V2", 2)])
def test_own_element_size(dtype: str, size: int) -> None:
    assert own_element_bytes(np.zeros(4, dtype)) == size


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A folder of files that cannot be loaded."""
    (tmp_path / "text.npy").write_text("not an array")
    (tmp_path / "text.npz").write_text("not an archive")
    (tmp_path / "odd.bin").write_bytes(bytes(7))
    (tmp_path / "empty.npy").write_bytes(b"")
    (tmp_path / "empty.npz").write_bytes(b"")
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "array.npy").rename(tmp_path / "single.npz")
    np.save(tmp_path / "objects.npy", np.array([{}, None]), allow_pickle=True)
    np.save(tmp_path / "words.npy", np.array(["a", "b"]))
    np.save(tmp_path / "pairs.npy", np.zeros(3, [("a", "f4"), ("b", "f4")]))
    np.savez(tmp_path / "some.npz", a=np.zeros(3))
    np.savez(tmp_path / "none.npz")
    cut = (tmp_path / "some.npz").read_bytes()[:60]
    (tmp_path / "cut.npz").write_bytes(cut)
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize(("name", "options", "words"), [
    ("missing.npy", {}, "No such file"),
    ("missing.npz", {}, "No such file"),
    ("missing.bin", {"element_bytes": 1}, "No such file"),
    ("text.npy", {}, "as .npy: it does not begin as such a file does"),
    ("empty.npy", {}, "as .npy: it is empty"),
    ("text.npz", {}, "as .npz: it is no archive of arrays"),
    ("empty.npz", {}, "as .npz: it is empty"),
    ("cut.npz", {}, "as .npz"),
    ("single.npz", {}, "name it .npy"),
    ("objects.npy", {}, "as .npy"),
    ("words.npy", {}, "only numbers"),
    ("pairs.npy", {}, "only numbers"),
    ("none.npz", {}, "no arrays"),
    ("some.npz", {"array": "b"}, "no array 'b': there is a"),
    ("text.npy", {"array": "b"}, "no array 'b': there is text"),
    ("odd.bin", {"element_bytes": 4}, "7 bytes, not a multiple of the 4"),
    ("odd.bin", {}, "--element"),
    ("odd.bin", {"dtype": "float31"}, "no type 'float31' of elements: float32, float16, bfloat16, float8_e4m3"),
    ("odd.bin", {"dtype": "object"}, "cannot be of type 'object'"),
    ("odd.bin", {"dtype": "f4,f4"}, "cannot be of type"),
    ("odd.bin", {"dtype": "uint8", "shape": (2, 3)}, "7 elements, not the 6 of the shape 2x3"),
    ("folder", {}, "is a folder without manifest.json"),
])
def test_errors_are_one_sentence(broken: Path, name: str, options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        load(broken / name, **options)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value) or options["dtype"] in str(caught.value)


def test_without_pytorch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ValueError, match=r"^PyTorch is not installed, .*pip install 'cdma-rtl\[torch\]'$"):
        load("net.pt")
