"""Designs that are split into modules: the same circuit, in a form that people and tools can read."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pyslang
import pytest

from cdma.golden.c.library import sources
from cdma.hdl.generate.handover.files import files
from cdma.hdl.generate.verilog import Verilog
from cdma.verif.common import tools
from tests.extended import usually
from tests.hdl.generate.split.designs import ALL, single, split
from tests.hdl.generate.split.same import difference

_DOLLAR = re.compile(r"\$(?!signed\()")


@pytest.fixture(scope="module", params=usually(
    "cdma_compressor", "cdma_paper_decompressor", "cdma_block_decompressor", of=ALL))
def design(request: pytest.FixtureRequest) -> Verilog:
    """Each of the designs."""
    return split(request.param)


@pytest.fixture(scope="module")
def folder(design: Verilog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files of a design."""
    found = tmp_path_factory.mktemp(design.name)
    for name, text in files(design, sources()).items():
        (found / name).parent.mkdir(exist_ok=True)
        (found / name).write_text(text)
    return found


def test_plain_names_and_short_lines(design: Verilog) -> None:
    for text in design.modules.values():
        assert "\\" not in text and not _DOLLAR.search(text)
        # Attributes of ports are strings, which cannot be broken.
        assert max(len(line) for line in text.splitlines() if '"' not in line) <= 120


def test_each_file_has_one_module_and_says_what_it_is(design: Verilog) -> None:
    for name, text in design.modules.items():
        assert re.findall(r"^module (\w+) \($", text, re.MULTILINE) == [name]
        assert name.startswith(design.name)
        assert re.search(r"^// Amaranth class [\w.]+", text, re.MULTILINE)
    assert "// Amaranth class hdl.codec.lines.packer.Packer\n// Places pieces" in split("cdma_compressor").modules[
        "cdma_compressor_packer"]


def test_comments_count_the_instances(design: Verilog) -> None:
    instances = dict.fromkeys(design.modules, 0)
    instances[design.name] = 1
    for name, text in reversed(list(design.modules.items())):
        for below in re.findall(r"^  (\w+) \w+ \($", text, re.MULTILINE):
            instances[below] += instances[name]
    for name, text in design.modules.items():
        if name != design.name:
            assert f"// Instances in {design.name}: {instances[name]}\n" in text


def test_ports_of_the_top_are_the_same(design: Verilog) -> None:
    for found in (design.modules[design.name], single(design.name).text):
        assert len(re.findall(r"\(\* X_INTERFACE_INFO", found)) > 10
    declared = re.findall(r"^  (input|output) (?:wire|reg) (?:\[(\d+):0\] )?(\w+),?$", design.modules[design.name],
                          re.MULTILINE)
    assert [(name, direction, int(high or 0) + 1) for direction, high, name in declared] == [
        (port.name, port.direction, port.width) for port in design.ports]


def test_lint(folder: Path, design: Verilog) -> None:
    with tools.environment():
        run = subprocess.run(["verilator", "--lint-only", "-Wall", f"{design.name}.vlt", "-f", f"{design.name}.f"],
                             cwd=folder, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert "DECLFILENAME" not in (folder / f"{design.name}.vlt").read_text()


def test_slang_says_nothing(folder: Path, design: Verilog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    driver = pyslang.driver.Driver()
    driver.addStandardArgs()
    assert driver.parseCommandLine(f"slang -f {design.name}.f --top {design.name}")
    assert driver.processOptions() and driver.parseAllSources()
    compilation = driver.createCompilation()
    driver.reportCompilation(compilation, True)
    assert (driver.diagEngine.numErrors, driver.diagEngine.numWarnings) == (0, 0)
    assert [top.name for top in compilation.getRoot().topInstances] == [design.name]


def test_files_of_a_project_name_every_module(folder: Path, design: Verilog) -> None:
    listed = (folder / f"{design.name}.f").read_text().split()
    assert {str(path.relative_to(folder)) for path in folder.rglob("*.v")} == set(listed)
    assert listed[-1] == f"{design.name}/{design.name}.v"
    core = (folder / f"{design.name}.core").read_text()
    assert re.findall(r"^      - (\S+\.v)$", core, re.MULTILINE) == listed


@pytest.mark.parametrize("name", usually("cdma_compressor", "cdma_block_decompressor", of=[
    "cdma_compressor", "cdma_block_decompressor", "cdma_bare", "cdma_own"]))
def test_the_circuit_is_the_same(name: str) -> None:
    first, second = single(name), split(name)
    wrapper = first.sram or ""
    assert difference(first.text + wrapper, second.text + wrapper, name) is None


def test_another_circuit_is_another() -> None:
    text = split("cdma_compressor").text
    other = text.replace(" & ", " | ", 1)
    assert other != text and difference(text, other, "cdma_compressor") is not None


def test_lanes_share_their_modules() -> None:
    # One module for all lanes, walkers, watches: more of them are more instances.
    two, four = split("cdma_two"), split("cdma_four")
    assert [name.removeprefix("cdma_two") for name in two.modules] == [
        name.removeprefix("cdma_four") for name in four.modules]
    copies = [re.findall(r"^module [^\n]*(?:lane|walker|watch)\w*", each.text, re.MULTILINE) for each in (two, four)]
    assert len(copies[0]) == len(copies[1])
    assert "// Instances in cdma_four: 4\n" in four.modules["cdma_four_offload_lane"]
    assert "// Instances in cdma_four: 10\n" in four.modules["cdma_four_port_watch"]


_MEMORY = re.compile(r"((?: *\(\*[^\n]*\n)*) *reg (?:\[(\d+):0\] )?\S+ \[(\d+):0\];")


def _memories(design: Verilog) -> set[tuple[int, int, tuple[str, ...]]]:
    """Bits of a row, rows and attributes of each memory."""
    return {(int(width or 0) + 1, int(depth) + 1, tuple(sorted(each.strip() for each in attributes.splitlines())))
            for attributes, width, depth in _MEMORY.findall(design.text)}


def test_memories_keep_their_attributes() -> None:
    for name in ("cdma_block_decompressor", "cdma_bare"):
        memories = _memories(single(name))
        assert memories == _memories(split(name))
        assert all("(* no_rw_check = 32'd1 *)" in attributes for _, _, attributes in memories)
        assert any('(* ram_style = "block" *)' in attributes for _, _, attributes in memories)


def test_the_text_does_not_depend_on_the_run() -> None:
    from cdma.hdl.generate.verilog import emit
    assert emit(ALL["cdma_compressor"], split=True).modules == split("cdma_compressor").modules
