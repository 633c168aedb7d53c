"""Generated Verilog taken apart."""
