"""Configurations of cores and engine: parameters, checks, presets, and the catalogue of all presets."""
