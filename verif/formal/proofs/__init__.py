"""The proofs, one file for a group of units; each file has a tuple ``PROOFS``."""
