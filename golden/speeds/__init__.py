"""What the benchmark of the golden model measures: data, and codecs by name."""
