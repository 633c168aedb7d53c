"""The top of the SoC's simulation: the SoC, and a counter of the bytes that it prints."""

from __future__ import annotations

__all__ = ["END", "NAME", "top"]

NAME = "cdma_soc_bench"
"""Name of the top module."""

END = 4
"""The byte after the last one that the firmware prints."""

_TOP = """\
module {name}(input clk, output reg [31:0] count, output reg [7:0] letter);
    wire [7:0] data;
    wire valid;

    {soc} soc(.sys_clk(clk), .sim_trace(1'b0),
        .serial_source_data(data), .serial_source_valid(valid), .serial_source_ready(1'b1),
        .serial_sink_data(8'd0), .serial_sink_valid(1'b0), .serial_sink_ready());

    initial count = 0;
    always @(posedge clk)
        if (valid) begin
            count <= count + 1;
            letter <= data;
        end
endmodule
"""


def top(soc: str) -> str:
    """Verilog of the top, around the SoC of this name."""
    return _TOP.format(name=NAME, soc=soc)
