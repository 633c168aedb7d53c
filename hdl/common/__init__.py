"""What does not depend on the engine: FIFO, skid buffers, counters, bit masks, SRAMs, beats, shared modules."""
