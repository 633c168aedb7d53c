"""Measurements of commands: simulation, area, clocks, plans on the engine, benches, and comparisons of figures."""
