"""Area of small designs, counted by hand, on every target; and of a whole engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdma.commands.area import area_text
from cdma.hdl.config.core import load
from cdma.hdl.config.engine import EngineConfig
from cdma.synth.area.area import SCALE_28, area, engine_area
from cdma.synth.cells.generic import BIT_UM2, NAND2_UM2
from cdma.synth.tools.yosys import YosysError
from cdma.synth.units.hierarchy import Design
from tests.extended import usually
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


_LIBRARY = {"target": "liberty", "liberty": TINY}


def _area(verilog: str, **how: Any) -> dict[str, Any]:
    return area(Design(verilog, "top"), **how)


def test_generic_gates() -> None:
    report = _area(_REGISTERS)
    # Four flip-flops of 16/3 gates, a clock gate of 13/3, a NAND gate: 26.67 gates.
    assert report["total"] == {"module": "total", "cells": 6, "flip_flops": 4, "clock_gates": 1,
                               "kge": pytest.approx(0.0267), "um2": None, "luts": None, "block_rams": None,
                               "share": 1.0}
    assert {key: report[key] for key in ("library", "recipe", "timed_with", "paths")} == {
        "library": None, "recipe": "fast", "timed_with": None, "paths": []}


def test_cells_of_a_library() -> None:
    report = _area(_REGISTERS, recipe="small", **_LIBRARY)
    # Four flip-flops of 12 um2, a clock gate of 8 with its test pin tied, a NAND gate of 2, two tie cells of 0.5.
    assert report["total"] == {"module": "total", "cells": 8, "flip_flops": 4, "clock_gates": 1, "kge": 0.0295,
                               "um2": 59.0, "luts": None, "block_rams": None, "share": 1.0}
    assert (report["library"], report["recipe"]) == ("tiny", "small")


def test_registers_are_only_gated_from_four_on() -> None:
    three = _area(_REGISTERS.replace("[3:0]", "[2:0]"), modules=False)["total"]
    assert (three["flip_flops"], three["clock_gates"]) == (3, 0)


@pytest.mark.parametrize("library", [False, True])
def test_modules_count_as_often_as_they_are_there(library: bool) -> None:
    report = _area(_TREE, **_LIBRARY if library else {})
    # In gates 16/3 and 1, in um2 12 and 2: 6.33 or 7 gates a bit; an inverter is 2/3 or 1/2.
    gates = (0.0253, 0.0007, 0.026) if not library else (0.028, 0.0005, 0.0285)
    assert [(row["module"], row["cells"], row["flip_flops"], row["kge"]) for row in report["rows"]] == [
        ("(top)", 1, 0, gates[1]), ("pair", 0, 0, 0.0), ("bit", 8, 4, gates[0]), ("total", 9, 4, gates[2])]
    assert [row["share"] for row in report["rows"][:-1]] == pytest.approx(
        [gates[1] / gates[2], 0, gates[0] / gates[2]], abs=2e-3)
    assert report["total"] == report["rows"][-1]


def test_without_modules_there_is_the_total_alone() -> None:
    stages: list[tuple[str, int, int]] = []
    report = _area(_TREE, modules=False, progress=lambda *stage: stages.append(stage))
    assert [(row["module"], row["cells"], row["kge"]) for row in report["rows"]] == [("total", 9, 0.026)]
    assert stages[-1] == ("synthesis of top", 1, 1)


_MEMORY = """
module top(input aclk, input en, input [5:0] a, input [5:0] b, input [31:0] d, output reg [31:0] q);
  reg [31:0] words [63:0];
  always @(posedge aclk) if (en) words[a] <= d;
  always @(posedge aclk) q <= words[b];
endmodule
"""


@pytest.mark.parametrize("library", usually(False, of=[False, True]))
def test_memories_that_are_macros_are_counted_in_bits(library: bool) -> None:
    kind: dict[str, Any] = _LIBRARY if library else {}
    report = _area(_MEMORY, recipe="small", timed=True, **kind)
    assert (report["memory_bits"], report["paths"]) == (64 * 32, [])
    assert {each["module"]: each["flip_flops"] for each in report["rows"]} == {"(top)": 0, "total": 0}
    assert report["total"]["kge"] < 0.1
    assert "\n2,048 bits of memory are not counted here: they are macros." in area_text(report)
    # One that nothing reads or writes is not there after synthesis.
    with pytest.raises(YosysError, match="Yosys has 1 memories memory_64x32 in top, not 2"):
        _area(_MEMORY.replace("endmodule", "  reg [31:0] unused [63:0];\nendmodule"), modules=False, **kind)


@pytest.mark.parametrize(("target", "wide"), [("ecp5", 4), ("xilinx7", 6)])
def test_luts(target: str, wide: int) -> None:
    verilog = (f"module top(input aclk, input [{wide - 1}:0] d, output reg q); always @(posedge aclk) q <= ^d;\n"
               "endmodule\n")
    total = _area(verilog, target=target, modules=False)["total"]
    assert [total[key] for key in ("luts", "flip_flops", "block_rams", "kge", "um2")] == [1, 1, 0, None, None]


def test_carry_cells_of_an_ecp5_are_two_luts() -> None:
    verilog = "module top(input [15:0] a, input [15:0] b, output [15:0] q); assign q = a + b;\nendmodule\n"
    assert _area(verilog, target="ecp5", modules=False)["total"]["luts"] == 16


@needs_opensta
def test_timing_is_of_the_netlist_that_is_counted() -> None:
    report = _area(_REGISTERS, timed=True, **_LIBRARY)
    assert report["timed_with"].startswith("OpenSTA")
    # The enable falls through 2 fF, 1 ps each, and has to be there 75 ps before the gated clock; a register rises in
    # 50 ps and 6 for the load of its port; a port's two loads, 5 fF at 2 ps, and a NAND gate: 14 + 6 + 0.1 x 13.
    # Both inputs of the NAND gate are as slow: either may be told.
    assert {path["kind"]: (path["ps"], path["start"].partition("[")[0], path["end"]) for path in report["paths"]} == {
        "input to register": (77.0, "en", "clock gate of q[0]"), "register to output": (56.0, "q", "q[0]"),
        "input to output": (31.3, "d", "z")}
    assert [path["mhz"] for path in report["paths"] if path["kind"] == "register to output"] == [round(1e6 / 56, 1)]


def test_without_opensta_there_are_areas_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdma.synth.tools.opensta.available", lambda: False)
    report = _area(_REGISTERS, timed=True, modules=False, **_LIBRARY)
    assert report["total"]["um2"] and (report["timed_with"], report["paths"]) == (None, [])


@pytest.mark.parametrize(("given", "message"), [
    ({"target": "asic"}, "target must be one of generic, liberty, ecp5, xilinx7, ultrascale+, not 'asic'"),
    ({"target": "liberty"}, "target liberty needs a cell library: name its file"),
    ({"target": "ecp5", "liberty": TINY}, "a cell library is for the target liberty, not ecp5"),
    ({"target": "liberty", "liberty": Path("missing.lib")},
     "cannot read cell library missing.lib: No such file or directory"),
    ({"recipe": "tiny"}, "recipe must be one of fast, small, plain, not 'tiny'"),
])
def test_mistakes(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        area(load("paper_compressor"), **given)
    assert str(caught.value) == message


@pytest.mark.parametrize(("verilog", "message"), [
    (_TREE.replace("module \\top.bit", "(* blackbox *)\nmodule \\top.bit"),
     r"^cell library .*tiny\.lib has no cell for top\.bit$"),
    ("module top(input en, input d, output reg q); always @* if (en) q = d;\nendmodule\n",
     r"^Yosys could not do the synthesis of top: [^\n]*latches are not supported$"),
    ("module top(;\nendmodule\n", r"^Yosys could not do the synthesis of top: [^\n]*ERROR")])
def test_designs_that_cannot_be_mapped(verilog: str, message: str) -> None:
    with pytest.raises(YosysError, match=message):
        _area(verilog, **_LIBRARY)


_CONFIG = EngineConfig(name="cdma_small", lanes=2, beat_bytes=16, link_beat_bytes=16, block_bytes=1024,
                       buffer_bytes=2048, codings=("zvc16",), crc=False, narrowing=True)
_OF_LANES = ("compressor", "decompressor", "narrowing", "AXI of the lanes", "buffers, offload", "buffers, prefetch",
             "lane control")


@pytest.mark.parametrize("liberty", usually(of=[None, TINY]))
def test_an_engine(kept_engines: None, liberty: Path | None) -> None:
    report = engine_area(_CONFIG, liberty=liberty)
    assert {unit["unit"]: unit["instances"] for unit in report["units"]} == {
        **dict.fromkeys(_OF_LANES, 2),
        **dict.fromkeys(("aggregator", "distributor", "AXI of the link", "control", "glue"), 1)}
    for unit in report["units"]:
        assert unit["cells"] > 0 and unit["kge"] > 0
        # Gates count as the documented area where there are no cells.
        assert unit["logic_um2"] == (unit["um2"] if liberty else round(1000 * unit["kge"] * NAND2_UM2, 1))
        assert unit["memory_um2"] == round(unit["memory_bits"] * BIT_UM2, 1)
    bits = {unit["unit"]: unit["memory_bits"] for unit in report["units"] if unit["memory_bits"]}
    lane = 8 * _CONFIG.buffer_bytes
    # A block and 16 beats; rows from the link say whether they are a block's last, and where it ends.
    store = 8 * _CONFIG.block_bytes + 16 * 8 * _CONFIG.beat_bytes
    ends = _CONFIG.buffer_bytes // _CONFIG.link_beat_bytes * (1 + 4 + 1)
    # Requests and tickets in progress, of both directions; their totals; and entries of rings that were read ahead.
    control = 4 * _CONFIG.queue_depth * 512 + 128 * 32 + 5 * 64 * 32
    assert bits == {"buffers, offload": 2 * (lane + store), "buffers, prefetch": 2 * (lane + ends),
                    "AXI of the link": 8 * 2 * 4096, "control": control, "glue": 2 * 64 * 32}
    assert sum(bits.values()) == sum(
        number * int(size.split(" x ")[0]) * int(size.split(" x ")[1]) for size, number in report["macros"].items())
    total, scaled = report["total"], report["mm2_28"]
    assert total["kge"] == pytest.approx(sum(unit["kge"] for unit in report["units"]), abs=1e-3)
    assert scaled["engine"] == pytest.approx(scaled["logic"] + scaled["memory"], abs=2e-4)
    assert scaled["memory"] == pytest.approx(total["memory_bits"] * BIT_UM2 * SCALE_28 / 1e6, abs=1e-4)
    assert 0 < scaled["cores"] < scaled["engine"] and (total["um2"] is None) == (liberty is None)
