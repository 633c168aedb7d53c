"""Lanes, one per memory controller: the offload and the prefetch lane, and the framer."""
