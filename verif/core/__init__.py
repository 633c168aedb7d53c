"""Verification of the stand-alone cores: AXI4-Stream drivers, stimuli, testbench, benches, measurements."""
