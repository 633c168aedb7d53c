"""Small parts of any hardware: FIFOs, skid buffers, counters, bit masks, memories, beats."""
