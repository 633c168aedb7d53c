"""Wrapped memories: the module that users replace by their macros, and the platform that instantiates it."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import ClockSignal, Instance, Shape
from amaranth.lib.memory import Memory

from cdma.hdl.common.modules import Modules

__all__ = ["LEAST_BITS", "SHALLOW_ROWS", "SramWrapping", "sram_name", "wrapper"]

LEAST_BITS = 2048
"""Bits of the smallest memory that is wrapped; smaller memories stay in the engine's module as registers."""

SHALLOW_ROWS = 32
"""Rows of a memory that one look-up table of a Xilinx part holds."""


def sram_name(top: str) -> str:
    """Name of the wrapper's module for a design."""
    return f"{top}_sram"


class SramWrapping(Modules):
    """As :class:`cdma.hdl.common.modules.Modules`, and large memories become instances of the wrapper.

    Parameters
    ----------
    top : str
        Name of the design.
    """

    def __init__(self, top: str) -> None:
        super().__init__(top)
        self._name = sram_name(top)

    def get_memory(self, memory: Memory) -> Any:
        """The fragment built for a memory; Amaranth calls this method by its name."""
        width = Shape.cast(memory.shape).width
        if width * memory.depth < LEAST_BITS:
            return memory.elaborate(None)
        (write,), (read,) = memory.write_ports, memory.read_ports
        if write.domain != read.domain:     # the wrapper has one clock
            return memory.elaborate(None)
        parts = {"p_PARTS": len(write.en)} if len(write.en) > 1 else {}
        return Instance(
            self._name, p_WIDTH=width, p_DEPTH=memory.depth, p_ADDRESS_BITS=len(write.addr), **parts,
            i_clk=ClockSignal(), i_write_en=write.en, i_write_addr=write.addr, i_write_data=write.data,
            i_read_en=read.en, i_read_addr=read.addr, o_read_data=read.data)


def wrapper(top: str) -> str:
    """Verilog of the wrapper, with the contract that a replacement keeps."""
    name = sram_name(top)
    return f"""\
// The memories of {top}. Replace the body of this module by your macros, chosen by WIDTH and DEPTH; as it is, tools
// infer a memory from it.
//
// clk           both ports work on its rising edge
// write_en      write_data goes to row write_addr: bit k writes part k of it, WIDTH / PARTS bits
// read_en       row read_addr shows at read_data after the edge, and stays there until the next edge with read_en
// Rows are 0 to DEPTH - 1; DEPTH need be no power of two. What is read of a row in the cycle in which it is written
// does not matter, nor what memory and read_data hold at power-up; there is no reset.
module {name} #(
    parameter WIDTH = 32,
    parameter DEPTH = 128,
    parameter ADDRESS_BITS = 7,
    parameter PARTS = 1
) (
    input wire clk,
    input wire [PARTS-1:0] write_en,
    input wire [ADDRESS_BITS-1:0] write_addr,
    input wire [WIDTH-1:0] write_data,
    input wire read_en,
    input wire [ADDRESS_BITS-1:0] read_addr,
    output reg [WIDTH-1:0] read_data
);
    localparam PART = WIDTH / PARTS;
    (* no_rw_check *) reg [WIDTH-1:0] contents [0:DEPTH-1];
    integer k;

    always @(posedge clk) begin
        for (k = 0; k < PARTS; k = k + 1)
            if (write_en[k])
                contents[write_addr][k*PART +: PART] <= write_data[k*PART +: PART];
        if (read_en)
            read_data <= contents[read_addr];
    end
endmodule
"""
