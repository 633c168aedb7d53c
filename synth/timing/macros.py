"""Memory macros in a netlist that is timed: each pin is a cell of its own, with the timing of a real macro.

A memory samples its inputs on a rising clock edge and its outputs change after the edge, so it starts and ends paths as
registers do. Before a memory compiler is run, only its clock-to-output and its set-up time are known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cdma.synth.cells.library import Library

__all__ = ["DEFAULT", "MacroTiming", "cells", "techmap", "with_macros"]

_OUTPUT, _INPUT = "memory_output_pin", "memory_input_pin"


@dataclass(frozen=True)
class MacroTiming:
    """Timing of a memory macro.

    Parameters
    ----------
    output_ps : float
        From the clock edge to the data that is read.
    setup_ps : float
        Set-up time of address, data and enables.
    pin_ff : float
        Capacitance of an input.
    slew_ps, slew_ps_per_ff : float
        Transition time of an output without load, and what each fF of load adds.
    """

    output_ps: float = 310.0
    setup_ps: float = 50.0
    pin_ff: float = 5.0
    slew_ps: float = 7.0
    slew_ps_per_ff: float = 0.44


DEFAULT = MacroTiming()
"""45 nm, typical: the figures of FakeRAM for single-port macros of 32 kbit, the size of a lane's buffers (512 x
64: 305 ps, 1024 x 32: 309 ps; from 164 ps for 64 x 7 to 435 ps for 2048 x 39), with a set-up time of 50 ps."""


@lru_cache(maxsize=4)
def with_macros(library: Library, timing: MacroTiming = DEFAULT) -> Library:
    """The library with two cells more, for input and output pins of memory macros."""
    body = library.text.rstrip()
    return Library(Path(library.path), f"{body[:body.rindex('}')]}\n{_liberty(library, timing)}}}\n")


def _liberty(library: Library, timing: MacroTiming) -> str:
    def scalar(kinds: Iterable[str], ps: float) -> str:
        return "".join(f'{kind} (scalar) {{ values ("{ps / library.time_unit:.6g}"); }} ' for kind in kinds)

    loads = (0.0, 1000.0)
    slews = ", ".join(f"{(timing.slew_ps + timing.slew_ps_per_ff * load) / library.time_unit:.6g}" for load in loads)
    points = ", ".join(f"{load / library.load_unit:.6g}" for load in loads)
    output = scalar(("cell_rise", "cell_fall"), timing.output_ps) + "".join(
        f'{kind} (memory_slew) {{ values ("{slews}"); }} ' for kind in ("rise_transition", "fall_transition"))
    setup = scalar(("rise_constraint", "fall_constraint"), timing.setup_ps)
    clock = "pin (C) { direction : input; clock : true; capacitance : 0; }"
    return f"""\
lu_table_template (memory_slew) {{ variable_1 : total_output_net_capacitance; index_1 ("{points}"); }}
cell ({_OUTPUT}) {{
  area : 0; memory () {{ type : ram; }}
  {clock}
  pin (Q) {{ direction : output;
    timing () {{ related_pin : "C"; timing_type : rising_edge; timing_sense : non_unate; {output}}} }}
}}
cell ({_INPUT}) {{
  area : 0; memory () {{ type : ram; }}
  {clock}
  pin (D) {{ direction : input; capacitance : {timing.pin_ff / library.load_unit:.6g};
    timing () {{ related_pin : "C"; timing_type : setup_rising; {setup}}} }}
}}
"""


def cells() -> str:
    """Verilog that declares the pins' cells to Yosys."""
    return "".join(f"(* blackbox, keep *) module {name} (input C, {port}); endmodule\n" for name, port in (
        (_OUTPUT, "output Q"), (_INPUT, "input D")))


_PARAMETERS = ("MEMID", "SIZE", "OFFSET", "ABITS", "WIDTH", "INIT", "RD_PORTS", "RD_CLK_ENABLE", "RD_CLK_POLARITY",
               "RD_TRANSPARENCY_MASK", "RD_COLLISION_X_MASK", "RD_WIDE_CONTINUATION", "RD_CE_OVER_SRST",
               "RD_ARST_VALUE", "RD_SRST_VALUE", "RD_INIT_VALUE", "WR_PORTS", "WR_CLK_ENABLE", "WR_CLK_POLARITY",
               "WR_PRIORITY_MASK", "WR_WIDE_CONTINUATION")


def techmap(memories: Iterable[str]) -> str:
    """Verilog for Yosys' ``techmap`` that replaces memories by cells for their pins.

    Bits of the write enable that share a signal are one pin: a memory that writes whole rows has one write enable, a
    memory with byte enables has one for each byte. Yosys' model of a memory has one for each bit.

    Parameters
    ----------
    memories : iterable of str
        Names of the cells that stand for memories.
    """
    return "".join(_memory(name) for name in memories)


def _memory(name: str) -> str:
    def pins(label: str, cell: str, port: str, width: str, condition: str = "1") -> str:
        clock = port.partition("_")[0]
        pin = "Q" if cell == _OUTPUT else "D"
        return (f"  for (i = 0; i < {clock}_PORTS * {width}; i = i + 1) begin : {label}\n"
                f"    if ({condition}) {cell} pin (.C({clock}_CLK[i / {width}]), .{pin}({port}[i]));\n  end\n")

    # techmap sets these to a number for each bit of WR_EN, the same for bits of the same signal.
    signal = "_TECHMAP_CONNMAP_WR_EN_[{} * _TECHMAP_BITS_CONNMAP_ +: _TECHMAP_BITS_CONNMAP_]"
    first = f"i % WIDTH == 0 || {signal.format('i')} != {signal.format('(i - 1)')}"
    return f"""\
module {name} (RD_CLK, RD_EN, RD_ARST, RD_SRST, RD_ADDR, RD_DATA, WR_CLK, WR_EN, WR_ADDR, WR_DATA);
{"".join(f"  parameter {parameter} = 1;" + chr(10) for parameter in _PARAMETERS)}\
  parameter _TECHMAP_BITS_CONNMAP_ = 0;
  parameter [WR_PORTS*WIDTH*_TECHMAP_BITS_CONNMAP_-1:0] _TECHMAP_CONNMAP_WR_EN_ = 0;
  input [RD_PORTS-1:0] RD_CLK, RD_EN, RD_ARST, RD_SRST;
  input [RD_PORTS*ABITS-1:0] RD_ADDR;
  output [RD_PORTS*WIDTH-1:0] RD_DATA;
  input [WR_PORTS-1:0] WR_CLK;
  input [WR_PORTS*WIDTH-1:0] WR_EN, WR_DATA;
  input [WR_PORTS*ABITS-1:0] WR_ADDR;
  wire _TECHMAP_FAIL_ = !(&RD_CLK_ENABLE);
  genvar i;
{pins("read_data", _OUTPUT, "RD_DATA", "WIDTH")}\
{pins("read_address", _INPUT, "RD_ADDR", "ABITS")}\
{pins("read_enable", _INPUT, "RD_EN", "1")}\
{pins("write_data", _INPUT, "WR_DATA", "WIDTH")}\
{pins("write_address", _INPUT, "WR_ADDR", "ABITS")}\
{pins("write_enable", _INPUT, "WR_EN", "WIDTH", first)}\
endmodule
"""
