"""Inner loops of the codec: in NumPy, and compiled by Numba where it is installed."""
