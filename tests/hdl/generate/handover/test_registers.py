"""C header and SystemRDL say what the register table says, read by the tools that others read them with."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from systemrdl.compiler import RDLCompiler
from systemrdl.node import AddressableNode, RegNode

from cdma.golden.c.library import sources
from cdma.hdl.codec.coding import CODINGS, RAW_CODING
from cdma.hdl.config.engine import EngineConfig, engine_preset_names, load_engine
from cdma.hdl.engine.control.descriptor import Operation
from cdma.hdl.engine.control.register import Access
from cdma.hdl.engine.control.table import pages, registers, with_options
from cdma.hdl.engine.transfer.buffers import LaneMemory
from cdma.hdl.engine.transfer.records import Status
from cdma.hdl.generate.handover.c_header import c_header
from cdma.hdl.generate.handover.register_map import register_facts, register_page
from cdma.hdl.generate.handover.statuses import ADVICE, MEANINGS
from cdma.hdl.generate.handover.systemrdl import systemrdl
from tests.golden.implementations import FOLDER

_WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
_CONFIGS = {name: load_engine(name) for name in engine_preset_names()} | {
    "far": EngineConfig(address_bits=64, codings=("zvc8",), crc=False, about='Says "far".'),
    "windows": load_engine("tiny").replace(name="windows", address_windows=True),
    "write_back": load_engine("tiny").replace(name="write_back", write_back=True),
    "options": with_options(load_engine("engine"))}
_each = pytest.mark.parametrize("config", _CONFIGS.values(), ids=_CONFIGS)


def _macros(header: Path) -> dict[str, int]:
    """Every macro of a header that is a number, as the preprocessor sees it."""
    run = subprocess.run(["gcc", "-dM", "-E", "-x", "c", str(header)], capture_output=True, text=True, check=True)
    found = re.findall(r"^#define (\w+) (0x[0-9a-f]+|\d+)u$", run.stdout, re.MULTILINE)
    return {name: int(value, 0) for name, value in found}


@_each
def test_header(config: EngineConfig, tmp_path: Path) -> None:
    header = tmp_path / f"{config.name}_regs.h"
    header.write_text(c_header(config))
    macros = _macros(header)
    # The same for every engine, so addresses have as many bits as those of any.
    engine, channel, _, *write_back = pages(config.replace(address_bits=64))
    for page in pages(config)[1:]:
        assert macros[f"CDMA_{page.name.upper()}_PAGE"] == page.offset
    for prefix, page in (("CDMA_REG", engine), ("CDMA_CHANNEL", channel),
                         *(("CDMA_WRITE_BACK", page) for page in write_back)):
        for register in page.registers:
            assert macros[f"{prefix}_{register.name}"] == register.offset
            for field in register.fields:
                if field.name != "VALUE":
                    assert macros[f"{prefix}_{register.name}_{field.name}_MASK"] == field.mask
                    assert macros[f"{prefix}_{register.name}_{field.name}_SHIFT"] == field.lsb
    for status in Status:
        assert macros[f"CDMA_STATUS_{status.name}"] == status.value
    for operation in Operation:
        assert macros[f"CDMA_OPERATION_{operation.name}"] == operation.value
    own = config.name.upper()
    assert macros[f"{own}_LANES"] == config.lanes
    assert {name for name in CODINGS if macros[f"{own}_{name.upper()}"]} == set(config.codings)
    for name in ("crc", "narrowing", "address_windows", "attribute_registers", "write_back", "buffer_parity"):
        assert macros[f"{own}_{name.upper()}"] == getattr(config, name)
    # The driver is the same for every engine, so registers that were not built have their offsets too.
    assert macros["CDMA_REG_WINDOW_CONTROL"] == 0xA0
    assert macros["CDMA_REG_BUFFER_INJECT"] == 0xAC
    assert {name for name in macros if name.startswith("CDMA_MEMORY_")} == {
        f"CDMA_MEMORY_{each.name}" for each in LaneMemory}
    assert macros["CDMA_PREFETCH_WRITE_BACK_PAGE"] == 0x400


def test_codings_in_c(tmp_path: Path) -> None:
    """Their numbers; the header of the C library has the same, and may come before or behind."""
    text = c_header(load_engine("tiny"))
    shared = re.search(r"^#ifndef CDMA_CODINGS\n.*?^#endif$", sources()["cdma_codec.h"], re.MULTILINE | re.DOTALL)
    assert shared is not None and shared[0] in text
    (tmp_path / "regs.h").write_text(text)
    checks = "".join(f'_Static_assert(CDMA_CODING_{name.upper()} == {number}, "{name}");\n'
                     for name, number in {**CODINGS, "raw": RAW_CODING}.items())
    for includes in (["regs.h"], ["regs.h", "cdma_codec.h"], ["cdma_codec.h", "regs.h"]):
        source = tmp_path / "codings.c"
        source.write_text("".join(f'#include "{name}"\n' for name in includes) + checks)
        subprocess.run(["gcc", "-std=c11", *_WARNINGS, f"-I{FOLDER}", "-fsyntax-only", str(source)], check=True)


def test_what_is_the_same_for_every_engine() -> None:
    """Behind that comment, headers of the least and of the most that can be built are the same."""
    least = EngineConfig(lanes=1, address_bits=32, link_beat_bytes=16, beat_bytes=16, codings=("zvc8",), crc=False)
    common = {c_header(config).partition("/* The same for every engine.")[2]
              for config in (least, EngineConfig(), with_options(EngineConfig()), load_engine("smallest"))}
    assert len(common) == 1 and "" not in common


def test_headers_of_two_engines_go_together(tmp_path: Path) -> None:
    for name in ("engine", "wide"):
        (tmp_path / f"{name}.h").write_text(c_header(load_engine(name)))
    source = tmp_path / "both.c"
    source.write_text('#include "engine.h"\n#include "wide.h"\n#include "engine.h"\n'
                      "int lanes = CDMA_ENGINE_LANES + CDMA_WIDE_ENGINE_LANES;\n")
    subprocess.run(["gcc", "-std=c99", *_WARNINGS, "-fsyntax-only", str(source)], check=True)


def _software(register: RegNode) -> dict[str, tuple[int, int, bool, bool, Any, Any]]:
    return {field.inst_name: (field.lsb, field.width, field.is_sw_readable, field.is_sw_writable,
                              field.get_property("onwrite"), field.get_property("reset"))
            for field in register.fields()}


@_each
def test_systemrdl(config: EngineConfig, tmp_path: Path) -> None:
    source = tmp_path / f"{config.name}.rdl"
    source.write_text(systemrdl(config))
    compiler = RDLCompiler()
    compiler.compile_file(str(source))
    root = compiler.elaborate(top_def_name=config.name)
    found: dict[str, RegNode] = {}
    for node in root.top.descendants():
        if isinstance(node, RegNode):
            parent = node.parent
            inside = isinstance(parent, AddressableNode) and parent is not root.top and parent.inst_name != config.name
            found[f"{parent.inst_name.upper()}_{node.inst_name}" if inside else node.inst_name] = node
    table = {register.name: register for register in registers(config)}
    assert set(found) == set(table)
    for name, register in table.items():
        node = found[name]
        assert node.absolute_address == register.offset
        fields = _software(node)
        assert set(fields) == {field.name for field in register.fields}
        for field in register.fields:
            lsb, width, readable, writable, onwrite, reset = fields[field.name]
            assert (lsb, width) == (field.lsb, field.width)
            assert readable == (field.access is not Access.WO)
            assert writable == (field.access is not Access.RO)
            assert (onwrite is not None) == (field.access in (Access.W1C, Access.W1S))
            assert reset in (None, field.reset)


@_each
def test_facts_and_page(config: EngineConfig) -> None:
    names = {register["name"] for page in register_facts(config) for register in page["registers"]}
    assert names == {register.name for page in pages(config) for register in page.registers}
    page = register_page(config)
    for name in names:
        assert f"`{name}`" in page


def test_every_status_is_explained() -> None:
    assert list(MEANINGS) == list(Status)
    assert set(ADVICE) == set(Status)
    assert all(not text.endswith(".") and '"' not in text for text in MEANINGS.values())
