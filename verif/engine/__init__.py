"""Verification of the whole engine: memories, driver and scoreboard, benches, and what they measure."""
