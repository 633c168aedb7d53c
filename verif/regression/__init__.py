"""The regression of one configuration: which benches apply to it, runs of them, and their results."""
