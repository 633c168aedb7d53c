"""Clocks in the cells of a library."""
