"""generate --bench: the folder runs as a user runs it, with make alone, and a broken engine fails there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cdma.__main__ import main
from cdma.verif.common import tools
from tests.extended import extended

ALL = ["lanes=2", "beat_bytes=16", "link_beat_bytes=32", "block_bytes=1024", "buffer_bytes=1280", "address_bits=40",
       "link_read_ids=4", "burst_beats=16", "narrowing=true", "page_lists=true", "address_windows=true",
       "write_back=true", "memories=wrapped", "safe_writes=true", "buffer_parity=true", "link_clock=separate",
       "pipeline=fast", "user_bits=3", "attribute_registers=true"]
"""Every option of an engine."""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bench of a small engine, whose Verilog is one file."""
    folder = tmp_path_factory.mktemp("tiny")
    assert main(["generate", "tiny", "--single", "--bench", "-o", str(folder)]) == 0
    return folder / "cdma_tiny_engine_bench"


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bench of an engine with all options, whose Verilog is split."""
    folder = tmp_path_factory.mktemp("everything")
    settings = [part for each in ["name=mine", *ALL] for part in ("--set", each)]
    assert main(["generate", "engine", *settings, "--split", "--bench", "-o", str(folder)]) == 0
    return folder / "mine_bench"


def _make(folder: Path, *arguments: str, python: str = "false") -> subprocess.CompletedProcess[str]:
    """What make does in a folder, where this project is on no path; in C++, Python is not there at all."""
    with tools.environment():
        ours = ("PYTHON", "PYTEST", "MAKE", "MFLAGS")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return subprocess.run(["make", f"PYTHON={python}", *arguments], cwd=folder, env=kept, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def test_in_cpp(tiny: Path) -> None:
    """One command compiles and runs it; a seed repeats a run."""
    first = _make(tiny)
    assert first.returncode == 0 and first.stdout.endswith("PASS\n"), first.stdout
    seed = re.findall(r"make (SEED=\d+)", first.stdout)[0]
    said = [_make(tiny, each).stdout for each in (seed, "SEED=7")]
    assert said[0] == first.stdout.partition("\n")[2], "the first line says that it compiles"
    assert said[1].endswith("PASS\n") and said[1] != said[0]
    assert [line.split()[0] for line in said[1].splitlines()[1:]] == [
        "polling", *4 * ["fault"], "rings", "PASS"]


def test_in_cocotb(tiny: Path) -> None:
    ran = _make(tiny, "cocotb", "SEED=7", python=sys.executable)
    assert ran.returncode == 0 and ran.stdout.endswith("PASS\n"), ran.stdout
    assert "bench.first_transfers passed" in ran.stdout


def test_all_options_in_cpp(everything: Path) -> None:
    ran = _make(everything, "SEED=7")
    assert ran.returncode == 0 and ran.stdout.endswith("PASS\n"), ran.stdout
    assert [line.split()[0] for line in ran.stdout.splitlines()[2:]] == [
        "windows", "polling", *4 * ["fault"], "rings", "narrowing", "pages", "parity", "write-back", "PASS"]


@extended      # the form in cocotb runs on the small engine, and all options run in C++
def test_all_options_in_cocotb(everything: Path) -> None:
    ran = _make(everything, "cocotb", "SEED=7", python=sys.executable)
    assert ran.returncode == 0 and ran.stdout.endswith("PASS\n"), ran.stdout
    assert re.findall(r"cocotb.mine +([\w-]+): ", ran.stdout) == [
        "registers", "narrowing", "pages", "rings", "write-back"]


@pytest.mark.parametrize(("form", "said"), [
    ("run", r"FAIL: polling: the byte at 0x\w+ of device memory is 0x\w\w, not 0x\w\w\nmake SEED=7 repeats it\n"),
    pytest.param("cocotb", r"(?s)device memory has the tensor twice.*\nFAIL\nmake cocotb SEED=7 ", marks=extended)])
def test_a_broken_engine_fails(tiny: Path, form: str, said: str) -> None:
    """One bit of what a lane writes is wrong."""
    verilog = tiny.parent / "cdma_tiny_engine.v"
    whole = verilog.read_text()
    place = "assign m_axi_lane0_wdata = m_axi_lane0__wdata;"
    assert whole.count(place) == 1
    try:
        verilog.write_text(whole.replace(place, place.replace(";", " ^ 128'd256;")))
        ran = _make(tiny, form, "SEED=7", python="false" if form == "run" else sys.executable)
    finally:
        verilog.write_text(whole)
    assert ran.returncode != 0
    assert re.search(said, ran.stdout), ran.stdout


def test_cores_have_no_bench(fails) -> None:
    assert "--bench moves tensors through engines, and cdma_compressor is none" in fails(
        "generate", "compressor", "--bench")
    assert not list(Path().iterdir())
