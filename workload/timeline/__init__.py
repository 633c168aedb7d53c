"""The time of a training step whose activations are swapped over a link, beside computing."""
