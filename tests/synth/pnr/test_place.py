"""Place and route: small designs for real, reports read by hand, units of an engine, and every way it can fail."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from cdma.hdl.config.engine import EngineConfig
from cdma.hdl.generate.interfaces import Port
from cdma.synth.pnr import place as places
from cdma.synth.pnr.harness import harness, stand_in
from cdma.synth.pnr.place import DEVICES, place, place_units, read_run
from cdma.synth.tools import nextpnr as pnr_tool
from cdma.synth.tools.nextpnr import NextpnrError
from cdma.synth.units import division as divisions
from cdma.synth.units.hierarchy import Design
from tests.extended import extended

_VERILOG = """
module top(input aclk, input [7:0] a, output reg [7:0] q);
  reg [7:0] held, summed;
  always @(posedge aclk) begin
    held <= a;
    summed <= summed + held;
    q <= summed;
  end
endmodule
"""
_PORTS = (Port("aclk", "input", 1), Port("a", "input", 8), Port("q", "output", 8))
_DEVICE = "LFE5U-25F"


def _design() -> Design:
    return Design(_VERILOG, "top", _PORTS)


def test_a_small_design_on_a_part() -> None:
    seen: list[tuple[str, int, int]] = []
    report = place(_design(), device=_DEVICE, seeds=2, progress=lambda *step: seen.append(step))
    # Three registers of eight bits; the harness has as many and more, and none of both are shared.
    used, runs, best = report["used"], report["runs"], report["best"]
    assert (used["flip_flops"], used["block_ram"], used["dsp"]) == (24, 0, 0)
    assert 8 <= used["luts"] <= 16
    assert report["available"] == {"luts": 24288, "flip_flops": 24288, "block_ram": 56, "dsp": 28}
    assert [sorted(run) for run in runs] == [["mhz", "seed"]] * 2 and [run["seed"] for run in runs] == [1, 2]
    assert best["mhz"] == max(run["mhz"] for run in runs) > 100
    assert report["median_mhz"] == min(run["mhz"] for run in runs)
    path = best["path"]
    assert path["start"].startswith(("held[", "summed[")) and path["end"].startswith("summed[")
    assert path["levels"] >= 2
    assert path["ns"] == pytest.approx(1000 / best["mhz"], rel=0.01)
    assert 0 < path["routing_ns"] < path["ns"]
    assert seen[-1][1:] == (2, 2)


def test_what_is_too_large_is_not_placed() -> None:
    # 57 memories of 512 x 36 bits take a block RAM each; the part has 56.
    memories = 57
    rows = "".join(f"""
  reg [35:0] rows{number} [511:0], read{number};
  always @(posedge aclk) begin
    rows{number}[a] <= {f'read{number - 1}' if number else 'd'};
    read{number} <= rows{number}[a];
  end""" for number in range(memories))
    text = f"""
module wide(input aclk, input [8:0] a, input [35:0] d, output [35:0] q);{rows}
  assign q = read{memories - 1};
endmodule
"""
    ports = (_PORTS[0], Port("a", "input", 9), Port("d", "input", 36), Port("q", "output", 36))
    report = place(Design(text, "wide", ports), device=_DEVICE)
    assert (report["used"]["block_ram"], report["available"]["block_ram"]) == (57, 56)
    assert (report["runs"], report["best"], report["median_mhz"]) == ([], None, None)


def test_the_harness_has_the_registers_it_says() -> None:
    around = harness("top", _PORTS)
    # A scan chain of eight bits, eight outputs captured and folded: the first of the chain needs no gate.
    assert (around.name, around.flip_flops, around.luts) == ("top_harness", 24, 7)
    assert ".\\a (scan[7:0])" in around.verilog and ".\\q (seen[7:0])" in around.verilog
    linked = harness("top", (*_PORTS, Port("link_aclk", "input", 1)))
    assert ".link_aclk(aclk)" in linked.verilog and linked.flip_flops == 24


@pytest.mark.parametrize("ports", [_PORTS[1:], _PORTS[:2], _PORTS[::2]])
def test_the_harness_needs_a_clock_an_input_and_an_output(ports: tuple[Port, ...]) -> None:
    with pytest.raises(ValueError, match="top needs a clock aclk, an input and an output"):
        harness("top", ports)


def _step(kind: str, delay: float, start: str, end: str, net: str | None = None) -> dict[str, Any]:
    return {"type": kind, "delay": delay, "from": {"cell": start}, "to": {"cell": end}} | ({"net": net} if net else {})


_CLOCK = "posedge $glbnet$aclk"
_REPORT = {
    "fmax": {"$glbnet$aclk": {"achieved": 400.04, "constraint": 200}},
    "critical_paths": [
        {"from": "<async>", "to": _CLOCK, "path": [_step("routing", 9.0, "scan_in$tr_io", "inputs.scan", "scan_in")]},
        {"from": _CLOCK, "to": _CLOCK, "path": [
            _step("clk-to-q", 0.5, "design.core.count[3]_TRELLIS_FF_Q_2", "design.core.count[3]_TRELLIS_FF_Q_2"),
            _step("routing", 1.0, "design.core.count[3]_TRELLIS_FF_Q_2", "design.core.full_LUT4_Z",
                  "design.core.count[3]"),
            _step("logic", 0.25, "design.core.full_LUT4_Z", "design.core.full_LUT4_Z_C_PFUMX_Z$COMB"),
            _step("routing", 0.75, "design.core.full_LUT4_Z", "design.core.full_TRELLIS_FF_Q", "design.core.full"),
            _step("setup", 0.0, "design.core.full_TRELLIS_FF_Q", "design.core.full_TRELLIS_FF_Q")]}]}


def test_a_report_read_by_hand() -> None:
    assert read_run(_REPORT, "unit.") == {"mhz": 400.0, "path": {
        "ns": 2.5, "start": "unit.core.count[3]", "end": "unit.core.full", "levels": 1, "routing_ns": 1.75, "stages": [
            {"kind": kind, "ns": ns, "name": name} for kind, ns, name in (
                ("clk-to-q", 0.5, "core.count[3]"), ("routing", 1.0, "core.count[3]"), ("logic", 0.25, "core.full"),
                ("routing", 0.75, "core.full"), ("setup", 0.0, "core.full"))]}}


def test_a_report_without_registers() -> None:
    with pytest.raises(NextpnrError, match="no path from register to register"):
        read_run({"fmax": {}, "critical_paths": _REPORT["critical_paths"][:1]})


# A port with the name of a keyword, and one with a character that names do not have.
_TREE = """\
module top(aclk, d, q);
  input aclk;
  input [7:0] d;
  output [7:0] q;
  \\top.sum  sum (
    .clk(aclk), .\\begin (d), .\\q$1 (q));
endmodule

module \\top.sum (clk, \\begin , \\q$1 );
  input clk;
  input [7:0] \\begin ;
  output [7:0] \\q$1 ;
  reg [7:0] \\q$1 ;
  reg [7:0] held;
  wire [7:0] turned;
  \\top.sum.inner  inner (
    .clk(clk), .i(held), .o(turned));
  always @(posedge clk) begin
    held <= \\begin ;
    \\q$1 <= \\q$1 + (held & turned);
  end
endmodule

module \\top.sum.inner (clk, i, o);
  input clk;
  input [7:0] i;
  output [7:0] o;
  reg [7:0] o;
  always @(posedge clk) o <= {i[0], i[7:1]} * 8'd77;
endmodule
"""


def test_a_part_is_placed_without_what_is_cut_out() -> None:
    design = Design(_TREE, "top")
    placed = place(design, "sum", {"top.sum", "top.sum.inner"}, device=_DEVICE, speed=6)
    # `held` and the sum: neither what stands inside nor what is around counts, nor are they merged with it.
    assert (placed["name"], placed["used"]["flip_flops"], placed["used"]["dsp"]) == ("top.sum", 16, 0)
    assert 16 <= placed["used"]["luts"] <= 32
    path = placed["best"]["path"]
    assert path["start"].removeprefix("sum.").partition("[")[0] in ("held", "q$1", "inner.o")
    assert path["end"].startswith("sum.q$1")
    whole = place(design, "sum", {"top.sum"}, device=_DEVICE, speed=6)
    assert (whole["used"]["flip_flops"], whole["used"]["dsp"]) == (24, 1)


def test_the_top_is_placed_around_its_parts() -> None:
    placed = place(Design(_TREE, "top"), "", {"top.sum"}, device=_DEVICE, speed=6)
    # Nothing is there but wires, from the port to what stands for the sum and back; placement adds LUTs for routes.
    assert placed["used"]["flip_flops"] == 0 and placed["used"]["luts"] <= 4
    # What is slowest is a register that stands for a port, or what folds them.
    assert placed["best"]["mhz"] > 200 and placed["best"]["path"]["levels"] <= 1


def test_what_stands_in_has_the_registers_it_says() -> None:
    inner = stand_in("top.sum.inner", Design(_TREE, "top").ports("top.sum.inner"), "clk")
    # Eight inputs captured and folded, and eight outputs.
    assert (inner.name, inner.flip_flops, inner.luts) == ("top.sum.inner", 24, 7)


_CONFIG = EngineConfig(name="cdma_small", lanes=2, beat_bytes=16, link_beat_bytes=16, block_bytes=1024,
                       buffer_bytes=2048, codings=("zvc16",), crc=False)


@extended
def test_a_unit_of_an_engine_is_really_placed(kept_engines: None, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = divisions.division

    def division(design: Design, lanes: int) -> tuple[list[tuple[str, str]], set[str]]:
        parts, cut = whole(design, lanes)
        return [(unit, root) for unit, root in parts
                if root in ("prefetch.lane0", "prefetch.lane0.decompressor.store")], cut

    monkeypatch.setattr(divisions, "division", division)
    seen: list[tuple[str, int, int]] = []
    buffer, control = place_units(_CONFIG, device=_DEVICE, progress=lambda *step: seen.append(step))["units"]
    assert (buffer["name"], buffer["instances"], control["name"], control["instances"]) == (
        "buffers, prefetch", 2, "lane control", 2)
    # Both lanes have a buffer of 2 KiB: block RAMs of 18 kbit, 36 bits wide.
    assert buffer["used"]["block_ram"] >= 2 * 4 and buffer["used"]["block_ram"] % 2 == 0
    assert (control["used"]["block_ram"], control["used"]["flip_flops"] % 2) == (0, 0)
    assert min(buffer["best"]["mhz"], control["best"]["mhz"]) > 50
    assert seen[-1][1:] == (2, 2)


def test_units_take_what_all_of_their_parts_do(kept_engines: None, monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = {"prefetch.supervisor": 80.0, "offload.lane0.compressor": 90.0, "": None}

    def part(design: Design, root: str, cut: set[str], **named: Any) -> dict[str, Any]:
        assert named == {"device": _DEVICE, "speed": 8, "seeds": 3} and "cdma_small.control" in cut
        mhz = clocks.get(root, 200.0)
        return {"name": root, "device": _DEVICE, "speed": 8, "yosys": "Yosys", "nextpnr": "nextpnr",
                "used": {"luts": 7, "flip_flops": 10, "block_ram": 1, "dsp": 0}, "available": DEVICES[_DEVICE],
                "runs": [{"seed": 1, "mhz": mhz}] if mhz else [], "median_mhz": mhz,
                "best": {"seed": 1, "mhz": mhz, "path": {"end": f"{root}.b"}} if mhz else None}

    monkeypatch.setattr(places, "place", part)
    found = place_units(_CONFIG, device=_DEVICE, seeds=3)
    rows = {row["name"]: row for row in found["units"]}
    assert "CRC" not in rows and len(rows) == 11
    # Two lanes of a reader and a writer; a queue and two supervisors, the slowest of which tells the clock.
    assert (rows["AXI of the lanes"]["used"]["luts"], rows["AXI of the lanes"]["instances"]) == (28, 2)
    assert rows["control"]["used"] == {"luts": 21, "flip_flops": 30, "block_ram": 3, "dsp": 0}
    assert (rows["control"]["best"]["mhz"], rows["control"]["best"]["path"]["end"]) == (80.0, "prefetch.supervisor.b")
    assert rows["compressor"]["median_mhz"] == 90
    # A unit that does not fit has no clock.
    assert (rows["glue"]["best"], rows["glue"]["runs"], rows["glue"]["median_mhz"]) == (None, [], None)
    assert found["total"]["luts"] == sum(row["used"]["luts"] for row in rows.values())
    assert (found["name"], found["speed"], found["available"]["luts"]) == ("cdma_small", 8, 24288)


@pytest.mark.parametrize(("given", "message"), [
    ({"device": "LFE5U-12F"}, "device must be one of LFE5U-25F, LFE5U-45F, LFE5U-85F, not LFE5U-12F"),
    ({"speed": 5}, "speed grade must be one of 6, 7, 8, not 5"),
    ({"seeds": 0}, "seeds must be 1 or more, not 0"),
])
def test_mistakes(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        place(_design(), **given)
    assert str(caught.value) == message


def test_without_nextpnr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEXTPNR_ECP5", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(NextpnrError, match=r"there is none: pip install 'cdma-rtl\[boards\]'"):
        pnr_tool.find()


def _stand_in(folder: Path, body: str) -> Path:
    program = folder / "nextpnr"
    program.write_text(f"#!{sys.executable}\nimport sys\nif '--version' in sys.argv:\n"
                       f"    print('nextpnr-ecp5 (Version 0.9)', file=sys.stderr)\n    sys.exit()\n{body}\n")
    program.chmod(0o755)
    return program


def test_what_nextpnr_says_is_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "print('ERROR: Unable to place cell, no Bels remaining of type TRELLIS_COMB', file=sys.stderr)\nsys.exit(1)"
    monkeypatch.setenv("NEXTPNR_ECP5", str(_stand_in(tmp_path, body)))
    with pytest.raises(NextpnrError) as caught:
        place(_design())
    assert str(caught.value) == ("nextpnr could not do the place and route of top on LFE5U-85F-8: ERROR: Unable to "
                                 "place cell, no Bels remaining of type TRELLIS_COMB")


@pytest.mark.parametrize("named", ["/nowhere/nextpnr", sys.executable])
def test_a_nextpnr_that_is_none(monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("NEXTPNR_ECP5", named)
    with pytest.raises(NextpnrError, match=f"{named} is not a working nextpnr-ecp5"):
        pnr_tool.find()
