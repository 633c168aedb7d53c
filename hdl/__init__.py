"""Amaranth hardware: codec, engine, common components, configurations, Verilog emission, and a self-test for boards."""
