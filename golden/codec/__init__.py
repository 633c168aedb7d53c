"""The formats in vectorised NumPy: line stream, block stream, narrowing, CRC-32C."""
