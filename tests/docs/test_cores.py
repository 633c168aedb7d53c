"""docs/cores.md against the generated Verilog: ports, error codes, and the examples there and in README.md."""

import shutil
import subprocess
from pathlib import Path

import pytest

from cdma.hdl.codec.packets import ErrorCode
from cdma.hdl.config.core import CORES, CoreConfig
from cdma.hdl.config.engine import load_engine
from cdma.hdl.generate.verilog import emit
from tests.docs.pages import ROOT, all_blocks, table

PAGE = ROOT / "docs/cores.md"


@pytest.mark.parametrize("beat_bytes", [16, 32, 64])
@pytest.mark.parametrize("core", CORES)
def test_ports_are_those_of_the_table(core: str, beat_bytes: int) -> None:
    documented = {name: {"direction": direction, "width": port_width(width, beat_bytes)}
                  for name, direction, width, meaning in table(PAGE, "port")
                  if core == "decompressor" or not meaning.startswith("decompressor only")}
    generated = emit(CoreConfig(core=core, beat_bytes=beat_bytes)).ports
    assert documented == {port.name: {"direction": port.direction, "width": port.width} for port in generated}


def port_width(text: str, beat_bytes: int) -> int:
    """Bits of a port, from what the table says of it."""
    factor, times_beat, _ = text.partition("N")
    return int(factor or 1) * (beat_bytes if times_beat else 1)


def test_error_codes_are_those_of_the_table() -> None:
    assert {row[1]: int(row[0]) for row in table(PAGE, "code")} == {code.name: code.value for code in ErrorCode}


def test_example_compiles(tmp_path: Path) -> None:
    (example,) = (block for block in all_blocks("verilog") if block.page == PAGE)
    example_compiles(example.body, "offload_path", [emit(CoreConfig(core="compressor")).text], tmp_path)


def test_the_readmes_example_compiles(tmp_path: Path) -> None:
    """Between ports that have the names of the engine's."""
    (example,) = (block for block in all_blocks("systemverilog") if block.page == ROOT / "README.md")
    tiny = emit(load_engine("tiny"))
    own = {"aclk": "clk", "aresetn": "rst_n"}
    ports = ",\n".join(f"{port.direction} logic [{port.width - 1}:0] {own.get(port.name, port.name)}"
                       for port in tiny.ports)
    example_compiles(f"module front(\n{ports}\n);\n{example.body}\nendmodule\n", "front", [tiny.text], tmp_path)


def example_compiles(text: str, top: str, cores: list[str], folder: Path) -> None:
    """Fails unless Verilator takes an example and the cores in it, and has nothing to say of the example."""
    (folder / "example.v").write_text(text)
    (folder / "cores.v").write_text("\n".join(cores))
    verilator = Path(_package_folder("verilator")) / "bin/verilator"
    options = ["--lint-only", "-Wall", "-Wno-fatal", "-Wno-DECLFILENAME", "--top-module", top]
    done = subprocess.run([str(verilator), *options, "example.v", "cores.v"], cwd=folder,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "example.v" not in done.stderr, done.stderr


def _package_folder(name: str) -> str:
    import importlib

    assert shutil.which("perl"), "Verilator's driver is a Perl script"
    return importlib.import_module(name).__path__[0]
