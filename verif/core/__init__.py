"""Benches of the stand-alone cores: AXI4-Stream drivers, stimuli, throughput."""
