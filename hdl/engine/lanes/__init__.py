"""Lanes, one per memory controller: the offload and prefetch lane, framer, width converter and block merger."""
