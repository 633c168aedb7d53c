"""AXI4 and AXI4-Lite: port signatures, burst splitter, read and write masters, arbiter, time limit, registers' port."""
