"""Mutants of the hardware's sources: whether the tests find a fault that was put in."""
