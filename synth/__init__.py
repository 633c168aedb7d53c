"""Sizing: Yosys scripts, cell tables, area of the cores by submodule, and timing of the mapped netlist."""
