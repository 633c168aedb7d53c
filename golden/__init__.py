"""The formats in NumPy, bit for bit: line stream, block stream, CRC-32C. Written from the format, not from the RTL."""
