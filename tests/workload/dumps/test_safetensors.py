"""Reading of .safetensors: files written byte by byte here, and by the format's own rules broken in every way."""

import json
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.workload.dumps import entries, load, type_name
from cdma.workload.dumps.reading import DumpWarning


def write(path: Path, header: Any, data: bytes = b"") -> Path:
    """A file with a header, which may be text as it is to stand there, and data."""
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def entry(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def test_arrays_by_name(tmp_path: Path) -> None:
    data = np.array([1.5, 0, -2], "<f4").tobytes() + np.array([[1], [0x3F80]], "<u2").tobytes() + b"\x01\x38"
    path = write(tmp_path / "d.safetensors", {
        "__metadata__": {"format": "pt"}, "b": entry("BF16", [2, 1], 12, 16), "a/one": entry("F32", [3], 0, 12),
        "small": entry("F8_E4M3", [2], 16, 18), "none": entry("I64", [0, 4], 18, 18)}, data)
    found = load(path)
    assert {name: (type_name(array.dtype), array.shape) for name, array in found.items()} == {
        "a/one": ("float32", (3,)), "b": ("bfloat16", (2, 1)), "small": ("float8_e4m3", (2,)),
        "none": ("int64", (0, 4))}
    assert found["a/one"].tolist() == [1.5, 0, -2]
    assert found["b"].tobytes() == b"\x01\x00\x80\x3f"
    assert found["small"].tobytes() == b"\x01\x38"
    # In the order of the file, or the order that is asked for.
    assert list(found) == ["a/one", "b", "small", "none"]
    assert list(load(path, ["small", "b"])) == ["small", "b"]
    assert entries(path, "b") == [(path, "b")]


@pytest.mark.parametrize(("stored", "name", "size"), [
    ("BOOL", "bool", 1), ("U8", "uint8", 1), ("I8", "int8", 1), ("F8_E5M2", "float8_e5m2", 1), ("I16", "int16", 2),
    ("U16", "uint16", 2), ("F16", "float16", 2), ("I32", "int32", 4), ("U32", "uint32", 4), ("F64", "float64", 8),
    ("I64", "int64", 8), ("U64", "uint64", 8), ("C64", "complex64", 8)])
def test_types(tmp_path: Path, stored: str, name: str, size: int) -> None:
    path = write(tmp_path / "d.safetensors", {"a": entry(stored, [2], 0, 2 * size)}, bytes(2 * size))
    assert type_name(load(path)["a"].dtype) == name


def test_scalars_have_no_dimension(tmp_path: Path) -> None:
    path = write(tmp_path / "d.safetensors", {"a": entry("F32", [], 0, 4)}, np.float32(7).tobytes())
    assert load(path)["a"].shape == ()


@pytest.mark.parametrize(("dtype", "count"), [
    ("F4", 4), ("F8_E8M0", 2), ("F8_E4M3FNUZ", 2), ("F8_E5M2FNUZ", 2), ("F6_E2M3", None), ("F6_E3M2", None)])
def test_types_that_are_not_known_are_read_as_bytes(tmp_path: Path, dtype: str, count: int | None) -> None:
    size = 3 if count is None else 2
    path = write(tmp_path / "d.safetensors", {
        "a": entry(dtype, [count or 4], 0, size), "b": entry("U8", [1], size, size + 1)},
        b"\x07\x09\x05"[:size] + b"\x05")
    with pytest.warns(DumpWarning, match=rf"not known here \({dtype}\) are read as plain bytes: a$"):
        found = load(path)
    assert {name: array.tolist() for name, array in found.items()} == {"a": [7, 9, 5][:size], "b": [5]}
    assert load(path, "b")["b"].tolist() == [5]


def test_arrays_are_mapped_and_what_is_written_to_them_stays_in_memory(tmp_path: Path) -> None:
    header = {"a": entry("F32", [2], 0, 8)}
    # The data begin at a multiple of 4, as in the files that the format's library writes, or at none.
    for file, pad, mapped in (("even", 0, True), ("odd", 1, False)):
        text = json.dumps(header)
        path = write(tmp_path / f"{file}.safetensors", text + " " * (-len(text) % 4 + pad), bytes(8))
        before = path.read_bytes()
        array = load(path)["a"]
        base: Any = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        assert isinstance(base.base, mmap) == mapped
        assert array.flags.aligned
        array[:] = 1
        assert array.tolist() == [1, 1]
        assert path.read_bytes() == before


def test_names_of_a_file_are_its_last_of_each(tmp_path: Path) -> None:
    """Of a name that stands twice in a header the library takes the last entry, and so do we."""
    first, last = json.dumps(entry("U8", [2], 0, 2)), json.dumps(entry("I8", [2], 0, 2))
    path = write(tmp_path / "d.safetensors", f'{{"a": {first}, "a": {last}}}', b"\x01\xff")
    assert load(path)["a"].tolist() == [1, -1]


A = entry("U8", [2], 0, 2)


@pytest.mark.parametrize(("header", "data", "words"), [
    ("{", b"", "invalid JSON in header"),
    ({}, b"", "holds no arrays"),
    ({"a": A | {"shape": [3]}}, b"12", "invalid shape, data type, or offset"),
    ({"a": A}, b"1", "file not fully covered"),
    ({"a": entry("U8", [2], 1, 3)}, b"123", "invalid offset for tensor `a`")])
def test_malformed_files_are_named(tmp_path: Path, header: Any, data: bytes, words: str) -> None:
    path = write(tmp_path / "d.safetensors", header, data)
    with pytest.raises(ValueError, match=words) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.data())
def test_any_change_of_the_header_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    text = json.dumps({"a": A, "b": entry("F16", [1, 2], 2, 6)}).encode()
    at = data.draw(st.integers(0, len(text) - 1))
    changed = text[:at] + bytes([data.draw(st.integers(0, 255))]) + text[at + 1:]
    path = tmp_path_factory.getbasetemp() / "changed.safetensors"
    path.write_bytes(len(changed).to_bytes(8, "little") + changed + b"123456")
    try:
        arrays = load(path)
    except ValueError as error:
        assert str(path) in str(error)
    else:
        assert sum(array.nbytes for array in arrays.values()) == 6
