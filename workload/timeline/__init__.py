"""The timeline of a training step that swaps activations: GPUs, densities, policies, engines, schedule, study."""
