"""Plots as SVG: bars, lines, histograms and stems of pages, timelines, self-tuning, sweeps."""
