"""Proofs of the hardware: harnesses around components, the table of proofs, and what runs the solver."""
