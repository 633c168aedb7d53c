"""Verification: cocotb benches for the generated Verilog, the runner that starts them, and what they measure."""
