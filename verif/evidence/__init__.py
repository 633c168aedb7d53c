"""The store of what proofs, coverage, mutation, soak and regression found, with the RTL that they saw."""
