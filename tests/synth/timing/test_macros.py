"""Pins of memory macros in a mapped netlist: how many there are, what drives them and what they load it with."""

from __future__ import annotations

from collections import Counter

import pytest

from cdma.synth.cells.library import Library
from cdma.synth.timing.macros import DEFAULT, cells, techmap, with_macros
from cdma.synth.tools import scripts
from cdma.synth.tools.netlist import Netlist, read
from cdma.synth.tools.yosys import find

_VERILOG = """
module top(input aclk, input [{masks}-1:0] write, input [6:0] place, input [31:0] d, output reg [31:0] q);
  reg [31:0] rows [127:0];
  integer i;
  always @(posedge aclk) begin
    for (i = 0; i < {masks}; i = i + 1)
      if (write[i]) rows[place][i * 32 / {masks} +: 32 / {masks}] <= d[i * 32 / {masks} +: 32 / {masks}];
    q <= rows[place];
  end
endmodule
"""
_SIZES = [("memory_128x32", 128, 32)]


def _mapped(library: Library, masks: int) -> Netlist:
    script = scripts.library_script("top", True, "small", library, netlist=True, memories=_SIZES)
    files = scripts.inputs(_VERILOG.format(masks=masks), "small", library) | {
        "macros.v": cells(), "macros_map.v": techmap(cell for cell, *_ in _SIZES)}
    return read(find().run(script, files, ["net.json"], "synthesis of top")["net.json"], "top")


@pytest.mark.parametrize("masks", [1, 4])
def test_a_write_enable_is_one_pin_for_all_bits_that_it_writes(tiny: Library, masks: int) -> None:
    netlist = _mapped(tiny, masks)
    library = with_macros(tiny)
    pins = [instance for instance, (kind, _) in netlist.cells.items() if library.cells[kind].kind == "memory"]
    names = Counter(netlist.register(instance, library).partition("[")[0] for instance in pins)
    assert names == {"rows.read_data": 32, "rows.read_address": 7, "rows.read_enable": 1, "rows.write_data": 32,
                     "rows.write_address": 7, "rows.write_enable": masks}
    # Every input of the macro loads what drives it.
    inputs = {netlist.cells[pin][0] for pin in pins} - {"memory_output_pin"}
    loads = {pin.name: pin.capacitance for kind in inputs for pin in library.cells[kind].inputs}
    assert loads == {"C": 0.0, "D": DEFAULT.pin_ff}
