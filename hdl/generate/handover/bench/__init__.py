"""A folder that runs beside the Verilog of an engine without this project: first transfers in C++ and in cocotb."""
