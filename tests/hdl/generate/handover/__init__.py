"""Tests of what is handed over beside the Verilog."""
