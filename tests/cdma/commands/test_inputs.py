"""Inputs of all commands: named pipes are refused instead of waited for, and no dump counts twice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cdma.conftest import ROOT, Outcome


def called(folder: Path, *call: str) -> subprocess.CompletedProcess[str]:
    """A call in a process of its own, which is ended if it waits for a writer."""
    return subprocess.run(call, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
                          check=False, timeout=120)


@pytest.mark.parametrize("call", [
    ("compress", "PIPE", "out.zvc", "--element", "32"), ("decompress", "PIPE", "out.bin"), ("info", "PIPE"),
    ("characterise", "PIPE", "--element", "32"), ("characterise", "PIPE.npz"), ("characterise", "PIPE.safetensors"),
    ("plan", "PIPE", "--element", "32"), ("plan", "PIPE.json"), ("simulate", "PIPE.npy"),
    ("timeline", "vgg16", "--profile", "PIPE.json"), ("timeline", "vgg16", "--densities", "PIPE.npz"),
    ("generate", "PIPE.toml"), ("area", "--liberty", "PIPE.lib"),
    ("timing", "--liberty", "PIPE.lib"),
], ids=" ".join)
def test_named_pipes_are_refused(call: tuple[str, ...], tmp_path: Path) -> None:
    name = next(word for word in call if word.startswith("PIPE"))
    os.mkfifo(tmp_path / name)
    done = called(tmp_path, sys.executable, "-m", "cdma", *call)
    assert (done.returncode, done.stdout, done.stderr) == (
        2, "", f"cdma: error: {name} is a named pipe: write its content to a file first, and give that\n")


def test_what_a_shell_passes_for_a_command_is_read(tmp_path: Path) -> None:
    np.zeros(1024, np.float32).tofile(tmp_path / "raw.bin")
    call = "compress <(cat raw.bin) o.zvc --coding zvc32 --element 32"
    done = called(tmp_path, "bash", "-c", f'"{sys.executable}" -m cdma {call}')
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "o.zvc").stat().st_size == 64 + 4 + 128


@pytest.mark.parametrize("command", ["characterise", "plan"])
@pytest.mark.parametrize(("paths", "message"), [
    (("a.npz", "a.npz"), "a.npz is given twice: each of its arrays would count twice"),
    (("a.npz", "./b.npz"), "b.npz is given twice, as a.npz as well"),
    (("a.npz", "folder/../a.npz"), "a.npz is given twice"),
])
def test_a_dump_is_not_counted_twice(command: str, paths: tuple[str, ...], message: str, fails: Callable[..., str],
                                     tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", layer=np.ones((4, 64), np.float32))
    (tmp_path / "b.npz").symlink_to(tmp_path / "a.npz")
    (tmp_path / "folder").mkdir()
    assert message in fails(command, *paths)


def test_too_little_memory_is_one_line(fails: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 9 TiB")

    monkeypatch.setattr("cdma.workload.plan.choice.dump_tensor", full)
    assert "not enough memory: give less data, or smaller numbers (Unable to allocate 9 TiB)" in fails("plan")


def test_a_type_beside_files_that_have_types_is_for_the_raw_one(cdma: Callable[..., Outcome], tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((4, 64), np.float32))
    np.zeros(64, np.int8).tofile(tmp_path / "raw.bin")
    found = cdma("characterise", "a.npy", "raw.bin", "--dtype", "int8", "--json").json["arrays"]
    assert [array["dtype"] for array in found] == ["float32", "int8"]
