"""The estimate for Xilinx parts: its delays, on netlists whose paths are calculated by hand; and a netlist of Yosys."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import pytest

from cdma.synth.timing.estimate import FAMILIES, analyse, estimate
from cdma.synth.tools import scripts
from cdma.synth.units.hierarchy import Design


def _analysed(*cells: tuple[str, str, dict[str, str], dict[str, str]], inputs: str = "", outputs: str = "",
              family: str = "ultrascale+") -> dict[str, Any]:
    """What is found of cells: their name, type, inputs and outputs; a word for each bit of a pin, which is a net."""
    nets: dict[str, int] = {}

    def bits(words: str) -> list[Any]:
        return [word if word in "01x" else nets.setdefault(word, len(nets) + 2) for word in words.split()]

    module = {"cells": {name: {
        "type": kind, "connections": {pin: bits(words) for pin, words in (ins | outs).items()},
        "port_directions": {**dict.fromkeys(ins, "input"), **dict.fromkeys(outs, "output")},
    } for name, kind, ins, outs in cells}}
    module["ports"] = {word: {"direction": direction, "bits": bits(word)}
                       for direction, words in (("input", inputs), ("output", outputs)) for word in words.split()}
    module["netnames"] = {name: {"bits": [bit]} for name, bit in nets.items()}
    return analyse(module, FAMILIES[family])


def _register(name: str, d: str, q: str) -> tuple[str, str, dict[str, str], dict[str, str]]:
    return name, "FDRE", {"C": "clk", "CE": "1", "D": d, "R": "0"}, {"Q": q}


def test_the_delays_are_these() -> None:
    # Pages and the log of changes quote figures by them: whoever changes them measures all again.
    assert {name: astuple(delays) for name, delays in FAMILIES.items()} == {
        "ultrascale+": (.08, .05, .10, .07, .22, .045, .12, .012, 1.0, .30, .30, .12, .43, .10),
        "xilinx7": (.40, .05, .12, .20, .48, .10, .40, .025, 2.1, .70, .45, .15, .75, .30)}


@pytest.mark.parametrize(("family", "ns"), [
    # Clock to output, a net, a LUT, a net with two readers, a LUT, a net, set-up.
    ("ultrascale+", .08 + .22 + .10 + (.22 + .045) + .10 + .22 + .05),
    ("xilinx7", .40 + .48 + .12 + (.48 + .10) + .12 + .48 + .05)])
def test_two_levels_of_logic(family: str, ns: float) -> None:
    found = _analysed(_register("first", "1", "unit.a"), ("x", "LUT1", {"I0": "unit.a"}, {"O": "m"}),
                      ("y", "LUT2", {"I0": "m", "I1": "m"}, {"O": "n"}), _register("last", "n", "lane3.c"),
                      family=family)
    assert found["path"] == {"ns": pytest.approx(ns, abs=.0006), "levels": 2, "start": "unit.a", "end": "lane3.c"}
    assert found["mhz"] == pytest.approx(1000 / ns, abs=.2)
    assert (found["levels"], found["over"], found["groups"]) == (2, 0, [])


_IN = .08 + .22
_OUT = .22 + .05


@pytest.mark.parametrize(("cells", "ns", "levels"), [
    # From the carry's bit 1 to its sum of bit 3; an inverter is part of what follows it.
    ([("i", "INV", {"I": "a"}, {"O": "s"}), ("x", "CARRY8", {"S": "0 s 0 0", "DI": "0 0 0 0", "CI": "0"},
                                             {"O": "w u v n", "CO": "z z1 z2 z3"})],
     _IN + .12 + 2 * .012 + _OUT, 1),
    # Through the carry out of bit 3 into bit 0 of the next, without a wire.
    ([("x", "CARRY4", {"S": "a 0 0 0", "DI": "0 0 0 0", "CI": "0"}, {"CO": "z z1 z2 m"}),
      ("y", "CARRY4", {"S": "0 0 0 0", "DI": "0 0 0 0", "CI": "m"}, {"O": "n n1 n2 n3"})],
     _IN + .12 + 3 * .012 + .012 + _OUT, 1),
    # Into data of a wide multiplexer without a wire, and into its selection with one.
    ([("x", "LUT1", {"I0": "a"}, {"O": "m"}), ("y", "MUXF7", {"I0": "m", "I1": "0", "S": "0"}, {"O": "n"})],
     _IN + .10 + .07 + _OUT, 1),
    ([("y", "MUXF7", {"I0": "0", "I1": "0", "S": "a"}, {"O": "n"})], _IN + .07 + _OUT, 1),
    # Through the address of a RAM in LUTs; what it holds comes later. Other ports' addresses are no way through.
    ([("x", "RAM32M16", {"ADDRA": "a", "ADDRH": "1", "DIA": "0", "WCLK": "clk", "WE": "1"}, {"DOA": "n"})],
     .43 + _OUT, 0),
    ([("y", "LUT1", {"I0": "a"}, {"O": "m"}),
      ("x", "RAM64X1D", {"DPRA0": "m", "A0": "1", "D": "0", "WCLK": "clk", "WE": "1"}, {"DPO": "n", "SPO": "o"})],
     _IN + .10 + .22 + .12 + _OUT, 2),
    ([("x", "SRL16E", {"A0": "1", "D": "a", "CE": "1", "CLK": "clk"}, {"Q": "n"})], .43 + _OUT, 0),
    # A register behind a block RAM can be its own, but not one behind logic.
    ([("x", "RAMB18E2", {"DINADIN": "1", "CLKARDCLK": "clk"}, {"DOUTADOUT": "n"})], .30 + _OUT, 0),
    ([("x", "RAMB36E2", {"DINADIN": "1", "CLKARDCLK": "clk"}, {"DOUTADOUT": "m"}),
      ("y", "LUT1", {"I0": "m"}, {"O": "n"})], 1.0 + .22 + .10 + _OUT, 1),
])
def test_what_a_path_goes_through(cells: list[Any], ns: float, levels: int) -> None:
    path = _analysed(_register("first", "1", "a"), *cells, _register("last", "n", "c"))["path"]
    assert (path["ns"], path["levels"], path["end"]) == (pytest.approx(ns, abs=.0006), levels, "c")


@pytest.mark.parametrize(("kind", "pin", "setup"), [
    ("RAMB36E2", "ADDRARDADDR", .30), ("RAM32M16", "DIA", .10), ("RAM32M16", "ADDRH", .10), ("SRL16E", "CE", .10),
    ("FDSE", "S", .05)])
def test_where_paths_end(kind: str, pin: str, setup: float) -> None:
    found = _analysed(_register("first", "1", "a"), ("rows.memory.0.0", kind, {pin: "a", "WCLK": "clk"}, {"O": "z"}))
    name = "z" if kind == "FDSE" else "rows.memory"
    assert (found["path"]["ns"], found["path"]["end"]) == (pytest.approx(.08 + .22 + setup), name)


def test_registers_stand_at_the_ports() -> None:
    found = _analysed(("x", "LUT1", {"I0": "in"}, {"O": "out"}), inputs="in", outputs="out")
    assert found["path"] == {"ns": pytest.approx(_IN + .10 + _OUT), "levels": 1, "start": "in", "end": "out"}


def test_long_paths_are_named_by_the_units_they_lead_through() -> None:
    chain = [(f"x{level}", "LUT1", {"I0": f"m{level}"}, {"O": f"m{level + 1}"}) for level in range(12)]
    found = _analysed(_register("first", "1", "m0"), *chain, _register("one", "m12", "top.lane0.one"),
                      _register("other", "m12", "top.lane1.other"), _register("short", "m3", "top.short"))
    (group,) = found["groups"]
    assert (group["ends"], group["levels"], group["start"], group["end"]) == (2, 12, "m0", "top.lane0.one")
    assert (found["over"], found["ends"]) == (2, 3)
    # A reader more on the nets behind the third and the last LUT.
    assert group["ns"] == pytest.approx(.08 + 12 * .32 + 2 * .045 + _OUT, abs=.0006)


def test_logic_is_mapped_for_the_delays_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    design = Design("""\
module sums (aclk, a, o);
  input aclk;
  input [24:0] a;
  output [7:0] o;
  reg [24:0] r;
  reg [7:0] o;
  always @(posedge aclk) begin
    r <= a;
    o <= (o + {8{^r}}) ^ {8{&r[11:0] | ^r[20:3]}};
  end
endmodule
""", "sums")
    mapped, script = estimate(design, "ultrascale+"), scripts.fpga_script
    monkeypatch.setattr(scripts, "fpga_script", lambda *where, delays, **how: script(*where, **how))
    plain = estimate(design, "ultrascale+")
    assert mapped["levels"] < plain["levels"] and mapped["mhz"] > plain["mhz"]


def test_a_netlist_of_yosys() -> None:
    verilog = """\
module sums (aclk, a, sum);
  input aclk;
  wire aclk;
  input [7:0] a;
  wire [7:0] a;
  output [7:0] sum;
  reg [7:0] sum;
  always @(posedge aclk) sum <= sum + a;
endmodule
"""
    found = estimate(Design(verilog, "sums"), "ultrascale+")
    assert (found["flip_flops"], found["rams"], found["levels"]) == (8, {}, 2)
    assert 8 <= found["luts"] <= 16 and found["path"]["end"].startswith("sum")
    with pytest.raises(ValueError, match=r"target must be one of ultrascale\+, xilinx7, not 'ecp5'"):
        estimate(Design(verilog, "sums"), "ecp5")


def test_the_first_lane_stands_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    lanes = 5
    chain = "".join(f"  wire [7:0] m{n + 1};\n  lane lane{n} (\n    .clk(clk), .i(m{n}), .o(m{n + 1})\n  );\n"
                    for n in range(lanes))
    design = Design(f"""\
module top (clk, a, sum);
  input clk;
  input [7:0] a;
  output [7:0] sum;
  reg [7:0] sum;
  wire [7:0] there;
  always @(posedge clk) sum <= sum + there;
  path offload (
    .clk(clk), .m0(a), .there(there)
  );
endmodule
module path (clk, m0, there);
  input clk;
  input [7:0] m0;
  output [7:0] there;
{chain}  assign there = m{lanes};
endmodule
module lane (clk, i, o);
  input clk;
  input [7:0] i;
  output [7:0] o;
  reg [7:0] o;
  always @(posedge clk) o <= ~i;
endmodule
""", "top")
    found = estimate(design, "ultrascale+")
    monkeypatch.setattr("cdma.synth.timing.estimate.lane_roots", lambda lanes: [])
    flat = estimate(design, "ultrascale+")
    assert found["flip_flops"] == flat["flip_flops"] == 8 * (lanes + 1)
    assert (found["luts"], found["levels"]) == (flat["luts"], flat["levels"])
    assert found["ends"] < flat["ends"]
