"""AXI4 and AXI4-Lite: port signatures, and masters that keep the protocol's rules."""
