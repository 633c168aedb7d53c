"""The generated Verilog: the same bytes every time, no lint, no register bit without a value, and the ports that were
promised."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest
from amaranth.hdl import Fragment, Module, Signal
from amaranth.lib import data

from cdma.hdl.config.block_core import BlockCoreConfig, block_preset_names
from cdma.hdl.config.catalog import Design, load_design
from cdma.hdl.config.core import CoreConfig, load, preset_names
from cdma.hdl.config.engine import EngineConfig, engine_preset_names, load_engine
from cdma.hdl.generate.verilog import Verilog, _top, emit
from cdma.verif.engine.build import engine_text
from tests.extended import usually
from tests.hdl.generate.unassigned import unassigned
from tests.lint import lint

_ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", usually("compressor", of=["compressor", "decompressor"]))
def test_same_bytes_from_another_process(name: str, tmp_path: Path) -> None:
    script = (f"import hashlib; from cdma.hdl.config.core import load; from cdma.hdl.generate.verilog import emit; "
              f"print(hashlib.sha256(emit(load({name!r})).text.encode()).hexdigest())")
    digests = {hashlib.sha256(emit(load(name)).text.encode()).hexdigest()}
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(_ROOT), "HOME": str(tmp_path)}
        run = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, check=True,
                             capture_output=True, text=True)
        digests.add(run.stdout.strip())
    assert len(digests) == 1


@pytest.fixture(scope="module", params=preset_names() + block_preset_names())
def core(request: pytest.FixtureRequest) -> Verilog:
    """Each preset of the cores and block cores, generated once for all tests."""
    return emit(load_design(request.param))


_ENGINES = [load_engine(name) for name in engine_preset_names()] + [
    EngineConfig(name="cdma_bare", lanes=1, beat_bytes=16, link_beat_bytes=16, block_bytes=512, buffer_bytes=1024,
                 address_bits=32, codings=("zvc8",), crc=False),
    EngineConfig(name="cdma_rounding", lanes=1, beat_bytes=16, link_beat_bytes=32, block_bytes=1024, buffer_bytes=2048,
                 codings=("zvc16", "bfloat16"), narrowing=True, crc=False, pipeline="fast"),
]
"""The presets, which other tests generate as well, and small engines where other parts are built or left out."""


# A usual run has neither the presets of many lanes nor the last engine, because they take long.
@pytest.fixture(scope="module", params=usually(*(each for each in _ENGINES[:-1] if each.lanes < 6), of=_ENGINES),
                ids=lambda config: config.name)
def engine(request: pytest.FixtureRequest, build_dir: Path) -> str:
    """The Verilog of engines, kept from run to run."""
    return engine_text(request.param, build_dir)


def test_every_simulator_runs_a_core_alike(core: Verilog) -> None:
    _runs_alike(core.text)


def test_every_simulator_runs_an_engine_alike(engine: str) -> None:
    _runs_alike(engine)


def _runs_alike(text: str) -> None:
    # Logic in processes never runs in some simulators where no input changes; initial values hide what lacks a reset.
    assert set(re.findall(r"always @ ?(\S+)", text)) == {"(posedge"}
    assert not re.findall(r"\binitial\b|^ *(?:output +)?(?:reg|integer)\b[^;\n]*=", text, re.MULTILINE)
    # Of a width of zero, Yosys makes two bits that are never used.
    assert "[-1:0]" not in text
    # Icarus takes a function whose name begins with a dollar sign for one of its own, even behind a backslash.
    assert not re.findall(r"\bfunction [^;\n]*\$", text)


@pytest.mark.parametrize("config", [*map(load_design, preset_names() + block_preset_names()), *_ENGINES],
                         ids=lambda config: config.name)
def test_every_register_bit_is_assigned(config: Design) -> None:
    assert [*unassigned(Fragment.get(_top(config), None))] == []


def test_a_register_bit_that_is_not_assigned_is_found() -> None:
    m = Module()
    m.submodules.inside = inside = Module()
    i, word = Signal(8), Signal(8, reset_less=True)
    pair = Signal(data.StructLayout({"low": 4, "high": 8}), name="pair", reset_less=True)
    whole, reset = Signal(4, reset_less=True), Signal(4)
    with m.If(i[0]):
        m.d.sync += [pair.high.eq(i), whole.eq(i), reset[0].eq(1)]
    inside.d.sync += [word[:2].eq(i), word[6].eq(i[2])]
    assert [*unassigned(Fragment.get(m, None))] == ["top.pair 0xf", "top.inside.word 0xbc"]


def _memories(core: Verilog) -> list[tuple[int, int, list[str]]]:
    """Bits of each memory of a core, its rows, and its attributes."""
    lines = core.text.splitlines()
    found = []
    for number, line in enumerate(lines):
        if size := re.match(r" *reg \[(\d+):0\] \S+ \[(\d+):0\];", line):
            above = list(takewhile(lambda one: one.lstrip().startswith("(*"), reversed(lines[:number])))
            rows = int(size[2]) + 1
            found.append(((int(size[1]) + 1) * rows, rows, above))
    return found


def test_memories_need_no_old_values(core: Verilog) -> None:
    """Each memory says that what it shows of a row that is written in the same cycle does not matter."""
    memories = _memories(core)
    assert memories or not isinstance(core.config, BlockCoreConfig)
    assert all(any("no_rw_check = 32'd1" in one for one in above) for *_, above in memories)


def test_large_memories_ask_for_block_ram(core: Verilog) -> None:
    # Up to 32 rows, LUTs of a Xilinx part are smaller and faster, those of a Lattice part are neither.
    asked = {(bits, rows): "".join(above) for bits, rows, above in _memories(core)}
    for (bits, rows), above in asked.items():
        assert ('(* ram_style = "block" *)' in above) == (bits > 4096 and rows > 32)
        assert ('(* syn_ramstyle = "block_ram" *)' in above) == (bits > 4096 and rows <= 32)
    assert any(bits > 4096 for bits, _ in asked) or not isinstance(core.config, BlockCoreConfig)


def test_lint(core: Verilog, tmp_path: Path) -> None:
    lint(core.name, core.text, tmp_path)


_TUSER = {"compressor": 3, "decompressor": 3, "block_compressor": 9, "block_decompressor": 41}
_OUTPUTS = {"compressor": {"error_code": 2}, "decompressor": {"error_code": 2, "error_line": 24},
            "block_compressor": {"m_axis_tuser": 41}, "block_decompressor": {"error_code": 4, "error_line": 8}}


def test_ports(core: Verilog) -> None:
    config = core.config
    assert isinstance(config, CoreConfig | BlockCoreConfig)
    ports = {port.name: (port.direction, port.width) for port in core.ports}
    n = config.beat_bytes
    expected = {
        "aclk": ("input", 1), "aresetn": ("input", 1),
        "s_axis_tdata": ("input", 8 * n), "s_axis_tkeep": ("input", n), "s_axis_tlast": ("input", 1),
        "s_axis_tuser": ("input", _TUSER[config.core]), "s_axis_tvalid": ("input", 1), "s_axis_tready": ("output", 1),
        "m_axis_tdata": ("output", 8 * n), "m_axis_tkeep": ("output", n), "m_axis_tlast": ("output", 1),
        "m_axis_tvalid": ("output", 1), "m_axis_tready": ("input", 1),
    } | {name: ("output", width) for name, width in _OUTPUTS[config.core].items()}
    assert ports == expected
    for port, (direction, width) in expected.items():
        span = f"[{width - 1}:0] " if width > 1 else ""
        assert f"  {direction} {span}{port};" in core.text
