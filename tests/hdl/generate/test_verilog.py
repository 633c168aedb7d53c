"""The generated Verilog: the same bytes every time, no lint, and the ports that were promised."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hdl.config.core import CoreConfig, load, preset_names
from hdl.config.engine import EngineConfig, load_engine
from hdl.generate.verilog import emit
from tests.lint import lint

_ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", ["compressor", "decompressor"])
def test_same_bytes_from_another_process(name: str, tmp_path: Path) -> None:
    script = (f"import hashlib; from hdl.config.core import load; from hdl.generate.verilog import emit; "
              f"print(hashlib.sha256(emit(load({name!r})).text.encode()).hexdigest())")
    digests = {hashlib.sha256(emit(load(name)).text.encode()).hexdigest()}
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(_ROOT), "HOME": str(tmp_path)}
        run = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, check=True,
                             capture_output=True, text=True)
        digests.add(run.stdout.strip())
    assert len(digests) == 1


@pytest.mark.parametrize("config", [load("compressor"), load("decompressor"), load_engine("tiny")],
                         ids=lambda config: config.name)
def test_every_simulator_runs_it_alike(config: CoreConfig | EngineConfig) -> None:
    text = emit(config).text
    # Logic in processes never runs in some simulators where no input changes; initial values hide what lacks a reset.
    assert set(re.findall(r"always @ ?(\S+)", text)) == {"(posedge"}
    assert not re.findall(r".*\binitial\b.*|^ *(?:output +)?(?:reg|integer)\b[^;]*=.*", text, re.MULTILINE)
    # Icarus takes a function whose name begins with a dollar sign for one of its own, even behind a backslash.
    assert not re.findall(r"\bfunction .*\$.*", text)


@pytest.mark.parametrize("name", preset_names())
def test_lint(name: str, tmp_path: Path) -> None:
    design = emit(load(name))
    lint(design.name, design.text, tmp_path)


def test_lint_of_the_smallest_engine(tmp_path: Path) -> None:
    design = emit(load_engine("tiny"))
    lint(design.name, design.text, tmp_path)


@pytest.mark.parametrize("name", preset_names())
def test_ports(name: str) -> None:
    config = load(name)
    ports = {port["name"]: (port["direction"], port["width"]) for port in emit(config).ports}
    n = config.beat_bytes
    expected = {
        "aclk": ("input", 1), "aresetn": ("input", 1),
        "s_axis_tdata": ("input", 8 * n), "s_axis_tkeep": ("input", n), "s_axis_tlast": ("input", 1),
        "s_axis_tuser": ("input", 3), "s_axis_tvalid": ("input", 1), "s_axis_tready": ("output", 1),
        "m_axis_tdata": ("output", 8 * n), "m_axis_tkeep": ("output", n), "m_axis_tlast": ("output", 1),
        "m_axis_tvalid": ("output", 1), "m_axis_tready": ("input", 1), "error_code": ("output", 2),
    } | ({"error_line": ("output", 24)} if config.core == "decompressor" else {})
    assert ports == expected
    text = emit(config).text
    for port, (direction, width) in expected.items():
        span = f"[{width - 1}:0] " if width > 1 else ""
        assert f"  {direction} {span}{port};" in text
