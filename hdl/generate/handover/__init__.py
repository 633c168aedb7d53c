"""What is handed over beside the Verilog: files for tools, for drivers, and for whoever integrates the engine."""
