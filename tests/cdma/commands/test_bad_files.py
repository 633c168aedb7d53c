"""Every command with files that are none: one line, an exit code, nothing printed, and nothing written."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cdma.golden.codec import files
from tests.cdma.conftest import ROOT

READ = [
    "generate IN.toml", "verify IN.toml", "area IN.toml", "area --engine IN.toml", "area --liberty IN.lib",
    "timing --target ecp5 IN.toml", "timing --liberty IN.lib", "simulate IN.npz", "simulate IN.npy", "simulate IN.pt",
    "simulate IN.safetensors", "simulate --engine IN.toml", "simulate --plan IN.json", "verify --merge IN",
    "capture -o out IN.py", "train --example digits --engine IN.toml", "characterise IN.npz", "characterise IN.npy",
    "characterise IN.safetensors", "characterise IN", "timeline IN.json", "timeline IN",
    "timeline vgg16 --densities IN.npz", "timeline vgg16 --densities IN.json", "timeline vgg16 --profile IN.json",
    "timeline vgg16 --share IN.json", "alternatives IN.json", "alternatives vgg16 --densities IN.npz",
    "alternatives vgg16 --profile IN.json", "kvcache IN.json --context 64 --batch 1",
    "kvcache gpt2 --context 64 --batch 1 --dump IN.npz", "plan IN.npz", "plan IN.json", "plan --engine IN.toml",
    "plan vgg16 --densities IN.json", "plan vgg16 --profile IN.json", "board arty-a7-35 -o out --dump IN.npz",
    "soc IN.npz", "soc --engine IN.toml", "prove --engine IN.toml", "cover --merge IN", "mutate --times IN.xml",
    "soak --engine IN.toml", "soak --replay IN.json", "compress IN.npz out", "compress IN.npy out",
    "compress IN.safetensors out", "compress IN out --element 32", "decompress IN out", "decompress IN out --stream",
    "decompress IN out --stream --lines --element 32", "info IN", "info IN --stream",
    "bench --compare IN.json IN.json", "bench --liberty IN.lib",
]
"""Calls that read a file, whose name begins with IN."""

WRITTEN = [
    "characterise --report OUT.html", "timeline vgg16 --plot OUT.svg", "alternatives vgg16 --plot OUT.svg",
    "plan -o OUT.json", "plan --tune --plot OUT.svg", "results --output OUT.md", "results --report OUT.html",
    "timing --sweep --liberty none --plot OUT.svg", "bench --output OUT.json", "compress a.npy OUT",
    "decompress a.zvc OUT", "decompress a.zvc OUT.npy", "capture --profile OUT.json script.py",
]
"""Calls that write a file, whose name begins with OUT."""

FOLDERS = [
    "generate compressor -o OUT", "board arty-a7-35 -o OUT", "rules -o OUT", "capture -o OUT script.py",
    "capture --example digits -o OUT", "verify compressor --report OUT", "simulate a.npy --build-dir OUT",
]
"""Calls that write a folder."""

_GARBAGE = random.Random(1).randbytes(3001)
_CONTENTS = {"empty": b"", "garbage": _GARBAGE, "zip": b"PK\3\4" + _GARBAGE, "list": b'[1, "x", null]\n',
             "object": b'{"a": [1, 2], "b": null}\n'}


def _bad(kind: str, name: str) -> str:
    """Make what has this name bad, and return its path."""
    if kind == "loop":
        Path(name).symlink_to(name)
    elif kind == "behind a loop":
        Path("loop").symlink_to("loop")
        return f"loop/{name}"
    elif kind == "folder":
        Path(name).mkdir()
    elif kind == "behind a file":
        Path("file").touch()
        return f"file/{name}"
    elif kind == "too long":
        return "x" * 256 + name
    elif kind == "zero byte":
        return f"a\0{name}"
    elif kind != "missing":
        Path(name).write_bytes(_CONTENTS[kind])
    return name


def _checked(fails: Callable[..., str], call: str, begin: str, kind: str) -> None:
    words = call.split()
    name = next(word for word in words if word.startswith(begin))
    Path("script.py").write_text("pass\n")
    np.save("a.npy", np.ones(64, np.float32))
    Path("a.zvc").write_bytes(files.head_of(b"", 0, block_bytes=512).pack())
    path = _bad(kind, name)
    before = sorted(str(each) for each in Path().rglob("*"))
    try:
        fails(*(path if word == name else word for word in words))
    except AssertionError:
        fails(*(path if word == name else word for word in words), code=1)
    assert sorted(str(each) for each in Path().rglob("*") if not str(each).startswith(("build", "out"))) == before


@pytest.mark.parametrize("kind", ["loop", "behind a loop", "folder", "behind a file", "too long", "zero byte",
                                  "missing"])
@pytest.mark.parametrize("call", READ)
def test_inputs_that_cannot_be_read(call: str, kind: str, fails: Callable[..., str]) -> None:
    _checked(fails, call, "IN", kind)


@pytest.mark.parametrize("kind", _CONTENTS)
@pytest.mark.parametrize("call", [call for call in READ if "--merge" not in call and "capture" not in call])
def test_inputs_of_no_sense(call: str, kind: str, fails: Callable[..., str]) -> None:
    if call in ("decompress IN out --stream", "decompress IN out --stream --lines --element 32", "info IN --stream"):
        kind = "garbage"    # the bare stream of an empty tensor is empty
    if call == "compress IN out --element 32":
        kind = "garbage"    # no whole number of elements; all others can be compressed
    _checked(fails, call, "IN", kind)


@pytest.mark.parametrize("kind", ["loop", "behind a loop", "folder", "behind a file", "too long", "zero byte"])
@pytest.mark.parametrize("call", WRITTEN)
def test_files_that_cannot_be_written(call: str, kind: str, fails: Callable[..., str]) -> None:
    _checked(fails, call, "OUT", kind)


@pytest.mark.parametrize("kind", ["loop", "behind a loop", "empty", "behind a file", "too long", "zero byte"])
@pytest.mark.parametrize("call", FOLDERS)
def test_folders_that_cannot_be_made(call: str, kind: str, fails: Callable[..., str]) -> None:
    _checked(fails, call, "OUT", kind)


def _shell(folder: Path, call: str, **environment: str) -> tuple[int, str]:
    """Exit code and standard error of a call of a shell."""
    done = subprocess.run(["bash", "-c", f'cdma() {{ "{sys.executable}" -m cdma "$@"; }}; {call}'], cwd=folder,
                          env=os.environ | {"PYTHONPATH": str(ROOT)} | environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=120)
    return done.returncode, done.stderr


FULL = "cdma: error: standard output, or a temporary file: No space left on device\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(("call", "code", "says"), [
    ("cdma --version > /dev/full", 2, FULL), ("cdma --help > /dev/full", 2, FULL),
    ("cdma rules --json > /dev/full", 2, FULL), ("cdma generate --list > /dev/full", 2, FULL),
    ("cdma compress raw - --element 8 > /dev/full", 2, FULL),
    ("cdma compress raw /dev/full --element 8", 2, "cdma: error: /dev/full: No space left on device\n"),
    ("cdma --version >&-", 2, "cdma: error: standard output is closed: open it, or send it to /dev/null\n"),
    ("cdma compress - out --element 8 <&-", 2, "cdma: error: standard input is closed: give a file, or open it\n"),
    ("cdma info none 2>&-", 2, ""), ("cdma info none 2> /dev/full", 2, ""), ("cdma nonsense 2> /dev/full", 2, ""),
    ("cdma --help | head -c 0; exit ${PIPESTATUS[0]}", 0, ""),
    ("cdma generate --list | head -c 0; exit ${PIPESTATUS[0]}", 0, ""),
], ids=lambda value: value if isinstance(value, str) and value.startswith("cdma ") else "")
def test_output_that_is_full_or_closed(call: str, code: int, says: str, unbuffered: str, tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(_GARBAGE * 100)
    assert _shell(tmp_path, call, PYTHONUNBUFFERED=unbuffered) == (code, says)
    assert [each.name for each in tmp_path.iterdir()] == ["raw"]


def test_a_full_disk_leaves_no_part_of_a_file(fails: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(_GARBAGE)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
    try:
        for call, name in (("compress raw out --element 8", "out"), ("rules -o .", "axi4_write.v"),
                           ("plan -o out", "out"), ("results --output out", "out")):
            assert fails(*call.split()) == f"cdma: error: {name}: File too large\n"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [each.name for each in tmp_path.iterdir()] == ["raw"]


def test_an_unbuffered_output_is_not_cut(tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(_GARBAGE * 100)
    code, said = _shell(tmp_path, "ulimit -f 8; cdma compress raw - --element 8 > out", PYTHONUNBUFFERED="1")
    assert (code, said) == (2, "cdma: error: standard output, or a temporary file: File too large\n")
