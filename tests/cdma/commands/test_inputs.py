"""Inputs of all commands: named pipes are refused instead of waited for, and no dump counts twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def impatient() -> Iterator[None]:
    """Interrupt a test that waits for a writer."""
    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("waited for a writer")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("call", [
    ("compress", "PIPE", "out.zvc", "--element", "32"), ("decompress", "PIPE", "out.bin"), ("info", "PIPE"),
    ("characterise", "PIPE", "--element", "32"), ("characterise", "PIPE.npz"), ("characterise", "PIPE.safetensors"),
    ("plan", "PIPE", "--element", "32"), ("plan", "PIPE.json"), ("simulate", "PIPE.npy"),
    ("timeline", "vgg16", "--profile", "PIPE.json"), ("timeline", "vgg16", "--densities", "PIPE.npz"),
], ids=" ".join)
def test_named_pipes_are_refused(call: tuple[str, ...], fails: Callable[..., str], tmp_path: Path) -> None:
    name = next(word for word in call if word.startswith("PIPE"))
    os.mkfifo(tmp_path / name)
    assert f"{name} is a named pipe: write its content to a file first, and give that" in fails(*call)


def test_what_a_shell_passes_for_a_command_is_read(tmp_path: Path) -> None:
    np.zeros(1024, np.float32).tofile(tmp_path / "raw.bin")
    done = subprocess.run(["bash", "-c", f'"{sys.executable}" -m cdma compress <(cat raw.bin) out.zvc --element 32'],
                          cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
                          check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.zvc").stat().st_size == 4 + 128


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
