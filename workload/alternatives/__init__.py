"""What a training step costs by each way of needing less memory: recompute, quantise, compress, or buy memory."""
