"""Verilog emission: flat tops with bus ports, the text, and everything that is handed over beside it."""
