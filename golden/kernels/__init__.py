"""Inner loops of the codec, in NumPy."""
