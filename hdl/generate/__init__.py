"""Verilog emission: AXI4-Stream tops of the cores, the writer of Verilog, and the other files that are handed over."""
