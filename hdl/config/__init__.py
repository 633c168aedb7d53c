"""Configurations of cores and engine: parameters and their checks, presets, and the catalogue of all designs."""
