"""Area of small designs, counted by hand, on every target."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma.commands.area import area_text
from cdma.golden.results import to_json
from cdma.hdl.config.core import load
from cdma.hdl.generate.verilog import emit
from cdma.synth.area.cores import AreaReport, area, measure
from cdma.synth.cells.library import Library
from cdma.synth.tools.yosys import YosysError
from cdma.synth.units.hierarchy import Macro
from tests.extended import extended, usually
from tests.synth.conftest import TINY, needs_opensta

_REGISTERS = """
module top(input aclk, input en, input [3:0] d, output reg [3:0] q, output k, output z);
  assign k = 1;
  assign z = ~(d[0] & d[1]);
  always @(posedge aclk) if (en) q <= d;
endmodule
"""

_TREE = """
module \\top.bit (input aclk, input a, input b, output reg q);
  always @(posedge aclk) q <= ~(a & b);
endmodule
module \\top.pair (input aclk, input [1:0] a, input [1:0] b, output [1:0] q);
  \\top.bit low(aclk, a[0], b[0], q[0]);
  \\top.bit high(aclk, a[1], b[1], q[1]);
endmodule
module top(input aclk, input [3:0] a, input [3:0] b, output [3:0] q, output n);
  \\top.pair one(aclk, a[1:0], b[1:0], q[1:0]);
  \\top.pair two(aclk, a[3:2], b[3:2], q[3:2]);
  assign n = ~a[0];
endmodule
"""


def _by_module(report: AreaReport) -> dict[str, tuple[int, int, float | None]]:
    return {row.module: (row.cells, row.flip_flops, row.kge) for row in report.rows}


def test_generic_gates() -> None:
    report = measure(_REGISTERS, "top")
    # Four flip-flops of 16/3 gates, a clock gate of 13/3, a NAND gate: 26.67 gates.
    assert (report.total.flip_flops, report.total.clock_gates, report.total.cells) == (4, 1, 6)
    assert report.total.kge == pytest.approx(0.0267)
    assert (report.total.um2, report.total.luts, report.library, report.recipe) == (None, None, None, "fast")
    assert (report.timed_with, report.paths) == (None, ())


def test_cells_of_a_library(tiny: Library) -> None:
    report = measure(_REGISTERS, "top", target="liberty", library=tiny, recipe="small")
    # Four flip-flops of 12 um2, a clock gate of 8 with its test pin tied, a NAND gate of 2, two tie cells of 0.5.
    assert (report.total.flip_flops, report.total.clock_gates, report.total.cells) == (4, 1, 8)
    assert (report.total.um2, report.total.kge) == (59.0, 0.0295)
    assert (report.library, report.recipe) == ("tiny", "small")


def test_registers_are_only_gated_from_four_on() -> None:
    three = measure(_REGISTERS.replace("[3:0]", "[2:0]"), "top", modules=False).total
    assert (three.flip_flops, three.clock_gates) == (3, 0)


@pytest.mark.parametrize("library", [False, True])
def test_modules_count_as_often_as_they_are_there(tiny: Library, library: bool) -> None:
    report = measure(_TREE, "top", target="liberty" if library else "generic", library=tiny if library else None)
    # In gates 16/3 and 1, in um2 12 and 2: 6.33 or 7 gates a bit; an inverter is 2/3 or 1/2.
    gates = (0.0253, 0.0007, 0.026) if not library else (0.028, 0.0005, 0.0285)
    assert _by_module(report) == {"(top)": (1, 0, gates[1]), "pair": (0, 0, 0.0), "bit": (8, 4, gates[0]),
                                  "total": (9, 4, gates[2])}
    assert [row.module for row in report.rows] == ["(top)", "pair", "bit", "total"]
    assert [row.share for row in report.rows[:-1]] == pytest.approx([gates[1] / gates[2], 0, gates[0] / gates[2]],
                                                                     abs=2e-3)
    assert to_json(report)["total"] == to_json(report)["rows"][-1]


def test_without_modules_there_is_the_total_alone() -> None:
    stages: list[tuple[str, int, int]] = []
    report = measure(_TREE, "top", modules=False, progress=lambda *stage: stages.append(stage))
    assert _by_module(report) == {"total": (9, 4, 0.026)}
    assert stages[-1] == ("synthesis of top", 1, 1)


_MEMORY = """
module top(input aclk, input en, input [5:0] a, input [5:0] b, input [31:0] d, output reg [31:0] q);
  reg [31:0] words [63:0];
  always @(posedge aclk) if (en) words[a] <= d;
  always @(posedge aclk) q <= words[b];
endmodule
"""


@pytest.mark.parametrize("library", usually(False, of=[False, True]))
def test_memories_that_are_macros_are_counted_in_bits(tiny: Library, library: bool) -> None:
    kind = {"target": "liberty", "library": tiny} if library else {}
    report = measure(_MEMORY, "top", memories={Macro(64, 32): 1}, recipe="small", **kind)
    assert report.memory_bits == 64 * 32
    assert {each.module: each.flip_flops for each in report.rows} == {"(top)": 0, "total": 0}
    assert report.total.kge is not None and report.total.kge < 0.1
    assert area_text(to_json(report)).endswith("2,048 bits of memory are not counted here: they are macros.")
    with pytest.raises(YosysError, match="Yosys has 0 memories memory_32x32 in top, not 1"):
        measure(_MEMORY, "top", memories={Macro(32, 32): 1}, modules=False, **kind)


@pytest.mark.parametrize(("target", "wide"), [("ecp5", 4), ("xilinx7", 6)])
def test_luts(target: str, wide: int) -> None:
    verilog = f"module top(input aclk, input [{wide - 1}:0] d, output reg q); always @(posedge aclk) q <= ^d; endmodule"
    total = measure(verilog, "top", target=target, modules=False).total
    assert (total.luts, total.flip_flops, total.kge, total.um2) == (1, 1, None, None)


def test_carry_cells_of_an_ecp5_are_two_luts() -> None:
    verilog = "module top(input [15:0] a, input [15:0] b, output [15:0] q); assign q = a + b; endmodule"
    assert measure(verilog, "top", target="ecp5", modules=False).total.luts == 16


@needs_opensta
def test_timing_is_of_the_netlist_that_is_counted(tiny: Library) -> None:
    report = measure(_REGISTERS, "top", target="liberty", library=tiny, clock="aclk")
    assert report.timed_with is not None and report.timed_with.startswith("OpenSTA")
    # The enable falls through 2 fF, 1 ps each, and has to be there 75 ps before the gated clock; a register rises in
    # 50 ps and 6 for the load of its port; a port's two loads, 5 fF at 2 ps, and a NAND gate: 14 + 6 + 0.1 x 13.
    # Both inputs of the NAND gate are as slow: either may be told.
    assert {path.kind: (path.ps, path.start.partition("[")[0], path.end) for path in report.paths} == {
        "input to register": (77.0, "en", "clock gate of q[0]"), "register to output": (56.0, "q", "q[0]"),
        "input to output": (31.3, "d", "z")}
    assert [path.mhz for path in report.paths if path.kind == "register to output"] == [round(1e6 / 56, 1)]
    assert to_json(report)["paths"][0]["stages"]


def test_without_opensta_there_are_areas_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdma.synth.tools.opensta.available", lambda: False)
    report = area(load("paper_compressor").replace(beat_bytes=16), target="liberty", liberty=TINY, recipe="small",
                  timed=True, modules=False)
    assert report.total.um2 and (report.timed_with, report.paths) == (None, ())


@extended
def test_a_core_by_its_configuration() -> None:
    config = load("paper_compressor").replace(beat_bytes=16, name="own")
    report = area(config, recipe="small", modules=False)
    assert report == measure(emit(config).text, "own", recipe="small", modules=False)
    assert (report.name, report.recipe) == ("own", "small")


@pytest.mark.parametrize(("given", "message"), [
    ({"target": "asic"}, "target must be one of generic, liberty, ecp5, xilinx7, not 'asic'"),
    ({"target": "liberty"}, "target liberty needs a cell library: name its file"),
    ({"target": "ecp5", "liberty": TINY}, "a cell library is for the target liberty, not ecp5"),
    ({"target": "liberty", "liberty": Path("missing.lib")},
     "cannot read cell library missing.lib: No such file or directory"),
    ({"recipe": "tiny"}, "recipe must be one of fast, small, plain, not 'tiny'"),
])
def test_mistakes(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        area(load("paper_compressor"), **given)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_a_cell_that_the_library_has_not(tiny: Library) -> None:
    macro = ("(* blackbox *) module ram(input a, output q); endmodule "
              "module top(input a, output q); ram one(a, q); endmodule")
    with pytest.raises(YosysError, match=r"^cell library .*tiny\.lib has no cell for ram$"):
        measure(macro, "top", target="liberty", library=tiny)
    latch = "module top(input en, input d, output reg q); always @* if (en) q = d; endmodule"
    with pytest.raises(YosysError, match=r"^Yosys could not do the synthesis of top [^\n]*latches are not supported$"):
        measure(latch, "top", target="liberty", library=tiny)


def test_verilog_that_yosys_does_not_take() -> None:
    with pytest.raises(YosysError, match=r"^Yosys could not do the synthesis of top \(target generic\): [^\n]*ERROR"):
        measure("module top(; endmodule", "top")
