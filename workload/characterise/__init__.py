"""What dumps would gain: density, zero runs, entropy, and the ratio under every coding."""
