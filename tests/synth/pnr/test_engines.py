"""Units placed by themselves: registers for what is cut out, and what units of an engine take together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdma.golden.results import to_json
from cdma.hdl.config.engine import EngineConfig
from cdma.synth.pnr import engines as pnr_engines
from cdma.synth.pnr.engines import place_part, place_units
from cdma.synth.pnr.harness import stand_in
from cdma.synth.pnr.place import PnrPath, PnrReport, Resources, Run
from cdma.synth.units.hierarchy import Design
from cdma.verif.engine.build import engine_text
from tests.extended import extended

_ROOT = Path(__file__).parents[3]
# A port with the name of a keyword, and one with a character that names do not have.
_VERILOG = """\
module top(aclk, d, q);
  input aclk;
  wire aclk;
  input [7:0] d;
  wire [7:0] d;
  output [7:0] q;
  wire [7:0] q;
  \\top.sum  sum (
    .clk(aclk),
    .\\begin (d),
    .\\q$1 (q)
  );
endmodule

module \\top.sum (clk, \\begin , \\q$1 );
  input clk;
  wire clk;
  input [7:0] \\begin ;
  wire [7:0] \\begin ;
  output [7:0] \\q$1 ;
  reg [7:0] \\q$1 ;
  reg [7:0] held;
  wire [7:0] turned;
  \\top.sum.inner  inner (
    .clk(clk),
    .i(held),
    .o(turned)
  );
  always @(posedge clk) begin
    held <= \\begin ;
    \\q$1 <= \\q$1 + (held & turned);
  end
endmodule

module \\top.sum.inner (clk, i, o);
  input clk;
  wire clk;
  input [7:0] i;
  wire [7:0] i;
  output [7:0] o;
  reg [7:0] o;
  always @(posedge clk) o <= {i[0], i[7:1]} * 8'd77;
endmodule
"""
_DEVICE = "LFE5U-25F"


def test_a_part_is_placed_without_what_is_cut_out() -> None:
    design = Design(_VERILOG, "top")
    placed = place_part(design, "sum", {"top.sum", "top.sum.inner"}, device=_DEVICE, speed=6)
    # `held` and the sum: neither what stands inside nor what is around counts, nor are they merged with it.
    assert (placed.name, placed.used.flip_flops, placed.used.dsp) == ("top.sum", 16, 0)
    assert 16 <= placed.used.luts <= 32
    assert placed.best is not None
    path = placed.best.path
    assert path.start.removeprefix("sum.").partition("[")[0] in ("held", "q$1", "inner.o")
    assert path.end.startswith("sum.q$1")
    whole = place_part(design, "sum", {"top.sum"}, device=_DEVICE, speed=6)
    assert (whole.used.flip_flops, whole.used.dsp) == (24, 1)


def test_the_top_is_placed_around_its_parts() -> None:
    placed = place_part(Design(_VERILOG, "top"), "", {"top.sum"}, device=_DEVICE, speed=6)
    # Nothing is there but wires, from the port to what stands for the sum and back; placement adds LUTs for routes.
    assert placed.used.flip_flops == 0 and placed.used.luts <= 4
    # What is slowest is a register that stands for a port, or what folds them.
    assert placed.best and placed.best.mhz > 200 and placed.best.path.levels <= 1


def test_what_stands_in_has_the_registers_it_says() -> None:
    inner = stand_in("top.sum.inner", Design(_VERILOG, "top").ports("top.sum.inner"), "clk")
    # Eight inputs captured and folded, and eight outputs.
    assert (inner.name, inner.flip_flops, inner.luts) == ("top.sum.inner", 24, 7)
    with pytest.raises(ValueError, match=r"top\.sum\.inner needs a clock aclk, an input and an output"):
        stand_in("top.sum.inner", Design(_VERILOG, "top").ports("top.sum.inner"), "aclk")


_CONFIG = EngineConfig(name="cdma_small", lanes=2, beat_bytes=16, link_beat_bytes=16, block_bytes=1024,
                       buffer_bytes=2048, codings=("zvc16",), crc=False)


_STORE = "prefetch.lane0.decompressor.store"


@pytest.fixture
def verilog() -> str:
    return engine_text(_CONFIG, _ROOT / "build/sim")


@extended
def test_a_unit_of_an_engine_is_really_placed(verilog: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pnr_engines.division

    def division(design: Design, lanes: int) -> tuple[list[tuple[str, str]], set[str]]:
        parts, cut = whole(design, lanes)
        return [(unit, root) for unit, root in parts if root in ("prefetch.lane0", _STORE)], cut

    monkeypatch.setattr(pnr_engines, "division", division)
    seen: list[tuple[str, int, int]] = []
    placed = place_units(_CONFIG, verilog, device=_DEVICE, progress=lambda *step: seen.append(step))
    buffer, control = placed.units
    assert (buffer.name, buffer.instances, control.name, control.instances) == (
        "buffers, prefetch", 2, "lane control", 2)
    # Both lanes have a buffer of 2 KiB: block RAMs of 18 kbit, 36 bits wide.
    assert buffer.used.block_ram >= 2 * 4 and buffer.used.block_ram % 2 == 0
    assert (control.used.block_ram, control.used.flip_flops % 2) == (0, 0)
    assert all(unit.slowest.best and unit.slowest.best.mhz > 50 for unit in placed.units)
    assert seen[-1][1:] == (2, 2)


def _report(root: str, luts: int, mhz: float | None) -> PnrReport:
    path = PnrPath(5.0, f"{root}.a", f"{root}.b", 3, 4.0, ())
    return PnrReport(root, _DEVICE, 8, "Yosys", "nextpnr", Resources(luts, 10, 1, 0), Resources(100, 100, 10, 0),
                     (Run(1, mhz, path),) if mhz else ())


def test_units_take_what_all_of_their_parts_do(verilog: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = {"prefetch.supervisor": 80.0, "offload.lane0.compressor": 90.0}

    def part(design: Design, root: str, cut: set[str], **named: Any) -> PnrReport:
        assert named == {"device": _DEVICE, "speed": 8, "seeds": 3} and "cdma_small.control" in cut
        return _report(root, 7, clocks.get(root, 200.0))

    monkeypatch.setattr(pnr_engines, "place_part", part)
    found = to_json(place_units(_CONFIG, verilog, device=_DEVICE, seeds=3))
    rows = {row["name"]: row for row in found["units"]}
    assert "CRC" not in rows and len(rows) == 11
    # Two lanes of a reader and a writer; a queue and two supervisors, the slowest of which tells the clock.
    assert (rows["AXI of the lanes"]["used"]["luts"], rows["AXI of the lanes"]["instances"]) == (28, 2)
    assert rows["control"]["used"] == {"luts": 21, "flip_flops": 30, "block_ram": 3, "dsp": 0}
    assert (rows["control"]["best"]["mhz"], rows["control"]["best"]["path"]["end"]) == (80.0, "prefetch.supervisor.b")
    assert rows["compressor"]["median_mhz"] == 90
    assert found["total"]["luts"] == sum(row["used"]["luts"] for row in rows.values())
    assert (found["name"], found["speed"], found["available"]["luts"]) == ("cdma_small", 8, 24288)


def test_a_unit_that_does_not_fit_has_no_clock(verilog: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pnr_engines, "place_part", lambda design, root, cut, **named: _report(
        root, 7, None if root == "offload.supervisor" else 150.0))
    found = to_json(place_units(_CONFIG, verilog, device=_DEVICE))
    (control,) = [row for row in found["units"] if row["name"] == "control"]
    assert (control["best"], control["runs"], control["median_mhz"]) == (None, [], None)
