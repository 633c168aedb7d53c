"""Verification of the whole engine: stimuli, memories, driver, scoreboard, testbench, benches, measurements."""
