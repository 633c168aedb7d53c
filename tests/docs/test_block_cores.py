"""docs/block_cores.md against the generated Verilog: ports, fields of tuser, error codes, and the example."""

from pathlib import Path

import pytest
from amaranth.lib import data

from cdma.hdl.codec.payload.unpacking import PayloadError
from cdma.hdl.config.block_core import BLOCK_CORES, BlockCoreConfig
from cdma.hdl.generate.axis_blocks import block_user_layout, raw_user_layout
from cdma.hdl.generate.verilog import emit
from tests.docs.pages import ROOT, all_blocks, table
from tests.docs.test_cores import example_compiles, port_width

PAGE = ROOT / "docs/block_cores.md"


@pytest.mark.parametrize("core", BLOCK_CORES)
def test_ports_are_those_of_the_table(core: str) -> None:
    documented = {name: (direction, port_width(bits, 16)) for name, direction, bits, meaning in table(PAGE, "port")
                  if " only:" not in meaning or meaning.startswith(core)}
    ports = emit(BlockCoreConfig(core=core, beat_bytes=16, codings=("zvc32",))).ports
    assert documented == {port.name: (port.direction, port.width) for port in ports}


@pytest.mark.parametrize(("head", "layout"), [("raw packet", raw_user_layout()), ("payload", block_user_layout())])
def test_fields_of_tuser_are_those_of_the_table(head: str, layout: data.StructLayout) -> None:
    documented = {}
    for bits, name, _ in table(PAGE, head):
        high, _, low = bits.partition("..")
        documented[name] = (int(low or high), int(high) - int(low or high) + 1)
    assert documented == {name: (field.offset, field.width) for name, field in layout}


def test_error_codes_are_those_of_the_table() -> None:
    assert {row[1]: int(row[0]) for row in table(PAGE, "code")} == {code.name: code.value for code in PayloadError}


def test_example_compiles(tmp_path: Path) -> None:
    (example,) = (block for block in all_blocks("verilog") if block.page == PAGE)
    example_compiles(example.body, "there_and_back", [emit(BlockCoreConfig(core=core)).text for core in BLOCK_CORES],
                     tmp_path)
