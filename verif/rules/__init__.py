"""Rules of AXI4, AXI4-Lite and AXI4-Stream as Verilog modules, and the table of them."""
