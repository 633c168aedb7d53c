"""Synthesis: area and timing of cores and engines, place and route, board images, and the tools for them."""
