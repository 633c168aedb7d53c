"""Activations: load dumps, narrow them to shorter floats, and the dump that ships with the project."""
