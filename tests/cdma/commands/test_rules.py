"""``cdma rules``: what it lists, what it writes, and that the page's instance binds."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from cdma.__main__ import main
from cdma.verif.common import tools
from cdma.verif.rules.catalogue import FILES, rules, source
from tests.docs.pages import ROOT, blocks

_BENCH = """\
module bench;
    wire aclk, aresetn, m_axis_tlast, m_axis_tvalid, m_axis_tready;
    wire [255:0] m_axis_tdata;
    wire [31:0] m_axis_tkeep;
{}
endmodule
"""


def test_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--json"]) == 0
    assert [each["name"] for each in json.loads(capsys.readouterr().out)] == [rule.name for rule in rules()]
    assert main(["rules", "--module", "axi4_lite_rules"]) == 0
    said = capsys.readouterr().out
    assert "axi4_lite_rules" in said
    assert "axi4_stream_rules" not in said


def test_modules_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "-o", str(tmp_path / "all")]) == 0
    assert sorted(file.name for file in (tmp_path / "all").iterdir()) == sorted(FILES)
    assert (tmp_path / "all/axi4_lite.v").read_text() == source("axi4_lite.v")
    assert main(["rules", "--module", "axi4_stream_rules", "-o", str(tmp_path / "one")]) == 0
    assert [file.name for file in (tmp_path / "one").iterdir()] == ["axi4_stream.v"]
    assert "wrote" in capsys.readouterr().out


def test_the_instance_on_the_page_binds(tmp_path: Path) -> None:
    instance, = (block.body for block in blocks(ROOT / "docs/rules.md") if block.info == "verilog")
    (tmp_path / "bench.v").write_text(_BENCH.format(instance))
    (tmp_path / "axi4_stream.v").write_text(source("axi4_stream.v"))
    with tools.environment():
        done = subprocess.run(["verilator", "--lint-only", "-Wall", "-Wno-UNDRIVEN", "--top-module", "bench", "bench.v",
                               "axi4_stream.v"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_unknown_module_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--module", "axi3"]) == 2
    assert "there is no module 'axi3': choose from axi4_write_rules," in capsys.readouterr().err
