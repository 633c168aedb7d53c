"""Targets of mapping: a table of generic gates, cell libraries in Liberty format, FPGA primitives."""
