"""Benches of the SoC, which run inside the simulator."""
