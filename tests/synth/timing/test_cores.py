"""Timing of a design from its Verilog: recipe, names and the area that goes with it.

In the small library a delay is a constant, plus so much per fF of load, plus so much per ps of input slew: INV 10 + 1
load + 0.2 slew rising and 8 + 0.5 load + 0.2 slew falling, NAND2 12 and 14 + 1 load + 0.1 slew, a register 50 rising
and 40 falling + 1 load; set-up 20 and 30 + 0.1 slew.
"""

from __future__ import annotations

import pytest

from cdma.golden.results import to_json
from cdma.hdl.config.core import load
from cdma.synth.cells.library import Library
from cdma.synth.timing import cores
from tests.synth.conftest import TINY, needs_opensta

_VERILOG = """
module top(input aclk, input [1:0] d, output reg q);
  reg [1:0] state;
  always @(posedge aclk) begin state <= d; q <= state[0] & state[1]; end
endmodule
"""


@needs_opensta
def test_paths_of_a_small_design(tiny: Library) -> None:
    report = cores.measure(_VERILOG, "top", tiny)
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


@needs_opensta
def test_a_core_in_the_cells_of_a_library() -> None:
    config = load("paper_compressor").replace(beat_bytes=16)
    report = cores.timing(config, liberty=TINY, recipe="small")
    assert (report.name, report.recipe) == (config.name, "small")
    kinds = {path.kind: path for path in report.paths}
    assert set(kinds) >= {"register to register", "input to register", "register to output"}
    worst = kinds["register to register"]
    assert worst.ps == pytest.approx(sum(stage.ps for stage in worst.stages), abs=0.2)
    assert worst.start.startswith("core.") or worst.start.startswith(("m_axis", "s_axis"))
    assert to_json(report)["paths"][0]["kind"] == "register to register"


def test_without_opensta_there_are_no_clocks(tiny: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdma.synth.tools.opensta.available", lambda: False)
    with pytest.raises(ValueError, match=r"^clocks in the cells of a library are calculated by OpenSTA, .* apt"):
        cores.measure(_VERILOG, "top", tiny)


def test_an_unknown_recipe(tiny: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdma.synth.tools.opensta.available", lambda: True)
    with pytest.raises(ValueError, match=r"^recipe must be one of fast, small, plain, not 'tiny'$"):
        cores.measure(_VERILOG, "top", tiny, recipe="tiny")
