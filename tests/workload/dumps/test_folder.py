"""Folders with a manifest as one dump, and manifests that are malformed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdma.workload.dumps import entries, load


def manifest(folder: Path, files: Any, **other: Any) -> None:
    """Write the manifest of a folder."""
    (folder / "manifest.json").write_text(
        json.dumps({"format": "cdma-dump", "version": 1, "files": files, "model": "net"} | other))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two steps of two layers, one array in a .safetensors file, and a file that the manifest does not name."""
    for step in (10, 2):
        np.savez(tmp_path / f"s{step}.npz", **{f"step{step:06d}/{layer}": np.full(3, step, np.float32)
                                               for layer in ("conv1", "fc")})  # type: ignore[arg-type]
    header = b'{"step000010/norm": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}'
    (tmp_path / "n.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"\x80\x3f")
    np.savez(tmp_path / "other.npz", other=np.zeros(1))
    manifest(tmp_path, [{"file": "s2.npz", "step": 2, "epoch": 0}, {"file": "s10.npz", "step": 10},
                        {"file": "n.safetensors"}])
    return tmp_path


def test_a_folder_is_one_dump(folder: Path) -> None:
    found = load(folder)
    assert list(found) == ["step000002/conv1", "step000002/fc", "step000010/conv1", "step000010/fc", "step000010/norm"]
    assert found["step000010/fc"].tolist() == [10, 10, 10]
    assert found["step000010/norm"].tobytes() == b"\x80\x3f"
    assert entries(folder, ["step000010/norm", "step000002/fc"]) == [
        (folder / "n.safetensors", "step000010/norm"), (folder / "s2.npz", "step000002/fc")]
    assert list(load(folder, "step000002/fc")) == ["step000002/fc"]


def test_arrays_that_are_not_there_are_named_with_some_that_are(folder: Path) -> None:
    np.savez(folder / "s2.npz", **{f"layer{number}": np.zeros(1) for number in range(20)})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"no array 'fc': there are layer0, .*, layer7 and 15 more$"):
        load(folder, "fc")


def test_a_name_in_two_files_is_refused(folder: Path) -> None:
    np.savez(folder / "s2.npz", **{"step000010/fc": np.zeros(1)})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"an array 'step000010/fc' in s2\.npz and in s10\.npz"):
        load(folder)


@pytest.mark.parametrize(("files", "other", "words"), [
    (None, {}, '"files" must be a list of objects'),
    (["a.npz"], {}, '"files" must be a list of objects'),
    ([{"step": 3}], {}, "None is not a .npz or .safetensors file"),
    ([{"file": "../a.npz"}], {}, r"'../a\.npz' is no"),
    ([{"file": "manifest.json"}], {}, r"'manifest\.json' is no"),
    ([{"file": "gone.npz"}], {}, r"gone\.npz: No such file"),
    ([], {}, "holds no arrays"),
    ([], {"version": 2}, "of version 2, and 1 is known"),
    ([], {"format": "other"}, 'does not say "format": "cdma-dump"')])
def test_malformed_manifests_are_named(tmp_path: Path, files: Any, other: dict[str, Any], words: str) -> None:
    manifest(tmp_path, files, **other)
    with pytest.raises(ValueError, match=words) as caught:
        load(tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "\udcff"])
def test_a_manifest_that_is_no_manifest(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text, errors="surrogateescape")
    with pytest.raises(ValueError, match=r"cannot read .*manifest\.json as manifest: "):
        load(tmp_path)
