"""Amaranth hardware: configuration, zero-value coding cores, and Verilog emission."""
