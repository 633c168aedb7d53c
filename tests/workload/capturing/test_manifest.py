"""The folder of a dump: read while it grows, and after what goes wrong."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

from cdma.workload.capturing import CaptureError
from cdma.workload.capturing.manifest import Manifest, check_folder, read_manifest
from cdma.workload.dumps import load

MAPS = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
ENTRY = {"module": "conv1", "kind": "saved", "saved_by": "conv2", "shape": [1, 2, 3, 4], "full_shape": [8, 2, 3, 4],
         "dtype": "float32", "layout": "NCHW", "density": 0.5}


def add(manifest: Manifest, step: int) -> None:
    """Add a step of one array."""
    name = f"step{step:06d}"
    manifest.add(f"{name}.npz", partial(np.savez, **{f"{name}/conv1": MAPS + step}), step, step // 10,
                 {f"{name}/conv1": ENTRY}, 8 * MAPS.nbytes, MAPS.nbytes)


def test_every_step_can_be_read_at_once(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path / "runs/dump", "Net")
    for count, step in enumerate((0, 10, 20), start=1):
        add(manifest, step)
        arrays = load(tmp_path / "runs/dump")
        assert list(arrays) == [f"step{before:06d}/conv1" for before in (0, 10, 20)[:count]]
    np.testing.assert_array_equal(arrays["step000020/conv1"], MAPS + 20)
    assert sorted(path.name for path in manifest.folder.iterdir()) == [
        "manifest.json", "step000000.npz", "step000010.npz", "step000020.npz"]


def test_content(tmp_path: Path) -> None:
    manifest = Manifest(tmp_path, "Net")
    add(manifest, 10)
    manifest.note("fc left out")
    manifest.note("fc left out")
    manifest.save()
    assert read_manifest(tmp_path) == manifest.content == {
        "format": "cdma-dump", "version": 1, "model": "Net",
        "files": [{"file": "step000010.npz", "step": 10, "epoch": 1, "bytes": 96, "saved_bytes": 768}],
        "arrays": {"step000010/conv1": {
            "file": "step000010.npz", **ENTRY}},
        "notes": ["fc left out"]}


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_step_that_is_not_written_leaves_the_rest(tmp_path: Path, error: BaseException) -> None:
    def write(file: BinaryIO) -> None:
        file.write(b"half of a fi")
        raise error

    manifest = Manifest(tmp_path, "Net")
    add(manifest, 0)
    with pytest.raises(type(error)):
        manifest.add("step000010.npz", write, 10, None, {"step000010/conv1": ENTRY}, 1, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.json", "step000000.npz"]
    add(manifest, 20)
    assert list(load(tmp_path)) == ["step000000/conv1", "step000020/conv1"]


def test_a_dump_is_never_written_over(tmp_path: Path) -> None:
    add(Manifest(tmp_path, "Net"), 0)
    for again in (check_folder, partial(Manifest, model="Net")):
        with pytest.raises(CaptureError, match="has a dump already: choose another folder, or delete it first"):
            again(tmp_path)
    assert check_folder(tmp_path / "other") == tmp_path / "other"


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CaptureError, match=r"cannot make the folder .*file/dump: .*file is not a folder"):
        Manifest(tmp_path / "file/dump", "Net")
    with pytest.raises(CaptureError, match=r"cannot make the folder .*file: .*file is not a folder"):
        check_folder(tmp_path / "file")


def test_a_folder_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Permissions do not hold for the superuser, who runs tests in containers.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(CaptureError, match=r"cannot make the folder .*new/dump: .* may not be written"):
        check_folder(tmp_path / "new/dump")
