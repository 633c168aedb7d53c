"""Tcl for Vivado is Tcl, uses its commands only, and packages what is there; with a Tcl at hand, scripts are run."""

from __future__ import annotations

import subprocess
import sys
from ast import literal_eval
from importlib.util import find_spec
from pathlib import Path

import pytest

from cdma.console.files import write_files
from cdma.golden.c.library import sources
from cdma.hdl.config.catalog import Design
from cdma.hdl.config.engine import EngineConfig, load_engine
from cdma.hdl.engine.control.table import registers
from cdma.hdl.generate.handover.files import files
from cdma.hdl.generate.handover.ipxact import ACCESS, WRITES
from tests.hdl.generate.designs import FAR, PRESETS, TWO_CLOCKS, described

_each = pytest.mark.parametrize("config", [*PRESETS.values(), FAR], ids=lambda config: config.name)

_OF_VIVADO = {
    "create_project", "add_files", "set_property", "current_fileset", "update_compile_order", "get_files",
    "close_project", "ipgui::add_param", "read_verilog", "read_xdc", "synth_design", "opt_design", "place_design",
    "phys_opt_design", "route_design", "report_utilization", "report_timing", "get_timing_paths", "get_property",
    "version",
    *(f"ipx::{name}" for name in (
        "package_project", "current_core", "get_bus_interfaces", "add_file_group", "add_file", "get_file_groups",
        "add_memory_map", "add_address_block", "add_register", "add_field", "create_xgui_files", "update_checksums",
        "check_integrity", "save_core"))}
"""Commands of Vivado that scripts may use, of UG835; Tcl has no others."""


def lines(text: str) -> list[str]:
    """The commands of constraints, a line each, with single spaces."""
    return [" ".join(line.split()) for line in text.splitlines() if line and not line.startswith("#")]


@_each
def test_constraints(config: Design) -> None:
    """XDC: the clock and delays for all ports, without variables, which Vivado does not read there; SDC: the same."""
    written = files(described(config), sources())
    assert lines(written[f"{config.name}.xdc"]) == [
        "create_clock -name aclk -period 5.000 [get_ports aclk]",
        "set_input_delay -clock aclk 1.667 [get_ports -filter {DIRECTION == IN && NAME != aclk}]",
        "set_output_delay -clock aclk 1.667 [get_ports -filter {DIRECTION == OUT}]"]
    assert lines(written[f"{config.name}.sdc"]) == [
        "set period 2.000", "create_clock -name aclk -period $period [get_ports aclk]",
        "set_input_delay [expr $period / 3] -clock aclk [remove_from_collection [all_inputs] [get_ports aclk]]",
        "set_output_delay [expr $period / 3] -clock aclk [all_outputs]"]
    assert {port.direction for port in described(config).ports} == {"input", "output"}


_RUN = """\
import sys, tkinter
tcl = tkinter.Tcl()
script, missing, *arguments = sys.argv[1:]
answers = {
    "ipx::current_core": lambda *words: "core", "ipx::add_register": lambda name, block: name,
    "ipx::add_field": lambda name, register: register + "." + name, "current_fileset": lambda: "sources",
    "ipx::get_bus_interfaces": lambda name, *words: "" if name == missing else "bus_" + name,
    "ipx::add_memory_map": lambda *words: "map", "ipx::add_address_block": lambda *words: "block",
    "get_property": lambda *words: "-0.444", "version": lambda *words: "2026.1",
    "get_files": lambda name: name, "ipx::get_file_groups": lambda name, *words: name}
tcl.eval("namespace eval ipx {}")
def stand_in(name):
    def call(*words):
        print(repr((name, *words)))
        return answers.get(name, lambda *words: "")(*words)
    tcl.createcommand(name, call)
for name in %r:
    if not name.startswith("ipgui"):
        stand_in(name)
tcl.call("set", "argv", tcl.call("list", *arguments))
tcl.call("source", script)
"""
"""A Tcl with stand-ins for Vivado's commands, each of which prints what it is called with. It has a process of its own:
``Tcl`` of ``tkinter`` changes the locale of its process."""


def _has_tcl() -> bool:
    """Whether this Python has a Tcl: those of some Linux distributions have it in a package of its own."""
    return find_spec("_tkinter") is not None


def _run(script: Path, *arguments: str, missing: str = "-") -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", _RUN % sorted(_OF_VIVADO), str(script), missing, *arguments],
                          capture_output=True, text=True, check=False)


if _has_tcl():
    @_each
    def test_a_script_packages_what_is_there(config: Design, tmp_path: Path) -> None:
        place, folder = tmp_path / "of the user", tmp_path / "ip"
        place.mkdir()
        write_files(place, files(described(config), sources()))
        run = _run(place / f"package_{config.name}.tcl", str(folder), "xcku5p")
        assert run.returncode == 0, run.stderr
        called = [literal_eval(line) for line in run.stdout.splitlines() if line.startswith("(")]
        project = str(folder / "project")
        assert called[0] == ("create_project", "-force", "-part", "xcku5p", f"package_{config.name}", project)
        added = [call[-1] for call in called if call[0] == "add_files"]
        assert added == [f"{{{place / name}}}" for name in [*described(config).sources, f"{config.name}.xdc"]]
        properties = {(call[3], call[1]): call[2] for call in called if call[0] == "set_property"}
        assert properties["core", "name"] == properties["sources", "top"] == config.name
        assert properties["core", "description"] == config.about
        (packaged,) = (call for call in called if call[0] == "ipx::package_project")
        assert packaged[1:5] == ("-root_dir", str(folder), "-vendor", "cdma-rtl")
        assert [call[1] for call in called if call[0] == "ipx::get_bus_interfaces"][:len(
            described(config).interfaces)] == [each.name for each in described(config).interfaces]
        assert [call[0] for call in called][-5:] == [
            "ipx::create_xgui_files", "ipx::update_checksums", "ipx::check_integrity", "ipx::save_core",
            "close_project"]
        table = registers(config) if isinstance(config, EngineConfig) else ()
        assert [call[1] for call in called if call[0] == "ipx::add_register"] == [each.name for each in table]
        for each in table:
            assert int(properties[each.name, "address_offset"], 0) == each.offset
            assert [properties[each.name, key] for key in ("access", "reset_value", "description")] == [
                ACCESS[each.access], str(each.reset), each.description]
            for field in each.fields:
                own = f"{each.name}.{field.name}"
                assert [properties.get((own, key)) for key in (
                    "bit_offset", "bit_width", "access", "modified_write_value", "description")] == [
                    str(field.lsb), str(field.width), ACCESS[field.access], WRITES.get(field.access), field.description]
        copied = {path.name for path in folder.rglob("*") if path.is_file()}
        assert copied == {name for name in files(described(config), sources()) if name.endswith((".h", ".c", ".rdl"))}
        assert "add it to ip_repo_paths" in run.stdout

    def test_a_script_stops_where_vivado_found_no_interface(tmp_path: Path) -> None:
        write_files(tmp_path, files(described(load_engine("tiny")), sources()))
        run = _run(tmp_path / "package_cdma_tiny_engine.tcl", missing="m_axi_link")
        assert "Vivado made no interface m_axi_link of the ports: see their attributes" in run.stderr
        assert "save_core" not in run.stdout

    @_each
    def test_a_script_routes_what_is_there(config: Design, tmp_path: Path) -> None:
        write_files(tmp_path, files(described(config), sources()))
        run = _run(tmp_path / f"route_{config.name}.tcl", "xcku5p", "250", str(tmp_path / "out"))
        assert run.returncode == 0, run.stderr
        *lines, last = run.stdout.splitlines()
        called = [literal_eval(line) for line in lines]
        assert [call[1] for call in called if call[0] == "read_verilog"] == [
            str(tmp_path / name) for name in described(config).sources]
        assert [call[1:] for call in called if call[0] == "synth_design"] == [
            ("-top", config.name, "-part", "xcku5p", "-mode", "out_of_context")]
        assert (tmp_path / "out/clocks.xdc").read_text() == "create_clock -name aclk -period 4.000 [get_ports aclk]\n"
        assert last == f"{config.name} on xcku5p, Vivado 2026.1, 250 MHz asked for: slack -0.444 ns, 225.0 MHz"
        assert "name a part" in _run(tmp_path / f"route_{config.name}.tcl").stderr

    def test_crossings_have_the_period_that_is_asked_for(tmp_path: Path) -> None:
        written = files(described(TWO_CLOCKS), sources())
        write_files(tmp_path, written)
        run = _run(tmp_path / "route_two_clocks.tcl", "xcku5p", "100", str(tmp_path / "out"))
        assert run.returncode == 0, run.stderr
        limits = written["two_clocks_crossings.xdc"]
        set_there = (tmp_path / "out/two_clocks_crossings.xdc").read_text()
        assert set_there == limits.replace(" 5.000 ", " 10.000 ") != limits
        assert str(("read_xdc", str(tmp_path / "out/two_clocks_crossings.xdc"))) in run.stdout

    @_each
    def test_forms_are_accepted(config: Design, tmp_path: Path) -> None:
        write_files(tmp_path, files(described(config), sources()))
        assert _run(tmp_path / f"{config.name}_ip/form.tcl").returncode == 0
