"""Timing of the units of an engine: memories and cut-out units as ends of paths, and which unit is the slowest."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdma.golden.results import to_json
from cdma.hdl.config.engine import EngineConfig
from cdma.synth.cells.library import Library
from cdma.synth.timing import engines as timing_engines
from cdma.synth.timing.cores import Stage
from cdma.synth.timing.engines import WHOLE, Means, engine_timing, part_timing
from cdma.synth.timing.macros import DEFAULT, MacroTiming
from cdma.synth.tools.yosys import find
from cdma.synth.units.hierarchy import Design
from cdma.verif.engine.build import engine_text
from tests.synth.conftest import TINY, needs_opensta

_ROOT = Path(__file__).parents[3]
_VERILOG = """\
module top(aclk, d, q);
  input aclk;
  wire aclk;
  input [15:0] d;
  wire [15:0] d;
  output [15:0] q;
  reg [15:0] q;
  \\top.store  store (
    .clk(aclk),
    .d(d),
    .q(q)
  );
endmodule

module \\top.store (clk, d, q);
  input clk;
  wire clk;
  input [15:0] d;
  wire [15:0] d;
  output [15:0] q;
  reg [15:0] q;
  reg [15:0] rows [127:0];
  reg [15:0] read;
  reg [6:0] place;
  wire [15:0] turned;
  \\top.store.unit  unit (
    .clk(clk),
    .i(read),
    .o(turned)
  );
  always @(posedge clk) begin
    place <= d[6:0];
    rows[place] <= d;
    read <= rows[place];
    q <= ~read ^ turned;
  end
endmodule

module \\top.store.unit (clk, i, o);
  input clk;
  wire clk;
  input [15:0] i;
  wire [15:0] i;
  output [15:0] o;
  reg [15:0] o;
  always @(posedge clk) o <= i;
endmodule
"""


def _part(library: Library, text: str = _VERILOG, macros: MacroTiming = DEFAULT):
    return part_timing(Means(find(), library, macros, "small"), Design(text, "top"), "store", {"top.store.unit"})


@needs_opensta
def test_a_memory_starts_paths(tiny: Library) -> None:
    # 900 ps is longer than all gates on any path take: the slowest path starts at what was read.
    part = _part(tiny, macros=MacroTiming(output_ps=900.0, setup_ps=70.0))
    assert (part.part, part.instances, part.memory_bits) == ("store", 1, 2048)
    assert part.worst is not None
    first, *_, last = part.worst.stages
    assert part.worst.start.startswith("rows.read_data[")
    assert (first.cell, first.ps, last.cell) == ("memory_output_pin", 900.0, "DFF")
    assert part.worst.end.startswith("q[")


@needs_opensta
def test_a_memory_ends_paths(tiny: Library) -> None:
    part = _part(tiny, macros=MacroTiming(output_ps=1.0, setup_ps=5000.0))
    assert part.worst is not None
    assert part.worst.end.startswith(("rows.read_address[", "rows.write_address["))
    assert part.worst.start.startswith("place[")
    # A register rises into its bit of both addresses, 5 fF each: 50 + 10.
    assert part.worst.stages == (Stage("DFF", part.worst.start, 60.0), Stage("memory_input_pin", "", 5000.0))
    assert part.worst.ps == 5060.0


@needs_opensta
def test_what_is_cut_out_counts_as_ports(tiny: Library) -> None:
    part = _part(tiny)
    inputs = next(path for path in part.paths if path.kind == "input to register")
    assert inputs.start.startswith("turned[")


@needs_opensta
def test_a_memory_that_is_read_without_a_clock_is_refused(tiny: Library) -> None:
    text = _VERILOG.replace("    read <= rows[place];\n", "").replace(
        "  reg [15:0] read;\n", "  wire [15:0] read = rows[d[6:0]];\n")
    with pytest.raises(ValueError, match=r"^top\.store reads a memory \(memory_128x16\) without a clock"):
        _part(tiny, text)


_CONFIG = EngineConfig(name="cdma_small", lanes=2, beat_bytes=16, link_beat_bytes=16, block_bytes=1024,
                       buffer_bytes=2048, codings=("zvc16",), crc=False)


@needs_opensta
def test_units_of_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    whole_division = timing_engines.division
    few = {"prefetch.lane0.decompressor.store", "offload.walker0", "offload.lane0.rows"}

    def division(design: Design, lanes: int) -> tuple[list[tuple[str, str]], set[str]]:
        parts, cut = whole_division(design, lanes)
        return [(unit, root) for unit, root in parts if root in few], cut

    monkeypatch.setattr(timing_engines, "division", division)
    seen: list[tuple[str, int, int]] = []
    report = engine_timing(_CONFIG, engine_text(_CONFIG, _ROOT / "build/sim"), liberty=TINY, whole=False,
                           progress=lambda *step: seen.append(step))
    # A row of the ring has six bits beside its data.
    rows = _CONFIG.buffer_bytes // _CONFIG.link_beat_bytes
    assert {part.part: (part.unit, part.instances, part.memory_bits) for part in report.parts} == {
        "offload.lane0.rows": ("buffers, offload", 2, 8 * _CONFIG.buffer_bytes),
        "prefetch.lane0.decompressor.store": ("buffers, prefetch", 2, 8 * _CONFIG.buffer_bytes + 6 * rows),
        "offload.walker0": ("lane control", 2, 0)}
    assert report.mhz == min(part.worst.mhz for part in report.parts if part.worst)
    assert [part.unit for part in report.units] == ["buffers, offload", "buffers, prefetch", "lane control"]
    assert WHOLE not in {part.unit for part in report.parts}
    found = to_json(report)
    assert found["macros"]["output_ps"] == 310.0
    assert (found["mhz"], len(found["units"])) == (report.mhz, 3)
    assert seen[-1][1:] == (3, 3)
