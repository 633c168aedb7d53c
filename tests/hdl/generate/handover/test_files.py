"""What is handed over works in the tools that it is for."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cdma.console.files import write_files
from golden.c.library import sources
from hdl.config.core import load
from hdl.config.engine import load_engine
from hdl.generate.handover.files import DRIVER, files
from hdl.generate.verilog import emit
from verif.common import tools

_STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything for the smallest engine."""
    folder = tmp_path_factory.mktemp("engine")
    write_files(folder, files(emit(load_engine("smallest")), sources()))
    return folder


def _for_tools(name: str) -> set[str]:
    """Files that come with every design."""
    return {f"{name}.{end}" for end in ("v", "json", "vlt", "core", "f", "sdc", "xdc")} | {
        f"package_{name}.tcl", f"{name}_ip/component.xml", f"{name}_ip/form.tcl"}


def test_names(engine: Path) -> None:
    own = {f"cdma_smallest_engine{end}" for end in ("_regs.h", ".rdl", "_README.md")}
    written = {str(path.relative_to(engine)) for path in engine.rglob("*") if path.is_file()}
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


def test_the_program_of_the_readme_compiles(engine: Path, tmp_path: Path) -> None:
    text = (engine / "cdma_smallest_engine_README.md").read_text()
    includes, functions, body = re.findall(r"```c\n(.*?)\n\n(static.*?)\n\n(struct.*?)```", text, re.DOTALL)[0]
    source = tmp_path / "program.c"
    source.write_text(
        f"#include <stdio.h>\n{includes}\n{functions}\n#define BASE 0x40000000ul\n"
        f"int main(void)\n{{\nuint64_t device_address = 0, link_address = 0, raw_bytes = 4;\n{body}\nreturn 0;\n}}\n")
    subprocess.run(["gcc", "-std=c99", *_STRICT, f"-I{engine}", str(source)], check=True)


def test_the_readme_connects_every_port(engine: Path) -> None:
    facts = json.loads((engine / "cdma_smallest_engine.json").read_text())
    text = (engine / "cdma_smallest_engine_README.md").read_text()
    for port in facts["ports"]:
        assert re.search(rf"\.{port['name']} +\({port['name']}\)", text)
    assert {"engine", "offload", "prefetch"} == {page["name"] for page in facts["registers"]}


def test_the_readme_names_every_file(engine: Path) -> None:
    text = (engine / "cdma_smallest_engine_README.md").read_text()
    named = set(re.findall(r"`([\w./]+)`", text.split("## Configuration")[0])) | {"cdma_smallest_engine_README.md"}
    assert {path.name + "/" * path.is_dir() for path in engine.iterdir()} == named - {"ip_repo_paths"}


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
