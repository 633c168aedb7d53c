"""Sizing: cells, libraries, mapping, area and timing, held against numbers worked out by hand."""
