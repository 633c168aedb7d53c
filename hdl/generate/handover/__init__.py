"""Files handed over with the Verilog: for tools, for drivers, and for the engineers who integrate the engine."""
