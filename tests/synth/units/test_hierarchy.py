"""Generated Verilog taken apart: paths, parts, black boxes and memories."""

from __future__ import annotations

import pytest

from cdma.hdl.generate.interfaces import Port
from cdma.synth.units.hierarchy import Design, Macro

_VERILOG = """\
/* Generated */
module top(clk, a, q);
  input clk;
  input a;
  output q;
  \\top.lane0  lane0 (
    .clk(clk));
  \\top.odd$7  \\odd$7  (
    .clk(clk));
endmodule

module \\top.lane0 (clk, data);
  input clk;
  output [7:0] data;
  reg [7:0] storage [511:0];
  reg [7:0] few [3:0];
  \\top.lane0.inner  inner (
    .clk(clk));
endmodule

module \\top.lane0.inner (clk);
  input clk;
  reg [15:0] storage [255:0];
endmodule

module \\top.odd$7 (clk);
  input clk;
endmodule
"""


@pytest.fixture
def design() -> Design:
    return Design(_VERILOG, "top")


def test_paths_have_no_numbers_of_the_generator(design: Design) -> None:
    assert design.paths() == {"": "top", "lane0": "top.lane0", "lane0.inner": "top.lane0.inner", "odd": "top.odd$7"}


def test_a_part_is_a_module_and_all_below_it(design: Design) -> None:
    part = design.part("top.lane0", [])
    assert part.count("endmodule") == 2
    assert "blackbox" not in part and "module top(" not in part


def test_what_is_cut_out_is_a_black_box_with_its_ports(design: Design) -> None:
    part = design.part("top", ["top.lane0"])
    assert "(* blackbox *)\nmodule \\top.lane0 (clk, data);\n  input clk;\n  output [7:0] data;\nendmodule\n" in part
    assert "inner" not in part
    assert "top.odd" in part


def test_what_is_cut_out_may_be_left_out(design: Design) -> None:
    part = design.part("top", ["top.lane0"], black_boxes=False)
    assert "\\top.lane0 lane0 (" in part.replace("  ", " ")
    assert "module \\top.lane0 (" not in part and "inner" not in part


def test_inputs_of_a_function_are_no_ports() -> None:
    function = "  function [0:0] chosen;\n    input [0:0] a;\n    chosen = a;\n  endfunction\n"
    design = Design(_VERILOG.replace("  reg [7:0] few [3:0];\n", f"  reg [7:0] few [3:0];\n{function}"), "top")
    assert [port.name for port in design.ports("top.lane0")] == ["clk", "data"]
    assert "input [0:0] a" not in design.part("top", ["top.lane0"])


def test_ports_of_a_module(design: Design) -> None:
    assert design.ports("top.lane0") == (Port("clk", "input", 1), Port("data", "output", 8))
    escaped = Design(_VERILOG.replace("[7:0] data", "[7:0] \\data$1 "), "top")
    assert [port.name for port in escaped.ports("top.lane0")] == ["clk", "data$1"]


def test_memories_of_a_part(design: Design) -> None:
    assert design.macros("top", [], 2048) == {Macro(512, 8): 1, Macro(256, 16): 1}
    assert design.macros("top.lane0", ["top.lane0", "top.lane0.inner"], 16) == {Macro(512, 8): 1, Macro(4, 8): 1}
    assert design.macros("top", ["top.lane0"], 16) == {}
    assert Macro(512, 8).bits == 4096


def test_each_instance_of_a_module_has_a_module_of_its_own() -> None:
    again = "  \\top.lane0  lane1 (\n    .clk(clk)\n  );\n"
    design = Design(_VERILOG.replace("  \\top.odd$7  ", f"{again}  \\top.odd$7  "), "top")
    assert set(design.paths()) == {"", "lane0", "lane0.inner", "lane1", "lane1.inner", "odd"}
    assert design.macros("top", [], 2048) == {Macro(512, 8): 2, Macro(256, 16): 2}
    part = design.part("top", ["top.lane1"])
    assert part.count("(* blackbox *)") == 1 and "module \\top.lane0.inner (clk);" in part
    assert "\\top.lane1  lane1 (" in part
    assert design.part("top.lane1", []).replace("lane1", "lane0") == design.part("top.lane0", [])
