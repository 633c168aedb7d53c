"""Place and route: a small design for real, reports worked out by hand, and every way it can fail."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from cdma.golden.results import to_json
from cdma.hdl.generate.interfaces import Port
from cdma.synth.pnr.harness import harness
from cdma.synth.pnr.place import NextpnrError, Resources, place_and_route, read_run
from cdma.synth.tools import nextpnr as pnr_tool

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


def test_a_small_design_on_a_part() -> None:
    seen: list[tuple[str, int, int]] = []
    report = place_and_route(_VERILOG, "top", _PORTS, device="LFE5U-25F", seeds=2,
                             progress=lambda *step: seen.append(step))
    # Three registers of eight bits; the harness has as many and more, and none of both are shared.
    assert (report.used.flip_flops, report.used.block_ram, report.used.dsp) == (24, 0, 0)
    assert 8 <= report.used.luts <= 16
    assert report.available == Resources(24288, 24288, 56, 28)
    assert [run.seed for run in report.runs] == [1, 2]
    assert report.best and report.best.mhz == max(run.mhz for run in report.runs) > 100
    assert report.median_mhz == min(run.mhz for run in report.runs)
    path = report.best.path
    assert path.start.startswith(("held[", "summed[")) and path.end.startswith("summed[")
    assert path.levels >= 2
    assert path.ns == pytest.approx(1000 / report.best.mhz, rel=0.01)
    assert 0 < path.routing_ns < path.ns
    assert seen[-1][1:] == (2, 2)
    found = to_json(report)
    assert found["best"]["path"]["end"] == path.end
    assert found["runs"] == [{"seed": run.seed, "mhz": run.mhz} for run in report.runs]


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
    report = place_and_route(text, "wide", ports, device="LFE5U-25F")
    assert (report.used.block_ram, report.available.block_ram) == (57, 56)
    assert (report.runs, report.best, report.median_mhz) == ((), None, None)
    assert to_json(report)["best"] is None


def test_the_harness_has_the_registers_it_says() -> None:
    around = harness("top", _PORTS)
    # A scan chain of eight bits, eight outputs captured and folded: the first of the chain needs no gate.
    assert (around.name, around.flip_flops, around.luts) == ("top_harness", 24, 7)
    assert ".\\a (scan[7:0])" in around.verilog and ".\\q (seen[7:0])" in around.verilog


def test_the_clock_of_the_link_is_the_same() -> None:
    around = harness("top", (*_PORTS, Port("link_aclk", "input", 1)))
    assert ".link_aclk(aclk)" in around.verilog and around.flip_flops == 24


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
    run = read_run(_REPORT, 7)
    assert (run.seed, run.mhz) == (7, 400.0)
    path = run.path
    assert (path.ns, path.routing_ns, path.levels) == (2.5, 1.75, 1)
    assert (path.start, path.end) == ("core.count[3]", "core.full")
    assert [(stage.kind, stage.ns, stage.name) for stage in path.stages] == [
        ("clk-to-q", 0.5, "core.count[3]"), ("routing", 1.0, "core.count[3]"), ("logic", 0.25, "core.full"),
        ("routing", 0.75, "core.full"), ("setup", 0.0, "core.full")]


def test_a_report_without_registers() -> None:
    with pytest.raises(NextpnrError, match="no path from register to register"):
        read_run({"fmax": {}, "critical_paths": _REPORT["critical_paths"][:1]})


@pytest.mark.parametrize(("given", "message"), [
    ({"device": "LFE5U-12F"}, "device must be one of LFE5U-25F, LFE5U-45F, LFE5U-85F, not LFE5U-12F"),
    ({"speed": 5}, "speed grade must be one of 6, 7, 8, not 5"),
    ({"seeds": 0}, "seeds must be 1 or more, not 0"),
])
def test_mistakes(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        place_and_route(_VERILOG, "top", _PORTS, **given)
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
        place_and_route(_VERILOG, "top", _PORTS)
    assert str(caught.value) == ("nextpnr could not do the place and route of top on LFE5U-85F-8: ERROR: Unable to "
                                 "place cell, no Bels remaining of type TRELLIS_COMB")


@pytest.mark.parametrize("named", ["/nowhere/nextpnr", sys.executable])
def test_a_nextpnr_that_is_none(monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("NEXTPNR_ECP5", named)
    with pytest.raises(NextpnrError, match=f"{named} is not a working nextpnr-ecp5"):
        pnr_tool.find()
