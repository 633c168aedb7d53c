"""The figures of docs/results.md: speed and memory from the timeline, densities from the dumps, beside the paper's."""
