"""Tests of the Verilog that is written module by module."""
