"""Timing of a design from its Verilog: recipe, tool, names and the area that goes with it."""

from __future__ import annotations

import pytest

from hdl.config.core import load
from synth.cells.library import Library
from synth.timing import cores as timing
from tests.synth.conftest import TINY

_VERILOG = """
module top(input aclk, input [1:0] d, output reg q);
  reg [1:0] state;
  always @(posedge aclk) begin state <= d; q <= state[0] & state[1]; end
endmodule
"""


def test_paths_of_a_small_design(tiny: Library) -> None:
    report = timing.measure(_VERILOG, "top", tiny, tool="tables")
    # Three flip-flops, a NAND gate and an inverter.
    assert (report.um2, report.kge, report.recipe, report.library) == (39.0, 0.0195, "fast", "tiny")
    first, *others = report.paths
    # A register rises into 3 fF: 53, slew 13; the gate falls into 2 fF: 14 + 2 + 1.3, slew 9; the inverter rises into
    # 2 fF: 10 + 2 + 1.8, slew 7; set-up 20.7.
    assert (first.kind, first.ps, first.mhz, first.end) == ("register to register", 104.8, 9542.0, "q")
    assert first.start in ("state[0]", "state[1]")
    assert [(stage.cell, stage.ps) for stage in first.stages] == [
        ("DFF", 53.0), ("NAND2", 17.3), ("INV", 13.8), ("DFF", 20.7)]
    # A port's buffer falls into 2 fF: 2; set-up 30 + 0.9.
    assert {path.kind: path.ps for path in others} == {"input to register": 32.9, "register to output": 56.0}


@pytest.mark.parametrize("tool", ["opensta", "tables"])
def test_the_tool_is_opensta_where_it_is_installed(tiny: Library, monkeypatch: pytest.MonkeyPatch, tool: str) -> None:
    monkeypatch.setattr("synth.tools.opensta.available", lambda: tool == "opensta")
    monkeypatch.setattr("synth.tools.opensta.version", lambda: "OpenSTA 1.2.3")
    monkeypatch.setattr("synth.tools.opensta.worst_paths", lambda verilog, *rest: timing.static.worst_paths(*rest))
    report = timing.measure(_VERILOG, "top", tiny)
    assert report.tool == ("OpenSTA 1.2.3" if tool == "opensta" else "the library's delay tables")
    assert report.paths[0].ps == 104.8


def test_a_core_in_the_cells_of_a_library() -> None:
    config = load("paper_compressor").replace(beat_bytes=16)
    report = timing.timing(config, liberty=TINY, recipe="small", tool="tables")
    assert (report.name, report.recipe) == (config.name, "small")
    kinds = {path.kind: path for path in report.paths}
    assert set(kinds) >= {"register to register", "input to register", "register to output"}
    worst = kinds["register to register"]
    assert worst.ps == pytest.approx(sum(stage.ps for stage in worst.stages), abs=0.2)
    assert worst.start.startswith("core.") or worst.start.startswith(("m_axis", "s_axis"))
    assert report.as_dict()["paths"][0]["kind"] == "register to register"


@pytest.mark.parametrize(("given", "message"), [
    ({"tool": "guess"}, "the timing tool must be one of opensta, tables, not 'guess'"),
    ({"tool": "opensta"}, "OpenSTA is not installed: put its program sta on PATH, or use the timing tool tables"),
    ({"recipe": "tiny"}, "recipe must be one of fast, small, not 'tiny'"),
])
def test_mistakes(tiny: Library, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], message: str) -> None:
    monkeypatch.setattr("synth.tools.opensta.available", lambda: False)
    with pytest.raises(ValueError) as caught:
        timing.measure(_VERILOG, "top", tiny, **given)  # type: ignore[arg-type]
    assert str(caught.value) == message
