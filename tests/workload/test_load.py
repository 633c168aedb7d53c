"""Loading of dumps: what comes back, and the one sentence when nothing can."""

from pathlib import Path

import numpy as np
import pytest

from workload.data import shipped
from workload.load import load, own_element_bytes


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


@pytest.mark.parametrize(("dtype", "size"), [
    ("float64", 4), ("float32", 4), ("float16", 2), ("int8", 1), ("bool", 1), ("complex64", 4), ("V2", 2)])
def test_own_element_size(dtype: str, size: int) -> None:
    assert own_element_bytes(np.zeros(4, dtype)) == size


def test_shipped_dump_is_what_its_page_says() -> None:
    arrays = load(shipped())
    page = (shipped().parent / "README.md").read_text(encoding="utf-8")
    assert shipped().stat().st_size < 1_400_000
    assert len(arrays) == 11
    for name, array in arrays.items():
        shape = "x".join(map(str, array.shape))
        assert array.dtype == np.float32
        assert np.isfinite(array).all()
        assert not np.signbit(array).any()
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` | {shape} |"))
        assert row.endswith(f"| {np.count_nonzero(array) / array.size:.3f} |")


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A folder of files that cannot be loaded."""
    (tmp_path / "text.npy").write_text("not an array")
    (tmp_path / "text.npz").write_text("not an archive")
    (tmp_path / "odd.bin").write_bytes(bytes(7))
    (tmp_path / "empty.npy").write_bytes(b"")
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
    ("text.npy", {}, "as .npy"),
    ("empty.npy", {}, "as .npy"),
    ("text.npz", {}, "as .npz"),
    ("cut.npz", {}, "as .npz"),
    ("single.npz", {}, "name it .npy"),
    ("objects.npy", {}, "as .npy"),
    ("words.npy", {}, "only numbers"),
    ("pairs.npy", {}, "only numbers"),
    ("none.npz", {}, "no arrays"),
    ("some.npz", {"array": "b"}, "no array 'b': there are a"),
    ("text.npy", {"array": "b"}, "no .npz file"),
    ("odd.bin", {"element_bytes": 4}, "7 bytes, no multiple of the 4"),
    ("odd.bin", {}, "--element"),
    ("odd.bin", {"dtype": "float31"}, "no NumPy type"),
    ("folder", {}, "is a folder"),
])
def test_errors_are_one_sentence(broken: Path, name: str, options: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        load(broken / name, **options)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value) or "float31" in str(caught.value)
