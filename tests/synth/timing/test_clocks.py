"""Clocks: of small designs, worked out by hand, of cores, and of the units of an engine, where memories and cut-out
units are ends of paths.

In the small library a delay is a constant, plus so much per fF of load, plus so much per ps of input slew: INV 10 + 1
load + 0.2 slew rising and 8 + 0.5 load + 0.2 slew falling, NAND2 12 and 14 + 1 load + 0.1 slew, a register 50 rising
and 40 falling + 1 load; set-up 20 and 30 + 0.1 slew.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdma.hdl.config.block_core import load_block
from cdma.hdl.config.core import load
from cdma.hdl.config.engine import EngineConfig
from cdma.synth.area.part import mapped_part
from cdma.synth.cells.library import Library
from cdma.synth.timing.clocks import WHOLE, engine_timing, timing, unit_clocks
from cdma.synth.timing.macros import DEFAULT, MacroTiming
from cdma.synth.timing.paths import worst
from cdma.synth.units import division as divisions
from cdma.synth.units.hierarchy import Design
from tests.synth.conftest import TINY, needs_opensta

_SMALL = """
module top(input aclk, input [1:0] d, output reg q);
  reg [1:0] state;
  always @(posedge aclk) begin state <= d; q <= state[0] & state[1]; end
endmodule
"""


@needs_opensta
def test_paths_of_a_small_design() -> None:
    report = timing(Design(_SMALL, "top"), liberty=TINY)
    # Three flip-flops, a NAND gate and an inverter.
    assert [report[key] for key in ("um2", "kge", "recipe", "library")] == [39.0, 0.0195, "fast", "tiny"]
    first, *others = report["paths"]
    # A register rises into 3 fF: 53, slew 13; the gate falls into 2 fF: 14 + 2 + 1.3, slew 9; the inverter rises into
    # 2 fF: 10 + 2 + 1.8, slew 7; set-up 20.7.
    assert [first[key] for key in ("kind", "ps", "mhz", "end")] == ["register to register", 104.8, 9542.0, "q"]
    assert first["start"] in ("state[0]", "state[1]")
    assert [(stage["cell"], stage["ps"]) for stage in first["stages"]] == [
        ("DFF", 53.0), ("NAND2", 17.3), ("INV", 13.8), ("DFF", 20.7)]
    # A port's buffer falls into 2 fF: 2; set-up 30 + 0.9.
    assert {path["kind"]: path["ps"] for path in others} == {"input to register": 32.9, "register to output": 56.0}


@needs_opensta
def test_a_core_in_the_cells_of_a_library() -> None:
    config = load("paper_compressor").replace(beat_bytes=16)
    report = timing(config, liberty=TINY, recipe="small")
    assert (report["name"], report["recipe"]) == (config.name, "small")
    kinds = {path["kind"]: path for path in report["paths"]}
    assert set(kinds) >= {"register to register", "input to register", "register to output"}
    path = kinds["register to register"]
    assert path == report["paths"][0]
    assert path["ps"] == pytest.approx(sum(stage["ps"] for stage in path["stages"]), abs=0.2)
    assert path["start"].startswith(("core.", "m_axis", "s_axis"))


@needs_opensta
def test_a_block_core_in_the_cells_of_a_library() -> None:
    config = load_block("block_decompressor").replace(codings=("zvc32",), beat_bytes=16, block_bytes=512)
    report = timing(config, liberty=TINY, recipe="small")
    # The store of payloads is a macro: in flip-flops it alone would be more.
    assert 1 < report["kge"] < 20
    assert worst(report["paths"])["start"].startswith("core.")


@pytest.mark.parametrize(("there", "recipe", "message"), [
    (False, "fast", r"^clocks in the cells of a library are calculated by OpenSTA, .* apt"),
    (True, "tiny", r"^recipe must be one of fast, small, plain, not 'tiny'$")])
def test_mistakes(monkeypatch: pytest.MonkeyPatch, there: bool, recipe: str, message: str) -> None:
    monkeypatch.setattr("cdma.synth.tools.opensta.available", lambda: there)
    with pytest.raises(ValueError, match=message):
        timing(Design(_SMALL, "top"), liberty=TINY, recipe=recipe)


_VERILOG = """\
module top(aclk, d, q);
  input aclk;
  input [15:0] d;
  output [15:0] q;
  reg [15:0] q;
  \\top.store  store (
    .clk(aclk), .d(d), .q(q));
endmodule

module \\top.store (clk, d, q);
  input clk;
  input [15:0] d;
  output [15:0] q;
  reg [15:0] q;
  reg [15:0] rows [127:0];
  reg [15:0] read;
  reg [6:0] place;
  wire [15:0] turned;
  \\top.store.unit  unit (
    .clk(clk), .i(read), .o(turned));
  always @(posedge clk) begin
    place <= d[6:0];
    rows[place] <= d;
    read <= rows[place];
    q <= ~read ^ turned;
  end
endmodule

module \\top.store.unit (clk, i, o);
  input clk;
  input [15:0] i;
  output [15:0] o;
  reg [15:0] o;
  always @(posedge clk) o <= i;
endmodule
"""


def _part(library: Library, text: str = _VERILOG, macros: MacroTiming = DEFAULT) -> dict[str, Any]:
    return mapped_part(Design(text, "top"), "liberty", library, "small", "store", {"top.store.unit"}, macros)


@needs_opensta
def test_a_memory_starts_paths(tiny: Library) -> None:
    # 900 ps is longer than all gates on any path take: the slowest path starts at what was read.
    part = _part(tiny, macros=MacroTiming(output_ps=900.0, setup_ps=70.0))
    assert part["memory_bits"] == 2048
    path = worst(part["paths"])
    first, *_, last = path["stages"]
    assert path["start"].startswith("rows.read_data[") and path["end"].startswith("q[")
    assert (first["cell"], first["ps"], last["cell"]) == ("memory_output_pin", 900.0, "DFF")
    # What is cut out counts as ports.
    inputs = next(path for path in part["paths"] if path["kind"] == "input to register")
    assert inputs["start"].startswith("turned[")


@needs_opensta
def test_a_memory_ends_paths(tiny: Library) -> None:
    path = worst(_part(tiny, macros=MacroTiming(output_ps=1.0, setup_ps=5000.0))["paths"])
    assert path["end"].startswith(("rows.read_address[", "rows.write_address[")) and path["start"].startswith("place[")
    # A register rises into its bit of both addresses, 5 fF each: 50 + 10.
    assert path["stages"] == [{"cell": "DFF", "net": path["start"], "ps": 60.0},
                              {"cell": "memory_input_pin", "net": "", "ps": 5000.0}]
    assert path["ps"] == 5060.0


@needs_opensta
def test_a_memory_that_is_read_without_a_clock_is_refused(tiny: Library) -> None:
    text = _VERILOG.replace("    read <= rows[place];\n", "").replace(
        "  reg [15:0] read;\n", "  wire [15:0] read = rows[d[6:0]];\n")
    with pytest.raises(ValueError, match=r"^top\.store reads a memory \(memory_128x16\) without a clock"):
        _part(tiny, text)


_CONFIG = EngineConfig(name="cdma_small", lanes=2, beat_bytes=16, link_beat_bytes=16, block_bytes=1024,
                       buffer_bytes=2048, codings=("zvc16",), crc=False)


@needs_opensta
def test_units_of_an_engine(kept_engines: None, monkeypatch: pytest.MonkeyPatch) -> None:
    whole_division = divisions.division
    few = {"prefetch.lane0.decompressor.store", "offload.walker0", "offload.lane0.rows"}

    def division(design: Design, lanes: int) -> tuple[list[tuple[str, str]], set[str]]:
        parts, cut = whole_division(design, lanes)
        return [(unit, root) for unit, root in parts if root in few], cut

    monkeypatch.setattr(divisions, "division", division)
    seen: list[tuple[str, int, int]] = []
    known: dict[str, Any] = {}
    report = engine_timing(_CONFIG, liberty=TINY, whole=False, known=known, progress=lambda *step: seen.append(step))
    # A row of the ring has six bits beside its data.
    rows = _CONFIG.buffer_bytes // _CONFIG.link_beat_bytes
    assert {part["part"]: (part["unit"], part["instances"], part["memory_bits"]) for part in report["parts"]} == {
        "offload.lane0.rows": ("buffers, offload", 2, 8 * _CONFIG.buffer_bytes),
        "prefetch.lane0.decompressor.store": ("buffers, prefetch", 2, 8 * _CONFIG.buffer_bytes + 6 * rows),
        "offload.walker0": ("lane control", 2, 0)}
    clocks = unit_clocks(report)
    assert report["mhz"] == min(unit["mhz"] for unit in clocks)
    assert [unit["unit"] for unit in clocks] == ["buffers, offload", "buffers, prefetch", "lane control"]
    assert clocks[2]["start"].startswith("offload.walker0.")
    assert clocks[2]["gates"] == len(worst(report["units"][2]["paths"])["stages"]) - 2
    assert WHOLE not in {part["unit"] for part in report["parts"]}
    assert report["macros"]["output_ps"] == 310.0
    assert seen[-1][1:] == (3, 3) and len(known) == 3
